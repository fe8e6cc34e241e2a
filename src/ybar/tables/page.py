"""The page of a model: its selection, its transition matrix, and its scores on new rows."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from ..report.blocks import Block, Definitions, KeyFigures, Text
from ..report.figures import matrix_figure, picture
from ..report.grid import Column, Grid
from ..report.page import Page, Section
from . import accuracy
from .fitting import COMPARISON, UNINFORMATIVE, comparison
from .model import TableClassifier


def build(model: TableClassifier, scores: dict[str, Any] | None = None) -> Page:
    """Return the page of a model; `scores` are those of `evaluation.evaluate`."""
    summary = model.account_
    sections = [
        _selection(summary),
        _comparison(summary),
        _transition(model),
    ]
    if scores is not None:
        sections.append(_new_data(scores, summary))
    sections.append(_columns(summary))
    now = datetime.datetime.now(datetime.UTC)
    return Page(
        "A model fitted to complementary labels",
        f"{summary['method']}, fitted to {summary['rows']} rows with {summary['labels']} "
        f"complementary labels. Each label names one of {len(summary['classes'])} classes that "
        "the row does not belong to.",
        sections,
        f"Made by ybar, {now:%Y-%m-%d %H:%M} UTC.",
    )


def _selection(summary: dict[str, Any]) -> Section:
    figures = [(summary["method"], "the selected model, with the lowest SCEL")]
    if summary["expected_accuracy"] is not None:
        value, interval = accuracy.percentages(summary)
        figures.append((value, f"expected accuracy ({interval})"))
    figures.append(_scel(summary))
    n_rows = summary["rows"]
    paragraphs = [
        "No true labels were used. SCEL is the log loss on held-out complementary labels. The "
        f"scores are those of models fitted to {summary['rows_of_the_compared_models']} of the "
        f"{n_rows} rows; the saved model is fitted to all {n_rows} rows."
    ]
    if not summary["informative"]:
        paragraphs.append(UNINFORMATIVE)
    paragraphs += accuracy.explain(summary, summary)
    return Section("Summary", [KeyFigures(figures), Text(paragraphs)])


def _scel(scores: dict[str, Any]) -> tuple[str, str]:
    constant = scores["scel_of_the_best_constant_guess"]
    return f"{scores['scel']:.3f}", f"SCEL (the best constant guess: {constant:.3f})"


def _comparison(summary: dict[str, Any]) -> Section:
    columns = [Column(name, words=i == 0) for i, name in enumerate(COMPARISON)]
    note = (
        "Scores on held-out complementary labels, ± one standard error. URE is an unbiased "
        "estimate of the error rate."
    )
    return Section("Compared models", [Grid(columns, comparison(summary["tried"]), notes=[note])])


def _transition(model: TableClassifier) -> Section:
    from ..displays import TransitionDisplay  # needs matplotlib, which is an optional extra

    display = TransitionDisplay(model.transition_, classes=model.classes_)
    account = model.account_["transition"]
    paragraphs = [f"The transition matrix is {account['source']}."]
    if account["note"] is not None:
        paragraphs.append(f"{account['note']}.")
    return Section(
        "Transition matrix",
        [
            Text(paragraphs),
            picture(
                matrix_figure(display.plot, len(model.classes_)),
                "Heat map of the transition matrix",
                caption="The probability of each complementary label (column) for an example of "
                "each class (row).",
            ),
        ],
    )


def _new_data(scores: dict[str, Any], summary: dict[str, Any]) -> Section:
    figures: list[tuple[str, str]] = []
    blocks: list[Block] = []
    if "accuracy" in scores:
        label = f"accuracy on {scores['rows_with_a_true_label']} rows with a true label"
        figures.append((f"{100 * scores['accuracy']:.1f}%", label))
    if scores.get("expected_accuracy") is not None:
        value, interval = accuracy.percentages(scores)
        n_labels = scores["complementary_labels"]
        label = f"accuracy estimated from {n_labels} complementary labels ({interval})"
        figures.append((value, label))
    if "scel" in scores:
        figures.append(_scel(scores))
        blocks.append(Text(accuracy.explain(scores, summary)))
    if "confusion" in scores:
        blocks.append(_confusion(np.array(scores["confusion"]), scores["classes"]))
    return Section("Scores on new data", [KeyFigures(figures), *blocks])


def _confusion(counts: Any, classes: list[str]) -> Block:
    from ..displays import ConfusionDisplay  # needs matplotlib, which is an optional extra

    display = ConfusionDisplay(counts / counts.sum(), classes=classes)
    return picture(
        matrix_figure(display.plot, len(counts)), "Confusion matrix of true and predicted classes"
    )


def _columns(summary: dict[str, Any]) -> Section:
    items = [
        (kind, ", ".join(summary["columns"][kind]) or "none")
        for kind in ("numbers", "categories", "texts")
    ]
    items += [(name, f"left out: {reason}") for name, reason in summary["left_out"].items()]
    return Section("Columns", [Definitions(items)])
