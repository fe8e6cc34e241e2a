"""Draw, check and encode complementary labels.

Complementary labels come in two forms, and every function and classifier here takes both:

- one a row: a 1-D array of class names, in any label type that scikit-learn knows;
- several a row: a boolean N×K array, True where a class is ruled out. A row may rule out none
  (it says nothing) but never all K classes.

Each of several labels counts as one drawn from T. Labels that were drawn without putting back
follow a T of their own unless T is uniform: estimate it with ``transition.estimate(y_true, mask)``.

Inside the package they are *codes*: class indices 0..K-1, or the same boolean array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from . import _checks, transition
from ._random import as_generator
from ._typing import AnyArray, FloatArray, IntArray, Seed

__all__ = ["draw", "encode", "pairs"]

# Rows handled at a time by `draw`: its buffers then stay in the processor's cache.
_BLOCK = 1 << 15


def draw(
    y: ArrayLike,
    T: ArrayLike,
    random_state: Seed = None,
    *,
    classes: ArrayLike | None = None,
) -> AnyArray:
    """Draw one complementary label for each ordinary label: ȳ ~ T[y].

    Parameters
    ----------
    y : array-like of shape (N,)
        Ordinary labels: class indices 0..K-1, or names out of `classes`.
    T : array-like of shape (K, K)
        Transition matrix, ``T[y, k] = P(ȳ = k given y)``.
    random_state : int, Generator, RandomState or None
    classes : array-like of shape (K,), optional
        Names of the classes in the order of the rows of T, when `y` holds names.

    Returns
    -------
    ndarray of shape (N,)
        Class indices, or names when `classes` is given.

    Notes
    -----
    Walker's alias method: a constant number of steps a label whatever K. Entries of T that are 0
    are never drawn, not even by rounding.

    Examples
    --------
    >>> from ybar import labels, transition
    >>> labels.draw([0, 1, 2, 2], transition.uniform(3), random_state=0)
    array([2, 2, 0, 0])
    >>> labels.draw(["cat", "dog"], [[0, 1], [1, 0]], classes=["cat", "dog"])
    array(['dog', 'cat'], dtype='<U3')
    """
    array = transition.check(T)
    n_classes = len(array)
    if classes is not None:
        names = check_classes(classes)
        if len(names) != n_classes:
            raise ValueError(
                f"T must have one row for each of the {len(names)} classes; got shape {array.shape}"
            )
        given = _checks.label_array(y, "y must hold one class name a row")
        indices = _look_up(_checks.label_column(given, "y"), names, "y")
        if len(indices) == 0:
            raise ValueError("y must hold at least one label; got none")
    else:
        names = None
        indices = _check_indices(y, n_classes, "y")
    threshold, alias = (table.ravel() for table in _alias_tables(array))
    generator = as_generator(random_state)
    drawn = np.empty(len(indices), dtype=np.intp)
    for start in range(0, len(indices), _BLOCK):
        block = indices[start : start + _BLOCK]
        fraction = generator.random(len(block))
        fraction *= n_classes
        column = fraction.astype(np.intp)
        fraction -= column
        cell = block * n_classes
        cell += column
        label = alias.take(cell)
        np.copyto(label, column, where=fraction < threshold.take(cell))
        drawn[start : start + _BLOCK] = label
    return drawn if names is None else names[drawn]


def _alias_tables(T: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return Walker's tables for each row of T.

    Column j of row y is drawn with probability 1/K; it then stays j with probability
    ``threshold[y, j]`` and becomes ``alias[y, j]`` otherwise.
    """
    n = len(T)
    rows = np.arange(n)
    mass = T * n
    threshold = np.ones((n, n))
    alias = np.tile(rows, (n, 1))
    # All rows at once. Columns below 1 come first; each step tops one of them up to 1 from the
    # first column above 1, or, when that has given too much, passes on to the next one above 1.
    order = np.argsort(mass >= 1, axis=1, kind="stable")
    small = np.zeros(n, dtype=np.intp)
    n_small = (mass < 1).sum(axis=1)
    giver = n_small.copy()
    left = mass[rows, order[rows, np.minimum(giver, n - 1)]]
    active = rows[giver < n]
    while len(active):
        spent = left[active] < 1
        passing, giving = active[spent & (giver[active] + 1 < n)], active[~spent]
        giving = giving[small[giving] < n_small[giving]]
        column, source = order[giving, small[giving]], order[giving, giver[giving]]
        threshold[giving, column] = mass[giving, column]
        alias[giving, column] = source
        left[giving] -= 1 - mass[giving, column]
        small[giving] += 1
        column, source = order[passing, giver[passing]], order[passing, giver[passing] + 1]
        threshold[passing, column] = left[passing]
        alias[passing, column] = source
        left[passing] += mass[passing, source] - 1
        giver[passing] += 1
        active = np.union1d(giving, passing)
    # Rounding can leave columns over: they are full, unless T has them at zero.
    over = (T == 0) & (threshold == 1)
    threshold[over] = 0
    alias[over] = np.argmax(T, axis=1)[np.nonzero(over)[0]]
    return threshold, alias


