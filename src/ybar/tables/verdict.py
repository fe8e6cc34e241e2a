"""Whether held-out labels show that a model has learned anything: an exact permutation test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..utils.random import as_generator
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray

LEVEL = 0.01

_N_PERMUTATIONS = 999
_MOST_ROWS = 20_000
_NEGLIGIBLE = 1e-18  # the variance of a constant output, up to rounding


def p_value(
    outputs: Sequence[FloatArray], mask: BoolArray, seed: int, strata: IntArray | None = None
) -> float:
    """Return how likely labels that do not depend on the features would look as good as these.

    For each model, the statistic is by how much the labels prefer p T to its mean over the rows,
    as a loss: -log of (p T + mean) / 2, so that a model that is far too confident does not hide
    what it has learned. It is standardised by its exact mean and variance under permutations, and
    the largest of all models counts. If the labels do not depend on the features, the labels of
    any two rows may be exchanged. The rank of the observed value among permutations is then
    uniform, however many models there are.

    Parameters
    ----------
    outputs : sequence of ndarray of shape (N, K)
        p T of each model, which was not fitted to these rows.
    mask : ndarray of shape (N, K)
        The labels.
    strata : ndarray of shape (N,), optional
        If passed, only labels of rows in the same stratum are exchanged.
    """
    labelled = np.flatnonzero(mask.any(axis=1))[:_MOST_ROWS]
    rows, k = np.nonzero(mask[labelled])
    if len(labelled) < 2:
        return 1.0
    tables = []
    for output in outputs:
        used = output[labelled]
        average = (used + used.mean(axis=0)) / 2
        with np.errstate(divide="ignore"):
            table = np.log(np.where(average > 0, average, 1.0))
        tables.append(_standardised(table, mask[labelled]))
    groups = np.zeros(len(labelled)) if strata is None else strata[labelled]
    generator = as_generator(seed)
    observed = max(float(table[rows, k].sum()) for table in tables)
    n_as_large = 0
    for _ in range(_N_PERMUTATIONS):
        shuffled = _permutation(generator, groups)[rows]
        n_as_large += max(float(table[shuffled, k].sum()) for table in tables) >= observed
    return (1 + n_as_large) / (1 + _N_PERMUTATIONS)


def _permutation(generator: np.random.Generator, groups: AnyArray) -> IntArray:
    """Return a permutation of the rows within groups."""
    shuffled = np.empty(len(groups), dtype=np.intp)
    shuffled[np.argsort(groups, kind="stable")] = np.lexsort(
        (generator.random(len(groups)), groups)
    )
    return shuffled


def _standardised(table: FloatArray, mask: BoolArray) -> FloatArray:
    """Return scores whose sum over the labels has mean 0 and variance 1 under permutations.

    With scores of mean 0 over the rows, row i has the score t_i · m_j for the labels m_j of row j,
    and the variance is Σ_ij (t_i · (m_j - m̄))² / (n - 1) (Hoeffding, 1951).
    """
    table = table - table.mean(axis=0)
    centred = mask - mask.mean(axis=0)
    covariance = centred.T @ centred
    variance = float(((table @ covariance) * table).sum()) / (len(mask) - 1)
    return table / np.sqrt(variance) if variance > _NEGLIGIBLE else np.zeros_like(table)
