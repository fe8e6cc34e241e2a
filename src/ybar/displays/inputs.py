"""What displays are given: classifiers, classes and labels, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from .. import decode
from ..utils import checks
from ..utils.encoding import check_classes, look_up
from ..utils.typing import AnyArray, FloatArray, IntArray

_MOST_EXAMPLES = 20


def last_step(classifier: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the fitted classifier of ours inside pipelines and searches, and X as it sees it."""
    before = []
    inner = classifier
    while not hasattr(inner, "predict_complementary_proba"):
        if isinstance(inner, Pipeline):
            before.append(inner[:-1])
            inner = inner[-1]
        elif hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif isinstance(inner, BaseSearchCV):
            raise not_fitted(inner)
        else:
            raise TypeError(
                "classifier must be a fitted classifier of ybar, or a pipeline or search that ends "
                f"in one; got {checks.shown(classifier)}"
            )
    if not hasattr(inner, "transition_"):
        raise not_fitted(inner)
    for steps in before:
        X = steps.transform(X) if X is not None and len(steps) else X
    return inner, X


def not_fitted(classifier: Any) -> NotFittedError:
    """Return what to raise for a classifier that is not fitted."""
    return NotFittedError(
        f"classifier must be fitted before it is plotted; this {type(classifier).__name__} is not. "
        "Call fit first"
    )


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


def check_same_length(name: str, n: int, other: str, n_other: int) -> None:
    """Refuse arguments of different numbers of rows."""
    if n != n_other:
        raise ValueError(
            f"{name} and {other} must have the same number of rows; got {n} and {n_other}"
        )
