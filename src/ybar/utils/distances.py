"""Distances between rows: of q and T, and between the rows of T."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .checks import shown
from .typing import Distance, FloatArray

_SCIPY_METRICS = {"l1": "cityblock", "l2": "euclidean"}


def pairwise(
    a: FloatArray, b: FloatArray, distance: Distance, *, name: str = "distance"
) -> FloatArray:
    """Return the distance of every row of `a` to every row of `b`.

    A callable takes two vectors. If it also works over leading axes (sums with ``axis=-1``), it is
    called once per row of `b`, otherwise once per pair.
    """
    if not callable(distance):
        try:
            return np.asarray(cdist(a, b, _SCIPY_METRICS.get(distance, distance)))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must be 'l1', 'l2', the name of a scipy.spatial.distance metric that "
                f"needs no variances, or a callable of two vectors; got {shown(distance)}"
            ) from None

    def single(u: FloatArray, v: FloatArray) -> float:
        value = distance(u, v)
        try:
            result = float(value)
        except (TypeError, ValueError):
            result = math.nan
        if math.isnan(result):
            raise ValueError(f"{name} must return a number for two vectors; got {shown(value)}")
        return result

    if not _broadcasts(distance, a, b[0], single):
        return np.asarray(cdist(a, b, single))
    between = np.stack([np.asarray(distance(a, row), dtype=np.float64) for row in b], axis=1)
    if np.isnan(between).any():
        raise ValueError(f"{name} must return a number for two vectors; got nan")
    return between


def _broadcasts(
    distance: Callable[[Any, Any], Any],
    a: FloatArray,
    row: FloatArray,
    single: Callable[[FloatArray, FloatArray], float],
) -> bool:
    """Return whether `distance` works on several rows at once, by a trial on two or three rows.

    The trial never has as many rows as columns, so that a sum over the wrong axis is noticed.
    """
    probe = a[: 2 if a.shape[1] != 2 else 3]
    if len(probe) in (0, a.shape[1]):
        return False
    try:
        together = np.asarray(distance(probe, row), dtype=np.float64)
    except (TypeError, ValueError, IndexError):
        return False
    if together.shape != (len(probe),):
        return False
    one_by_one = [single(vector, row) for vector in probe]
    return bool(np.allclose(together, one_by_one, rtol=1e-9, atol=1e-12))
