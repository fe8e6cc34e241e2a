"""Indexing that the losses share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def classes_first(logits: Tensor) -> Tensor:
    """Return (..., K, B): the order in memory of a dense network's logits, and the faster one."""
    return logits.transpose(-1, -2)


def label_index(values: Tensor, y_comp: Tensor) -> Tensor:
    """Return the index with which ``gather`` reads the labels' entries of (..., K, B)."""
    return y_comp.expand(*values.shape[:-2], 1, -1)


def at_label(values: Tensor, y_comp: Tensor) -> Tensor:
    """Return each row's entry at its label, of values with classes first."""
    return values.gather(-2, label_index(values, y_comp)).squeeze(-2)
