"""The loss of each single label, and a mean of such losses with its standard error over rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _checks, labels, transition
from ._typing import AnyArray, FloatArray, IntArray
from .decode import check_probabilities, inverse


class Losses(NamedTuple):
    """Losses of single labels, the row of each, and how many rows there are."""

    values: FloatArray
    rows: IntArray
    n: int


def scel_losses(
    y_comp: ArrayLike, q: ArrayLike, zero_as: float | None, *, name: str = "q"
) -> Losses:
    """Return -log q[ȳ] of each label, or -log Σ_y p[y] e[y] of each row of evidence.

    `zero_as` is what a probability of exactly 0 counts as; None is 1/(n+1) among n labels.
    """
    shape = _checks.array_of_numbers(q, f"{name} must be an N×K array of probabilities").shape
    if len(shape) != 2 or shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (N, K), one column for each of at least 2 classes; got {shape}"
        )
    n_classes = shape[1]
    probabilities = check_probabilities(q, n_classes, name=name)
    if isinstance(y_comp, labels.Evidence):
        same_length("y_comp", y_comp.codes, name, probabilities)
        rows = np.flatnonzero(y_comp.informative)
        chosen = _likelihoods(y_comp, probabilities, name)[rows]
    else:
        rows, k = labels.pairs(y_comp, n_classes)
        same_length("y_comp", y_comp, name, probabilities)
        chosen = probabilities[rows, k].astype(np.float64, copy=False)
    if zero_as is None:
        zero_as = 1 / (len(rows) + 1)
    return Losses(log_losses(chosen, zero_as), rows, len(probabilities))


def _likelihoods(evidence: labels.Evidence, p: AnyArray, name: str) -> FloatArray:
    """Return Σ_y p[y] e[y] of each row."""
    if len(evidence.classes) != p.shape[1]:
        raise ValueError(
            f"{name} must have a column for each of the {len(evidence.classes)} classes of the "
            f"evidence; got shape {p.shape}"
        )
    return np.asarray(np.einsum("nk,nk->n", p, np.asarray(evidence), dtype=np.float64))


def log_losses(chosen: FloatArray, zero_as: float) -> FloatArray:
    """Return -log of the probabilities given to the labels that occurred."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(np.where(chosen == 0, zero_as, chosen)))


def ure_losses(
    y_comp: ArrayLike, T: ArrayLike, *, stacklevel: int, **predictions: ArrayLike
) -> list[Losses]:
    """Return Σ_k (T⁻¹)[ȳ, k]·1[ŷ ≠ k] of each label, for each of the named predictions."""
    array = transition.check(T)
    n_classes = len(array)
    rows, k = labels.pairs(y_comp, n_classes)
    found = []
    for name, y_pred in predictions.items():
        _, predicted = labels.pairs(y_pred, n_classes, name=name, several=False)
        same_length("y_comp", y_comp, name, predicted)
        found.append(predicted)
    inverted = inverse(array, stacklevel=stacklevel + 1)
    sums = inverted.sum(axis=1)[k]
    return [Losses(sums - inverted[k, p[rows]], rows, len(p)) for p in found]


def same_length(name: str, values: ArrayLike, other: str, others: AnyArray) -> None:
    """Refuse two arguments that differ in their number of rows."""
    n = len(np.asarray(values))
    if n != len(others):
        raise ValueError(
            f"{name} and {other} must have the same number of rows; got {n} and {len(others)}"
        )


def mean_and_error(
    losses: FloatArray, rows: IntArray, n: int, sample_weight: ArrayLike | None
) -> tuple[float, float]:
    """Return the weighted mean over labels and its standard error over rows.

    The mean is a ratio of sums over rows; linearised, its error is that of the row sums of
    weight·(loss - mean). With one label a row it is the usual standard error of a mean.
    """
    weights = np.ones(n) if sample_weight is None else _checks.weights(sample_weight, n)
    label_weights = weights[rows]
    total = label_weights.sum()
    if total == 0:
        raise ValueError(
            "sample_weight must not be zero for every row that has a label; got 0 for all of them"
        )
    used = label_weights > 0  # an infinite loss of weight 0 does not count
    mean = float(np.dot(label_weights[used], losses[used]) / total)
    if not math.isfinite(mean):
        return mean, math.nan
    labelled = np.zeros(n, dtype=bool)
    labelled[rows[used]] = True
    m = int(labelled.sum())
    if m < 2:
        return mean, math.nan
    deviations = np.bincount(
        rows[used], weights=label_weights[used] * (losses[used] - mean), minlength=n
    )
    return mean, float(math.sqrt(m / (m - 1) * np.dot(deviations, deviations)) / total)
