"""What the classifiers that select along a path share: held-out parts and the record of it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import KFold, check_cv

from . import metrics
from ._checks import shown
from ._random import as_generator
from ._typing import AnyArray, FloatArray, IntArray, Seed

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


def check_candidates(values: Any, name: str, kind: type = int) -> list[Any]:
    """Return the user's candidate values as a list of positive numbers of one kind."""
    rule = f"{name} must be a list of candidates, " + (
        "whole numbers of at least 1" if kind is int else "finite numbers above 0"
    )
    if isinstance(values, numbers.Real):
        raise ValueError(f"{rule}; got {shown(values)}. For a single one write [{shown(values)}]")
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
    expected = numbers.Integral if kind is int else numbers.Real
    for value in listed:
        fits = isinstance(value, expected) and not isinstance(value, bool)
        if not fits or not 0 < value < math.inf:
            raise ValueError(f"{rule}; got {shown(value)}")
    if not listed:
        raise ValueError(f"{rule}; got {shown(values)}")
    return [kind(value) for value in listed]


def check_select(select: Any) -> None:
    """Refuse what is not a way to select a candidate."""
    if not isinstance(select, str) or select not in ("best", "one-std-error"):
        raise ValueError(f"select must be 'best' or 'one-std-error'; got {shown(select)}")


def simplest(
    losses: Sequence[FloatArray],
    complexity: Sequence[int],
    rows: IntArray,
    n: int,
    weights: FloatArray | None,
) -> int:
    """Return the simplest candidate within one (paired) standard error of the best.

    `losses` has those of all held-out labels for each candidate, `rows` the row of each label.
    """
    scel = [metrics.mean_and_error(values, rows, n, weights)[0] for values in losses]
    best = losses[int(np.argmin(scel))]
    errors = [metrics.mean_and_error(values - best, rows, n, weights)[1] for values in losses]
    return metrics.one_standard_error(scel, errors, complexity=complexity, paired=True)


def results(
    params: list[dict[str, Any]],
    scel: FloatArray,
    std_error: FloatArray,
    losses: FloatArray | None = None,
) -> dict[str, Any]:
    """Return a ``cv_results_`` in scikit-learn's form; NaN marks candidates not evaluated.

    Scores and ranks are those of `losses`, which are SCEL unless given.
    """
    losses = scel if losses is None else losses
    record: dict[str, Any] = {"params": params}
    for name in params[0]:
        record[f"param_{name}"] = np.array([p[name] for p in params])
    record["scel"] = scel
    record["scel_std_error"] = std_error
    record["mean_test_score"] = -losses
    record["rank_test_score"] = rankdata(
        np.where(np.isnan(losses), np.inf, losses), method="min"
    ).astype(np.int32)
    return record


def as_float(X: AnyArray) -> AnyArray:
    """Return X as floats that hold its values exactly, and no wider than needed."""
    if X.dtype.kind == "f" and X.dtype.itemsize >= 4:
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
