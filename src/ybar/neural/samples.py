"""The labels that training and validation read, one entry per label or per row."""

from __future__ import annotations

from typing import NamedTuple

from ..utils.typing import AnyArray, FloatArray, IntArray


class Patterns(NamedTuple):
    """The distinct likelihoods of rows: log rest[m, y] + Σ_k counts[m, k] log T[y, k]."""

    log_rest: FloatArray
    counts: FloatArray


class Samples(NamedTuple):
    """One entry per single complementary label: its row, the label, its weight (mean 1).

    With `patterns` there is one entry per row, and `y_comp` holds the index of its pattern.
    """

    rows: IntArray
    y_comp: IntArray
    weight: AnyArray | None = None
    patterns: Patterns | None = None
