"""Select a model for a table by held-out complementary labels, and explain how good it is."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import metrics, transition
from ..transition.describing import closest_rows
from ..utils.errors import FailureError, InputError, UnexplainedFailureError
from ..utils.typing import IntArray
from . import accuracy, answers, candidates, scoring, verdict
from .candidates import CandidateResult
from .labels import ComplementaryLabels
from .model import TableClassifier
from .training import TrainingTable

COMPARISON = ("model", "SCEL", "error rate (URE)", "seconds")
UNINFORMATIVE = (
    "The held-out labels do not show that any model has learned something: no model predicts them "
    "significantly better than a constant guess. The predictions may be no better than chance."
)

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
    p_value : float
        That of `verdict.p_value`, for labels that do not depend on the features.
    refitted : bool
        Whether the model was fitted to all rows, for which a time limit may leave no time.
    """

    table: TrainingTable
    results: list[CandidateResult]
    best: CandidateResult
    accuracies: dict[str, dict[str, Any]]
    n_training: int
    n_held_out: int
    constant_scel: float
    p_value: float
    refitted: bool
    model: TableClassifier

    @property
    def informative(self) -> bool:
        """Whether some model predicts the labels better than a constant guess, beyond chance."""
        return self.p_value <= verdict.LEVEL

    def summary(self) -> dict[str, Any]:
        """Return all of it in values that JSON has."""
        best, table = self.best, self.table
        estimated = self.accuracies[best.method]
        if not self.informative:  # the best of several estimates would be too high by chance
            estimated = estimated | dict.fromkeys(accuracy.ESTIMATES)
        return estimated | {
            "rows": len(table.frame),
            "rows_of_the_compared_models": self.n_training,
            "rows_of_the_saved_model": len(table.frame) if self.refitted else self.n_training,
            "held_out_rows": self.n_held_out,
            "labels": int(table.y_comp.units.sum()),
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
            "settings": best.settings,
            "temperature": best.temperature,
            "scel_of_the_best_constant_guess": self.constant_scel,
            "informative": self.informative,
            "informative_p_value": self.p_value,
            "predicted_shares": (
                np.bincount(np.asarray(best.predicted), minlength=len(table.T)) / self.n_held_out
            ).tolist(),
            "shares_implied_by_the_labels": scoring.class_shares(table.y_comp, table.T),
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


def comparison(summary: dict[str, Any]) -> list[list[str]]:
    """Return the candidates in `Selection.summary` as rows of text, for `COMPARISON`.

    An arrow marks the selected one; the last row is the best constant guess.
    """
    rows = []
    for result in summary["tried"]:
        name = result["method"]
        if name == summary["method"]:
            name += " ←"
        if result["failed"] is not None:
            rows.append([name, f"– ({result['failed']})", "", ""])
            continue
        scel = _with_std_error(result["scel"], result["scel_std_error"], 4)
        error = _with_std_error(result["error_rate"], result["error_rate_std_error"], 3)
        rows.append([name, scel, error, f"{result['seconds']:.1f}"])
    constant = f"{summary['scel_of_the_best_constant_guess']:.4f}"
    return [*rows, ["the best constant guess", constant, "", ""]]


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
    end: float = math.inf,
    on_result: Callable[[CandidateResult], Any] = lambda _: None,
) -> Selection:
    """Score the methods on held-out rows, and fit the one with the lowest SCEL to all rows.

    Parameters
    ----------
    end : float
        The time of `time.monotonic` after which no model is fitted. If there is no time to
        fit the selected model to all rows, the model that was scored is kept.
    on_result : callable
        Called with the result of each candidate.
    """
    training, held_out = candidates.split(table.y_comp.mask, seed)
    if len(training) < (n_classes := len(table.y_comp.classes)):
        raise InputError(
            f"the table must have at least {n_classes:,} rows beside the held-out ones, as many as "
            f"classes; got {len(training):,}. Add rows, or check that the labels are no ids"
        )
    build = functools.partial(candidates.build, table=table, decoder=decoder, seed=seed)
    results: list[CandidateResult] = []
    model = None
    for result in candidates.evaluate_all(methods, table, build, training, held_out, end):
        if result.scel < min((other.scel for other in results), default=math.inf):
            model = result.model
        result.model = None  # keep only the best: models of large tables fill the memory
        results.append(result)
        on_result(result)
    if model is None:
        raise _failure(results)
    best = min((r for r in results if r.failed is None), key=lambda result: result.scel)
    refitted = candidates.fit_to_all(best, table, build, end)
    if refitted is not None:
        model = refitted
    return describe(table, results, model, training, held_out, refitted is not None, seed)


def describe(
    table: TrainingTable,
    results: list[CandidateResult],
    model: TableClassifier,
    training: IntArray,
    held_out: IntArray,
    refitted: bool,
    seed: int,
) -> Selection:
    """Return the candidates with what the held-out rows show, as `account_` of the model."""
    fitted = sorted((r for r in results if r.failed is None), key=lambda result: result.scel)
    labels = table.y_comp.subset(held_out)
    constant = scoring.constant_losses(table.y_comp.subset(training), labels, table.T)
    selection = Selection(
        table=table,
        results=results,
        best=fitted[0],
        accuracies=_accuracies(fitted, labels, table),
        n_training=len(training),
        n_held_out=len(held_out),
        constant_scel=float(np.mean(constant)),
        p_value=_p_value(fitted, labels, seed),
        refitted=refitted,
        model=model,
    )
    model.account_ = selection.summary()
    return selection


