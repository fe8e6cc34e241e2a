"""Checks of arguments, shared by several modules; every error is one line with the value."""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .typing import AnyArray, BoolArray, FloatArray


def shown(value: Any, most: int = 60) -> str:
    """Return a value as one short line of text, with numpy's scalars as plain numbers."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= most else f"{text[:most]}…"


def frame_names(values: Any, axis: str) -> list[Any] | None:
    """Return the names of a data frame's columns or index, or None if there are none.

    The default names of pandas, 0 to K-1, do not count as names.
    """
    names = getattr(values, axis, None)
    if names is None or not hasattr(values, "shape"):
        return None
    listed = list(names)
    return None if listed == list(range(len(listed))) else listed


def check_names(
    values: Any, classes: AnyArray, name: str, axes: Sequence[str] = ("index", "columns")
) -> None:
    """Raise `ValueError` unless a data frame names the classes, in their order."""
    for axis in axes:
        names, expected = frame_names(values, axis), classes.tolist()
        index: Any = getattr(values, axis, None)
        if names is None and type(index).__name__ == "Index" and set(index) == set(expected):
            names = list(index)  # an Index, not the default RangeIndex: 0 to K-1 are class names
        if names is not None and names != expected:
            raise ValueError(
                f"{name} must have its {axis} named and ordered as classes, "
                f"{shown(classes.tolist())}; got {shown(names)}. Reorder it, or pass an array "
                "without names in the order of the classes"
            )


def check_same_names(values: Any, name: str) -> None:
    """Raise `ValueError` if the rows and the columns of a data frame have different names."""
    index, columns = frame_names(values, "index"), frame_names(values, "columns")
    if index is not None and columns is not None and index != columns:
        raise ValueError(
            f"{name} must have the same classes in its index and its columns, in the same order; "
            f"got {shown(index)} and {shown(columns)}. Name all classes in both: "
            f"{name}.reindex(index=classes, columns=classes, fill_value=0)"
        )


def same_length(name: str, n_rows: int, other: str, n_others: int) -> None:
    """Raise `ValueError` if two arguments have different numbers of rows."""
    if n_rows != n_others:
        raise ValueError(
            f"{name} and {other} must have the same number of rows; got {n_rows} and {n_others}"
        )


def array_of_numbers(values: Any, rule: str) -> AnyArray:
    """Return an array of real numbers, or raise `ValueError` with the rule and the value."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{rule}; got {shown(values)}, whose rows differ in length") from None
    if array.dtype.kind == "O" and array.ndim:
        with contextlib.suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        why = "not real numbers" if array.dtype.kind == "c" else "not all numbers"
        raise ValueError(f"{rule}; got {shown(values)}, which are {why}")
    return array


def not_negative(array: AnyArray, name: str, advice: str = "") -> None:
    """Raise `ValueError` for the first entry that is negative, infinite or NaN."""
    wrong = np.argwhere(~np.isfinite(array) | (array < 0))
    if len(wrong):
        place = tuple(wrong[0])
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False))
        raise ValueError(
            f"{name} must be finite and not negative; got {array[place]:g} in {where}{advice}"
        )


def boolean(value: Any, name: str) -> None:
    """Raise `ValueError` unless a value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {shown(value)}")


def number(
    value: Any, name: str, allowed: str, low: float = -math.inf, high: float = math.inf
) -> float:
    """Return a finite number from low to high; booleans are not numbers here."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not math.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{name} must be {allowed}; got {shown(value)}")
    return float(value)


def whole_number(value: Any, name: str, low: int) -> int:
    """Return an int of at least low; booleans are not numbers here."""
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not integral or value < low:
        raise ValueError(f"{name} must be an int of at least {low}; got {shown(value)}")
    return int(value)


def n_jobs(value: Any) -> None:
    """Raise `ValueError` unless a value is None or a number of jobs in the sense of joblib."""
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if value is not None and (not integral or value == 0):
        raise ValueError(
            "n_jobs must be None or an int other than 0 (-1 for all cores); got " + shown(value)
        )


