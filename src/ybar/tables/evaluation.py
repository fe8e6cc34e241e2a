"""Evaluate a model on new rows: by true labels, by complementary labels, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from .. import calibration
from ..metrics.losses import mean_and_error
from ..utils.typing import BoolArray
from . import accuracy, files, scoring
from .files import DataError
from .labels import as_names, check_columns, listed, read_labels
from .model import TableClassifier

_SCORES = (
    "scel",
    "scel_std_error",
    "scel_of_the_best_constant_guess",
    "expected_accuracy",
    "expected_accuracy_std_error",
    "expected_accuracy_interval",
    "transition",
)


def read(
    model: TableClassifier,
    data: str,
    *,
    true: str | None = None,
    label: Sequence[str] = (),
    delimiter: str | None = None,
    image_size: int | None = None,
) -> Any:
    """Return rows to evaluate a model on; the parameters are the options of ``ybar evaluate``."""
    if not label and true is None:
        raise DataError(
            "evaluate needs labels: --true COLUMN with true labels, --label COLUMN with "
            "complementary labels, or both; got neither"
        )
    true_column = [] if true is None else [true]
    frame = files.read(
        data,
        delimiter=delimiter,
        image_size=model.image_size(image_size),
        as_text=[*model.as_text, *label, *true_column],
    )
    check_columns(frame, label, "--label")
    check_columns(frame, true_column, "--true")
    return frame


def evaluate(
    model: TableClassifier,
    frame: Any,
    *,
    true: str | None = None,
    label: Sequence[str] = (),
    separator: str = "|",
) -> dict[str, Any]:
    """Return the scores of a model on the rows of `read`, as JSON values."""
    classes = [str(name) for name in model.classes_]
    seen = model.recognised(frame)
    scores: dict[str, Any] = {"rows": len(frame), "rows_of_the_training_data": int(seen.sum())}
    if true is not None:
        scores |= _by_true_labels(model, frame, true)
    if label:
        remedy = "The model has no other classes"
        mask = read_labels(frame, label, classes, separator, remedy=remedy).mask
        scores |= _by_complementary_labels(model, frame, seen, mask)
    return scores


def _by_true_labels(model: TableClassifier, frame: Any, column: str) -> dict[str, Any]:
    classes = [str(name) for name in model.classes_]
    true = np.array([name or "" for name in as_names(frame[column], classes)])
    rows = np.flatnonzero(true != "")
    true = true[rows]
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
    model: TableClassifier, frame: Any, seen: BoolArray, mask: BoolArray
) -> dict[str, Any]:
    """Return the scores on rows that the model was not fitted to.

    The model knows the labels of the other rows, so they say nothing about its accuracy.
    """
    classes = [str(name) for name in model.classes_]
    rows = np.flatnonzero(mask.any(axis=1) & ~seen)
    if not len(rows):
        return {"complementary_labels": 0} | dict.fromkeys(_SCORES)
    labelled, mask = frame.iloc[rows], mask[rows]
    p, T = model.predict_proba(labelled), model.label_transition_
    p = calibration.temper(p, model.account_["temperature"])
    losses = scoring.label_losses(p @ T, mask)
    scel, scel_std_error = scoring.mean_and_std_error(losses, mask)
    predicted = scoring.predicted_indices(model, labelled)
    free_q = model.predict_complementary_proba(labelled) if model.estimates_q else None
    profile = model.transition_profile_
    check = accuracy.check(mask, T, None if profile is not None else predicted, classes, free_q)
    named_in_training = np.asarray(model.account_["labels_per_class"]) > 0
    absent = accuracy.absent_classes(mask | named_in_training, T)
    guess = np.broadcast_to(scoring.constant_guess(mask, T), mask.shape)
    return {
        "complementary_labels": int(mask.sum()),
        "scel": scel,
        "scel_std_error": scel_std_error,
        "scel_of_the_best_constant_guess": float(scoring.label_losses(guess, mask).mean()),
    } | accuracy.summary(
        *scoring.error_rate(predicted, T, mask, profile), check, [classes[k] for k in absent]
    )


def explain(scores: dict[str, Any], account: dict[str, Any]) -> list[str]:
    """Return sentences about rows that the model was fitted to, and about the accuracy.

    Parameters
    ----------
    scores : dict
        Those of `evaluate`.
    account : dict
        What ``ybar fit`` knew about the model: see `fitting.Selection.summary`.
    """
    lines = []
    n_seen = scores["rows_of_the_training_data"]
    if n_seen:
        lines.append(
            f"{n_seen} of the {scores['rows']} rows are rows that the model was fitted to. Their "
            "complementary labels are not used here. An accuracy by their true labels is no "
            "estimate of the accuracy on new rows."
        )
    if scores.get("complementary_labels") == 0:
        lines.append("No accuracy can be estimated: there is no labelled row that is new.")
    elif "scel" in scores:
        lines += accuracy.explain(scores, account)
    return lines
