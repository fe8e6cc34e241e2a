"""The loss of each single label, and a mean of such losses with its standard error over rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import labels, transition
from ..decode import check_probabilities, inverse
from ..utils import checks
from ..utils.typing import AnyArray, FloatArray, IntArray


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
    shape = checks.array_of_numbers(q, f"{name} must be an N×K array of probabilities").shape
    if len(shape) != 2 or shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (N, K), one column for each of at least 2 classes; got {shape}"
        )
    n_classes = shape[1]
    probabilities = check_probabilities(q, n_classes, name=name)
    if isinstance(y_comp, labels.Evidence):
        same_length("y_comp", y_comp.codes, name, probabilities)
        if len(y_comp.classes) != n_classes:
            raise ValueError(
                f"{name} must have a column for each of the {len(y_comp.classes)} classes of the "
                f"evidence; got shape {shape}"
            )
        rows = np.flatnonzero(y_comp.informative)
        e, log_scale = scaled(y_comp)
        of_row = y_comp.codes[rows]
        chosen = np.einsum("nk,nk->n", probabilities[rows], e[of_row], dtype=np.float64)
        log_scale = np.where(chosen > 0, log_scale[of_row], 0.0)
    else:
        rows, k = labels.pairs(y_comp, n_classes)
        same_length("y_comp", y_comp, name, probabilities)
        chosen = probabilities[rows, k].astype(np.float64, copy=False)
        log_scale = np.zeros(1)
    if len(rows) == 0:
        raise ValueError("y_comp must say something of some row; got evidence of nothing")
    if zero_as is None:
        zero_as = 1 / (len(rows) + 1)
    return Losses(log_losses(chosen, zero_as) - log_scale, rows, len(probabilities))


def scaled(evidence: labels.Evidence) -> tuple[FloatArray, FloatArray]:
    """Return its table with 1 as the largest entry of each row, and the logarithms of the rest.

    The product of a few hundred labels' probabilities is too small for a float.
    """
    log_table = evidence.log_table
    top = log_table.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(np.exp(log_table - top[:, None])), top


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
    if isinstance(y_comp, labels.Evidence):
        y_comp = _only_labels(y_comp)
    rows, k = labels.pairs(y_comp, n_classes)
    found = []
    for name, y_pred in predictions.items():
        _, predicted = labels.pairs(y_pred, n_classes, name=name, several=False)
        same_length("y_comp", y_comp, name, predicted)
        found.append(predicted)
    inverted = inverse(array, stacklevel=stacklevel + 1)
    sums = inverted.sum(axis=1)[k]
    return [Losses(sums - inverted[k, p[rows]], rows, len(p)) for p in found]


def _only_labels(evidence: labels.Evidence) -> AnyArray:
    found = evidence.labels()
    if found is None:
        raise ValueError(
            "y_comp must hold complementary labels under one T and nothing else for URE, which "
            "inverts it; got evidence of other kinds. Use SCEL, or metrics.compare"
        )
    return found


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
    weights = np.ones(n) if sample_weight is None else checks.weights(sample_weight, n)
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
