"""The loss of each single label, and the mean of losses with its standard error over rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import transition
from ..decode import check_probabilities, inverse
from ..labels.observed import Observed, observe_codes
from ..utils import checks
from ..utils.encoding import check_indices
from ..utils.typing import AnyArray, FloatArray, IntArray
from .likelihood import log_likelihood, log_losses


class Losses(NamedTuple):
    """Losses of single labels, the row of each, and the number of rows."""

    values: FloatArray
    rows: IntArray
    n: int

    @classmethod
    def joined(cls, parts: Iterable[Losses]) -> Losses:
        """Return the losses of several parts of the same rows together."""
        values, rows, n = zip(*parts, strict=True)
        return cls(np.concatenate(values), np.concatenate(rows), n[0])


def scel_losses(
    y_comp: ArrayLike | Observed, q: ArrayLike, zero_as: float | None, *, name: str = "q"
) -> Losses:
    """Return -log q[ȳ] of each label, or -log Σ_y p[y] e[y] of each row of evidence.

    A probability of exactly 0 counts as `zero_as`; None is 1/(n+1) among n labels.
    """
    probabilities = check_probabilities(q, name=name)
    n_classes = probabilities.shape[1]
    observed = y_comp if isinstance(y_comp, Observed) else observe_codes(y_comp, n_classes)
    checks.same_length("y_comp", len(observed), name, len(probabilities))
    if len(observed.classes) != n_classes:
        raise ValueError(
            f"{name} must have a column for each of the {len(observed.classes)} classes of the "
            f"evidence; got shape {probabilities.shape}"
        )
    rows, code, patterns = observed.separate_terms()
    if len(rows) == 0:
        raise ValueError("y_comp must be informative in some row; got evidence of nothing")
    if zero_as is None:
        zero_as = 1 / (len(rows) + 1)
    if observed.by_label:
        chosen = probabilities[rows, code].astype(np.float64, copy=False)
        return Losses(log_losses(chosen, zero_as), rows, len(probabilities))
    log_e = patterns.log_likelihoods(observed.transition)[code]
    values = -log_likelihood(logarithms(probabilities[rows]), log_e)
    values[np.isposinf(values)] = -math.log(zero_as) if zero_as > 0 else math.inf
    return Losses(values, rows, len(probabilities))


def logarithms(p: AnyArray) -> FloatArray:
    """Return log p in double precision, -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p.astype(np.float64, copy=False)))


def ure_losses(
    y_comp: ArrayLike | Observed, T: ArrayLike, *, stacklevel: int, **predictions: ArrayLike
) -> list[Losses]:
    """Return Σ_k (T⁻¹)[ȳ, k]·1[ŷ ≠ k] of each label, for each of the named predictions."""
    array = transition.check(T)
    n_classes = len(array)
    observed = y_comp if isinstance(y_comp, Observed) else observe_codes(y_comp, n_classes)
    if len(observed.classes) != n_classes:
        raise ValueError(
            f"T must have a row for each of the {len(observed.classes)} classes of the evidence; "
            f"got shape {array.shape}"
        )
    by_label = observed.as_labels()
    if by_label is None:
        raise ValueError(
            "y_comp must hold complementary labels under one T and nothing else for URE, which "
            "inverts it; got evidence of other kinds. Use SCEL, or metrics.compare"
        )
    rows, k = by_label.single_labels()
    predicted = {
        name: check_indices(y_pred, n_classes, name) for name, y_pred in predictions.items()
    }
    for name, indices in predicted.items():
        checks.same_length("y_comp", len(observed), name, len(indices))
    inverted = inverse(array, stacklevel=stacklevel + 1)
    sums = inverted.sum(axis=1)[k]
    return [
        Losses(sums - inverted[k, indices[rows]], rows, len(indices))
        for indices in predicted.values()
    ]


def mean_and_error(
    losses: FloatArray, rows: IntArray, n: int, sample_weight: ArrayLike | None
) -> tuple[float, float]:
    """Return the weighted mean over labels and its standard error over rows.

    The mean is a ratio of sums over rows; linearised, its error is that of the row sums of
    weight·(loss - mean). With one label per row it is the usual standard error of a mean.
    """
    weights = np.ones(n) if sample_weight is None else checks.check_weights(sample_weight, n)
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