def _failure(results: Sequence[CandidateResult]) -> Exception:
    """Return the error to raise if no candidate could be fitted."""
    reasons = "; ".join(f"{result.method}: {result.failed}" for result in results)
    message = f"no model could be fitted ({reasons})"
    if all(result.failure is None for result in results):
        message += ". Raise --time-limit, or choose a faster --method"
    failures = [result.failure for result in results if type(result.failure) is ValueError]
    if not failures:
        return FailureError(message)
    # A ValueError of an estimator is about the data, or a bug; the traceback shows which.
    error = UnexplainedFailureError(message)
    error.__cause__ = failures[0]
    return error


def _p_value(fitted: Sequence[CandidateResult], labels: ComplementaryLabels, seed: int) -> float:
    probas = [np.asarray(result.proba) for result in fitted]
    if labels.asked is not None:
        return verdict.p_value(
            [answers.probabilities(p) for p in probas], answers.answered(labels), seed, labels.asked
        )
    outputs = [p @ np.asarray(result.T) for p, result in zip(probas, fitted, strict=True)]
    return verdict.p_value(outputs, labels.mask, seed)


def _accuracies(
    fitted: Sequence[CandidateResult], labels: ComplementaryLabels, table: TrainingTable
) -> dict[str, dict[str, Any]]:
    """Return the accuracy of each candidate, none under a T that the held-out labels refute.

    The candidates are in the order of SCEL. A T is checked once, with the predictions of the best
    candidate that assumes it and with the best q that was learned without T.
    """
    if labels.asked is not None:
        return {
            result.method: answers.summary(np.asarray(result.predicted), labels)
            for result in fitted
        }
    mask = labels.mask
    labelled = mask.any(axis=1)
    classes, absent = table.y_comp.classes, accuracy.absent_classes(table.y_comp.mask, table.T)
    free = [result for result in fitted if result.free_q is not None]
    free_q = np.asarray(free[0].free_q)[labelled] if free else None
    free_p = np.asarray(free[0].proba)[labelled] if free else None
    n_free = sum(len(candidates.SETTINGS.get(result.method, [{}])) for result in free)
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
                free_p if free and np.array_equal(T, np.asarray(free[0].T)) else None,
                max(1, n_free),
            )
        accuracies[result.method] = accuracy.summary(
            result.error, result.error_std_error, checks[key], [classes[k] for k in absent]
        )
    return accuracies


def explain(selection: Selection) -> list[str]:
    """Return sentences about the classes, the expected accuracy and the reasons to doubt it."""
    best, table = selection.best, selection.table
    summary = selection.model.account_
    return [
        _explain_classes(table),
        explain_rows(summary),
        f"Selected: {best.method}, with the lowest SCEL on held-out labels: {best.scel:.4f} "
        f"(the best constant guess: {selection.constant_scel:.4f}).",
        *explain_verdict(summary),
        *accuracy.explain(summary, summary),
        *([] if table.y_comp.asked is not None else _explain_similar_rows(table)),
    ]


def explain_rows(summary: dict[str, Any]) -> str:
    """Return a text about the rows that the scored models and the saved model were fitted to."""
    n_rows, n_training = summary["rows"], summary["rows_of_the_compared_models"]
    if "partitions" in summary:
        return (
            f"The model is fitted to {n_training} of the rows. The scores are those of the other "
            f"{n_rows - n_training}, which were drawn at random."
        )
    scored = f"Each model was fitted to {n_training} of the {n_rows} rows and scored on the other "
    scored += f"{n_rows - n_training}."
    if summary["rows_of_the_saved_model"] == n_rows:
        return f"{scored} The saved model is fitted to all {n_rows} rows."
    return (
        f"{scored} The saved model is the one that was scored, because --time-limit left no time "
        f"to fit it to all {n_rows} rows."
    )


def explain_verdict(summary: dict[str, Any]) -> list[str]:
    """Return a warning if the labels do not show that a model has learned something."""
    if summary["informative"]:
        return []
    remedy = "Collect more labels, or labels that depend more on the class."
    return [f"{UNINFORMATIVE} {remedy}"]


def _explain_classes(table: TrainingTable) -> str:
    """Return the classes with their number of complementary labels, or of answers."""
    y_comp, title = table.y_comp, "Complementary labels per class"
    counts = y_comp.mask.sum(axis=0).tolist()
    if y_comp.asked is not None:
        title, counts = "Answers (yes/all) per class", answers.counts(y_comp)
    pairs = [f"{name}: {count}" for name, count in zip(y_comp.classes, counts, strict=True)]
    more = len(pairs) - _MOST_CLASSES
    ending = f", and {more} more classes" if more > 0 else ""
    return f"{title}: {', '.join(pairs[:_MOST_CLASSES])}{ending}."


def _explain_similar_rows(table: TrainingTable) -> list[str]:
    T, classes = table.T, table.y_comp.classes
    a, b = closest_rows(T)
    distance = np.abs(T[a] - T[b]).sum()
    if distance > _SIMILAR_ROWS:
        return []
    return [
        f"The labels hardly distinguish {classes[a]} from {classes[b]}: the L1 distance of their "
        f"rows of T is {distance:.3f}."
    ]
