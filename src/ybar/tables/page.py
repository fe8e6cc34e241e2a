"""The page of a model: its selection, its transition matrix, and its scores on new rows."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import numpy as np

from ..report.blocks import Block, Definitions, KeyFigures, Text
from ..report.figures import matrix_figure, picture
from ..report.grid import Column, Grid
from ..report.page import Page, Section
from ..utils.random import as_generator
from . import accuracy, evaluation, fitting
from .model import TableClassifier

_MOST_SAMPLES = 10
_MOST_FEATURES = 4
_MOST_LETTERS = 120


class Evaluated(NamedTuple):
    """Rows that a model was evaluated on."""

    scores: dict[str, Any]
    """Those of `evaluation.evaluate`."""
    rows: Any
    named: list[str]
    """The columns with true or complementary labels."""


def build(model: TableClassifier, evaluated: Evaluated | None = None) -> Page:
    """Return the page of a model, with its scores on some rows if there are any."""
    summary = model.account_
    sections = [
        _selection(summary),
        _comparison(summary),
        _classes(summary),
        _transition(model),
    ]
    if evaluated is not None:
        sections.append(_scores(evaluated.scores, summary))
        sections.append(_samples(model, evaluated))
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
    paragraphs = [
        "No true labels were used. SCEL is the log loss on held-out complementary labels. "
        + fitting.explain_rows(summary),
        *fitting.explain_verdict(summary),
        *accuracy.explain(summary, summary),
    ]
    return Section("Summary", [KeyFigures(figures), Text(paragraphs)])


def _scel(scores: dict[str, Any]) -> tuple[str, str]:
    constant = scores["scel_of_the_best_constant_guess"]
    return f"{scores['scel']:.3f}", f"SCEL (the best constant guess: {constant:.3f})"


def _comparison(summary: dict[str, Any]) -> Section:
    columns = [Column(name, words=i == 0) for i, name in enumerate(fitting.COMPARISON)]
    note = (
        "Scores on held-out complementary labels, ± one standard error. The arrow marks the "
        "selected model. URE is an unbiased estimate of the error rate."
    )
    return Section("Compared models", [Grid(columns, fitting.comparison(summary), notes=[note])])


def _classes(summary: dict[str, Any]) -> Section:
    names = summary["classes"]
    implied = summary["shares_implied_by_the_labels"] or [None] * len(names)  # answers imply none
    columns = zip(
        names, summary["labels_per_class"], summary["predicted_shares"], implied, strict=True
    )
    rows = [
        [name, str(n), *("–" if share is None else f"{100 * share:.1f}%" for share in shares)]
        for name, n, *shares in columns
    ]
    heads = ("class", "complementary labels", "predicted", "implied by the labels")
    note = (
        "Predicted: the share of the held-out rows for which the model predicts the class. Implied "
        "by the labels: the shares of the classes that explain the number of complementary labels "
        "best, if T is right. If the two shares of a class differ widely, the model confuses the "
        "class with others."
    )
    grid = Grid([Column(name, words=i == 0) for i, name in enumerate(heads)], rows, notes=[note])
    return Section("Classes", [grid])


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


def _scores(scores: dict[str, Any], summary: dict[str, Any]) -> Section:
    figures: list[tuple[str, str]] = []
    blocks: list[Block] = []
    if "accuracy" in scores:
        label = f"accuracy on {scores['rows_with_a_true_label']} rows with a true label"
        error = f"{100 * scores['accuracy_std_error']:.1f}"
        value = f"{100 * scores['accuracy']:.1f} ± {error}%"
        figures.append((value, f"{label}, ± one standard error"))
    if scores.get("expected_accuracy") is not None:
        value, interval = accuracy.percentages(scores)
        n_labels = scores["complementary_labels"]
        label = f"accuracy estimated from {n_labels} complementary labels ({interval})"
        figures.append((value, label))
    if scores.get("scel") is not None:
        figures.append(_scel(scores))
    blocks.append(Text(evaluation.explain(scores, summary)))
    if "confusion" in scores:
        blocks.append(_confusion(np.array(scores["confusion"]), scores["classes"]))
    title = "Scores on new rows"
    if scores["rows_of_the_training_data"]:
        title = "Scores on rows, some of which the model was fitted to"
    return Section(title, [KeyFigures(figures), *blocks])


def _samples(model: TableClassifier, evaluated: Evaluated) -> Section:
    """Return some rows with their predicted class."""
    rows = evaluated.rows
    drawn = np.sort(as_generator(0).permutation(len(rows))[:_MOST_SAMPLES])
    part = rows.iloc[drawn]
    p, predicted = model.predict_proba(part), model.predict(part)
    used = [name for kind in ("texts", "categories", "numbers") for name in model.columns_[kind]]
    shown = [*evaluated.named, *used[:_MOST_FEATURES]]
    heads = ["row", "predicted", "p", *shown]
    classes = model.classes_.tolist()
    cells = [
        [
            str(row + 1),
            str(name),
            f"{probabilities[classes.index(name)]:.2f}",
            *(_short(part[column].iloc[i]) for column in shown),
        ]
        for i, (row, name, probabilities) in enumerate(
            zip(drawn, predicted.tolist(), p, strict=True)
        )
    ]
    note = "Rows drawn at random. p is the probability of the predicted class."
    numbers = {"row", "p", *model.columns_["numbers"]}
    columns = [Column(name, words=name not in numbers) for name in heads]
    return Section("Sample rows", [Grid(columns, cells, notes=[note])])


def _short(value: Any) -> str:
    """Return a cell as text of a few words."""
    if value is None or value != value:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"


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
