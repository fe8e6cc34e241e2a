"""The page of ``ybar demo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils import Bunch

from .. import datasets
from ..displays import ConfusionDisplay, TrainingCurveDisplay, TransitionDisplay
from ..report.blocks import KeyFigures, Picture, Text
from ..report.figures import figure, matrix_figure, picture
from ..report.grid import Column, Grid, Group
from ..report.page import Page, Section
from ..utils.extras import require
from ..utils.typing import IntArray
from .demo_models import HEADER, SHOWN, STRONG, Row, matrices, training_labels

_N_EXAMPLES = 10


def build(rows: Sequence[Row]) -> Page:
    """Return the page of the demo."""
    data = datasets.load("digits")
    T = matrices()[STRONG]
    shown = next(row.clf for row in rows if (row.labels, row.model) == (STRONG, SHOWN))
    predicted = shown.predict(data.X_test)
    return Page(
        "Learning from complementary labels",
        f"{len(data.X_train)} images of handwritten digits, each with one complementary label: a "
        "digit that it does not show. Only the last model in the table was trained on true labels.",
        [
            Section("Summary", [_key_figures(rows), _table(rows)]),
            Section("Examples", _examples(data, training_labels(data, T), predicted)),
            Section(
                "Transition matrix",
                [
                    picture(
                        matrix_figure(TransitionDisplay(T).plot, len(T)),
                        "Heat map of the transition matrix",
                        caption="Strong T: the probability of each complementary label (column) "
                        "for an image of each digit (row).",
                    )
                ],
            ),
            Section("Training", [_training_curve(shown)]),
            Section("Confusion matrix", [_confusion(data, predicted)]),
        ],
        "Made by ybar demo.",
    )


def _key_figures(rows: Sequence[Row]) -> KeyFigures:
    best = min((row for row in rows if row.labels == STRONG), key=lambda row: row.scel)
    return KeyFigures(
        [
            (
                f"{100 * best.accuracy:.1f}%",
                f"accuracy of {best.model}, selected by SCEL under {STRONG}",
            ),
            (f"{100 * rows[-1].accuracy:.1f}%", f"accuracy of {rows[-1].model}"),
            ("10%", "accuracy of a random guess"),
        ]
    )


def _table(rows: Sequence[Row]) -> Grid:
    lines: list[Any] = []
    for name in dict.fromkeys(row.labels for row in rows):
        lines.append(Group(name))
        lines += [[row.model, *row.cells()] for row in rows if row.labels == name]
    note = (
        "The transition matrix T says how the labels arise: under uniform T all wrong digits are "
        "equally likely as labels, under strong T three of them make up 75%. Accuracy is measured "
        "on the true labels of 450 test images. SCEL and URE need only complementary labels of "
        "these images: SCEL is the log loss (2.303 for a constant guess under uniform T), and URE "
        "is an unbiased estimate of the error rate, ± one standard error."
    )
    return Grid([Column("model", words=True), *map(Column, HEADER)], lines, notes=[note])


def _examples(data: Bunch, y_comp: IntArray, predicted: IntArray) -> list[Text | Picture]:
    return [
        Text(
            [
                "First row: training images with their complementary labels. Second row: test "
                f"images with the predictions of {SHOWN}, {STRONG}."
            ]
        ),
        picture(
            draw_examples(data, y_comp, predicted),
            "Ten training images, each titled with its complementary label, and ten test images, "
            "each titled with the predicted digit",
        ),
    ]


def draw_examples(data: Bunch, y_comp: IntArray, predicted: IntArray) -> Any:
    """Return a figure of training images with their labels and of test images as predicted."""
    figures = require("matplotlib.figure", "report", "ybar demo")
    drawn = figures.Figure(figsize=(9, 2.9), layout="constrained")
    axes = drawn.subplots(2, _N_EXAMPLES)
    for column in range(_N_EXAMPLES):
        for row, X in enumerate((data.X_train, data.X_test)):
            axes[row, column].imshow(X[column].reshape(8, 8), cmap="gray_r")
            axes[row, column].set_axis_off()
        axes[0, column].set_title(f"not {y_comp[column]}", fontsize=10)
        correct = predicted[column] == data.y_test[column]
        axes[1, column].set_title(
            f"a {predicted[column]}" + ("" if correct else f", truly {data.y_test[column]}"),
            fontsize=10,
            color="black" if correct else "firebrick",
        )
    return drawn


def _training_curve(clf: Any) -> Picture:
    return picture(
        figure(lambda ax: TrainingCurveDisplay.from_estimator(clf, ax=ax), 7, 4),
        "Training loss and validation loss by epoch",
    )


def _confusion(data: Bunch, predicted: IntArray) -> Picture:
    return picture(
        matrix_figure(lambda ax: ConfusionDisplay.from_true(data.y_test, predicted, ax=ax), 10),
        "Confusion matrix of true and predicted digits",
    )
