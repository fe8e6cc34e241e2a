"""Scores of predictions for rows with complementary labels, or with yes-or-no answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import metrics, transition
from ..labels import Evidence
from ..metrics import likelihood, losses
from ..utils.typing import BoolArray, FloatArray, IntArray
from .labels import ComplementaryLabels

_EM_STEPS = 200


def answer_losses(p: FloatArray, y: ComplementaryLabels) -> FloatArray:
    """Return -log of the probability of the classes that the answer of each row leaves possible.

    With n answers, a probability of 0 counts as 1/(n+1).
    """
    answered = y.mask.any(axis=1)
    possible = np.where(y.mask[answered], 0.0, p[answered]).sum(axis=1)
    return likelihood.log_losses(np.minimum(possible, 1.0), 1 / (int(answered.sum()) + 1))


def label_losses(q: FloatArray, mask: BoolArray) -> FloatArray:
    """Return -log q of each label; with n labels, a probability of 0 counts as 1/(n+1)."""
    return likelihood.log_losses(q[mask], 1 / (int(mask.sum()) + 1))


def mean_and_std_error(values: FloatArray, mask: BoolArray) -> tuple[float, float]:
    """Return the mean of one value per entry of a mask, and its standard error over rows."""
    return losses.mean_and_error(values, np.nonzero(mask)[0], len(mask), None)


def constant(training: ComplementaryLabels, held_out: ComplementaryLabels) -> FloatArray:
    """Return the losses of the best constant guess for the training rows."""
    if training.asked is None:
        return constant_losses(training.mask, held_out.mask)
    evidence = Evidence.excluded(training.mask)
    table, count = np.exp(evidence.log_table), np.bincount(evidence.codes)
    p = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(_EM_STEPS):
        joint = table * p
        p = count @ (joint / joint.sum(axis=1, keepdims=True)) / count.sum()
    p = (p * len(evidence) + 1 / len(p)) / (len(evidence) + 1)
    return answer_losses(np.broadcast_to(p, held_out.mask.shape), held_out)


def constant_losses(training: BoolArray, held_out: BoolArray) -> FloatArray:
    """Return the losses of the best constant guess: the label frequencies of the training rows."""
    frequencies = (training.sum(axis=0) + 1) / (training.sum() + training.shape[1])
    return label_losses(np.broadcast_to(frequencies, held_out.shape), held_out)


def error_rate(predicted: IntArray, T: FloatArray, mask: BoolArray) -> tuple[float, float]:
    """Return the URE of the predicted classes and its standard error; NaN if T is singular.

    The standard error is as large as one more label of each kind would make it. Otherwise a few
    labels, none of which contradicts the model, would make the estimate look exact.
    """
    if transition.is_singular(T):
        return float("nan"), float("nan")
    error, std_error = metrics.ure_zero_one(mask, predicted, T, return_std_error=True)
    inverse = np.linalg.inv(T)
    return error, float(np.hypot(std_error, np.ptp(inverse) / int(mask.sum())))


def predicted_indices(model: Any, rows: Any) -> IntArray:
    """Return the predicted classes as indices."""
    index = {name: i for i, name in enumerate(model.classes_.tolist())}
    return np.array([index[name] for name in model.predict(rows).tolist()])
