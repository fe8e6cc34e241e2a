"""`Evidence`: the likelihood of whatever was observed of each row, as a vector over classes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import transition
from ..utils import checks
from ..utils.encoding import check_classes, encode, look_up
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray

_ONE_OR_SEVERAL = (
    "y_comp must hold one complementary label a row, or several as a boolean array of shape (N, K)"
)
_TOO_SMALL = -600.0  # the logarithm of what a float hardly holds


class Evidence:
    """What was observed of each row: ``e[y] = P(what was observed given class y)``.

    Complementary labels, ordinary ones, sets, yes-or-no answers and nothing at all become rows of
    one N×K array. Networks minimise ``-log Σ_y p[y] e[y]``, the likelihood of all of it. Build it
    from its parts: one class method for each kind of observation, `concatenate` for more rows,
    ``&`` for more observations of the same rows.

    Parameters
    ----------
    values : array-like of shape (N, K)
        Likelihoods, none negative, one above 0 in each row. A factor common to a row changes
        nothing that is learned.
    classes : array-like of shape (K,), or int, optional
        Names of the classes, or their number; by default 0..K-1.

    Attributes
    ----------
    classes : ndarray of shape (K,)
    transition : ndarray of shape (K, K) or None
        The T of the complementary labels in it, if there is one T for all of them.
    shape : tuple
        (N, K); ``np.asarray(evidence)`` is that array.

    Notes
    -----
    Rows that say the same are kept once, so that a million labels of ten classes are ten rows and
    a million small numbers. Evidence can be indexed by rows, as scikit-learn's splitters do.

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

    def __init__(self, values: ArrayLike, classes: ArrayLike | int | None = None) -> None:
        array = checks.array_of_numbers(
            values, "values must be an N×K array of likelihoods, P(what was observed given class)"
        ).astype(np.float64)
        if array.ndim != 2 or array.shape[1] < 2:
            raise ValueError(
                "values must have shape (N, K), a column for each of at least 2 classes; got "
                f"{array.shape}"
            )
        names = _names_of(values, array, classes, "values")
        wrong = ~np.isfinite(array) | (array < 0)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                "values must be finite and not negative; got "
                f"{array[row, column]:g} in row {row}, column {column}. For a row of which "
                "nothing is known write 1 for each class"
            )
        self._set(names, np.arange(len(array)), array)
        self._checked()

    def _set(
        self,
        classes: AnyArray,
        code: IntArray,
        rest: FloatArray,
        counts: FloatArray | None = None,
        T: FloatArray | None = None,
    ) -> None:
        self.classes, self._code, self._rest, self.transition = classes, code, rest, T
        self._counts = np.zeros_like(rest) if counts is None else counts

    @classmethod
    def _of(cls, *parts: Any) -> Self:
        made = cls.__new__(cls)
        made._set(*parts)
        return made

    @classmethod
    def complementary(
        cls,
        y_comp: ArrayLike,
        T: ArrayLike | Mapping[Any, ArrayLike] = "uniform",
        *,
        classes: ArrayLike | int | None = None,
        annotator: ArrayLike | None = None,
    ) -> Self:
        """Return the evidence of complementary labels: the columns of T, multiplied in a row.

        Parameters
        ----------
        y_comp : array-like of shape (N,), or boolean array of shape (N, K)
            One label a row, or several that were drawn independently, no class twice: join labels
            that may repeat with ``&``, evidence of one label a row each. (A whole set drawn at
            once, each as likely as any other of its size, is `excluded`.)
        T : "uniform", array-like of shape (K, K), or dict of them
            A dict has a T for each annotator.
        classes : array-like of shape (K,), or int, optional
            All classes, in the order of the rows of T; by default 0..K-1 where T is an array and
            labels are numbers, otherwise the sorted labels.
        annotator : array-like of shape (N,), optional
            Who gave each label, a key of T; labels one a row.

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
            return cls._of_annotators(y_comp, T, classes, annotator)
        given = checks.label_array(y_comp, _ONE_OR_SEVERAL)
        if classes is None and not isinstance(T, str) and given.dtype.kind in "iuf":
            classes = len(transition.check(T))
        names = None if classes is None else _names(classes)
        codes, names = encode(y_comp, names, name="y_comp")
        if len(names) < 2:
            raise ValueError(
                f"y_comp must hold at least 2 classes; got only {checks.shown(names[0])}. Name "
                "all classes with classes="
            )
        matrix = transition.check(T, len(names))
        checks.named_as(T, names, "T")
        if codes.ndim == 1:
            counts, code = np.eye(len(names)), codes
        else:
            found, code = np.unique(codes, axis=0, return_inverse=True)
            counts, code = found.astype(np.float64), code.reshape(-1)
        made = cls._of(names, code, np.ones_like(counts), counts, matrix)
        return made._checked()

    @classmethod
    def _of_annotators(
        cls,
        y_comp: ArrayLike,
        T: Any,
        classes: ArrayLike | int | None,
        annotator: ArrayLike | None,
    ) -> Self:
        if not isinstance(T, Mapping) or annotator is None or not T:
            raise ValueError(
                "T must be a dict with a matrix for each annotator where annotator= says who gave "
                f"each label; got {checks.shown(T)} and annotator={checks.shown(annotator)}"
            )
        who = _annotators(annotator)
        unknown = [name for name in dict.fromkeys(who) if name not in T]
        if unknown:
            raise ValueError(
                f"T must have a matrix for each annotator; it has none for "
                f"{checks.shown(unknown[0])} (row {who.index(unknown[0])}). Add it, or leave "
                "those rows out"
            )
        if classes is None:
            first = next(iter(T))
            classes = len(transition.check(T[first], name=f"T[{first!r}]"))
        names = _names(classes)
        matrices = []
        for name, matrix in T.items():
            matrices.append(transition.check(matrix, len(names), name=f"T[{name!r}]"))
            checks.named_as(matrix, names, f"T[{name!r}]")
        codes, _ = encode(y_comp, names, name="y_comp")
        if codes.ndim != 1:
            raise ValueError(
                "y_comp must hold one label a row where annotators differ; got several. Join the "
                "evidence of each annotator with &"
            )
        if len(codes) != len(who):
            raise ValueError(
                "y_comp and annotator must have the same number of rows; got "
                f"{len(codes)} and {len(who)}"
            )
        if len(T) == 1:
            return cls.complementary(y_comp, matrices[0], classes=names)
        at = {name: i for i, name in enumerate(T)}
        cell = np.array([at[name] for name in who]) * len(names) + codes
        used, code = np.unique(cell, return_inverse=True)
        table = np.concatenate([matrix.T for matrix in matrices])[used]
        return cls._of(names, code, table)._checked()

    @classmethod
    def ordinary(cls, y: ArrayLike, *, classes: ArrayLike | int) -> Self:
        """Return the evidence of ordinary labels: 1 for the class, 0 for the others."""
        names = _names(classes)
        return cls._of(names, _indices(y, names, "y"), np.eye(len(names)))

    @classmethod
    def candidates(cls, sets: ArrayLike, *, classes: ArrayLike | int | None = None) -> Self:
        """Return the evidence of "one of these": 1 for each of a set, 0 for the others.

        Parameters
        ----------
        sets : boolean array of shape (N, K)
            True where a class is in the row's set; whatever else led to the set must not depend
            on which of them is the true class.
        classes : array-like of shape (K,), or int, optional
        """
        array = _mask(sets, "is in the row's set")
        return cls._of_sets(array, _names_of(sets, array, classes, "sets"))

    @classmethod
    def _of_sets(cls, array: BoolArray, names: AnyArray) -> Self:
        empty = ~array.any(axis=1)
        if empty.any():
            raise ValueError(
                f"sets must leave some class possible in each row; row {int(np.argmax(empty))} "
                "leaves none. Correct or drop it; for a row of which nothing is known leave all"
            )
        table, code = np.unique(array, axis=0, return_inverse=True)
        return cls._of(names, code.reshape(-1), table.astype(np.float64))._checked()

    @classmethod
    def excluded(cls, sets: ArrayLike, *, classes: ArrayLike | int | None = None) -> Self:
        """Return the evidence of "none of these": `candidates` of the other classes.

        That is what a set of wrong classes says which was drawn at once, any set of its size as
        likely as the others.
        """
        array = _mask(sets, "is ruled out")
        return cls._of_sets(~array, _names_of(sets, array, classes, "sets"))

    @classmethod
    def answers(cls, asked: ArrayLike, yes: ArrayLike, *, classes: ArrayLike | int) -> Self:
        """Return the evidence of true answers to "is it a?".

        Parameters
        ----------
        asked : array-like of shape (N,)
            The class each row was asked about.
        yes : array-like of shape (N,) of bool
            The answers.
        classes : array-like of shape (K,), or int
        """
        names = _names(classes)
        codes = _indices(asked, names, "asked")
        said = checks.label_array(yes, "yes must hold True or False for each row", "is it")
        if said.dtype != bool or said.shape != codes.shape:
            raise ValueError(
                f"yes must hold True or False for each of the {len(codes)} rows; got {said.dtype} "
                f"of shape {said.shape}. If it holds 0 and 1, pass yes.astype(bool)"
            )
        unit = np.eye(len(names))
        return cls._of(names, codes + len(names) * said, np.concatenate([1 - unit, unit]))

    @classmethod
    def nothing(cls, n: int, *, classes: ArrayLike | int) -> Self:
        """Return the evidence of n rows of which nothing is known: 1 for each class."""
        names = _names(classes)
        n = checks.whole_number(n, "n", 0)
        return cls._of(names, np.zeros(n, dtype=np.intp), np.ones((1, len(names))))

    @classmethod
    def concatenate(cls, parts: Sequence[Evidence]) -> Self:
        """Return the rows of all parts, one part after the other."""
        if not isinstance(parts, (list, tuple)):
            raise TypeError(f"parts must be a list of Evidence; got {checks.shown(parts)}")
        for part in parts:
            _same_classes(parts[0], part)
        if not parts:
            raise ValueError("parts must hold at least one Evidence; got none")
        T = _common_transition(parts)
        tables = [part._parts(T) for part in parts]
        starts = np.cumsum([0, *(len(rest) for rest, _ in tables)])
        code = np.concatenate(
            [part._code + start for part, start in zip(parts, starts, strict=False)]
        )
        rest, counts = (np.concatenate(arrays) for arrays in zip(*tables, strict=True))
        return cls._of(parts[0].classes, code, rest, counts, T)

    def __and__(self, other: Evidence) -> Evidence:
        """Return the evidence of both, independent observations of the same rows."""
        if not isinstance(other, Evidence):
            return NotImplemented
        _same_classes(self, other)
        if len(self) != len(other):
            raise ValueError(
                "evidence joined by & must be of the same rows; got "
                f"{len(self)} and {len(other)} rows. For more rows use Evidence.concatenate"
            )
        T = _common_transition([self, other])
        (rest, counts), (its_rest, its_counts) = self._parts(T), other._parts(T)
        pair = self._code * len(its_rest) + other._code
        used, code = np.unique(pair, return_inverse=True)
        mine, its = used // max(1, len(its_rest)), used % max(1, len(its_rest))
        both = rest[mine] * its_rest[its]
        low = both.max(axis=1) < np.exp(_TOO_SMALL)
        if low.any():  # a factor common to a row is left out where the row would be no float
            both[low] = _of_largest(rest[mine[low]]) * _of_largest(its_rest[its[low]])
        return self._of(self.classes, code, both, counts[mine] + its_counts[its], T)._checked()

    def _parts(self, T: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return the factors that no T is needed for, and the counts of labels under this T."""
        if T is None:
            log_table = self.log_table
            # A factor common to a row is left out where the row would not be a float without.
            top = log_table.max(axis=1, keepdims=True)
            return np.exp(log_table - np.where(top < _TOO_SMALL, top, 0)), 0 * self._counts
        return self._rest, self._counts

    def _checked(self) -> Self:
        """Refuse evidence that no class can have given."""
        impossible = (self.log_table == -np.inf).all(axis=1)[self._code]
        if impossible.any():
            raise ValueError(
                "evidence must leave some class possible in each row; row "
                f"{int(np.argmax(impossible))} has probability 0 under every class. Correct or "
                "drop it" + _or_noise(self)
            )
        return self

    @property
    def log_table(self) -> FloatArray:
        """The logarithms of the different rows, (M, K); row i of N is ``log_table[codes[i]]``."""
        with np.errstate(divide="ignore"):
            log_rest = np.log(self._rest)
        if self.transition is None:
            return log_rest
        return log_likelihoods(log_rest, self._counts, self.transition)

    @property
    def table(self) -> FloatArray:
        """The different rows of evidence, (M, K)."""
        return self._rest if self.transition is None else np.exp(self.log_table)

    @property
    def codes(self) -> IntArray:
        """Which row of `table` each of the N rows has."""
        return self._code

    @property
    def counts(self) -> FloatArray:
        """How often each row of `table` has each class as a label drawn from `transition`."""
        return self._counts

    @property
    def rest(self) -> FloatArray:
        """What is left of `table` without the labels that `counts` counts."""
        return self._rest

    @property
    def informative(self) -> BoolArray:
        """Whether each row says anything: whether its entries differ."""
        table = self.log_table
        return np.asarray((table != table[:, :1]).any(axis=1)[self._code])

    def under(self, T: FloatArray | None) -> Evidence:
        """Return the same observations where labels were drawn from this T, if there are any."""
        if T is None or self.transition is None:
            return self
        return self._of(self.classes, self._code, self._rest, self._counts, T)

    def labels(self) -> AnyArray | None:
        """Return the complementary labels that it consists of as codes, None if there is more.

        Codes are class indices, one a row, or a boolean array of shape (N, K).
        """
        used, code = np.unique(self._code, return_inverse=True)
        rest, counts = self._rest[used], self._counts[used]
        if self.transition is None or (rest != rest[:, :1]).any() or (counts > 1).any():
            return None
        if (counts.sum(axis=1) == 1).all():
            return np.asarray(counts.argmax(axis=1)[code])
        return np.asarray((counts > 0)[code])

    @property
    def shape(self) -> tuple[int, int]:
        """(N, K)."""
        return len(self._code), len(self.classes)

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    def __len__(self) -> int:
        return len(self._code)

    def __getitem__(self, rows: Any) -> Evidence:
        if isinstance(rows, tuple):  # scikit-learn writes [rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("Evidence can be indexed by rows only; take np.asarray of it")
            rows = rows[0]
        if isinstance(rows, list) and not rows:
            rows = slice(0)
        code = np.atleast_1d(self._code[rows])
        return self._of(self.classes, code, self._rest, self._counts, self.transition)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.asarray(self.table[self._code], dtype=dtype)

    def __repr__(self) -> str:
        n, k = self.shape
        return f"<Evidence of {n:,} rows, {int(self.informative.sum()):,} informative, {k} classes>"


