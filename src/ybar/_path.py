"""What the classifiers that select along a path share: held-out parts and the record of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import ShuffleSplit, check_cv

from ._random import as_generator
from ._typing import AnyArray, FloatArray, IntArray, Seed

Split = tuple[IntArray, IntArray]


def splits(n_rows: int, cv: Any, validation_fraction: float, random_state: Seed) -> list[Split]:
    """Return the (training, validation) row indices: one random part held out, or those of cv."""
    if cv is None:
        inside = isinstance(validation_fraction, (float, np.floating))
        if not inside or not 0 < validation_fraction < 1:
            raise ValueError(
                "validation_fraction must be a float between 0 and 1, both excluded; "
                f"got {validation_fraction!r}"
            )
        seed = int(as_generator(random_state).integers(2**31))
        cv = ShuffleSplit(1, test_size=validation_fraction, random_state=seed)
    rows = np.empty((n_rows, 0))
    found = [(np.asarray(a), np.asarray(b)) for a, b in check_cv(cv).split(rows)]
    for train, validation in found:
        if len(train) == 0 or len(validation) == 0:
            raise ValueError(
                "cv must leave rows to train on and rows to validate on; got "
                f"{len(train)} and {len(validation)}"
            )
    return found


def check_candidates(values: Any, name: str, kind: type = int) -> list[Any]:
    """Return the user's candidate values as a list of positive numbers of one kind."""
    numbers = (int, np.integer) if kind is int else (int, float, np.number)
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
    wrong = [v for v in listed if isinstance(v, bool) or not isinstance(v, numbers) or not v > 0]
    if not listed or wrong:
        what = "whole numbers of at least 1" if kind is int else "numbers above 0"
        raise ValueError(
            f"{name} must be a list of candidates, {what}; got {wrong[0] if wrong else values!r}"
        )
    return [kind(v) for v in listed]


def results(
    params: list[dict[str, Any]], scel: FloatArray, std_error: FloatArray
) -> dict[str, Any]:
    """Return a ``cv_results_`` in scikit-learn's form; NaN marks candidates not evaluated."""
    record: dict[str, Any] = {"params": params}
    for name in params[0]:
        record[f"param_{name}"] = np.array([p[name] for p in params])
    record["scel"] = scel
    record["scel_std_error"] = std_error
    record["mean_test_score"] = -scel
    record["rank_test_score"] = rankdata(
        np.where(np.isnan(scel), np.inf, scel), method="min"
    ).astype(np.int32)
    return record


def as_float(X: AnyArray) -> AnyArray:
    """Return X as floats that hold its values exactly, and no wider than needed."""
    if X.dtype.kind == "f" and X.dtype.itemsize >= 4:
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
