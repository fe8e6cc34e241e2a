"""Scores of predictions for rows with one or more complementary labels per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import metrics, transition
from ..metrics import likelihood, losses
from ..utils.typing import BoolArray, FloatArray, IntArray


def label_losses(q: FloatArray, mask: BoolArray) -> FloatArray:
    """Return -log q of each label; with n labels, a probability of 0 counts as 1/(n+1)."""
    return likelihood.log_losses(q[mask], 1 / (int(mask.sum()) + 1))


def mean_and_std_error(values: FloatArray, mask: BoolArray) -> tuple[float, float]:
    """Return the mean of one value per label of a mask, and its standard error over rows."""
    return losses.mean_and_error(values, np.nonzero(mask)[0], len(mask), None)


def constant_losses(training: BoolArray, held_out: BoolArray) -> FloatArray:
    """Return the losses of the best constant guess: the label frequencies of the training rows."""
    frequencies = (training.sum(axis=0) + 1) / (training.sum() + training.shape[1])
    return label_losses(np.broadcast_to(frequencies, held_out.shape), held_out)


def error_rate(
    predicted: IntArray,
    T: FloatArray,
    mask: BoolArray,
    profile: metrics.TransitionProfile | None = None,
) -> tuple[float, float]:
    """Return the URE of the predicted classes and its standard error; NaN if T is singular.

    The standard error is as large as one more label of each kind would make it. Otherwise a few
    labels, none of which contradicts the model, would make the estimate look exact. It is NaN if
    the labels that T was estimated on may be independent of the class: see `TransitionProfile`.
    """
    if transition.is_singular(T):
        return float("nan"), float("nan")
    if profile is not None and not profile.identified:
        return metrics.ure_zero_one(mask, predicted, T), float("nan")
    error, std_error = metrics.ure_zero_one(
        mask, predicted, T, profile=profile, return_std_error=True
    )
    inverse = np.linalg.inv(T)
    return error, float(np.hypot(std_error, np.ptp(inverse) / int(mask.sum())))


def predicted_indices(model: Any, rows: Any) -> IntArray:
    """Return the predicted classes as indices."""
    index = {name: i for i, name in enumerate(model.classes_.tolist())}
    return np.array([index[name] for name in model.predict(rows).tolist()])
