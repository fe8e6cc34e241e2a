"""The kinds of observations in `Evidence`: check the arguments and turn them into patterns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import transition
from ..utils import checks
from ..utils.encoding import check_classes, encode, look_up
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from .patterns import Patterns, patterns_of, unique_rows

_ONE_OR_SEVERAL = (
    "y_comp must hold one complementary label per row, or several as a boolean array of shape "
    "(N, K)"
)


class Content(NamedTuple):
    """The content of `Evidence`."""

    classes: AnyArray
    codes: IntArray
    patterns: Patterns
    transition: FloatArray | None = None


def of_values(values: ArrayLike, classes: ArrayLike | int | None) -> Content:
    """Return likelihoods that the user computed."""
    array = checks.array_of_numbers(
        values, "values must be an N×K array of likelihoods, P(what was observed given class)"
    ).astype(np.float64)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(
            "values must have shape (N, K), a column for each of at least 2 classes; got "
            f"{array.shape}"
        )
    names = names_of_columns(values, array, classes, "values")
    checks.not_negative(
        array, "values", ". For a row about which nothing is known, write 1 for each class"
    )
    return Content(names, np.arange(len(array)), _of_table(array))


def of_labels(y_comp: ArrayLike, T: ArrayLike, classes: ArrayLike | int | None) -> Content:
    """Return complementary labels drawn from one T."""
    array = checks.label_array(y_comp, _ONE_OR_SEVERAL)
    if classes is None and not isinstance(T, str) and array.dtype.kind in "iuf":
        classes = len(transition.check(T))
    names = None if classes is None else class_names(classes)
    codes, names = encode(y_comp, names, name="y_comp")
    if len(names) < 2:
        raise ValueError(
            f"y_comp must hold at least 2 classes; got only {checks.shown(names[0])}. Name all "
            "classes with classes="
        )
    matrix = transition.check(T, classes=names)
    return Content(names, *patterns_of(codes, len(names)), matrix)


def of_annotators(
    y_comp: ArrayLike, T: Any, classes: ArrayLike | int | None, annotator: ArrayLike | None
) -> Content:
    """Return complementary labels drawn from the T of the annotator of each row."""
    if not isinstance(T, Mapping) or annotator is None or not T:
        raise ValueError(
            "T must be a dict with a matrix for each annotator, and annotator= must name the "
            f"annotator of each row; got {checks.shown(T)} and annotator={checks.shown(annotator)}"
        )
    who = _annotators(annotator)
    unknown = [name for name in dict.fromkeys(who) if name not in T]
    if unknown:
        raise ValueError(
            "T must have a matrix for each annotator; it has none for "
            f"{checks.shown(unknown[0])} (row {who.index(unknown[0])}). Add the matrix, or leave "
            "those rows out"
        )
    names, matrices = _matrices(T, classes)
    codes, _ = encode(y_comp, names, name="y_comp")
    if codes.ndim != 1:
        raise ValueError(
            "y_comp must hold one label per row if annotators differ; got several. Join the "
            "evidence of each annotator with &"
        )
    checks.same_length("y_comp", len(codes), "annotator", len(who))
    if len(T) == 1:
        return of_labels(y_comp, matrices[0], names)
    place = {name: i for i, name in enumerate(T)}
    cell = np.array([place[name] for name in who]) * len(names) + codes
    used, code = np.unique(cell, return_inverse=True)
    return Content(names, code, _of_table(np.concatenate([m.T for m in matrices])[used]))


def of_sets(sets: ArrayLike, classes: ArrayLike | int | None, *, excluded: bool = False) -> Content:
    """Return the observation "one of these", for each row a set of classes; or "none of these"."""
    array = _check_sets(sets, "is ruled out" if excluded else "is in the row's set")
    names = names_of_columns(sets, array, classes, "sets")
    possible = ~array if excluded else array
    empty = ~possible.any(axis=1)
    if empty.any():
        raise ValueError(
            f"sets must leave some class possible in each row; row {int(np.argmax(empty))} leaves "
            "none. Correct or drop it; leave all classes possible if nothing is known"
        )
    masks, code = unique_rows(possible)
    return Content(names, code, _of_table(masks.astype(np.float64)))


def of_answers(asked: ArrayLike, yes: ArrayLike, names: AnyArray) -> Content:
    """Return true answers to "is it a?"."""
    codes = class_indices(asked, names, "asked")
    answers = checks.label_array(yes, "yes must hold True or False for each row", "is it")
    if answers.dtype != bool or answers.shape != codes.shape:
        raise ValueError(
            f"yes must hold True or False for each of the {len(codes)} rows; got {answers.dtype} "
            f"of shape {answers.shape}. If it holds 0 and 1, pass yes.astype(bool)"
        )
    unit = np.eye(len(names))
    table = np.concatenate([1 - unit, unit])
    return Content(names, codes + len(names) * answers, _of_table(table))


def of_classes(codes: IntArray, names: AnyArray) -> Content:
    """Return ordinary labels."""
    return Content(names, codes, _of_table(np.eye(len(names))))


def of_nothing(n: int, names: AnyArray) -> Content:
    """Return n rows about which nothing is known."""
    return Content(names, np.zeros(n, dtype=np.intp), _of_table(np.ones((1, len(names)))))


def class_names(classes: ArrayLike | int) -> AnyArray:
    """Return the names of the classes, 0..K-1 if only their number is known."""
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        return np.arange(checks.whole_number(classes, "classes, where it is a number,", 2))
    return check_classes(classes)


def names_of_columns(values: Any, array: AnyArray, classes: Any, name: str) -> AnyArray:
    """Return the classes of the columns; the column names of a data frame must match them."""
    columns = checks.frame_names(values, "columns")
    if classes is None:
        classes = array.shape[1] if columns is None else columns
    names = class_names(classes)
    if len(names) != array.shape[1]:
        raise ValueError(
            f"{name} must have a column for each of the {len(names)} classes; got shape "
            f"{array.shape}"
        )
    checks.check_names(values, names, name, ["columns"])
    return names


def _check_sets(sets: ArrayLike, meaning: str) -> BoolArray:
    """Return sets of classes as a boolean array; `meaning` is the meaning of True."""
    rule = f"sets must be a boolean array of shape (N, K), True where a class {meaning}"
    array = checks.label_array(sets, rule, meaning)
    if array.dtype == object and all(isinstance(value, bool) for value in array.ravel()):
        array = array.astype(bool)  # pandas' nullable booleans
    if array.dtype != bool or array.ndim != 2:
        raise ValueError(
            f"{rule}; got {array.dtype} of shape {array.shape}. If it holds 0 and 1, pass "
            "sets.astype(bool)"
        )
    return array


def class_indices(y: ArrayLike, names: AnyArray, name: str) -> IntArray:
    """Return the index of the class that each row names."""
    array = checks.label_array(y, f"{name} must hold one class per row")
    return look_up(checks.label_column(array, name), names, name)


def _of_table(table: FloatArray) -> Patterns:
    with np.errstate(divide="ignore"):
        return Patterns(np.log(table), np.zeros_like(table))


def _annotators(annotator: Any) -> list[Any]:
    array = np.asarray(annotator, dtype=object)
    if array.ndim != 1 or not all(isinstance(name, Hashable) for name in array):
        raise ValueError(
            f"annotator must hold one name per row, each a key of T; got {checks.shown(annotator)}"
        )
    return list(array.tolist())


def _matrices(T: Mapping[Any, Any], classes: Any) -> tuple[AnyArray, list[FloatArray]]:
    """Return the classes, and the matrix of each annotator."""
    if classes is None:
        first = next(iter(T))
        classes = len(transition.check(T[first], name=f"T[{first!r}]"))
    names = class_names(classes)
    matrices = []
    for annotator, matrix in T.items():
        name = f"T[{annotator!r}]"
        matrices.append(transition.check(matrix, classes=names, name=name))
    return names, matrices
