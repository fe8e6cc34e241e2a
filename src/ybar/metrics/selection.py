"""Select the simplest of the candidates that are about as good as the best."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.typing import FloatArray


def one_standard_error(
    scel: ArrayLike,
    std_error: ArrayLike,
    *,
    complexity: ArrayLike | None = None,
    paired: bool = False,
) -> int:
    """Return the index of the simplest candidate within one standard error of the best.

    Parameters
    ----------
    scel : array-like of shape (n,)
        SCEL (or URE) of each candidate; NaN for one that was not evaluated.
    std_error : array-like of shape (n,)
        Standard error of each; if `paired`, that of its difference from the best, as `compare`
        returns it.
    complexity : array-like of shape (n,), optional
        A number per candidate, higher for the more complex: trees, epochs, minus the number of
        neighbours. By default candidates are ordered from simple to complex.
    paired : bool
        Whether `std_error` holds errors of differences. These are smaller, so the selected
        candidate is closer to the best.

    Returns
    -------
    int
        Among equally simple candidates, the one with the lowest SCEL.

    Notes
    -----
    Learning rates, methods and decoders have no such order: select the lowest SCEL instead.

    Examples
    --------
    >>> from ybar import metrics
    >>> metrics.one_standard_error([2.30, 2.21, 2.20], [0.02, 0.02, 0.02])
    1
    >>> metrics.one_standard_error([2.30, 2.21, 2.20], [0.03, 0.004, 0], paired=True)
    2
    """
    losses = _numbers(scel, "scel")
    errors = _numbers(std_error, "std_error", len(losses))
    order = np.arange(len(losses)) if complexity is None else complexity
    order = _numbers(order, "complexity", len(losses))
    checks.boolean(paired, "paired")
    if np.isnan(order).any():
        raise ValueError(
            "complexity must be a number for each candidate; got NaN for candidate "
            f"{int(np.argmax(np.isnan(order)))}"
        )
    if not (losses < math.inf).any() or np.isneginf(losses).any():
        raise ValueError(
            f"scel must have a finite value, that of the best candidate; got {checks.shown(scel)}"
        )
    if (errors < 0).any() or np.isinf(errors).any():
        wrong = errors[(errors < 0) | np.isinf(errors)][0]
        raise ValueError(
            f"std_error must be finite and not negative, NaN where it is unknown; got {wrong:g}"
        )
    best = int(np.nanargmin(losses))
    allowed = np.nan_to_num(errors if paired else np.full_like(losses, errors[best]))
    near = np.flatnonzero(losses - losses[best] <= allowed)
    return int(min([best, *near], key=lambda i: (order[i], losses[i])))


def _numbers(values: ArrayLike, name: str, n: int | None = None) -> FloatArray:
    rule = f"{name} must be a list of numbers, one for each candidate"
    array = checks.array_of_numbers(values, rule).astype(np.float64)
    if array.ndim != 1 or len(array) == 0 or (n is not None and len(array) != n):
        many = "" if n is None else f" ({n})"
        raise ValueError(f"{rule}{many}; got shape {array.shape}")
    return array
