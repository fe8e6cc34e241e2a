"""What displays are given: classifiers, classes and labels, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import decode
from ..utils import checks
from ..utils.encoding import check_classes, look_up
from ..utils.typing import AnyArray, FloatArray, IntArray

_MOST_EXAMPLES = 20


def class_names(classes: ArrayLike | None, n_classes: int) -> AnyArray:
    """Return the names of so many classes, numbers where none are given."""
    if classes is None:
        return np.arange(n_classes)
    names = check_classes(classes)
    if len(names) != n_classes:
        raise ValueError(
            f"classes must name each of the {n_classes} classes; got {len(names)} names, "
            f"{checks.shown(names.tolist())}"
        )
    return names


def codes_of(values: ArrayLike, names: AnyArray, argument: str) -> IntArray:
    """Return class indices of one class name a row."""
    array = checks.label_array(values, f"{argument} must hold one class a row")
    if len(array) == 0:
        raise ValueError(f"{argument} must hold at least one class; got none")
    return look_up(checks.label_column(array, argument), names, argument)


def all_classes(y_true: ArrayLike, y_pred: ArrayLike) -> AnyArray:
    """Return all classes that occur."""
    kinds = []
    for values, argument in ((y_true, "y_true"), (y_pred, "y_pred")):
        array = checks.label_array(values, f"{argument} must hold one class a row")
        kinds.append(np.unique(checks.label_column(array, argument)))
    first, second = kinds
    if len(first) and len(second) and len({kind.dtype.kind in "OUT" for kind in kinds}) > 1:
        raise ValueError(
            "y_true and y_pred must hold classes of one kind; got "
            f"{checks.shown(first[0])} and {checks.shown(second[0])}"
        )
    names = np.union1d(first, second)
    if len(names) < 2:
        raise ValueError(
            "y_true and y_pred must hold at least 2 classes; got "
            f"{checks.shown(names.tolist())}. Name all with classes="
        )
    return names


def one_or_few(values: ArrayLike, n_classes: int, argument: str) -> FloatArray:
    """Return one row, or a few, of probabilities."""
    array = checks.array_of_numbers(values, f"{argument} must be a K or N×K array of numbers")
    rows = decode.check_probabilities(np.atleast_2d(array), n_classes, name=argument)
    if not 1 <= len(rows) <= _MOST_EXAMPLES:
        raise ValueError(
            f"{argument} must have 1 to {_MOST_EXAMPLES} rows, two panels each; got {len(rows)}. "
            "Choose a few"
        )
    return rows.astype(np.float64)