def label_array(values: Any, rule: str, meaning: str = "is ruled out") -> AnyArray:
    """Return labels as an array of one or two dimensions.

    `meaning` completes the sentence "True where a class …" in the advice to pass a boolean array.
    """
    if hasattr(values, "log_table"):
        raise ValueError(
            f"{rule}; got Evidence. If it holds nothing but labels, pass evidence.labels()"
        )
    try:
        # numpy would turn numbers in a list with strings into strings, and NaN into 'nan'.
        strings = isinstance(values, (list, tuple)) and any(isinstance(v, str) for v in values)
        array = np.asarray(values, dtype=object if strings else None)
        if strings and all(isinstance(v, str) for v in values):
            array = array.astype(np.str_)
    except ValueError:
        raise ValueError(
            f"{rule}; got rows that differ in length. Pass a boolean array instead, True where a "
            f"class {meaning}"
        ) from None
    if array.ndim not in (1, 2):
        came = f"shape {array.shape}" if array.ndim else shown(values)
        raise ValueError(f"{rule}; got {came}")
    return array


def label_column(array: AnyArray, name: str, *, several: bool = False) -> AnyArray:
    """Return one label per row, all of one kind, none missing, none continuous.

    `several` is whether the caller also accepts a boolean array with several labels per row.
    """
    if array.dtype.kind == "c" or (array.ndim == 2 and array.shape[1] != 1):
        raise ValueError(
            f"{name} must hold one label per row; got {array.dtype} of shape {array.shape}"
            + (". Complex data not supported" if array.dtype.kind == "c" else "")
        )
    column = column_or_1d(array, warn=True)
    missing = _missing(column)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"{name} must hold a label in each row; row {row} contains {shown(column[row])} "
            "(NaN, infinity or None). Drop such rows"
            + (", or pass a boolean N×K array in which they rule out nothing" if several else "")
        )
    one_kind(column, f"{name} must hold class names of one kind")
    if column.dtype == object and all(type(value) is int for value in column.tolist()):
        column = np.array(column.tolist())  # pandas keeps objects if a value was missing before
    if column.dtype.kind == "f" and (column % 1 != 0).any():
        row = int(np.argmax(column % 1 != 0))
        raise ValueError(
            f"{name} must hold classes, not continuous values; got {shown(column[row])} in row "
            f"{row}. Pass the label column. (Unknown label type: continuous)"
        )
    try:
        check_classification_targets(column)
    except ValueError as error:
        raise ValueError(
            f"{name} must hold a number or a string in each row; got {shown(column[0])} "
            f"({type(column[0]).__name__}). ({str(error).split('.')[0]})"
        ) from error
    return np.asarray(column)


def one_kind(values: AnyArray, rule: str) -> None:
    """Raise `ValueError` for bytes, and for mixtures of strings with values of another type."""
    kinds = {type(value).__name__ for value in values.tolist()} if values.dtype == object else set()
    if values.dtype.kind == "S" or "bytes" in kinds:
        raise ValueError(f"{rule}, numbers or strings; got bytes. Convert them with .astype(str)")
    if "str" in kinds and len(kinds) > 1:
        raise ValueError(
            f"{rule}; got {' and '.join(sorted(kinds))}. Convert them with .astype(str)"
        )


def _missing(column: AnyArray) -> BoolArray:
    if column.dtype.kind == "f":
        return ~np.isfinite(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind == "O":
        return np.fromiter(map(is_missing, column.tolist()), bool, len(column))
    return np.zeros(len(column), dtype=bool)


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, infinity, or the NA and NaT of pandas."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, str):
        return False
    return value is None or str(value) in ("<NA>", "NaT")  # without importing pandas


def check_mask(array: AnyArray, n_classes: int, name: str) -> None:
    """Raise `ValueError` if a boolean array is not (N, K), all False, or True in a whole row."""
    if array.shape[1] != n_classes or n_classes < 2:
        raise ValueError(
            f"{name} must have one column for each class (K = {max(n_classes, 2)}); "
            f"got a boolean array of shape {array.shape}"
        )
    count = array.sum(axis=1)
    if (count == n_classes).any():
        raise ValueError(
            f"{name} must leave at least one class possible in each row; row "
            f"{int(np.argmax(count))} rules out all {n_classes} classes. Correct or drop it"
        )
    if not count.any():
        raise ValueError(
            f"{name} must rule out at least one class somewhere; got no True at all in an array of "
            f"shape {array.shape}"
        )


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return weights as float64, one per row, none negative, not all zero."""
    array = array_of_numbers(sample_weight, "sample_weight must be numbers, one for each row")
    if array.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_rows} rows; got shape "
            f"{array.shape}"
        )
    not_negative(array, "sample_weight")
    if not array.any():
        raise ValueError("sample_weight must be above zero somewhere, not all zero; got only zeros")
    return array.astype(np.float64)
