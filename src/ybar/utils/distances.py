"""Distances between rows: of q and T, and between the rows of T."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.distance import cdist

from .checks import shown
from .typing import Distance, FloatArray

_SCIPY_METRICS = {"l1": "cityblock", "l2": "euclidean"}


def pairwise(
    a: FloatArray, b: FloatArray, distance: Distance, *, name: str = "distance"
) -> FloatArray:
    """Return the distance of every row of `a` to every row of `b`.

    A callable takes two vectors.
    """
    if not callable(distance):
        try:
            return np.asarray(cdist(a, b, _SCIPY_METRICS.get(distance, distance)))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must be 'l1', 'l2', the name of a scipy.spatial.distance metric that "
                f"needs no variances, or a callable of two vectors; got {shown(distance)}"
            ) from None

    def of_two_vectors(u: FloatArray, v: FloatArray) -> float:
        value = distance(u, v)
        try:
            result = float(value)
        except (TypeError, ValueError):
            result = math.nan
        if math.isnan(result):
            raise ValueError(f"{name} must return a number for two vectors; got {shown(value)}")
        return result

    return np.asarray(cdist(a, b, of_two_vectors))
