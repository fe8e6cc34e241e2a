"""The page of a model: its selection, its transition matrix, and its scores on new rows."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from ..report.blocks import Block, Definitions, KeyFigures, Text
from ..report.figures import matrix_figure, picture
from ..report.grid import Column, Grid
from ..report.page import Page, Section
from .fitting import COMPARISON, UNINFORMATIVE, comparison, share
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
        sections.append(_new_data(scores))
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
        figures.append(
            (
                f"{100 * share(summary['expected_accuracy']):.0f}%",
                f"expected accuracy (± {200 * summary['expected_accuracy_std_error']:.0f} points)",
            )
        )
    figures.append(_scel(summary))
    text = (
        "No true labels were used. SCEL is the log loss on held-out complementary labels. The "
        "expected accuracy is right if the transition matrix is right."
    )
    return Section(
        "Summary", [KeyFigures(figures), Text([text if summary["informative"] else UNINFORMATIVE])]
    )


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
    return Section(
        "Transition matrix",
        [
            Text([f"The transition matrix is {model.account_['transition']['source']}."]),
            picture(
                matrix_figure(display.plot, len(model.classes_)),
                "Heat map of the transition matrix",
                caption="The probability of each complementary label (column) for an example of "
                "each class (row).",
            ),
        ],
    )


def _new_data(scores: dict[str, Any]) -> Section:
    figures: list[tuple[str, str]] = []
    blocks: list[Block] = []
    if "accuracy" in scores:
        label = f"accuracy on {scores['rows_with_a_true_label']} rows with a true label"
        figures.append((f"{100 * scores['accuracy']:.1f}%", label))
    if "expected_accuracy" in scores:
        figures.append(
            (
                f"{100 * share(scores['expected_accuracy']):.1f}%",
                f"accuracy estimated from {scores['complementary_labels']} complementary labels "
                f"(± {200 * scores['expected_accuracy_std_error']:.1f} points)",
            )
        )
    if "scel" in scores:
        figures.append(_scel(scores))
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
