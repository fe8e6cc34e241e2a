"""A small convolutional network for square images of one channel, to pass as ``network=``."""

from __future__ import annotations

from torch import nn

__all__ = ["small"]


def small(side: int = 28, n_classes: int = 10) -> nn.Module:
    """Build three convolutions of 16, 32 and 64 channels and a dense layer, 29,000 weights.

    Parameters
    ----------
    side : int
        Images are rows of side × side numbers; at least 8.
    n_classes : int

    Examples
    --------
    >>> import torch
    >>> from ybar.neural import cnn
    >>> cnn.small()(torch.zeros(2, 784)).shape
    torch.Size([2, 10])
    """
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(64 * (side // 8) ** 2, n_classes),
    )
