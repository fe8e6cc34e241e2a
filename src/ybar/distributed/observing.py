"""Labels of all partitions in one form: the classes, the distinct observations, and T."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..labels import Evidence
from ..labels.observed import Observed, observe
from ..labels.patterns import Patterns
from ..utils import checks
from ..utils.encoding import check_classes, encode
from ..utils.typing import AnyArray, FloatArray, IntArray
from .blocks import Blocks, as_weights
from .workers import computed


class Names(NamedTuple):
    """The classes of one partition; `ordered` if they are the columns of a matrix."""

    values: AnyArray | None
    ordered: bool


def names_in(_: Any, y: Any, __: Any) -> Names:
    """Return the classes that a partition of y names."""
    if isinstance(y, Evidence):
        return Names(y.classes, True)
    if not len(y):
        return Names(None, False)
    if is_without_labels(y):
        columns = checks.frame_names(y, "columns")
        return Names(np.arange(y.shape[1]) if columns is None else check_classes(columns), True)
    codes, names = encode(y)
    return Names(names, codes.ndim == 2)


def is_without_labels(y: Any) -> bool:
    """Return whether a partition is a boolean matrix of rows without a label."""
    if isinstance(y, Evidence) or getattr(y, "ndim", 1) != 2:
        return False
    mask = np.asarray(y)
    return mask.dtype == bool and not mask.any()


def without_labels(y: Any, classes: AnyArray) -> Observed:
    """Return the observations of rows without a label."""
    if y.shape[1] != len(classes):
        raise ValueError(
            f"y must have a column for each of the {len(classes)} classes; got shape {y.shape}"
        )
    nothing = Patterns.of_counts(np.zeros((1, len(classes))))
    return Observed(classes, np.zeros(len(y), np.intp), nothing, by_label=True)


def all_classes(client: Any, blocks: Blocks, classes: ArrayLike | None) -> AnyArray:
    """Return the classes that the caller names, or those in y, which costs a pass over y."""
    if classes is not None:
        return check_classes(classes)
    return _union(computed(client, replace(blocks, X=[None] * len(blocks)).map(names_in)))


def _union(parts: Sequence[Names]) -> AnyArray:
    """Return the classes of all partitions: the common columns, or the sorted union."""
    first = next((part for part in parts if part.values is not None), None)
    if first is None or first.values is None:
        raise ValueError("y must hold at least one complementary label; got none")
    union = first.values
    for i, (values, ordered) in enumerate(parts):
        if values is None:
            continue
        place = f"partition {i + 1} of {len(parts)}"
        if ordered != first.ordered or (ordered and not np.array_equal(values, first.values)):
            raise ValueError(
                f"{place}: y must have the same classes in all partitions; got "
                f"{checks.shown(values.tolist())} after {checks.shown(first.values.tolist())}. "
                "Name all with classes="
            )
        if (values.dtype.kind in "OUT") != (union.dtype.kind in "OUT"):
            raise ValueError(
                f"{place}: y must have labels of one kind in all partitions; got "
                f"{checks.shown(values[0])} after {checks.shown(union[0])}. Convert them"
            )
        union = union if ordered else np.union1d(union, values)
    return union


class Distinct(NamedTuple):
    """The distinct observations of one partition: their weights, and rows of a weight above 0."""

    patterns: Patterns
    by_label: bool
    transition: FloatArray | None
    weights: FloatArray
    numbers: FloatArray


def distinct_in(_: Any, y: Any, sample_weight: Any, classes: AnyArray) -> Distinct | None:
    """Return the distinct observations of a partition; None if it has no rows."""
    if not len(y):
        return None
    weights = as_weights(sample_weight, len(y))
    observed = observed_in(y, classes)
    used, code = np.unique(observed.code, return_inverse=True)
    return Distinct(
        Patterns(observed.patterns.log_rest[used], observed.patterns.counts[used]),
        observed.by_label,
        observed.transition,
        np.bincount(code, weights=weights, minlength=len(used)).astype(np.float64),
        np.bincount(code, None if weights is None else weights > 0, len(used)).astype(np.float64),
    )


def observed_in(y: Any, classes: ArrayLike) -> Observed:
    """Return the observations of a partition with rows."""
    if is_without_labels(y):
        return without_labels(y, np.asarray(classes))
    observed = observe(y, classes)
    if not np.array_equal(observed.classes, np.asarray(classes)):
        raise ValueError(
            f"classes must be those of the evidence in y, "
            f"{checks.shown(observed.classes.tolist())}; got "
            f"{checks.shown(np.asarray(classes).tolist())}"
        )
    return observed


@dataclass(frozen=True)
class Vocabulary:
    """All distinct observations of a collection: how each partition's labels are read.

    Attributes
    ----------
    observed : Observed
        One row for each distinct observation; its weight is that of all rows that have it.
    keys : ndarray of shape (M, 2K)
        What identifies an observation of the partitions, in the order of `observed`.
    numbers : ndarray of shape (M,)
        How many rows of a weight above 0 have each observation.
    fixed : bool
        Whether likelihoods are kept as they are, because labels come from several T.
    """

    observed: Observed
    keys: FloatArray
    numbers: FloatArray
    fixed: bool

    @property
    def table(self) -> Observed:
        """The observations, one row for each pattern; a pattern without rows has weight 0."""
        n = len(self.observed.patterns.counts)
        weights = np.bincount(self.observed.code, weights=self.observed.weights, minlength=n)
        return replace(self.observed, code=np.arange(n), weights=weights.astype(np.float64))

    def codes(self, y: Any) -> IntArray:
        """Return the index in `table` of the observation of each row of a partition."""
        if not len(y):
            return np.zeros(0, np.intp)
        observed = observed_in(y, self.observed.classes)
        keys = _keys(observed.patterns, observed.transition, self.fixed)
        index = {key.tobytes(): i for i, key in enumerate(self.keys)}
        used, code = np.unique(observed.code, return_inverse=True)
        of_used = np.array([index[keys[i].tobytes()] for i in used], dtype=np.intp)
        return np.asarray(self.observed.code[of_used[code]])

    def read(self, y: Any, weights: FloatArray | None) -> Observed:
        """Return a partition's labels in the form that all partitions share."""
        return replace(self.table, code=self.codes(y), weights=weights)


