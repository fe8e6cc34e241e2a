"""Split rows into those to train on and those held out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from ..utils.checks import shown
from ..utils.random import as_generator
from ..utils.typing import AnyArray, FloatArray, IntArray, Seed

Split = tuple[IntArray, IntArray]


def splits(
    codes: AnyArray,
    weights: FloatArray | None,
    cv: Any,
    validation_fraction: float,
    random_state: Seed,
) -> list[Split]:
    """Return the (training, validation) row indices: one random part held out, or those of cv.

    Each part must have rows of use: that have a label, and some weight.
    """
    n_rows = len(codes)
    usable = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
    if codes.ndim == 2:
        usable &= codes.any(axis=1)
    if cv is None:
        found = [_hold_out(n_rows, validation_fraction, random_state)]
    else:
        found = _splits_of(cv, codes, random_state)
    for parts in found:
        for part, purpose in zip(parts, ("train", "validate"), strict=True):
            if not usable[part].any():
                name, remedy = "cv", "Choose other parts"
                if cv is None:
                    name, remedy = "validation_fraction", "Choose another, or label more rows"
                raise ValueError(
                    f"{name} must leave labelled rows of some weight to {purpose} on; got none in "
                    f"{len(part)} rows. {remedy}"
                )
    return found


def _hold_out(n_rows: int, fraction: float, random_state: Seed) -> Split:
    allowed = "a float between 0 and 1, both excluded"
    if isinstance(fraction, (float, np.floating)) and 0 < fraction < 1:
        n_validation = math.ceil(fraction * n_rows)
        if n_validation < n_rows:
            order = as_generator(random_state).permutation(n_rows)
            return np.sort(order[n_validation:]), np.sort(order[:n_validation])
        raise ValueError(
            f"validation_fraction must leave rows to train on; got {fraction} of {n_rows} rows. "
            "Hold out fewer"
        )
    raise ValueError(f"validation_fraction must be {allowed}; got {shown(fraction)}")


def _splits_of(cv: Any, codes: AnyArray, random_state: Seed) -> list[Split]:
    n_rows = len(codes)
    if isinstance(cv, (int, np.integer)):
        if not 2 <= cv <= n_rows:
            raise ValueError(f"cv must be an int from 2 to the {n_rows} rows; got {cv}")
        # Shuffled: rows often come ordered by class, which complementary labels hardly show.
        seed = int(as_generator(random_state).integers(2**31))
        cv = KFold(int(cv), shuffle=True, random_state=seed)
    try:
        pairs = list(check_cv(cv).split(np.empty((n_rows, 0)), codes))
        found = [(np.arange(n_rows)[a], np.arange(n_rows)[b]) for a, b in pairs]
    except (TypeError, ValueError, IndexError) as err:
        raise ValueError(
            "cv must be an int, a splitter of scikit-learn or a list of (train, validation) row "
            f"indices below {n_rows}; got {shown(cv)} ({err})"
        ) from err
    if not found:
        raise ValueError("cv must give at least one pair of (train, validation) rows; got none")
    return found
