"""Rows of pixels as images, and the random moves that networks for images train with."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

__all__ = ["Augment", "Images"]


class Augment(nn.Module):
    """Shift and flip the images of a batch at random in training; change nothing otherwise.

    Put it before the first layer of your own network, after `Images` if X holds rows of pixels.

    Parameters
    ----------
    shift : int
        Largest shift in pixels, in each direction. The margin is filled with zeros.
    flip : bool
        Whether half of the images are mirrored, left to right.
    per_image : bool
        Whether each image is moved at random. If False, all images of a batch are moved alike,
        which costs less.

    Examples
    --------
    >>> import torch
    >>> from ybar.neural import networks
    >>> networks.Augment(shift=2, flip=True).eval()(torch.ones(1, 3, 4, 4)).sum()
    tensor(48.)
    """

    def __init__(self, shift: int = 4, flip: bool = True, *, per_image: bool = True) -> None:
        super().__init__()
        self.shift, self.flip, self.per_image = shift, flip, per_image

    def forward(self, images: Tensor) -> Tensor:
        """Return the images, (N, channels, height, width), moved if the module is in training."""
        if not self.training or not (self.shift or self.flip):
            return images
        return self._each(images) if self.per_image else self._alike(images)

    def _alike(self, images: Tensor) -> Tensor:
        down, right = torch.randint(2 * self.shift + 1, (2,)).tolist()
        height, width = images.shape[-2:]
        padded = F.pad(images, (self.shift,) * 4)
        moved = padded[..., down : down + height, right : right + width]
        return moved.flip(-1) if self.flip and torch.rand(()) < 0.5 else moved

    def _each(self, images: Tensor) -> Tensor:
        n, _, height, width = images.shape
        down, right = torch.randint(2 * self.shift + 1, (2, n, 1))
        rows, columns = down + torch.arange(height), right + torch.arange(width)
        if self.flip:
            columns = torch.where(torch.rand(n, 1) < 0.5, columns.flip(1), columns)
        padded = F.pad(images, (self.shift,) * 4).permute(0, 2, 3, 1)
        at = torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]
        return padded[tuple(index.to(images.device) for index in at)].permute(0, 3, 1, 2)


class Images(nn.Module):
    """Turn rows of pixels into images of shape (channels, side, side), and check that they fit.

    Parameters
    ----------
    channels, side : int
        A row holds channels × side × side numbers, one channel after the other. Images that have
        this shape already pass unchanged.

    Examples
    --------
    >>> import torch
    >>> from ybar.neural import networks
    >>> networks.Images(3, 32)(torch.zeros(2, 3072)).shape
    torch.Size([2, 3, 32, 32])
    """

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.shape = (channels, side, side)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the images."""
        channels, side, _ = self.shape
        n_pixels = channels * side * side
        if tuple(rows.shape[1:]) not in ((n_pixels,), self.shape):
            raise ValueError(
                f"X must hold images of shape {self.shape} (channels, height, width), or rows of "
                f"their {n_pixels} pixels; got rows of shape {tuple(rows.shape[1:])}. Pass the "
                "network the side and the channels of your images"
            )
        return rows.view(-1, *self.shape)
