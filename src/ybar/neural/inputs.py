"""X as the network classifiers accept it: arrays, images, torch datasets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..utils.typing import AnyArray

_ROWS_PER_BLOCK = 2048


def is_dataset(X: Any) -> bool:
    """Return whether X is a torch dataset, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.utils.data.Dataset)


def count_features(X: Any, at_least: int) -> int:
    """Check images or a torch dataset, and return the number of values per row."""
    if not hasattr(X, "__len__"):
        raise TypeError(
            "X must have a length and rows by index; got an IterableDataset. Pass a Dataset "
            "with __len__ and __getitem__, or feed its parts to partial_fit"
        )
    if len(X) < at_least:
        raise ValueError(
            f"X must have at least {at_least} rows (n_samples); got a dataset of {len(X)}"
        )
    first = X[0]
    return int(np.prod(np.shape(first[0] if isinstance(first, (tuple, list)) else first)))


def check_kind(kind: np.dtype[Any], fitted: np.dtype[Any]) -> None:
    """Raise if only one of two integer types is uint8: only uint8 is scaled."""
    integers = fitted.kind in "iu" and kind.kind in "iu"
    if integers and (fitted == np.uint8) != (kind == np.uint8):
        raise ValueError(
            f"X must be of dtype {fitted}, as in fit: uint8 is scaled to [0, 1], other integers "
            f"are not; got {kind}. Convert it with .astype"
        )


def blocks(X: Any) -> Iterator[AnyArray]:
    """Yield rows of X as float32, uint8 scaled, as `data.Rows` does for training."""
    for first in range(0, len(X), _ROWS_PER_BLOCK):
        rows = np.arange(first, min(first + _ROWS_PER_BLOCK, len(X)))
        if isinstance(X, np.ndarray):
            block = X[rows[0] : rows[-1] + 1].astype(np.float32)
            if X.dtype == np.uint8:
                block *= np.float32(1 / 255)
        else:
            import torch  # X is one of its datasets

            from .data import Rows

            block = Rows(X, torch.device("cpu")).fetch(rows).numpy()
        yield block.reshape(len(block), -1)