def _keys(patterns: Patterns, T: FloatArray | None, fixed: bool) -> FloatArray:
    if fixed and T is not None:
        patterns = patterns.fixed(T)
    return np.hstack([patterns.log_rest, patterns.counts]) + 0.0  # -0.0 is 0.0


def vocabulary(parts: Sequence[Distinct | None], classes: AnyArray) -> Vocabulary:
    """Return the distinct observations of all partitions."""
    distinct = [part for part in parts if part is not None]
    if not distinct:
        raise ValueError("y must hold at least one complementary label; got none")
    if len({part.by_label for part in distinct}) > 1:
        raise ValueError("y must be evidence in all partitions or in none; got both")
    matrices = [part.transition for part in distinct if part.transition is not None]
    fixed = any(not np.array_equal(matrix, matrices[0]) for matrix in matrices)
    stacked = np.vstack([_keys(part.patterns, part.transition, fixed) for part in distinct])
    keys, code = np.unique(stacked, axis=0, return_inverse=True)
    code = code.ravel()
    weights, numbers = (
        np.bincount(code, np.concatenate(each)).astype(np.float64)
        for each in ([part.weights for part in distinct], [part.numbers for part in distinct])
    )
    K = len(classes)
    observed = Observed(
        classes,
        np.arange(len(keys)),
        Patterns(keys[:, :K], keys[:, K:]),
        by_label=distinct[0].by_label,
        transition=None if fixed or not matrices else matrices[0],
        weights=weights,
    )
    return Vocabulary(observed, keys, numbers, fixed)
