"""Check labels and turn them into codes, for `labels` and for `transition`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from . import checks
from .typing import AnyArray, IntArray


def check_classes(classes: ArrayLike) -> AnyArray:
    """Return the user's class names as an array, in the user's order."""
    names = checks.label_array(classes, "classes must be a list of at least 2 class names")
    if names.ndim != 1 or len(names) < 2:
        raise ValueError(
            f"classes must be a list of at least 2 class names; got {checks.shown(classes)}"
        )
    missing = [value for value in names.tolist() if checks.is_missing(value)]
    if missing:
        raise ValueError(
            f"classes must name classes; got {checks.shown(missing[0])}. Leave the "
            "missing value out: rows without a label need no class"
        )
    checks.one_kind(
        names, f"classes must hold names of one kind; got {checks.shown(names.tolist())}"
    )
    unique, count = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        raise ValueError(
            "classes must name each class once; got "
            f"{checks.shown(unique[count > 1][0])} more than once"
        )
    return names.copy()  # a copy: it becomes classes_, and the user may change the argument


def encode(
    y_comp: ArrayLike, classes: ArrayLike | None = None, *, name: str = "y"
) -> tuple[AnyArray, AnyArray]:
    """Check complementary labels and turn them into codes.

    Parameters
    ----------
    y_comp : array-like of shape (N,), or boolean array of shape (N, K)
        Complementary labels.
    classes : array-like of shape (K,), optional
        All classes, in the order of the rows of T. By default the sorted values of `y_comp`; for
        a boolean array the column names of a data frame, or 0..K-1.
    name : str
        Name of the caller's argument, for errors.

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
        f"{name} must hold one complementary label per row, or several as a boolean array of shape "
        "(N, K)"
    )
    array = checks.label_array(y_comp, rule)
    if array.ndim == 2 and array.dtype == bool:
        columns = checks.frame_names(y_comp, "columns")
        if classes is not None:
            names = check_classes(classes)
        else:
            names = np.arange(array.shape[1]) if columns is None else check_classes(columns)
        checks.check_mask(array, len(names), name)
        checks.check_names(y_comp, names, name, ["columns"])
        return array, names
    if array.ndim == 2 and array.shape[1] > 1:
        raise ValueError(
            f"{rule}; got {array.dtype} of shape {array.shape}. If it holds 0 and 1, pass "
            f"{name}.astype(bool); if it holds likelihoods of classes, labels.Evidence({name}); "
            "if each column holds a label, join labels.Evidence.complementary of each with &"
        )
    if len(array) == 0:
        raise ValueError(f"{name} must hold at least one complementary label; got none")
    column = checks.label_column(array, name, several=True)
    if classes is not None:
        names = check_classes(classes)
        return look_up(column, names, name), names
    names, codes = np.unique(column, return_inverse=True)
    return codes.astype(np.intp, copy=False), names


def union_of_classes(first: AnyArray, second: AnyArray, arguments: str) -> AnyArray:
    """Return all classes of two arguments, sorted; raise `ValueError` if they cannot be joined."""
    if len(first) and len(second) and len({a.dtype.kind in "OUT" for a in (first, second)}) > 1:
        raise ValueError(
            f"{arguments} must hold classes of one kind; got {checks.shown(first[0])} and "
            f"{checks.shown(second[0])}"
        )
    names = np.union1d(first, second)
    if len(names) < 2:
        raise ValueError(
            f"{arguments} must hold at least 2 classes; got {checks.shown(names.tolist())}. Name "
            "all with classes="
        )
    return names


def look_up(column: AnyArray, names: AnyArray, argument: str) -> IntArray:
    """Return the index in `names` of each value."""
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
            f"{argument} must hold only classes {checks.shown(names.tolist(), 200)}; got "
            f"{checks.shown(column[row])} in row {row}. Correct it, or name it with classes="
        )
    return codes


def check_indices(values: ArrayLike, n_classes: int, argument: str) -> IntArray:
    """Return class indices as an integer array; raise `ValueError` for other values."""
    rule = f"{argument} must hold class indices 0..{n_classes - 1}"
    array = checks.label_array(values, rule)
    if array.ndim == 2:
        hint = " Pass .astype(bool) if it holds 0 and 1" if array.dtype != bool else ""
        raise ValueError(f"{rule}, one per row; got {array.dtype} of shape {array.shape}.{hint}")
    if len(array) == 0:
        raise ValueError(f"{rule}, at least one; got nothing")
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{rule} as integers; got {array.dtype}. Convert names by "
            "labels.encode(..., classes=) (labels.draw takes classes= itself), whole numbers by "
            ".astype(int)"
        )
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n_classes:
        raise ValueError(
            f"{rule}; got {low if low < 0 else high}. T and q must have a row or column for each "
            "class"
        )
    return np.asarray(array, dtype=np.intp)


def check_codes(codes: ArrayLike, n_classes: int, *, name: str = "y_comp") -> AnyArray:
    """Return codes of complementary labels as an array; raise `ValueError` for other values.

    Parameters
    ----------
    codes : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
    n_classes : int
    name : str
        Name of the caller's argument, for errors.
    """
    n_classes = checks.whole_number(n_classes, "n_classes", 2)
    array = checks.label_array(codes, f"{name} must hold class indices 0..{n_classes - 1}")
    if array.ndim == 2 and array.dtype == bool:
        checks.check_mask(array, n_classes, name)
        return array
    return check_indices(codes, n_classes, name)


def pairs(codes: ArrayLike, n_classes: int, *, name: str = "y_comp") -> tuple[IntArray, IntArray]:
    """Return the row and the class index of each single complementary label.

    Parameters
    ----------
    codes : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
    n_classes : int
    name : str
        Name of the caller's argument, for errors.

    Returns
    -------
    rows, indices : ndarrays of the same length
        One entry per label; a row with several labels has several entries.

    Examples
    --------
    >>> import numpy as np
    >>> from ybar import labels
    >>> labels.pairs(np.array([[False, True, True], [True, False, False]]), 3)
    (array([0, 0, 1]), array([1, 2, 0]))
    """
    array = check_codes(codes, n_classes, name=name)
    if array.ndim == 2:
        rows, indices = np.nonzero(array)
        return rows, indices
    return np.arange(len(array)), array
