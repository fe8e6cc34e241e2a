"""Candidates of a search: check them, select one, record the results in ``cv_results_``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .. import metrics
from ..metrics.losses import Losses, mean_and_error
from ..utils.checks import shown
from ..utils.typing import FloatArray


def check_candidates(values: Any, name: str, kind: type = int) -> list[Any]:
    """Return the user's candidate values as a list of positive numbers of one kind."""
    rule = f"{name} must be a list of candidates, " + (
        "whole numbers of at least 1" if kind is int else "finite numbers above 0"
    )
    if isinstance(values, numbers.Real):
        raise ValueError(
            f"{rule}; got {shown(values)}. For a single candidate pass [{shown(values)}]"
        )
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
    """Check the name of a rule that selects a candidate."""
    if not isinstance(select, str) or select not in ("best", "one-std-error"):
        raise ValueError(f"select must be 'best' or 'one-std-error'; got {shown(select)}")


def simplest(
    losses: Sequence[Losses], complexity: Sequence[int], weights: FloatArray | None
) -> int:
    """Return the index of the simplest candidate within one paired standard error of the best.

    `losses` has the losses of the same held-out labels for each candidate.
    """
    scel = [mean_and_error(*each, weights)[0] for each in losses]
    best = losses[int(np.argmin(scel))]
    differences = [each._replace(values=each.values - best.values) for each in losses]
    errors = [mean_and_error(*each, weights)[1] for each in differences]
    return metrics.one_standard_error(scel, errors, complexity=complexity, paired=True)


def select_by_scel(
    classifier: Any,
    name: str,
    candidates: Sequence[int],
    path: Sequence[Losses],
    complexity: Sequence[int] | None = None,
) -> int:
    """Record the SCEL of each candidate for a parameter, and return the index of the selected one.

    The classifier's ``select`` is the rule; `complexity` orders the candidates, by default by
    their values.
    """
    means = [mean_and_error(*losses, None) for losses in path]
    scel, std_error = (np.array(values) for values in zip(*means, strict=True))
    best = int(np.argmin(scel))
    if classifier.select == "one-std-error":
        best = simplest(path, candidates if complexity is None else complexity, None)
    record_search(classifier, [{name: value} for value in candidates], scel, std_error, best)
    return best


def record_search(
    classifier: Any,
    params: list[dict[str, Any]],
    scel: FloatArray,
    std_error: FloatArray,
    best_index: int,
) -> None:
    """Set the attributes of a search by SCEL, as ``GridSearchCV`` has them."""
    classifier.cv_results_ = cv_results(params, scel, std_error)
    classifier.best_index_ = best_index
    classifier.best_params_ = params[best_index]
    classifier.best_score_ = float(-scel[best_index])


def cv_results(
    params: list[dict[str, Any]],
    scel: FloatArray,
    std_error: FloatArray,
    losses: FloatArray | None = None,
) -> dict[str, Any]:
    """Return ``cv_results_`` in scikit-learn's form; NaN marks candidates not evaluated.

    Scores and ranks are those of `losses`, SCEL by default.
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
