"""Random matrices and labels for tests of metrics."""

from __future__ import annotations

import numpy as np


def invertible(n, rng):
    while True:
        T = rng.dirichlet(np.ones(n), n)
        if np.linalg.cond(T) < 1e3:
            return T


def random_mask(rows, n, rng):
    """Return 0 to K-1 labels per row, at least one in all."""
    mask = rng.random((rows, n)) < 0.4
    mask[mask.all(axis=1), 0] = False
    mask[0] = np.arange(n) == 1
    return mask
