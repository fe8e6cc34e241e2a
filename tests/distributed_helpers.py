"""Data in blocks, for tests of `ybar.distributed`."""

from __future__ import annotations

import dask.array as da
import numpy as np

from ybar import labels, transition


def blocks(values, lengths):
    """Return an array as a Dask array with blocks of these lengths."""
    values = np.asarray(values)
    chunks = (tuple(lengths), *((n,) for n in values.shape[1:]))
    return da.from_array(values, chunks=chunks)


def unknown(array):
    """Return the same Dask array with blocks of unknown lengths."""
    return da.concatenate(
        [
            da.from_delayed(part, shape=(np.nan, *array.shape[1:]), dtype=array.dtype)
            for part in array.to_delayed().ravel()
        ],
        allow_unknown_chunksizes=True,
    )


def clusters(n=1200, seed=0, T=None):
    """Return three classes in four features, far apart, with complementary labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 4)) + 6 * np.eye(3, 4)[y]
    return X, y, labels.draw(y, transition.uniform(3) if T is None else T, random_state=seed + 1)