def _names(classes: ArrayLike | int) -> AnyArray:
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        return np.arange(checks.whole_number(classes, "classes, where it is a number,", 2))
    return check_classes(classes)


def _names_of(given: Any, array: AnyArray, classes: Any, name: str) -> AnyArray:
    """Return the classes of the columns; those of a data frame must be named so."""
    columns = checks.frame_names(given, "columns")
    if classes is None:
        classes = array.shape[1] if columns is None else columns
    names = _names(classes)
    if len(names) != array.shape[1]:
        raise ValueError(
            f"{name} must have a column for each of the {len(names)} classes; got shape "
            f"{array.shape}"
        )
    checks.named_as(given, names, name, ["columns"])
    return names


def _annotators(given: Any) -> list[Any]:
    array = np.asarray(given, dtype=object)
    if array.ndim != 1 or not all(isinstance(name, Hashable) for name in array):
        raise ValueError(
            f"annotator must hold one name a row, a key of T each; got {checks.shown(given)}"
        )
    return list(array.tolist())


def _mask(sets: ArrayLike, meaning: str) -> BoolArray:
    rule = f"sets must be a boolean array of shape (N, K), True where a class {meaning}"
    array = checks.label_array(sets, rule, meaning)
    if array.dtype == object and all(isinstance(value, bool) for value in array.ravel()):
        array = array.astype(bool)  # of pandas' nullable kind
    if array.dtype != bool or array.ndim != 2:
        raise ValueError(
            f"{rule}; got {array.dtype} of shape {array.shape}. If it holds 0 and 1, pass "
            "sets.astype(bool)"
        )
    return array


