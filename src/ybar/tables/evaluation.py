"""Evaluate a model on new rows: by true labels, by complementary labels, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ..metrics.losses import mean_and_error
from . import accuracy, files, scoring
from .files import DataError
from .labels import as_names, check_columns, listed, read_labels
from .model import TableClassifier


def evaluate(
    model: TableClassifier,
    data: str,
    *,
    true: str | None = None,
    label: Sequence[str] = (),
    separator: str = "|",
    delimiter: str | None = None,
    image_size: int | None = None,
) -> dict[str, Any]:
    """Return the scores of a model in values that JSON has.

    The parameters are the options of ``ybar evaluate``.
    """
    if not label and true is None:
        raise DataError(
            "evaluate needs labels: --true COLUMN with true labels, --label COLUMN with "
            "complementary labels, or both; got neither"
        )
    columns = [*label, *([] if true is None else [true])]
    frame = files.read(
        data,
        delimiter=delimiter,
        image_size=model.image_size(image_size),
        as_text=[*model.as_text, *columns],
    )
    scores: dict[str, Any] = {"rows": len(frame)}
    if true is not None:
        scores |= _by_true_labels(model, frame, true)
    if label:
        scores |= _by_complementary_labels(model, frame, label, separator)
    return scores


def _by_true_labels(model: TableClassifier, frame: Any, column: str) -> dict[str, Any]:
    check_columns(frame, [column], "--true")
    true = np.array([name or "" for name in as_names(frame[column])])
    rows = np.flatnonzero(true != "")
    true = true[rows]
    classes = [str(name) for name in model.classes_]
    unknown = sorted(set(true) - set(classes))
    if unknown:
        raise DataError(
            f"{column} must hold classes of the model, {listed(classes)}; got {str(unknown[0])!r}"
        )
    if not len(rows):
        raise DataError(f"{column} must hold true labels; all cells are empty")
    predicted = model.predict(frame.iloc[rows]).astype(str)
    share, std_error = mean_and_error(
        (predicted == true).astype(float), np.arange(len(rows)), len(rows), None
    )
    recalls = [np.mean(predicted[true == name] == name) for name in sorted(set(true))]
    return {
        "rows_with_a_true_label": len(rows),
        "accuracy": share,
        "accuracy_std_error": std_error,
        "balanced_accuracy": float(np.mean(recalls)),
        "classes": classes,
        "confusion": confusion_matrix(true, predicted, labels=classes).tolist(),
    }


def _by_complementary_labels(
    model: TableClassifier, frame: Any, columns: Sequence[str], separator: str
) -> dict[str, Any]:
    classes = [str(name) for name in model.classes_]
    remedy = "The model has no other classes"
    mask = read_labels(frame, columns, classes, separator, remedy=remedy).mask
    rows = np.flatnonzero(mask.any(axis=1))
    labelled, mask = frame.iloc[rows], mask[rows]
    q, T = model.predict_complementary_proba(labelled), model.label_transition_
    losses = scoring.label_losses(q, mask)
    scel, scel_std_error = scoring.mean_and_std_error(losses, mask)
    predicted = scoring.predicted_indices(model, labelled)
    profile = model.transition_profile_
    check = accuracy.check(
        mask,
        T,
        None if profile is not None else predicted,
        classes,
        q if model.estimates_q else None,
    )
    return {
        "complementary_labels": int(mask.sum()),
        "scel": scel,
        "scel_std_error": scel_std_error,
        "scel_of_the_best_constant_guess": float(scoring.constant_losses(mask, mask).mean()),
    } | accuracy.summary(*scoring.error_rate(predicted, T, mask, profile), check)
