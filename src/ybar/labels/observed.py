"""`Observed`: the one internal form of y, for all kinds of labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from ..utils.encoding import check_codes, encode
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from .evidence import Evidence
from .patterns import Patterns, labels_of, patterns_of


class Terms(NamedTuple):
    """The terms of a log-likelihood: the row and the pattern of each.

    ``patterns.log_likelihoods(T)[code]`` has log e[y] of each term.
    """

    rows: IntArray
    code: IntArray
    patterns: Patterns


@dataclass(frozen=True)
class Observed:
    """The observations in y, row by row, in one form for all kinds of labels.

    `observe` builds it once from y. Classifiers, metrics and calibration use its methods, which
    hide the form of y.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    code : ndarray of shape (N,)
        The pattern of each row.
    patterns : Patterns
        The distinct likelihoods.
    by_label : bool
        True if y holds complementary labels: each label is one term of SCEL. False if y is
        `Evidence`: each informative row is one term.
    transition : ndarray of shape (K, K) or None
        The T that labels are drawn from; None until it is known, or if no label needs it.
    weights : ndarray of shape (N,) or None
    """

    classes: AnyArray
    code: IntArray
    patterns: Patterns
    by_label: bool
    transition: FloatArray | None = None
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.code)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of classes."""
        return len(self.code), len(self.classes)

    @property
    def T(self) -> FloatArray:  # noqa: N802
        """The transition matrix, which must be known."""
        if self.transition is None:
            raise RuntimeError("the transition matrix of these labels is not known yet")
        return self.transition

    @property
    def label_table(self) -> BoolArray:
        """Which classes are complementary labels in each pattern, (M, K)."""
        return self.patterns.counts > 0

    @property
    def log_table(self) -> FloatArray:
        """Log-likelihood of each pattern under each class, (M, K)."""
        return self.patterns.log_likelihoods(self.transition)

    @property
    def informative(self) -> BoolArray:
        """Whether each row has a label; for evidence, whether its likelihoods differ."""
        if self.by_label:
            return np.asarray(self.label_table.any(axis=1))[self.code]
        return self.patterns.informative(self.transition)[self.code]

    @property
    def usable(self) -> BoolArray:
        """Whether each row is informative and has a weight above 0."""
        usable = self.informative
        return usable if self.weights is None else usable & (self.weights > 0)

    @property
    def weighted_rows(self) -> IntArray:
        """The indices of the rows of a weight above 0."""
        return np.arange(len(self)) if self.weights is None else np.flatnonzero(self.weights)

    def subset(self, rows: AnyArray) -> Self:
        """Return the observations of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, code=self.code[rows], weights=weights)

    def with_transition(self, T: FloatArray) -> Self:
        """Return the same observations with labels drawn from this T."""
        return replace(self, transition=T)

    def as_labels(self) -> Observed | None:
        """Return the same labels as separate terms; None if y holds more than labels from one T."""
        if self.by_label:
            return self
        codes = None if self.transition is None else labels_of(self.code, self.patterns)
        if codes is None:
            return None
        code, patterns = patterns_of(codes, len(self.classes))
        return replace(self, code=code, patterns=patterns, by_label=True)

    def single_labels(self) -> tuple[IntArray, IntArray]:
        """Return the row and the class of each complementary label."""
        table = self.label_table
        if (table.sum(axis=1) == 1).all():
            return np.arange(len(self)), table.argmax(axis=1)[self.code]
        of_row = csr_matrix(table)[self.code]
        rows = np.repeat(np.arange(len(self)), np.diff(of_row.indptr))
        return rows, of_row.indices.astype(np.intp)

    def separate_terms(self) -> Terms:
        """Return a term per label, or for evidence per informative row: the terms of SCEL."""
        if not self.by_label:
            return self.joint_terms()
        rows, labels = self.single_labels()
        return Terms(rows, labels, Patterns.of_counts(np.eye(len(self.classes))))

    def joint_terms(self) -> Terms:
        """Return a term per informative row: the likelihood of all its observations."""
        rows = np.flatnonzero(self.informative)
        return Terms(rows, self.code[rows], self.patterns)


def observe(y: ArrayLike | Evidence, classes: ArrayLike | None = None) -> Observed:
    """Check labels in the user's names, or evidence, and convert them to the internal form.

    Parameters
    ----------
    y : array-like of shape (N,), boolean array of shape (N, K), or Evidence
    classes : array-like of shape (K,), optional
        All classes. Evidence names them itself.
    """
    if isinstance(y, Evidence):
        return _of_evidence(y)
    codes, names = encode(y, classes)
    return _of_codes(codes, names)


def observe_codes(y: ArrayLike | Evidence, n_classes: int) -> Observed:
    """Check labels that are class indices, or evidence, and convert them to the internal form."""
    if isinstance(y, Evidence):
        return _of_evidence(y)
    return _of_codes(check_codes(y, n_classes), np.arange(n_classes))


def mean_one(weights: FloatArray | None, rows: Any) -> FloatArray | None:
    """Return weights that are 1 on average over these rows."""
    return None if weights is None else weights / weights[rows].mean()


def _of_codes(codes: AnyArray, classes: AnyArray) -> Observed:
    return Observed(classes, *patterns_of(codes, len(classes)), by_label=True)


def _of_evidence(evidence: Evidence) -> Observed:
    return Observed(
        evidence.classes,
        evidence.codes,
        evidence.patterns,
        by_label=False,
        transition=evidence.transition,
    )
