"""Evaluate a model by complementary labels alone: SCEL and the URE of the zero-one loss."""

from __future__ import annotations

import math
import warnings
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.typing import FloatArray
from .losses import Losses, effective_size, mean_and_error, scel_losses, ure_losses
from .transition_profile import UNIDENTIFIED, TransitionProfile

# The fewest effective rows if weights are unequal: see results/coverage_weights.md.
_FEWEST_ROWS = 50
_EQUAL = 0.9  # weights count as equal if this share of the rows is effective


@overload
def scel(
    y_comp: ArrayLike,
    q: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    zero_as: float = ...,
    return_std_error: Literal[False] = ...,
) -> float: ...


@overload
def scel(
    y_comp: ArrayLike,
    q: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    zero_as: float = ...,
    return_std_error: Literal[True],
) -> tuple[float, float]: ...


def scel(
    y_comp: ArrayLike,
    q: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    zero_as: float = 0.0,
    return_std_error: bool = False,
) -> float | tuple[float, float]:
    """Return the surrogate complementary estimation loss: the mean of -log q[ȳ]. Lower is better.

    Apart from a constant that does not depend on q, it is an unbiased estimate of the
    Kullback-Leibler divergence of q from the rows of T (Proposition 1 of the paper).

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, boolean array of shape (N, K), or Evidence
        Held-out complementary labels, or evidence, see `ybar.labels.Evidence`.
    q : array-like of shape (N, K)
        Complementary probabilities. For evidence the class probabilities p instead: the loss is
        the mean of -log Σ_y p[y] e[y] over the informative rows, which equals -log q[ȳ] for a
        complementary label.
    sample_weight : array-like of shape (N,), optional
    zero_as : float
        Replaces a probability of exactly 0 for a label that occurs. By default 0, so that the loss
        is infinite. The scorers and ``score`` use 1/(n+1) for n labels, see `scel_scorer`. All
        other probabilities stay as they are, however small.
    return_std_error : bool
        Also return the standard error of the mean. It is computed over rows, which are
        independent even if the labels of one row are not. It is NaN, with a warning, if unequal
        weights w leave fewer than 50 effective rows, (Σw)²/Σw², and less than 90% of the rows.

    Returns
    -------
    loss : float
    std_error : float
        Only if `return_std_error`.

    Examples
    --------
    >>> from ybar import metrics
    >>> round(metrics.scel([0, 2], [[0.5, 0.2, 0.3], [0.2, 0.3, 0.5]]), 4)
    0.6931
    """
    zero_as = checks.number(zero_as, "zero_as", "a probability, from 0 to 1", 0, 1)
    losses = scel_losses(y_comp, q, zero_as, sample_weight)
    mean, std_error = _mean_and_error(losses, sample_weight, warn=return_std_error)
    return (mean, std_error) if return_std_error else mean


@overload
def ure_zero_one(
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    profile: TransitionProfile | None = ...,
    return_std_error: Literal[False] = ...,
) -> float: ...


@overload
def ure_zero_one(
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = ...,
    profile: TransitionProfile | None = ...,
    return_std_error: Literal[True],
) -> tuple[float, float]: ...


def ure_zero_one(
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    T: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    profile: TransitionProfile | None = None,
    return_std_error: bool = False,
) -> float | tuple[float, float]:
    """Return the unbiased estimate of the error rate from complementary labels alone.

    The mean of ``Σ_k (T⁻¹)[ȳ, k]·1[ŷ ≠ k]``; with uniform T this is (K-1)·mean(ŷ = ȳ). It is
    unbiased if T is the true one, and can be negative or above 1 by chance. If rows have several
    labels, each label must follow T, and their number must not depend on the class.

    Parameters
    ----------
    y_comp : array-like of shape (N,) of class indices, or boolean array of shape (N, K)
        Complementary labels that the model was not fitted to.
    y_pred : array-like of shape (N,)
        Predicted class indices.
    T : array-like of shape (K, K)
        If T is singular, its pseudo-inverse is used, with a warning that the estimate is biased.
    sample_weight : array-like of shape (N,), optional
    profile : TransitionProfile, optional
        The uncertainty of a T that was estimated on other labels: the ``transition_profile_`` of
        a network. The standard error then includes the error of T. It is
        NaN, with a warning, if the labels that T was estimated on may be independent of the class.
    return_std_error : bool
        Also return the standard error, as `scel` does: a 95% interval of the error rate is ± 1.96
        of it.

    Returns
    -------
    error_rate : float
    std_error : float
        Only if `return_std_error`.

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> round(metrics.ure_zero_one([0, 1, 2, 0], [0, 2, 1, 1], transition.uniform(3)), 4)
    0.5
    """
    (losses,) = ure_losses(y_comp, T, sample_weight, stacklevel=3, y_pred=y_pred)
    mean, std_error = _mean_and_error(losses, sample_weight, warn=return_std_error)
    if not return_std_error:
        return mean
    if profile is not None and math.isfinite(std_error):
        std_error = _std_error_of_profile(mean, y_comp, y_pred, profile, sample_weight)
    return mean, std_error


def _std_error_of_profile(
    value: float,
    y_comp: ArrayLike,
    y_pred: ArrayLike,
    profile: TransitionProfile,
    sample_weight: ArrayLike | None,
) -> float:
    if not profile.identified:
        warnings.warn(UNIDENTIFIED, UserWarning, stacklevel=3)

    def estimate(T: FloatArray) -> tuple[float, float]:
        (losses,) = ure_losses(y_comp, T, sample_weight, stacklevel=1, y_pred=y_pred)
        mean, std_error = mean_and_error(*losses, sample_weight)
        return mean, std_error**2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller has already been warned about a singular T
        return float(profile.std_error(value, estimate))


def _mean_and_error(
    losses: Losses, sample_weight: ArrayLike | None, *, warn: bool
) -> tuple[float, float]:
    """Return the mean and its error; NaN, with a warning, if the weights leave too few rows."""
    mean, std_error = mean_and_error(*losses, sample_weight)
    if not warn or sample_weight is None:
        return mean, std_error
    n_rows = len(np.unique(losses.rows))
    effective = effective_size(losses, sample_weight).effective
    return mean, checked_error(std_error, n_rows, effective, stacklevel=4)


def checked_error(std_error: float, n_rows: int, effective: float, *, stacklevel: int) -> float:
    """Return a standard error; NaN, with a warning, if the weights leave too few effective rows."""
    if effective >= min(_FEWEST_ROWS, _EQUAL * n_rows):
        return std_error
    warnings.warn(
        f"sample_weight varies so much that {n_rows:,} rows count as {effective:.1f}: too few for "
        "a standard error, which is NaN. Use weights that vary less, or metrics.compare, which "
        "adapts to them",
        stacklevel=stacklevel,
    )
    return math.nan