def _indices(y: ArrayLike, names: AnyArray, name: str) -> IntArray:
    given = checks.label_array(y, f"{name} must hold one class a row")
    return look_up(checks.label_column(given, name), names, name)


def _of_largest(rows: FloatArray) -> FloatArray:
    """Return rows in units of the largest of each; a row of zeros stays."""
    top = rows.max(axis=1, keepdims=True)
    return rows / np.where(top > 0, top, 1)


def _or_noise(evidence: Evidence) -> str:
    if evidence.transition is None:
        return ""
    return ", or allow for errors with transition.with_uniform_noise"


def log_likelihoods(log_rest: FloatArray, counts: FloatArray, T: FloatArray) -> FloatArray:
    """Return log rest[m, y] + Σ_k counts[m, k] log T[y, k], (M, K)."""
    log_T = np.log(T, out=np.zeros_like(T), where=T > 0)
    impossible = (counts @ (T == 0).T.astype(np.float64)) > 0
    return np.asarray(np.where(impossible, -np.inf, log_rest + counts @ log_T.T))


def _same_classes(one: Any, other: Any) -> None:
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
    found = None
    for part in parts:
        if part.transition is None:
            continue
        if found is not None and not np.array_equal(found, part.transition):
            return None
        found = part.transition
    return found
