"""A residual network for small images, to pass as ``network=``."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .images import Augment, Images

__all__ = ["resnet18"]


class _Block(nn.Module):
    """Two convolutions, added to their input."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(n_out)
        self.second = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(n_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or n_in != n_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
            )

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.first_norm(self.first(x)), inplace=True)
        h = self.second_norm(self.second(h))
        return F.relu(h + self.shortcut(x), inplace=True)


class _ResNet(nn.Module):
    """The layers, computed in bfloat16 if asked for."""

    def __init__(self, layers: nn.Module, bfloat16: bool) -> None:
        super().__init__()
        self.layers, self.low_precision = layers, bfloat16

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.low_precision):
            logits: Tensor = self.layers(x)
        return logits.float()


def resnet18(
    side: int = 32,
    n_classes: int = 10,
    *,
    channels: int = 3,
    width: int = 64,
    shift: int = 4,
    flip: bool = True,
    bfloat16: bool = False,
) -> nn.Module:
    """Build a residual network of 18 layers for small images, such as CIFAR-10's.

    It is ResNet-18 (He, Zhang, Ren & Sun 2016) as usual for images of 32 × 32 pixels: the first
    convolution is 3 × 3 with stride 1, and no pooling follows it. It has 11.2 million
    weights. A quarter of the width has a sixteenth of the weights, and takes about a tenth of the
    time.

    Parameters
    ----------
    side : int
        Images are rows of channels × side × side numbers.
    n_classes : int
    channels : int
        1 for grey images, 3 for colours.
    width : int
        Channels of the first of four stages; each stage has twice those of the stage before.
    shift, flip
        In training each image is shifted by at most `shift` pixels, and mirrored at random;
        see `Augment`.
    bfloat16 : bool
        Whether products are computed with numbers of 16 bits. Processors with instructions for them
        (avx512_bf16) need about half the time; others need more.

    Examples
    --------
    >>> import torch
    >>> from ybar.neural import networks
    >>> networks.resnet18(width=16)(torch.zeros(2, 3072)).shape
    torch.Size([2, 10])
    """
    widths = [width, width, 2 * width, 4 * width, 8 * width]
    blocks = [
        block
        for stage, (n_in, n_out) in enumerate(itertools.pairwise(widths))
        for block in (_Block(n_in, n_out, 1 if stage == 0 else 2), _Block(n_out, n_out, 1))
    ]
    layers = nn.Sequential(
        Images(channels, side),
        Augment(shift, flip),
        nn.Conv2d(channels, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8 * width, n_classes),
    )
    network = _ResNet(layers, bfloat16)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # 25% faster
    return network


# Part of the names of recorded runs: raise it with every change of what the function builds.
resnet18.version = 1  # type: ignore[attr-defined]
