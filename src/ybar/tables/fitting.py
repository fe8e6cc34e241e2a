"""Select a model for a table by held-out complementary labels, and explain how good it is."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import transition
from ..utils.errors import FailureError, UnexplainedFailureError
from ..utils.typing import FloatArray
from . import candidates, scoring
from .candidates import CandidateResult
from .model import TableClassifier
from .training import TrainingTable

COMPARISON = ("model", "SCEL", "error rate (URE)", "seconds")
UNINFORMATIVE = (
    "These labels carry too little information to learn from: no model predicts held-out labels "
    "better than a constant guess, beyond chance."
)

_N_STD_ERRORS = 2.0
_WIDE_INTERVAL = 0.5
_SIMILAR_ROWS = 0.02  # L1 distance of two rows of T


@dataclass(frozen=True)
class Selection:
    """The candidates and the model that was selected.

    Attributes
    ----------
    constant_scel : float
        The SCEL of the best constant guess on the held-out rows.
    gain, gain_std_error : float
        By how much the selected model's SCEL is lower than that of the constant guess.
    """

    table: TrainingTable
    results: list[CandidateResult]
    best: CandidateResult
    constant_scel: float
    gain: float
    gain_std_error: float
    model: TableClassifier

    @property
    def informative(self) -> bool:
        """Whether the model predicts the labels better than a constant guess, beyond chance."""
        return self.gain > _N_STD_ERRORS * self.gain_std_error

    def summary(self) -> dict[str, Any]:
        """Return all of it in values that JSON has."""
        best, table = self.best, self.table
        return {
            "rows": len(table.frame),
            "labels": int(table.y_comp.mask.sum()),
            "classes": table.y_comp.classes,
            "columns": {name: list(v) for name, v in table.columns._asdict().items()},
            "left_out": dict(table.columns.left_out),
            "transition": {
                "source": table.T_source,
                "gamma": transition.gamma(table.T),
                "T": table.T.tolist(),
            },
            "tried": [_summary(result) for result in self.results],
            "method": best.method,
            "scel": best.scel,
            "scel_of_the_best_constant_guess": self.constant_scel,
            "informative": self.informative,
            "expected_accuracy": _finite(1 - best.error),
            "expected_accuracy_std_error": _finite(best.error_std_error),
        }


def _summary(result: CandidateResult) -> dict[str, Any]:
    return {
        "method": result.method,
        "scel": _finite(result.scel),
        "scel_std_error": _finite(result.scel_std_error),
        "error_rate": _finite(result.error),
        "error_rate_std_error": _finite(result.error_std_error),
        "seconds": round(result.seconds, 2),
        "failed": result.failed,
    }


def comparison(results: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return the entries of "tried" in `Selection.summary` as rows of text, for `COMPARISON`."""
    return [
        [result["method"], f"– ({result['failed']})", "", ""]
        if result["failed"] is not None
        else [
            result["method"],
            _with_std_error(result["scel"], result["scel_std_error"], 4),
            _with_std_error(result["error_rate"], result["error_rate_std_error"], 3),
            f"{result['seconds']:.1f}",
        ]
        for result in results
    ]


def _with_std_error(value: float | None, std_error: float | None, digits: int) -> str:
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text if std_error is None else f"{text} ± {std_error:.{digits}f}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def fit(
    table: TrainingTable,
    methods: Sequence[str],
    *,
    decoder: str | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_result: Callable[[CandidateResult], Any] = lambda _: None,
) -> Selection:
    """Score the methods on held-out rows, and fit the one with the lowest SCEL to all rows.

    Parameters
    ----------
    time_limit : float, optional
        Seconds after which no candidate starts.
    on_result : callable
        Called with the result of each candidate.
    """
    started = time.monotonic()
    training, held_out = candidates.split(table.y_comp.mask, seed)
    build = functools.partial(candidates.build, table=table, decoder=decoder, seed=seed)
    deadline = None if time_limit is None else started + time_limit
    results = []
    for result in candidates.evaluate_all(methods, table, build, training, held_out, deadline):
        results.append(result)
        on_result(result)
    fitted = [result for result in results if result.failed is None]
    if not fitted:
        reasons = "; ".join(f"{result.method}: {result.failed}" for result in results)
        message = f"no model could be fitted ({reasons})"
        failures = [result.failure for result in results if type(result.failure) is ValueError]
        if not failures:
            raise FailureError(message)
        # A ValueError of an estimator is about the data, or a bug; the traceback shows which.
        raise UnexplainedFailureError(message) from failures[0]
    best = min(fitted, key=lambda result: result.scel)
    mask = table.y_comp.mask[held_out]
    constant = scoring.constant_losses(table.y_comp.mask[training], mask)
    gain, gain_std_error = scoring.mean_and_std_error(constant - np.asarray(best.losses), mask)
    if deadline is not None:
        deadline = max(deadline, time.monotonic() + best.seconds)
    model = candidates.fit_to_all(best, table, build, deadline)
    selection = Selection(
        table, results, best, float(np.mean(constant)), gain, gain_std_error, model
    )
    model.account_ = selection.summary()
    return selection


def explain(selection: Selection) -> list[str]:
    """Return sentences about the expected accuracy of a model and the reasons to doubt it."""
    best, table = selection.best, selection.table
    lines = [
        f"Selected: {best.method}, with the lowest SCEL on held-out labels: {best.scel:.4f} "
        f"(the best constant guess: {selection.constant_scel:.4f})."
    ]
    if not selection.informative:
        remedy = "Collect more labels, or labels that depend more on the class."
        lines.append(f"{UNINFORMATIVE} {remedy}")
    lines += _explain_accuracy(best, table)
    lines += _explain_similar_rows(table.T, table.y_comp.classes)
    absent = (table.T.sum(axis=0) > 0) & ~table.y_comp.mask.any(axis=0)
    for name in table.y_comp.names[absent]:
        lines.append(
            f"No complementary label is {name}, although T expects such labels. The model will "
            f"predict {name} for almost every row, and the accuracy above is not reliable. If "
            f"nobody was asked about {name}, pass a matrix that says so with --transition."
        )
    return lines


def _explain_accuracy(best: CandidateResult, table: TrainingTable) -> list[str]:
    if not math.isfinite(best.error):
        return [
            "The accuracy cannot be estimated: the transition matrix is singular, so that the "
            "labels cannot distinguish some classes."
        ]
    accuracy, margin = 1 - best.error, _N_STD_ERRORS * best.error_std_error
    low, high = share(accuracy - margin), share(accuracy + margin)
    lines = [
        f"Expected accuracy: {100 * share(accuracy):.1f}% (two standard errors: {100 * low:.1f}% "
        f"to {100 * high:.1f}%), estimated without true labels. It holds if T is right "
        f"({table.T_source})."
    ]
    if high - low > _WIDE_INTERVAL:
        lines.append("This interval is too wide to be useful; more labels make it narrower.")
    return lines


def share(value: float) -> float:
    """Return an estimate of a share as one: between 0 and 1."""
    return min(1.0, max(0.0, value))


def _explain_similar_rows(T: FloatArray, classes: Sequence[str]) -> list[str]:
    distances = np.abs(T[:, None] - T[None]).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    a, b = np.unravel_index(int(np.argmin(distances)), distances.shape)
    if distances[a, b] > _SIMILAR_ROWS:
        return []
    return [
        f"The labels hardly distinguish {classes[int(a)]} from {classes[int(b)]}: the L1 distance "
        f"of their rows of T is {distances[a, b]:.3f}."
    ]
