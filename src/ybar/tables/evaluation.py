"""Evaluate a model on new rows: by true labels, by complementary labels, or by both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from .. import calibration
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from . import accuracy, files, scoring
from .files import DataError
from .labels import as_names, check_columns, listed, read_labels
from .model import TableClassifier

SCORES = (
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
    check_options(true, label)
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


def check_options(true: str | None, label: Sequence[str]) -> None:
    """Raise an error unless there is a column of labels to evaluate by."""
    if not label and true is None:
        raise DataError(
            "evaluate needs labels: --true COLUMN with true labels, --label COLUMN with "
            "complementary labels, or both; got neither"
        )


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


def true_and_predicted(
    model: TableClassifier, frame: Any, column: str
) -> tuple[AnyArray, AnyArray]:
    """Return the true and the predicted classes of the rows that have a true label."""
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
        return true, true
    return true, model.predict(frame.iloc[rows]).astype(str)


def _by_true_labels(model: TableClassifier, frame: Any, column: str) -> dict[str, Any]:
    classes = [str(name) for name in model.classes_]
    true, predicted = true_and_predicted(model, frame, column)
    if not len(true):
        raise DataError(f"{column} must hold true labels; all cells are empty")
    return by_confusion(classes, confusion_matrix(true, predicted, labels=classes))


def by_confusion(classes: list[str], counts: IntArray) -> dict[str, Any]:
    """Return the accuracies of a matrix of true and predicted classes."""
    n, right = int(counts.sum()), np.diag(counts)
    share = float(right.sum() / n)
    of_class = counts.sum(axis=1)
    recalls = right[of_class > 0] / of_class[of_class > 0]
    return {
        "rows_with_a_true_label": n,
        "accuracy": share,
        # That of a mean of n zeros and ones.
        "accuracy_std_error": math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else math.nan,
        "balanced_accuracy": float(np.mean(recalls)),
        "classes": classes,
        "confusion": counts.tolist(),
    }


def _by_complementary_labels(
    model: TableClassifier, frame: Any, seen: BoolArray, mask: BoolArray
) -> dict[str, Any]:
    """Return the scores on rows that the model was not fitted to.

    The model knows the labels of the other rows, so they say nothing about its accuracy.
    """
    rows = np.flatnonzero(mask.any(axis=1) & ~seen)
    if not len(rows):
        return {"complementary_labels": 0} | dict.fromkeys(SCORES)
    labelled, mask = frame.iloc[rows], mask[rows]
    p, T = model.predict_proba(labelled), model.label_transition_
    p = calibration.temper(p, model.account_["temperature"])
    losses = scoring.label_losses(p @ T, mask)
    predicted = scoring.predicted_indices(model, labelled)
    free_q = model.predict_complementary_proba(labelled) if model.estimates_q else None
    return by_labels(
        model,
        mask.sum(axis=0),
        scel=scoring.mean_and_std_error(losses, mask),
        error_rate=scoring.error_rate(predicted, T, mask, model.transition_profile_),
        mask=mask,
        predicted=predicted,
        free_q=free_q,
    )


def by_labels(
    model: TableClassifier,
    counts: IntArray,
    *,
    scel: tuple[float, float],
    error_rate: tuple[float, float],
    mask: BoolArray,
    predicted: IntArray,
    free_q: FloatArray | None,
) -> dict[str, Any]:
    """Return the scores by complementary labels, with the test of T.

    Parameters
    ----------
    counts : ndarray of shape (K,)
        The number of labels of each class.
    scel, error_rate : tuple of float
        The score and its standard error.
    mask, predicted, free_q : ndarray
        Labels, predicted class indices and, if the model learned q without T, q of the rows on
        which T is tested: all rows, or a part of them.
    """
    T, classes = model.label_transition_, [str(name) for name in model.classes_]
    tested = None if model.transition_profile_ is not None else predicted
    check = accuracy.check(mask, T, tested, classes, free_q)
    in_training = np.asarray(model.account_["labels_per_class"])
    absent = accuracy.absent_classes(np.array([counts + in_training]) > 0, T)
    present = np.flatnonzero(counts)
    guess = scoring.constant_guess(counts[None, :], T)
    constant = (counts[present] * -np.log(guess[present])).sum() / counts.sum()
    return {
        "complementary_labels": int(counts.sum()),
        "scel": scel[0],
        "scel_std_error": scel[1],
        "scel_of_the_best_constant_guess": float(constant),
    } | accuracy.summary(*error_rate, check, [classes[k] for k in absent])


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
