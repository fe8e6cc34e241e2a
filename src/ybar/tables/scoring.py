"""Scores of predictions for rows with complementary labels, or with yes-or-no answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import calibration, decode, metrics, transition
from ..labels import Evidence
from ..metrics import likelihood, losses
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from .labels import ComplementaryLabels

_EM_STEPS = 200
_ROWS_FOR_THE_TEMPERATURE = 20_000


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


def losses_of(p: FloatArray, T: FloatArray, y: ComplementaryLabels) -> FloatArray:
    """Return the loss of each label, or of each answer, of rows with class probabilities p."""
    return label_losses(p @ T, y.mask) if y.asked is None else answer_losses(p, y)


def temperature(p: FloatArray, T: FloatArray, y: ComplementaryLabels) -> float:
    """Return the temperature of p at which the labels, or the answers, are predicted best."""
    rows = np.flatnonzero(y.mask.any(axis=1))[:_ROWS_FOR_THE_TEMPERATURE]
    if y.asked is not None:
        return calibration.fit_temperature(Evidence.excluded(y.mask[rows]), p[rows])
    return calibration.fit_temperature(y.mask[rows], p[rows], T)


def constant_guess(mask: AnyArray, T: FloatArray) -> FloatArray:
    """Return the best constant guess: frequencies of labels, as far as they are known.

    `mask` has a row for each row of the table, or one row with the number of labels of each class.

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


def constant_losses(
    training: ComplementaryLabels, held_out: ComplementaryLabels, T: FloatArray
) -> FloatArray:
    """Return the losses of the best constant guess for the training rows."""
    shape = held_out.mask.shape
    if training.asked is None:
        guess = constant_guess(training.mask, T)
        return label_losses(np.broadcast_to(guess, shape), held_out.mask)
    evidence = Evidence.excluded(training.mask)
    table, count = np.exp(evidence.log_table), np.bincount(evidence.codes)
    p = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(_EM_STEPS):
        joint = table * p
        p = count @ (joint / joint.sum(axis=1, keepdims=True)) / count.sum()
    p = (p * len(evidence) + 1 / len(p)) / (len(evidence) + 1)
    return answer_losses(np.broadcast_to(p, shape), held_out)


def class_shares(y: ComplementaryLabels, T: FloatArray) -> list[float] | None:
    """Return the shares of the classes that explain the shares of the labels best under T.

    Answers do not show them, because nothing is known about who was asked what.
    """
    if y.asked is not None:
        return None
    shares = y.mask.sum(axis=0, keepdims=True) / y.mask.sum()
    implied: list[float] = decode.class_probabilities(shares, T)[0].tolist()
    return implied


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
