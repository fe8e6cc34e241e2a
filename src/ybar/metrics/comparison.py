"""Compare two models on the same held-out labels, row by row."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from .losses import Losses, effective_size, mean_and_error, scel_losses, ure_losses


class Comparison(NamedTuple):
    """The difference between two models on the same held-out labels; lower losses are better."""

    difference: float
    """Mean loss of the first minus that of the second: below 0 if the first is better."""
    std_error: float
    """Standard error of the difference, over rows; NaN if one row has practically all weight."""
    t: float
    """The difference in standard errors."""
    p_value: float
    """Probability of a difference at least as large, in either direction, if there is none."""
    n_rows: int
    """Rows that have a label and a weight above 0."""
    df: float
    """Degrees of freedom of t: `n_rows` - 1, or fewer if the rows have unequal weights."""

    def __str__(self) -> str:
        """Return the comparison as one line."""
        rows = f"{self.n_rows:,} rows"
        if self.difference == 0:
            error = f"standard error {self.std_error:.2g}"
            return f"no difference ({error}, p = {self.p_value:.2g}, {rows})"
        lower = "first" if self.difference < 0 else "second"
        return (
            f"the {lower} is lower by {abs(self.difference):.4g} ± {self.std_error:.2g} "
            f"(standard error; t = {self.t:.3g}, p = {self.p_value:.2g}, {rows})"
        )


def compare(
    y_comp: ArrayLike, q_a: ArrayLike, q_b: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Comparison:
    """Compare the SCEL of two models on the same held-out complementary labels.

    The losses of two models are correlated over rows. The standard error of their difference is
    therefore often far below that of either SCEL. The p-value is that of the paired t-test: with
    one label per row and no weights, that of ``scipy.stats.ttest_rel`` on the losses. Unequal
    weights reduce the degrees of freedom (Satterthwaite's approximation).

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, boolean array of shape (N, K), or Evidence
        Held-out complementary labels that were used neither to fit nor to select a model; or
        evidence, see `ybar.labels.Evidence`.
    q_a, q_b : array-like of shape (N, K)
        Complementary probabilities of both models; for evidence the class probabilities p, see
        `scel`. A probability of exactly 0 counts as 1/(n+1) among n labels, as in `scel_scorer`.
    sample_weight : array-like of shape (N,), optional

    Notes
    -----
    Compare models of different kinds by ``p @ T`` rather than by q, with
    ``p = decode.class_probabilities(q, T)``: the sampling error of frequencies among k neighbours
    adds about (K-1)/(2k) to SCEL, and decoding removes most of it.

    Examples
    --------
    >>> from ybar import metrics
    >>> q_a = [[0.1, 0.4, 0.5], [0.5, 0.2, 0.3], [0.3, 0.1, 0.6], [0.2, 0.5, 0.3]]
    >>> q_b = [[0.3, 0.3, 0.4], [0.4, 0.3, 0.3], [0.3, 0.3, 0.4], [0.4, 0.3, 0.3]]
    >>> print(metrics.compare([2, 0, 2, 1], q_a, q_b))
    the first is lower by 0.3406 ± 0.071 (standard error; t = -4.79, p = 0.017, 4 rows)
    """
    first = scel_losses(y_comp, q_a, None, sample_weight, name="q_a")
    second = scel_losses(y_comp, q_b, None, sample_weight, name="q_b")
    if np.shape(q_a) != np.shape(q_b):
        raise ValueError(
            "q_a and q_b must have the same shape, a column for each class; got "
            f"{np.shape(q_a)} and {np.shape(q_b)}"
        )
    return _paired(first, second, sample_weight)


def compare_error_rates(
    y_comp: ArrayLike,
    y_pred_a: ArrayLike,
    y_pred_b: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> Comparison:
    """Compare the error rates of two models by URE on the same held-out complementary labels.

    Only rows for which the two predictions differ count, so that the standard error of the
    difference is below that of either error rate. The difference is unbiased if T is the true one.

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
        Held-out complementary labels that were used neither to fit nor to select a model.
    y_pred_a, y_pred_b : array-like of shape (N,)
        Predicted class indices of two models, or of one model with two decoders.
    T : array-like of shape (K, K)
        As for `ure_zero_one`.
    sample_weight : array-like of shape (N,), optional

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> T = transition.uniform(3)
    >>> print(metrics.compare_error_rates([0, 1, 2, 0], [1, 2, 1, 1], [0, 2, 1, 1], T))
    the first is lower by 0.5 ± 0.5 (standard error; t = -1, p = 0.39, 4 rows)
    """
    first, second = ure_losses(
        y_comp, T, sample_weight, stacklevel=3, y_pred_a=y_pred_a, y_pred_b=y_pred_b
    )
    return _paired(first, second, sample_weight)


def _paired(first: Losses, second: Losses, sample_weight: ArrayLike | None) -> Comparison:
    paired = first._replace(values=first.values - second.values)
    difference, std_error = mean_and_error(*paired, sample_weight)
    n_rows = len(np.unique(paired.rows))
    if n_rows < 2:
        raise ValueError(
            "y_comp must have labels in at least 2 rows of some weight to estimate a standard "
            f"error; got {n_rows}"
        )
    df = effective_size(paired, sample_weight).df
    if std_error == 0:
        t = math.copysign(math.inf, difference) if difference else 0.0
    else:
        t = difference / std_error
    return Comparison(difference, std_error, t, float(2 * stdtr(df, -abs(t))), n_rows, df)
