"""The likelihood of observations under class probabilities, ``Σ_y p[y] e[y]``, in log space."""

from __future__ import annotations

import numpy as np

from ..utils.typing import AnyArray, FloatArray


def log_likelihood(log_p: FloatArray, log_e: FloatArray) -> FloatArray:
    """Return ``log Σ_y p[y] e[y]`` of each row; -inf where p rules out what was observed.

    Both arguments have shape (N, K) and may hold -inf.
    """
    joint = np.add(log_p.T, log_e.T, order="C")
    top = joint.max(axis=0)
    top[np.isneginf(top)] = 0
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(joint - top).sum(axis=0)))


def log_losses(likelihood: FloatArray, zero_as: float) -> FloatArray:
    """Return -log of each likelihood; a likelihood of exactly 0 counts as `zero_as`."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(np.where(likelihood == 0, zero_as, likelihood)))


def log_softmax(scores: AnyArray) -> FloatArray:
    """Return the logarithm of the softmax of each row."""
    shifted = _classes_first(scores)
    shifted -= np.log(np.exp(shifted).sum(axis=0))
    return shifted.T


def softmax(scores: AnyArray) -> FloatArray:
    """Return the softmax of each row."""
    p = _classes_first(scores)
    np.exp(p, out=p)
    p /= p.sum(axis=0)
    return p.T


def _classes_first(scores: AnyArray) -> FloatArray:
    """Return a copy of shape (K, N), shifted so that the largest score of each row is 0.

    Operations over many rows at once are vectorised; over the few classes of a row they are not.
    """
    columns = np.array(scores.T, dtype=np.float64, order="C")
    columns -= columns.max(axis=0)
    return columns
