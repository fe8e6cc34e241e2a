"""``ybar evaluate``: how good a model is, by true labels where there are some, else without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from .. import transition
from ..metrics.losses import mean_and_error
from ..tables import candidates, files
from ..tables import labels as complementary
from ..tables.files import DataError
from ..tables.model import TableClassifier
from ..utils.typing import BoolArray
from . import predict


@dataclass(frozen=True)
class Request:
    """What ``ybar evaluate`` was asked for."""

    model: str
    data: str
    label: tuple[str, ...] = ()
    true: str | None = None
    separator: str = "|"
    delimiter: str | None = None
    image_size: int | None = None


def evaluate(request: Request) -> dict[str, Any]:
    """Return what the labels of a table say of a model, in plain values."""
    if not request.label and request.true is None:
        raise DataError(
            "evaluate needs labels: --true COLUMN with true ones, --label COLUMN with "
            "complementary ones, or both"
        )
    model = predict.load(request.model)
    labels = [*request.label, *([] if request.true is None else [request.true])]
    frame = files.read(
        request.data,
        delimiter=request.delimiter,
        image_size=model.image_size(request.image_size),
        as_text=[*model.as_text, *labels],
    )
    found: dict[str, Any] = {"rows": len(frame)}
    if request.true is not None:
        found |= by_true(model, frame, request.true)
    if request.label:
        found |= by_complementary(model, frame, request.label, request.separator)
    return found


def by_true(model: TableClassifier, frame: Any, column: str) -> dict[str, Any]:
    """Return accuracy and what is taken for what."""
    complementary.need(frame, [column], "--true")
    true = np.array([name or "" for name in complementary.as_names(frame[column])])
    rows = np.flatnonzero(true != "")
    classes = [str(name) for name in model.classes_]
    unknown = sorted(set(true[rows]) - set(classes))
    if unknown:
        raise DataError(
            f"{column} must hold classes of the model, {', '.join(classes[:20])}; got "
            f"{str(unknown[0])!r}"
        )
    if not len(rows):
        raise DataError(f"{column} must hold true labels; all cells are empty")
    predicted = model.predict(frame.iloc[rows]).astype(str)
    right = (predicted == true[rows]).astype(float)
    accuracy, error = mean_and_error(right, np.arange(len(rows)), len(rows), None)
    recall = [np.mean(predicted[true[rows] == name] == name) for name in sorted(set(true[rows]))]
    return {
        "rows_with_a_true_label": len(rows),
        "accuracy": accuracy,
        "accuracy_std_error": error,
        "balanced_accuracy": float(np.mean(recall)),
        "classes": classes,
        "confusion": confusion_matrix(true[rows], predicted, labels=classes).tolist(),
    }


def by_complementary(
    model: TableClassifier, frame: Any, columns: Sequence[str], separator: str
) -> dict[str, Any]:
    """Return SCEL, that of the best constant guess, and URE."""
    classes = [str(name) for name in model.classes_]
    mask: BoolArray = complementary.read_labels(
        frame, columns, classes, separator, "The model knows no others"
    ).mask
    rows = np.flatnonzero(mask.any(axis=1))
    labelled, mask = frame.iloc[rows], mask[rows]
    losses = candidates.losses_of(model.predict_complementary_proba(labelled), mask)
    scel, scel_error = candidates.mean_and_error(losses, mask)
    constant = float(candidates.constant_losses(mask, mask).mean())
    found = {
        "complementary_labels": int(mask.sum()),
        "scel": scel,
        "scel_std_error": scel_error,
        "scel_of_the_best_constant_guess": constant,
    }
    T = model.label_transition_
    if transition.is_singular(T):
        return found
    at = {name: i for i, name in enumerate(model.classes_.tolist())}
    predicted = np.array([at[name] for name in model.predict(labelled).tolist()])
    error, std_error = candidates.error_rate(mask, predicted, T)
    return found | {"expected_accuracy": 1 - error, "expected_accuracy_std_error": std_error}
