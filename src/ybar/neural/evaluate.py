"""From logits to q, p, classes and what held-out complementary labels say of them: plain numpy."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import decode
from ..labels.patterns import log_likelihoods
from ..metrics.losses import mean_and_error
from ..utils.typing import AnyArray, FloatArray, IntArray

# A q below this may have lost digits to what is too small for a double: log space has them.
_TINY = 1e-200


class Reading(NamedTuple):
    """How a network's logits are to be read.

    Attributes
    ----------
    estimates : {"p", "q"}
        Whether softmax(logits) are ordinary or complementary probabilities.
    decoder : "max", "l1", … or callable
        "max" is argmax of the network's own p where it has one.
    T : ndarray of shape (K, K)
        The matrix that decodes: the one given.
    """

    estimates: str
    decoder: Any
    T: FloatArray

    def complementary(self, logits: AnyArray, own_T: FloatArray) -> FloatArray:
        """Return q; `own_T` is the network's own transition layer, learned or given."""
        p = softmax(logits)
        return p if self.estimates == "q" else p @ own_T

    def ordinary(self, logits: AnyArray) -> FloatArray:
        """Return p: the network's own, or the one that explains its q best."""
        p = softmax(logits)
        return p if self.estimates == "p" else decode.class_probabilities(p, self.T)

    def classes(self, logits: AnyArray, own_T: FloatArray) -> IntArray:
        """Return the predicted class indices."""
        return Outputs(logits, self, own_T).classes(self.decoder)


class Outputs:
    """What a network says of some rows. Whatever is asked for more than once is found once."""

    def __init__(self, logits: AnyArray, reading: Reading, own_T: FloatArray) -> None:
        self.logits, self.reading, self.own_T = logits, reading, own_T
        self._classes: dict[int | str, IntArray] = {}

    @functools.cached_property
    def q(self) -> FloatArray:
        """The complementary probabilities."""
        return self.reading.complementary(self.logits, self.own_T)

    def classes(self, decoder: Any) -> IntArray:
        """Return the class indices that a decoder gives, be it the reading's own or another."""
        name = decoder if isinstance(decoder, str) else id(decoder)  # which may have no hash
        if name not in self._classes:
            if name == "max" and self.reading.estimates == "p":
                self._classes[name] = np.asarray(self.logits.argmax(axis=1))
            else:
                self._classes[name] = decode.decode(self.q, self.reading.T, decoder)
        return self._classes[name]

    def scel_losses(self, rows: IntArray, k: IntArray) -> FloatArray:
        """Return -log q[k] of those rows, k being the label of each."""
        q = self.q[rows, k]
        tiny = np.flatnonzero(q < _TINY)
        with np.errstate(divide="ignore"):
            losses = -np.log(q)
        losses[tiny] = scel_losses(
            self.logits[rows[tiny]], k[tiny], self.reading.estimates, self.own_T
        )
        return losses


def log_softmax(logits: AnyArray) -> FloatArray:
    """Return the logarithms of the softmax of each row."""
    shifted = _classes_first(logits)
    shifted -= np.log(np.exp(shifted).sum(axis=0))
    return shifted.T


def softmax(logits: AnyArray) -> FloatArray:
    """Return the softmax of each row."""
    p = _classes_first(logits)
    np.exp(p, out=p)
    p /= p.sum(axis=0)
    return p.T


def _classes_first(logits: AnyArray) -> FloatArray:
    """Return a copy of shape (K, N), 0 being the largest of each row.

    Passes over many rows are vectorised, those over few classes are not.
    """
    columns = np.array(logits.T, dtype=np.float64, order="C")
    columns -= columns.max(axis=0)
    return columns


def scel_losses(logits: AnyArray, k: IntArray, estimates: str, own_T: FloatArray) -> FloatArray:
    """Return -log q[k] of each row, k being its label, without leaving log space."""
    if estimates == "q":
        return -log_softmax(logits)[np.arange(len(k)), k]
    with np.errstate(divide="ignore"):
        return evidence_losses(logits, np.log(own_T).T[k])


def evidence_losses(logits: AnyArray, log_e: FloatArray) -> FloatArray:
    """Return -log Σ_y p[y] e[y] of each row."""
    joint = log_softmax(logits).T + log_e.T
    top = joint.max(axis=0)
    top[np.isneginf(top)] = 0  # a row that p rules out
    with np.errstate(divide="ignore"):
        return np.asarray(-top - np.log(np.exp(joint - top).sum(axis=0)))


def ure_losses(predicted: IntArray, k: IntArray, inverse: FloatArray) -> FloatArray:
    """Return Σ_j (T⁻¹)[k, j]·1[predicted ≠ j] of each row."""
    return np.asarray(inverse.sum(axis=1)[k] - inverse[k, predicted])


def held_out(
    outputs: Outputs,
    rows: IntArray,
    k: IntArray,
    weight: AnyArray | None,
    inverse: FloatArray,
    patterns: Any = None,
    under: Sequence[tuple[AnyArray, FloatArray]] = (),
) -> dict[str, float]:
    """Return SCEL and URE, each with its standard error, of labels k at those rows.

    Where labels stand for patterns (see `objective.Patterns`) there is no URE. Where the network's
    own T was found on these labels, `under` has parts of them, each with a T found on others.
    """
    found: dict[str, float] = {"ure": math.nan, "ure_std_error": math.nan}
    logits, reading, own_T = outputs.logits, outputs.reading, outputs.own_T
    if patterns is None and not under:
        scel = outputs.scel_losses(rows, k)
    else:
        scel = np.empty(len(k))
        for part, T in under or [(np.arange(len(k)), own_T)]:
            if patterns is None:
                scel[part] = scel_losses(logits[rows[part]], k[part], reading.estimates, T)
            else:
                log_e = log_likelihoods(patterns.log_rest, patterns.counts, T)[k[part]]
                scel[part] = evidence_losses(logits[rows[part]], log_e)
    losses = {"scel": scel}
    if patterns is None:
        losses["ure"] = ure_losses(outputs.classes(reading.decoder)[rows], k, inverse)
    of_rows = None
    if weight is not None:
        of_rows = np.zeros(len(logits))
        of_rows[rows] = weight  # the same for all labels of a row
    for name, values in losses.items():
        mean, error = mean_and_error(values, rows, len(logits), of_rows)
        found |= {name: mean, f"{name}_std_error": error}
    return found
