"""The paper's theory in numbers: the estimation loss and both sides of the error bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import transition
from ..decode import check_probabilities
from ..transition.checking import check_for_labels, check_shape
from ..utils.checks import same_length
from ..utils.distances import pairwise
from ..utils.encoding import check_indices
from ..utils.typing import AnyArray, Distance, FloatArray, IntArray
from .losses import mean_and_error


def complementary_estimation_loss(
    y_true: ArrayLike,
    q: ArrayLike,
    T: ArrayLike,
    *,
    loss: Distance = "kl",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the paper's R(f̄; ℓ): the mean loss of q against the row of T of the true class.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        True class indices.
    q : array-like of shape (N, K)
        Complementary probabilities.
    T : array-like of shape (K, K)
        The transition matrix from which the complementary labels are drawn.
    loss : "kl", a name as for `transition.gamma`, or a callable of two vectors
        "kl" is Σ_k T[y, k] (log T[y, k] - log q[k]).
    sample_weight : array-like of shape (N,), optional

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> T = transition.uniform(3)
    >>> metrics.complementary_estimation_loss([0, 1], T[[0, 1]], T)
    0.0
    """
    array, probabilities, true = _check(y_true, q, T)
    losses = _losses_against_rows(probabilities, array, true, loss)
    return mean_and_error(losses, np.arange(len(true)), len(true), sample_weight)[0]


def _check(y_true: ArrayLike, q: ArrayLike, T: ArrayLike) -> tuple[FloatArray, AnyArray, IntArray]:
    """Return T, q and the true classes."""
    array = check_for_labels(T, q)
    probabilities = check_probabilities(q, len(array))
    true = check_indices(y_true, len(array), "y_true")
    same_length("y_true", len(true), "q", len(probabilities))
    return array, probabilities, true


def _losses_against_rows(q: AnyArray, T: FloatArray, true: IntArray, loss: Distance) -> FloatArray:
    losses = np.empty(len(true))
    for y in np.unique(true):
        rows = true == y
        if loss == "kl":
            seen = T[y] > 0
            with np.errstate(divide="ignore"):
                logs = np.log(T[y, seen]) - np.log(q[rows][:, seen].astype(np.float64))
            losses[rows] = logs @ T[y, seen]
        else:
            losses[rows] = pairwise(
                q[rows].astype(np.float64, copy=False),
                T[y : y + 1],
                loss,
                name="loss (if not 'kl') or distance",
            )[:, 0]
    return losses


class ErrorBound(NamedTuple):
    """Both sides of Proposition 2 and of the Corollary: `error_rate` is at most each bound."""

    error_rate: float
    """R₀₁: the share of rows decoded to a wrong class."""
    distance_bound: float
    """(2/γ_d)·(R(f̄; d) + ε_d)."""
    kl_bound: float
    """(4√2/γ)·√R(f̄; KL) + 2ε/γ, with the L1 distance; NaN for other distances."""
    gamma: float
    """Smallest distance between two rows of T."""
    epsilon: float
    """Largest distance between a row of `T_true` and the same row of T; 0 without `T_true`."""


def error_bound(
    y_true: ArrayLike,
    q: ArrayLike,
    T: ArrayLike,
    *,
    T_true: ArrayLike | None = None,
    distance: Distance = "l1",
) -> ErrorBound:
    """Return both sides of the paper's Proposition 2, or of its Corollary if `T_true` is passed.

    Parameters
    ----------
    y_true, q : as in `complementary_estimation_loss`
    T : array-like of shape (K, K)
        The transition matrix that is used to decode.
    T_true : array-like of shape (K, K), optional
        The transition matrix from which the complementary labels were drawn, if it is not T.
    distance : as for `transition.gamma`
        Used to decode and to compare q with the rows of T. It must obey the triangle inequality.

    Examples
    --------
    >>> from ybar import metrics, transition
    >>> T = transition.uniform(3)
    >>> metrics.error_bound([0, 1], [[0.1, 0.5, 0.4], [0.5, 0.1, 0.4]], T).error_rate
    0.0
    """
    array, probabilities, true = _check(y_true, q, T)
    true_T = array if T_true is None else check_for_labels(T_true, q, name="T_true")
    check_shape(true_T, len(array), "T_true")
    nearest = pairwise(probabilities.astype(np.float64), array, distance).argmin(axis=1)
    error_rate = float(np.mean(nearest != true))
    gamma = transition.gamma(array, distance)
    between = np.diag(pairwise(true_T, array, distance))
    epsilon = float(between.max()) if T_true is not None else 0.0
    if gamma == 0:
        kl_bound = math.inf if distance == "l1" else math.nan
        return ErrorBound(error_rate, math.inf, kl_bound, 0.0, epsilon)
    estimation = float(_losses_against_rows(probabilities, true_T, true, distance).mean())
    kl_bound = math.nan
    if distance == "l1":
        divergence = float(_losses_against_rows(probabilities, true_T, true, "kl").mean())
        # Rounding can leave a divergence of 0 slightly negative.
        kl_bound = (4 * math.sqrt(2 * max(divergence, 0.0)) + 2 * epsilon) / gamma
    return ErrorBound(error_rate, 2 * (estimation + epsilon) / gamma, kl_bound, gamma, epsilon)
