"""Select a model for a table by held-out complementary labels, and explain how good it is."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import metrics, transition
from ..utils.errors import FailureError, UnexplainedFailureError
from ..utils.typing import BoolArray, FloatArray
from . import accuracy, candidates, scoring
from .candidates import CandidateResult
from .model import TableClassifier
from .training import TrainingTable

COMPARISON = ("model", "SCEL", "error rate (URE)", "seconds")
UNINFORMATIVE = (
    "These labels carry too little information to learn from: no model predicts held-out labels "
    "better than a constant guess, beyond chance."
)

_N_STD_ERRORS = 2.0
_MOST_CLASSES = 20
_SIMILAR_ROWS = 0.02  # L1 distance of two rows of T


@dataclass(frozen=True)
class Selection:
    """The candidates and the model that was selected.

    Attributes
    ----------
    accuracies : dict
        The estimated accuracy of each fitted candidate by method, as of `accuracy.summary`.
    n_training, n_held_out : int
        The number of rows that the candidates were fitted to, and scored on.
    constant_scel : float
        The SCEL of the best constant guess on the held-out rows.
    gain, gain_std_error : float
        By how much the selected model's SCEL is lower than that of the constant guess.
    """

    table: TrainingTable
    results: list[CandidateResult]
    best: CandidateResult
    accuracies: dict[str, dict[str, Any]]
    n_training: int
    n_held_out: int
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
        estimated = self.accuracies[best.method]
        return estimated | {
            "rows": len(table.frame),
            "rows_of_the_compared_models": self.n_training,
            "held_out_rows": self.n_held_out,
            "labels": int(table.y_comp.mask.sum()),
            "classes": table.y_comp.classes,
            "labels_per_class": table.y_comp.mask.sum(axis=0).tolist(),
            "columns": {name: list(v) for name, v in table.columns._asdict().items()},
            "left_out": dict(table.columns.left_out),
            "transition": {
                "source": table.T_source,
                "note": table.T_note,
                "gamma": transition.gamma(table.T),
                "T": table.T.tolist(),
                "noise_learned": not np.array_equal(np.asarray(best.T), table.T),
            }
            | estimated["transition"],
            "tried": [_summary(result, self.accuracies) for result in self.results],
            "method": best.method,
            "scel": best.scel,
            "scel_of_the_best_constant_guess": self.constant_scel,
            "informative": self.informative,
        }


def _summary(result: CandidateResult, accuracies: dict[str, dict[str, Any]]) -> dict[str, Any]:
    estimated = accuracies.get(result.method)
    known = estimated is not None and estimated["expected_accuracy"] is not None
    return {
        "method": result.method,
        "scel": _finite(result.scel),
        "scel_std_error": _finite(result.scel_std_error),
        "error_rate": _finite(result.error) if known else None,
        "error_rate_std_error": _finite(result.error_std_error) if known else None,
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
    fitted.sort(key=_scel)
    best = fitted[0]
    mask = table.y_comp.mask[held_out]
    accuracies = _accuracies(fitted, mask, table.y_comp.classes)
    constant = scoring.constant_losses(table.y_comp.mask[training], mask)
    gain, gain_std_error = scoring.mean_and_std_error(constant - np.asarray(best.losses), mask)
    if deadline is not None:
        deadline = max(deadline, time.monotonic() + best.seconds)
    model = candidates.fit_to_all(best, table, build, deadline)
    selection = Selection(
        table=table,
        results=results,
        best=best,
        accuracies=accuracies,
        n_training=len(training),
        n_held_out=len(held_out),
        constant_scel=float(np.mean(constant)),
        gain=gain,
        gain_std_error=gain_std_error,
        model=model,
    )
    model.account_ = selection.summary()
    return selection


def _scel(result: CandidateResult) -> float:
    return result.scel


def _accuracies(
    fitted: Sequence[CandidateResult], mask: BoolArray, classes: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the accuracy of each candidate, none under a T that the held-out labels refute.

    The candidates are in the order of SCEL. A T is checked once, with the predictions of the best
    candidate that assumes it and with the best q that was learned without T.
    """
    labelled = mask.any(axis=1)
    free = [result.free_q[labelled] for result in fitted if result.free_q is not None]
    free_q, n_free = (free[0], len(free)) if free else (None, 1)
    checks: dict[bytes, metrics.TransitionCheck] = {}
    accuracies = {}
    for result in fitted:
        T, predicted = np.asarray(result.T), np.asarray(result.predicted)
        key = T.tobytes()
        if key not in checks:
            checks[key] = accuracy.check(
                mask[labelled],
                T,
                None if result.profile is not None else predicted[labelled],
                classes,
                free_q,
                n_free,
            )
        accuracies[result.method] = accuracy.summary(
            result.error, result.error_std_error, checks[key]
        )
    return accuracies


def explain(selection: Selection) -> list[str]:
    """Return sentences about the classes, the expected accuracy and the reasons to doubt it."""
    best, table = selection.best, selection.table
    n_rows = len(table.frame)
    lines = [
        _explain_classes(table),
        f"The scores are those of models fitted to {selection.n_training} of the {n_rows} rows, on "
        f"the other {selection.n_held_out}. The saved model is fitted to all {n_rows} rows.",
        f"Selected: {best.method}, with the lowest SCEL on held-out labels: {best.scel:.4f} "
        f"(the best constant guess: {selection.constant_scel:.4f}).",
    ]
    if not selection.informative:
        remedy = "Collect more labels, or labels that depend more on the class."
        lines.append(f"{UNINFORMATIVE} {remedy}")
    summary = selection.summary()
    lines += accuracy.explain(summary, summary)
    lines += _explain_similar_rows(table.T, table.y_comp.classes)
    absent = (table.T.sum(axis=0) > 0) & ~table.y_comp.mask.any(axis=0)
    for name in table.y_comp.names[absent]:
        lines.append(
            f"No complementary label is {name}, although T expects such labels. The model will "
            f"predict {name} for almost every row, and no estimate of its accuracy is reliable. If "
            f"nobody was asked about {name}, pass a matrix that says so with --transition."
        )
    return lines


def _explain_classes(table: TrainingTable) -> str:
    """Return the classes with their number of complementary labels."""
    counts = table.y_comp.mask.sum(axis=0).tolist()
    pairs = [f"{name} {count}" for name, count in zip(table.y_comp.classes, counts, strict=True)]
    more = len(pairs) - _MOST_CLASSES
    ending = f", and {more} more classes" if more > 0 else ""
    return f"Complementary labels per class: {', '.join(pairs[:_MOST_CLASSES])}{ending}."


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
