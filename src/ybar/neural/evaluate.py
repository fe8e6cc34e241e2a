"""From logits to q, p, classes and the losses of held-out complementary labels: plain numpy."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import decode
from ..metrics.likelihood import log_likelihood, log_softmax, softmax
from ..metrics.losses import mean_and_error
from ..metrics.transition_profile import std_error_of
from ..utils.typing import AnyArray, FloatArray, IntArray
from .samples import Samples

if TYPE_CHECKING:
    from .transition_errors import HeldOutErrors
    from .transition_layer import Judgement

# Below this, q may have lost digits to underflow and is computed again in log space.
_TINY = 1e-200


class Reading(NamedTuple):
    """How a network's logits become probabilities and classes.

    Attributes
    ----------
    estimates : {"p", "q"}
        Whether softmax(logits) are ordinary or complementary probabilities.
    decoder : "max", "l1", … or callable
        "max" is argmax of the network's p if its method estimates p.
    T : ndarray of shape (K, K)
        The matrix that decodes: the one that `fit` was passed.
    """

    estimates: str
    decoder: Any
    T: FloatArray

    def complementary(self, logits: AnyArray, own_T: FloatArray) -> FloatArray:
        """Return q; `own_T` is the matrix of the network's transition layer."""
        p = softmax(logits)
        return p if self.estimates == "q" else p @ own_T

    def ordinary(self, logits: AnyArray) -> FloatArray:
        """Return the network's p, or the most likely p for its q."""
        p = softmax(logits)
        return p if self.estimates == "p" else decode.class_probabilities(p, self.T)

    def classes(self, logits: AnyArray, own_T: FloatArray) -> IntArray:
        """Return the predicted class indices."""
        return Outputs(logits, self, own_T).classes(self.decoder)


class Outputs:
    """A network's outputs for some rows; derived values are computed once."""

    def __init__(self, logits: AnyArray, reading: Reading, own_T: FloatArray) -> None:
        self.logits, self.reading, self.own_T = logits, reading, own_T
        self._classes: dict[int | str, IntArray] = {}

    @functools.cached_property
    def q(self) -> FloatArray:
        """The complementary probabilities."""
        return self.reading.complementary(self.logits, self.own_T)

    def classes(self, decoder: Any) -> IntArray:
        """Return the class indices of a decoder, which need not be the reading's."""
        name = decoder if isinstance(decoder, str) else id(decoder)  # a callable may have no hash
        if name not in self._classes:
            if name == "max" and self.reading.estimates == "p":
                self._classes[name] = np.asarray(self.logits.argmax(axis=1))
            else:
                self._classes[name] = decode.decode(self.q, self.reading.T, decoder)
        return self._classes[name]

    def scel_losses(self, rows: IntArray, k: IntArray) -> FloatArray:
        """Return -log q[k] of each of those rows, with its label k."""
        q = self.q[rows, k]
        tiny = np.flatnonzero(q < _TINY)
        with np.errstate(divide="ignore"):
            losses = -np.log(q)
        losses[tiny] = scel_losses(
            self.logits[rows[tiny]], k[tiny], self.reading.estimates, self.own_T
        )
        return losses


def scel_losses(logits: AnyArray, k: IntArray, estimates: str, own_T: FloatArray) -> FloatArray:
    """Return -log q[k] of each row with its label k, computed in log space."""
    if estimates == "q":
        return -log_softmax(logits)[np.arange(len(k)), k]
    with np.errstate(divide="ignore"):
        return -log_likelihood(log_softmax(logits), np.log(own_T).T[k])


def ure_losses(predicted: IntArray, k: IntArray, inverse: FloatArray) -> FloatArray:
    """Return Σ_j (T⁻¹)[k, j]·1[predicted ≠ j] of each row."""
    return np.asarray(inverse.sum(axis=1)[k] - inverse[k, predicted])


def held_out(
    outputs: Outputs,
    labels: Samples,
    positions: IntArray,
    inverse: FloatArray,
    judgement: Judgement | None = None,
) -> dict[str, float]:
    """Return SCEL and URE of held-out labels, each with its standard error.

    `positions` are the rows of `outputs` that the labels belong to. Patterns have no URE. If T was
    estimated on the same labels, `judgement` says how, with errors by row of `outputs`; if the
    errors are unknown, URE has no standard error.
    """
    _, k, weight, patterns = labels
    values: dict[str, float] = {"ure": math.nan, "ure_std_error": math.nan}
    halves = () if judgement is None else judgement.halves
    losses = {"scel": _scel_losses(outputs, labels, positions, halves)}
    if patterns is None:
        predicted = outputs.classes(outputs.reading.decoder)[positions]
        losses["ure"] = ure_losses(predicted, k, inverse)
    row_weight = None
    if weight is not None:
        row_weight = np.zeros(len(outputs.logits))
        row_weight[positions] = weight  # the same for all labels of a row
    for name, of_labels in losses.items():
        mean, error = mean_and_error(of_labels, positions, len(outputs.logits), row_weight)
        values |= {name: mean, f"{name}_std_error": error}
    if patterns is None and judgement is not None and judgement.estimate is not None:
        values["ure_std_error"] = math.nan
        errors = judgement.errors
        if errors is not None and errors.profile.identified:
            interval = _ure_interval(predicted, k, positions, row_weight, errors)
            values["ure_std_error"] = float(std_error_of(values["ure"], interval))
    return values


def _ure_interval(
    predicted: IntArray,
    k: IntArray,
    positions: IntArray,
    row_weight: FloatArray | None,
    errors: HeldOutErrors,
) -> tuple[AnyArray, AnyArray]:
    """Return the 95% interval of URE under a T that was estimated on the same labels."""
    n_rows, matrices = errors.scores.shape[1], errors.profile.matrices
    weight = np.ones(len(k)) if row_weight is None else row_weight[positions]
    weight = weight / weight.sum()
    shares = np.zeros(matrices.shape[1:])  # of each label and predicted class
    np.add.at(shares, (k, predicted), weight)

    def ure(T: FloatArray) -> float:
        inverse = np.linalg.pinv(T)
        return float((shares * (inverse.sum(axis=1, keepdims=True) - inverse)).sum())

    values = np.array([ure(T) for T in matrices])
    deviations = [
        np.bincount(
            positions, weight * (ure_losses(predicted, k, np.linalg.pinv(T)) - value), n_rows
        )
        for T, value in zip(matrices, values, strict=True)
    ]
    changes = errors.profile.errors_along(ure)
    return errors.interval(values, np.array(deviations), changes)


def _scel_losses(
    outputs: Outputs,
    labels: Samples,
    positions: IntArray,
    halves: Sequence[tuple[IntArray, FloatArray]],
) -> FloatArray:
    """Return the loss of each held-out label, or of each row if labels are patterns."""
    _, k, _, patterns = labels
    if patterns is None and not halves:
        return outputs.scel_losses(positions, k)
    losses = np.empty(len(k))
    for part, T in halves or [(np.arange(len(k)), outputs.own_T)]:
        logits = outputs.logits[positions[part]]
        if patterns is None:
            losses[part] = scel_losses(logits, k[part], outputs.reading.estimates, T)
        else:
            log_e = patterns.log_likelihoods(T)[k[part]]
            losses[part] = -log_likelihood(log_softmax(logits), log_e)
    return losses
