"""SCEL and URE of Dask collections: one reduction over blocks, the same numbers as in memory."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..decode import inverse
from ..labels.observed import Observed, observe_codes
from ..metrics.losses import scel_losses, ure_losses
from ..metrics.validation import checked_error
from ..transition import check
from ..utils import checks
from ..utils.typing import AnyArray, FloatArray
from .blocks import as_weights, blocks_of, compute
from .observing import is_without_labels, without_labels
from .sums import Sums, reduced


def scel(
    y_comp: Any,
    q: Any,
    *,
    sample_weight: Any = None,
    zero_as: float = 0.0,
    return_std_error: bool = False,
) -> float | tuple[float, float]:
    """Return `ybar.metrics.scel` of Dask collections, the mean of -log q[ȳ]. Lower is better.

    Parameters
    ----------
    y_comp : Dask array of class indices or boolean Dask array of shape (N, K), or Evidence
        Also a list of evidence, one for each partition of q.
    q : Dask array of shape (N, K)
        Complementary probabilities; for evidence the class probabilities p.
    sample_weight : Dask array of shape (N,), optional
    zero_as : float
        Replaces a probability of exactly 0 of a label that occurs.
    return_std_error : bool
        Also return the standard error over rows.

    Returns
    -------
    loss : float
    std_error : float
        Only if `return_std_error`.

    Examples
    --------
    >>> import dask.array as da
    >>> from ybar import distributed
    >>> q = da.from_array([[0.5, 0.2, 0.3], [0.2, 0.3, 0.5]], chunks=(1, 3))
    >>> round(distributed.scel(da.from_array([0, 2], chunks=1), q), 4)
    0.6931
    """
    zero_as = checks.number(zero_as, "zero_as", "a probability, from 0 to 1", 0, 1)
    parts = blocks_of(q, y_comp, sample_weight, names=("q", "y_comp")).map(_scel_of_block)
    sums = computed(parts, "y_comp")
    return _result(sums, zero_as, sample_weight is not None, return_std_error)


def ure_zero_one(
    y_comp: Any,
    y_pred: Any,
    T: ArrayLike,
    *,
    sample_weight: Any = None,
    return_std_error: bool = False,
) -> float | tuple[float, float]:
    """Return `ybar.metrics.ure_zero_one` of Dask collections: the estimated error rate.

    Parameters
    ----------
    y_comp : Dask array of class indices or boolean Dask array of shape (N, K), or Evidence
        Complementary labels that the model was not fitted to.
    y_pred : Dask array of shape (N,)
        Predicted class indices.
    T : array-like of shape (K, K)
    sample_weight : Dask array of shape (N,), optional
    return_std_error : bool
        Also return the standard error over rows.

    Returns
    -------
    error_rate : float
    std_error : float
        Only if `return_std_error`.

    Examples
    --------
    >>> import dask.array as da
    >>> from ybar import distributed, transition
    >>> y_comp, y_pred = (da.from_array(y, chunks=2) for y in ([0, 1, 2, 0], [0, 2, 1, 1]))
    >>> round(distributed.ure_zero_one(y_comp, y_pred, transition.uniform(3)), 4)
    0.5
    """
    matrix = check(T)
    inverse(matrix, stacklevel=3)  # warns of a singular T, once and here
    parts = blocks_of(y_pred, y_comp, sample_weight, names=("y_pred", "y_comp")).map(
        _ure_of_block, matrix
    )
    sums = computed(parts, "y_comp")
    return _result(sums, 0.0, sample_weight is not None, return_std_error)


def computed(parts: list[Any], name: str) -> Sums:
    """Return the sums of all blocks; at least one label must have a positive weight."""
    sums: Sums
    (sums,) = compute([reduced(parts, Sums.merged)])
    if not sums.rows:
        raise ValueError(
            f"{name} must have a label in some row of a weight above 0; got none in "
            f"{len(parts)} partitions"
        )
    return sums


def _result(
    sums: Sums, zero_as: float, weighted: bool, return_std_error: bool
) -> float | tuple[float, float]:
    mean, std_error = sums.mean_and_error(zero_as)
    if not return_std_error:
        return mean
    if weighted:
        std_error = checked_error(std_error, sums.rows, sums.effective_rows, stacklevel=4)
    return mean, std_error


def _scel_of_block(q: AnyArray, y: Any, weights: Any) -> Sums:
    return scel_sums(_observed(y, weights, q.shape[1]), q) if len(y) else Sums.nothing()


def _ure_of_block(y_pred: AnyArray, y: Any, weights: Any, T: FloatArray) -> Sums:
    return ure_sums(_observed(y, weights, len(T)), y_pred, T) if len(y) else Sums.nothing()


def _observed(y: Any, weights: Any, n_classes: int) -> Observed:
    if is_without_labels(y):
        return without_labels(y, np.arange(n_classes))
    return replace(observe_codes(y, n_classes), weights=as_weights(weights, len(y)))


def scel_sums(observed: Observed, probabilities: AnyArray) -> Sums:
    """Return the sums of -log q[ȳ] of a block; of evidence, that of -log Σ_y p[y] e[y]."""
    if not observed.usable.any():
        return Sums.nothing()
    losses = scel_losses(observed, probabilities, 0.0, observed.weights)
    return Sums.of(losses, observed.weights)


def ure_sums(observed: Observed, y_pred: AnyArray, T: FloatArray) -> Sums:
    """Return the sums of Σ_k (T⁻¹)[ȳ, k]·1[ŷ ≠ k] of a block."""
    if not observed.usable.any():
        return Sums.nothing()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller has been warned of a singular T
        (losses,) = ure_losses(observed, T, observed.weights, stacklevel=2, y_pred=y_pred)
    return Sums.of(losses, observed.weights)
