"""Scores of predictions for rows with one or more complementary labels per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import calibration, decode, metrics, transition
from ..metrics import likelihood, losses
from ..utils.typing import BoolArray, FloatArray, IntArray

_ROWS_FOR_THE_TEMPERATURE = 20_000
_ROWS_FOR_THE_TEMPERATURE = 20_000


def label_losses(q: FloatArray, mask: BoolArray) -> FloatArray:
    """Return -log q of each label; with n labels, a probability of 0 counts as 1/(n+1)."""
    return likelihood.log_losses(q[mask], 1 / (int(mask.sum()) + 1))


def mean_and_std_error(values: FloatArray, mask: BoolArray) -> tuple[float, float]:
    """Return the mean of one value per label of a mask, and its standard error over rows."""
    return losses.mean_and_error(values, np.nonzero(mask)[0], len(mask), None)


def temperature(p: FloatArray, T: FloatArray, mask: BoolArray) -> float:
    """Return the temperature of p at which p T predicts the labels best."""
    rows = np.flatnonzero(mask.any(axis=1))[:_ROWS_FOR_THE_TEMPERATURE]
    return calibration.fit_temperature(mask[rows], p[rows], T)


def tempered(p: FloatArray, T: FloatArray, temperature: float) -> FloatArray:
    """Return p T, the probabilities of the labels, after p is tempered."""
    return np.asarray(calibration.temper(p, temperature) @ T)


def constant(mask: BoolArray, T: FloatArray) -> FloatArray:
    """Return the best constant guess: frequencies of labels, as far as they are known.

    The frequencies in the training rows are moved towards those that T expects if all classes are
    equally frequent, by the amount that minimises the expected squared error (the estimator of
    James and Stein, in the form of Hausser and Strimmer, 2009). With few labels for many classes,
    frequencies alone predict worse than equal shares.
    """
    n, target = mask.sum(), T.mean(axis=0)
    frequencies = mask.sum(axis=0) / n
    distance = np.square(target - frequencies).sum()
    noise = (1 - np.square(frequencies).sum()) / max(1, n - 1)
    weight = 1.0 if noise >= distance else noise / distance
    return np.asarray(weight * target + (1 - weight) * frequencies)


def constant_losses(training: BoolArray, held_out: BoolArray, T: FloatArray) -> FloatArray:
    """Return the losses of the best constant guess for the training rows."""
    return label_losses(np.broadcast_to(constant(training, T), held_out.shape), held_out)


def class_shares(mask: BoolArray, T: FloatArray) -> list[float]:
    """Return the shares of the classes that explain the shares of the labels best under T."""
    shares = mask.sum(axis=0, keepdims=True) / mask.sum()
    return decode.class_probabilities(shares, T)[0].tolist()  # type: ignore[no-any-return]


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
