"""The loss of each single label, and the mean of losses with its standard error over rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..decode import check_probabilities, inverse
from ..labels.observed import Observed, observe_codes
from ..transition.checking import check_for_labels
from ..utils import checks
from ..utils.encoding import check_indices
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from .likelihood import log_likelihood, log_losses


class Losses(NamedTuple):
    """Losses of single labels, the row of each, and the number of rows."""

    values: FloatArray
    rows: IntArray
    n: int

    @classmethod
    def joined(cls, parts: Iterable[Losses]) -> Losses:
        """Return the losses of several parts of the same rows as one."""
        values, rows, n = zip(*parts, strict=True)
        return cls(np.concatenate(values), np.concatenate(rows), n[0])


def counted(rows: IntArray, n: int, sample_weight: ArrayLike | None) -> BoolArray:
    """Return which terms are in rows of positive weight: a row of weight 0 counts as absent."""
    if sample_weight is None:
        return np.ones(len(rows), dtype=bool)
    used = checks.check_weights(sample_weight, n)[rows] > 0
    if not used.any():
        raise ValueError(
            "sample_weight must not be zero for every row that has a label; got 0 for all of them"
        )
    return np.asarray(used)


def scel_losses(
    y_comp: ArrayLike | Observed,
    q: ArrayLike,
    zero_as: float | None,
    sample_weight: ArrayLike | None = None,
    *,
    name: str = "q",
) -> Losses:
    """Return -log q[ȳ] of each label, or -log Σ_y p[y] e[y] of each row of evidence.

    Rows of weight 0 are left out. A probability of exactly 0 counts as `zero_as`; None is 1/(n+1)
    among n labels.
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
    used = counted(rows, len(probabilities), sample_weight)
    rows, code = rows[used], code[used]
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
    y_comp: ArrayLike | Observed,
    T: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    stacklevel: int,
    **predictions: ArrayLike,
) -> list[Losses]:
    """Return Σ_k (T⁻¹)[ȳ, k]·1[ŷ ≠ k] of each label, for each of the named predictions.

    Rows of weight 0 are left out.
    """
    array = check_for_labels(T, y_comp)
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
    used = counted(rows, len(observed), sample_weight)
    rows, k = rows[used], k[used]
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
    weight·(loss - mean). The squared error is unbiased if rows have equal variances; with one label
    per row and no weights, it is the usual standard error of a mean.
    """
    used = counted(rows, n, sample_weight)  # an infinite loss of weight 0 does not count
    rows, losses = rows[used], losses[used]
    weights = np.ones(n) if sample_weight is None else checks.check_weights(sample_weight, n)
    label_weights = weights[rows]
    total = label_weights.sum()
    mean = float(np.dot(label_weights, losses) / total)
    if not math.isfinite(mean):
        return mean, math.nan
    deviations = np.bincount(rows, weights=label_weights * (losses - mean), minlength=n)
    of_rows = np.bincount(rows, weights=label_weights, minlength=n).astype(np.float64, copy=False)
    factor = small_sample_factor(of_rows)
    return mean, math.sqrt(factor * float(np.dot(deviations, deviations))) / float(total)


def small_sample_factor(of_rows: FloatArray) -> float:
    """Return what makes a sum of squared deviations unbiased: m / (m - 1) for m equal rows.

    `of_rows` is the weight of each row in the mean; 0 for rows without a label. The result is NaN
    for a single row, or if one row has practically all weight.
    """
    # Scaled to whole numbers if rows have equal weights: m / (m - 1) is then exact to the last bit.
    relative = np.asarray(of_rows / of_rows.max())
    first, second = relative.sum(), np.dot(relative, relative)
    observed = second * first**2
    expected = observed + second**2 - 2 * first * np.dot(relative, relative * relative)
    return float(observed / expected) if expected > 1e-12 * observed else math.nan


class Size(NamedTuple):
    """The effective size of a weighted mean."""

    effective: float
    """Kish's effective number of rows, (Σw)²/Σw²: that of an unweighted mean of equal error."""
    df: float
    """Degrees of freedom of the standard error (Satterthwaite): rows - 1 without weights."""


def effective_size(losses: Losses, sample_weight: ArrayLike | None) -> Size:
    """Return the effective number of rows, and the degrees of freedom for Student's t.

    The squared error of `mean_and_error` is a quadratic form x'Mx in the means of the rows, with
    ``M = G' diag(h²) G``, where h are the shares of the rows in the mean and ``G = I - 1h'``. For
    normal x, x'Mx varies like a χ² variable with tr(M)²/tr(M²) degrees of freedom.
    """
    _, rows, n = losses
    weights = np.ones(n) if sample_weight is None else checks.check_weights(sample_weight, n)
    shares = np.bincount(rows, weights=weights[rows])
    shares = shares[shares > 0] / shares.sum()
    if len(shares) < 2:
        return Size(float(len(shares)), math.nan)
    second, third, fourth, fifth = (float((shares**power).sum()) for power in (2, 3, 4, 5))
    trace = second - 2 * third + second**2
    of_square = fourth - 4 * fifth + 4 * second * fourth + 2 * third**2
    of_square += second**4 - 4 * second**2 * third
    df = trace**2 / of_square if of_square > 0 else 1.0
    return Size(1 / second, float(np.clip(df, 1.0, len(shares) - 1)))