def check_classes(classes: ArrayLike) -> AnyArray:
    """Return the user's class names as an array, in the user's order."""
    names = _checks.label_array(classes, "classes must be a list of at least 2 class names")
    if names.ndim != 1 or len(names) < 2:
        raise ValueError(
            f"classes must be a list of at least 2 class names; got {_checks.shown(classes)}"
        )
    missing = [value for value in names.tolist() if _checks.is_missing(value)]
    if missing:
        raise ValueError(
            f"classes must name classes; got {_checks.shown(missing[0])}. Leave it out: rows "
            "without a label rule out nothing"
        )
    _checks.one_kind(
        names, f"classes must hold names of one kind; got {_checks.shown(names.tolist())}"
    )
    unique, count = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        raise ValueError(
            "classes must name each class once; got "
            f"{_checks.shown(unique[count > 1][0])} more than once"
        )
    return names


def encode(
    y_comp: ArrayLike, classes: ArrayLike | None = None, *, name: str = "y"
) -> tuple[AnyArray, AnyArray]:
    """Check complementary labels and turn them into codes.

    Parameters
    ----------
    y_comp : array-like of shape (N,), or boolean array of shape (N, K)
        Complementary labels.
    classes : array-like of shape (K,), optional
        All classes. Their order is kept: it is that of the rows of T. By default the sorted
        values of `y_comp`; for several labels a row the column names of a data frame, or 0..K-1.
    name : str
        What the caller's argument is called, for errors.

    Returns
    -------
    codes : ndarray of shape (N,) of class indices, or the boolean array of shape (N, K)
    classes : ndarray of shape (K,)

    Examples
    --------
    >>> from ybar import labels
    >>> codes, classes = labels.encode(["dog", "cat", "dog"], classes=["cat", "cow", "dog"])
    >>> codes
    array([2, 0, 2])
    """
    rule = (
        f"{name} must hold one complementary label a row, or several as a boolean array of shape "
        "(N, K)"
    )
    array = _checks.label_array(y_comp, rule)
    if array.ndim == 2 and array.dtype == bool:
        columns = _checks.frame_names(y_comp, "columns")
        if classes is not None:
            names = check_classes(classes)
        else:
            names = np.arange(array.shape[1]) if columns is None else check_classes(columns)
        _checks.mask(array, len(names), name)
        if columns is not None and columns != names.tolist():
            raise ValueError(
                f"{name} must have its columns named and ordered as classes, "
                f"{_checks.shown(names.tolist())}; got {_checks.shown(columns)}. Reorder them, or "
                "pass an array without names"
            )
        return array, names
    if array.ndim == 2 and array.shape[1] > 1:
        raise ValueError(
            f"{rule}; got {array.dtype} of shape {array.shape}. If it holds 0 and 1, pass "
            f"{name}.astype(bool)"
        )
    if len(array) == 0:
        raise ValueError(f"{name} must hold at least one complementary label; got none")
    column = _checks.label_column(array, name)
    if classes is not None:
        names = check_classes(classes)
        return _look_up(column, names, name), names
    names, codes = np.unique(column, return_inverse=True)
    return codes.astype(np.intp, copy=False), names


def _look_up(column: AnyArray, names: AnyArray, argument: str) -> IntArray:
    """Return where in `names` each value stands."""
    order = np.argsort(names)
    try:
        place = np.searchsorted(names, column, sorter=order)
        codes = order[np.minimum(place, len(names) - 1)]
        wrong = np.asarray(names[codes] != column)
    except TypeError:
        wrong = np.ones(len(column), dtype=bool)
        codes = np.zeros(len(column), dtype=np.intp)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{argument} must hold only classes {_checks.shown(names.tolist(), 200)}; got "
            f"{_checks.shown(column[row])} in row {row}. Correct it, or name it with classes="
        )
    return codes


def _check_indices(values: ArrayLike, n_classes: int, argument: str) -> IntArray:
    rule = f"{argument} must hold class indices 0..{n_classes - 1}"
    array = _checks.label_array(values, rule)
    if array.ndim == 2:
        hint = " Pass .astype(bool) if it holds 0 and 1" if array.dtype != bool else ""
        raise ValueError(f"{rule}, one a row; got {array.dtype} of shape {array.shape}.{hint}")
    if len(array) == 0:
        raise ValueError(f"{rule}, at least one; got nothing")
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{rule} as integers; got {array.dtype}. Pass classes= or use labels.encode where "
            "names are meant, .astype(int) where these are whole numbers"
        )
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n_classes:
        raise ValueError(
            f"{rule}; got {low if low < 0 else high}. T and q must have a row or column for each "
            "class"
        )
    return np.asarray(array, dtype=np.intp)


def pairs(
    codes: ArrayLike, n_classes: int, *, name: str = "y_comp", several: bool = True
) -> tuple[IntArray, IntArray]:
    """Return (row, class index) of each single complementary label.

    Parameters
    ----------
    codes : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
    n_classes : int
    name : str
        What the caller's argument is called, for errors.
    several : bool
        Whether several labels a row are allowed.

    Returns
    -------
    rows, indices : ndarrays of the same length
        One entry for each label; a row with several labels comes several times.

    Examples
    --------
    >>> import numpy as np
    >>> from ybar import labels
    >>> labels.pairs(np.array([[False, True, True], [True, False, False]]), 3)
    (array([0, 0, 1]), array([1, 2, 0]))
    """
    n_classes = _checks.whole_number(n_classes, "n_classes", 2)
    array = np.asarray(codes)
    if several and array.ndim == 2 and array.dtype == bool:
        _checks.mask(array, n_classes, name)
        rows, indices = np.nonzero(array)
        return rows, indices
    indices = _check_indices(codes, n_classes, name)
    return np.arange(len(indices)), indices
