"""Features for distances: numbers, reduced by PCA."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ..utils.checks import shown
from ..utils.typing import AnyArray


def check_components(n_components: Any) -> None:
    """Check the number of dimensions after PCA, or None for no PCA."""
    n = n_components
    if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 1):
        raise ValueError(f"n_components must be an int of at least 1, or None; got {shown(n)}")


def as_float(X: AnyArray) -> AnyArray:
    """Return X as the narrowest float type that holds its values exactly."""
    if X.dtype.kind == "f" and X.dtype.itemsize >= 4:
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def fit_pca(X: AnyArray, n_components: int | None, seed: int) -> PCA | None:
    """Return a fitted PCA; None if there are no more features than components."""
    if n_components is None or n_components >= min(X.shape):
        return None
    return PCA(n_components, random_state=seed).fit(X)


def reduced(X: AnyArray, pca: PCA | None) -> AnyArray:
    """Return X, reduced by PCA if it is not None."""
    return X if pca is None else pca.transform(X)
