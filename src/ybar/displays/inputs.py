"""Checks of the arguments that displays share: classes, labels, probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import decode
from ..utils import checks
from ..utils.encoding import check_classes, look_up, union_of_classes
from ..utils.typing import AnyArray, FloatArray, IntArray

_MOST_EXAMPLES = 20


def class_names(classes: ArrayLike | None, n_classes: int) -> AnyArray:
    """Return the names of the classes, 0..K-1 by default."""
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
    """Return the class index of each row from the name of its class."""
    return look_up(_column(values, argument), names, argument)


def all_classes(y_true: ArrayLike, y_pred: ArrayLike) -> AnyArray:
    """Return all classes that occur among true and predicted ones, sorted."""
    true, predicted = (np.unique(_column(*v)) for v in ((y_true, "y_true"), (y_pred, "y_pred")))
    return union_of_classes(true, predicted, "y_true and y_pred")


def _column(values: ArrayLike, argument: str) -> AnyArray:
    array = checks.label_array(values, f"{argument} must hold one class per row")
    if len(array) == 0:
        raise ValueError(f"{argument} must hold at least one class; got none")
    return checks.label_column(array, argument)


def one_or_few(values: ArrayLike, n_classes: int, argument: str) -> FloatArray:
    """Return probabilities of 1 to 20 rows as an array of two dimensions."""
    array = checks.array_of_numbers(values, f"{argument} must be a K or N×K array of numbers")
    rows = decode.check_probabilities(np.atleast_2d(array), n_classes, name=argument)
    if not 1 <= len(rows) <= _MOST_EXAMPLES:
        raise ValueError(
            f"{argument} must have 1 to {_MOST_EXAMPLES} rows, two panels each; got {len(rows)}. "
            "Choose a few"
        )
    return rows.astype(np.float64)
