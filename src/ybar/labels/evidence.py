"""`Evidence`: the likelihood of all observations of each row, as a vector over classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from . import kinds
from .patterns import Patterns, labels_of

_UNDERFLOW = -600.0  # exp of this is about the smallest float


class Evidence:
    """All observations of each row: ``e[y] = P(observations given class y)``.

    Complementary labels, ordinary labels, candidate sets, yes-or-no answers and rows without any
    observation become the rows of one N×K array. Networks minimise ``-log Σ_y p[y] e[y]``, the
    negative log-likelihood of all observations. Build evidence from its parts: a class method for
    each kind of observation, `concatenate` for more rows, ``&`` for more observations of the same
    rows.

    Parameters
    ----------
    values : array-like of shape (N, K)
        Likelihoods: none negative, at least one above 0 in each row. Multiplying a row by a
        constant does not change what a model learns.
    classes : array-like of shape (K,), or int, optional
        Names of the classes, or their number; by default 0..K-1.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    transition : ndarray of shape (K, K) or None
        The T of the complementary labels, if all of them are drawn from the same T.
    shape : tuple
        (N, K); ``np.asarray(evidence)`` is the array of likelihoods.

    Notes
    -----
    Rows with the same observations are stored once: a million labels of ten classes need ten rows
    and a million small numbers. Evidence can be indexed by rows, as scikit-learn's
    splitters do.

    Examples
    --------
    >>> import numpy as np
    >>> from ybar import labels
    >>> not_these = labels.Evidence.complementary(["cat", "dog"], classes=["bird", "cat", "dog"])
    >>> known = labels.Evidence.ordinary(["bird"], classes=["bird", "cat", "dog"])
    >>> np.asarray(labels.Evidence.concatenate([not_these, known]))
    array([[0.5, 0. , 0.5],
           [0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """

    classes: AnyArray
    codes: IntArray
    """The pattern of each row."""
    patterns: Patterns
    """The distinct likelihoods."""
    transition: FloatArray | None

    def __init__(self, values: ArrayLike, classes: ArrayLike | int | None = None) -> None:
        self._set(kinds.of_values(values, classes))
        self._check_possible()

    def _set(self, content: kinds.Content) -> None:
        self.classes, self.codes, self.patterns, self.transition = content

    @classmethod
    def _of(cls, content: kinds.Content) -> Self:
        evidence = cls.__new__(cls)
        evidence._set(content)
        evidence._check_possible()
        return evidence

    def _check_possible(self) -> None:
        impossible = (self.log_table == -np.inf).all(axis=1)[self.codes]
        if impossible.any():
            advice = "Correct or drop it"
            if self.transition is not None:
                advice += ", or allow for errors with transition.with_uniform_noise"
            raise ValueError(
                "evidence must leave some class possible in each row; row "
                f"{int(np.argmax(impossible))} has probability 0 under every class. {advice}"
            )

    @classmethod
    def complementary(
        cls,
        y_comp: ArrayLike,
        T: ArrayLike | Mapping[Any, ArrayLike] = "uniform",
        *,
        classes: ArrayLike | int | None = None,
        annotator: ArrayLike | None = None,
    ) -> Self:
        """Return the evidence of complementary labels: per row, the product of columns of T.

        Parameters
        ----------
        y_comp : array-like of shape (N,), or boolean array of shape (N, K)
            One label per row, or several labels that were drawn independently, no class twice. If
            labels may repeat, join evidence of one label per row with ``&``. If a whole set was
            drawn at once, every set of its size being equally likely, use `excluded`.
        T : "uniform", array-like of shape (K, K), or dict of them
            A dict has a T for each annotator.
        classes : array-like of shape (K,), or int, optional
            All classes, in the order of the rows of T. By default 0..K-1 if T is an array and the
            labels are numbers, otherwise the sorted labels.
        annotator : array-like of shape (N,), optional
            The annotator of each label, a key of T; needs one label per row.

        Examples
        --------
        >>> import numpy as np
        >>> from ybar import labels
        >>> T = {"ann": [[0, 1, 0], [0.5, 0, 0.5], [1, 0, 0]], "bob": np.full((3, 3), 1 / 3)}
        >>> np.asarray(labels.Evidence.complementary([0, 0], T, annotator=["ann", "bob"])).round(2)
        array([[0.  , 0.5 , 1.  ],
               [0.33, 0.33, 0.33]])
        """
        if isinstance(T, Mapping) or annotator is not None:
            return cls._of(kinds.of_annotators(y_comp, T, classes, annotator))
        return cls._of(kinds.of_labels(y_comp, T, classes))

    @classmethod
    def ordinary(cls, y: ArrayLike, *, classes: ArrayLike | int) -> Self:
        """Return the evidence of ordinary labels: 1 for the class, 0 for the others."""
        names = kinds.class_names(classes)
        return cls._of(kinds.of_classes(kinds.class_indices(y, names, "y"), names))

    @classmethod
    def candidates(cls, sets: ArrayLike, *, classes: ArrayLike | int | None = None) -> Self:
        """Return the evidence of "one of these": 1 for each class of a set, 0 for the others.

        Parameters
        ----------
        sets : boolean array of shape (N, K)
            True where a class is in the row's set. The set must be equally likely for each of its
            classes as the true one.
        classes : array-like of shape (K,), or int, optional
        """
        return cls._of(kinds.of_sets(sets, classes))

    @classmethod
    def excluded(cls, sets: ArrayLike, *, classes: ArrayLike | int | None = None) -> Self:
        """Return the evidence of "none of these": `candidates` of the other classes.

        Use it for a set of wrong classes that was drawn at once, if all sets of that size are
        equally likely.
        """
        return cls._of(kinds.of_sets(sets, classes, excluded=True))

    @classmethod
    def answers(cls, asked: ArrayLike, yes: ArrayLike, *, classes: ArrayLike | int) -> Self:
        """Return the evidence of true answers to "is it a?".

        Parameters
        ----------
        asked : array-like of shape (N,)
            The class that each row was asked about.
        yes : array-like of shape (N,) of bool
            The answers.
        classes : array-like of shape (K,), or int
        """
        return cls._of(kinds.of_answers(asked, yes, kinds.class_names(classes)))

    @classmethod
    def nothing(cls, n: int, *, classes: ArrayLike | int) -> Self:
        """Return the evidence of n rows about which nothing is known: 1 for each class."""
        names = kinds.class_names(classes)
        return cls._of(kinds.of_nothing(checks.whole_number(n, "n", 0), names))

    @classmethod
    def concatenate(cls, parts: Sequence[Evidence]) -> Self:
        """Return the rows of all parts, one part after the other."""
        if not isinstance(parts, (list, tuple)):
            raise TypeError(f"parts must be a list of Evidence; got {checks.shown(parts)}")
        if not parts:
            raise ValueError("parts must hold at least one Evidence; got none")
        for part in parts:
            _check_same_classes(parts[0], part)
        T = _common_transition(parts)
        tables = [part._patterns_for(T) for part in parts]
        starts = np.cumsum([0, *(len(table.counts) for table in tables)])
        codes = np.concatenate(
            [part.codes + start for part, start in zip(parts, starts, strict=False)]
        )
        patterns = Patterns(*map(np.concatenate, zip(*tables, strict=True)))
        return cls._of(kinds.Content(parts[0].classes, codes, patterns, T))

    def __and__(self, other: Evidence) -> Evidence:
        """Return the evidence of both: independent observations of the same rows."""
        if not isinstance(other, Evidence):
            return NotImplemented
        _check_same_classes(self, other)
        if len(self) != len(other):
            raise ValueError(
                "evidence joined by & must be of the same rows; got "
                f"{len(self)} and {len(other)} rows. For more rows use Evidence.concatenate"
            )
        T = _common_transition([self, other])
        one, two = self._patterns_for(T), other._patterns_for(T)
        n_two = max(1, len(two.counts))
        used, codes = np.unique(self.codes * n_two + other.codes, return_inverse=True)
        i, j = used // n_two, used % n_two
        patterns = Patterns(one.log_rest[i] + two.log_rest[j], one.counts[i] + two.counts[j])
        return self._of(kinds.Content(self.classes, codes, patterns, T))

    def _patterns_for(self, T: FloatArray | None) -> Patterns:
        """Return the patterns for evidence whose labels are drawn from T.

        Without a common T, the likelihoods of this part stay as they are.
        """
        return self.patterns if T is not None else self.patterns.fixed(self.transition)

    @property
    def log_table(self) -> FloatArray:
        """The logarithms of the distinct rows, (M, K); row i of N is ``log_table[codes[i]]``."""
        return self.patterns.log_likelihoods(self.transition)

    @property
    def informative(self) -> BoolArray:
        """Whether the likelihoods of each row differ between classes."""
        return self.patterns.informative(self.transition)[self.codes]

    def labels(self) -> AnyArray | None:
        """Return the complementary labels that the evidence consists of, None if it holds more.

        Labels are class indices, one per row, or a boolean array of shape (N, K).
        """
        return None if self.transition is None else labels_of(self.codes, self.patterns)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, K)."""
        return len(self.codes), len(self.classes)

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2."""
        return 2

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Evidence:
        if isinstance(rows, tuple):  # scikit-learn writes [rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("Evidence can be indexed by rows only; index np.asarray of it")
            rows = rows[0]
        if isinstance(rows, list) and not rows:
            rows = slice(0)
        codes = np.atleast_1d(self.codes[rows])
        subset = Evidence.__new__(Evidence)
        subset._set(kinds.Content(self.classes, codes, self.patterns, self.transition))
        return subset

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        log_table = self.log_table
        top = log_table.max(axis=1, keepdims=True, initial=-np.inf)
        # Rows of hundreds of labels would underflow, so rows are divided by their largest entry.
        table = np.exp(log_table - np.where(top < _UNDERFLOW, top, 0))
        return np.asarray(table[self.codes], dtype=dtype)

    def __repr__(self) -> str:
        n, k = self.shape
        return f"<Evidence of {n:,} rows, {int(self.informative.sum()):,} informative, {k} classes>"


def _check_same_classes(one: Any, other: Any) -> None:
    for each in (one, other):
        if not isinstance(each, Evidence):
            raise TypeError(f"each part must be an Evidence; got {checks.shown(each)}")
    if not np.array_equal(one.classes, other.classes):
        raise ValueError(
            "evidence must be of the same classes in the same order to be joined; got "
            f"{checks.shown(one.classes.tolist())} and {checks.shown(other.classes.tolist())}. "
            "Pass the same classes= to each part"
        )


def _common_transition(parts: Sequence[Evidence]) -> FloatArray | None:
    """Return the T of all complementary labels of the parts; None if there are several, or none."""
    matrices = [part.transition for part in parts if part.transition is not None]
    if not matrices or any(not np.array_equal(matrix, matrices[0]) for matrix in matrices):
        return None
    return matrices[0]
