"""``ybar demo``: digits learned from what they are not, by several methods side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from .. import datasets, labels, metrics, transition
from ..classifiers.boosting import CPEBoostingClassifierCV
from ..classifiers.cpe import CPEClassifier
from ..classifiers.neighbors import CPEKNeighborsClassifierCV
from ..displays import ConfusionDisplay, TrainingCurveDisplay, TransitionDisplay
from ..neural import ComplementaryNetClassifier
from ..report import Column, Grid, Group, KeyFigures, Page, Section, Text, picture
from ..utils.extras import require
from ..utils.files import target_folder
from ..utils.typing import FloatArray, IntArray
from .pictures import figure

_NETWORKS = {
    "network, SCL": "scl-nl",
    "network, Fwd": "fwd",
    "network, CPE-F": "cpe-f",
    "network, CPE-T": "cpe-t",
    "network, CPE-N": "cpe-n",
}
_SHOWN = "network, CPE-F"
_EPOCHS = 150


@dataclass
class Row:
    """A model of the demo, and what became of it."""

    labels: str
    model: str
    accuracy: float
    scel: float = float("nan")
    error: float = float("nan")
    error_std_error: float = float("nan")
    seconds: float = 0.0

    def cells(self) -> list[str]:
        """Return it as text, a dash where there is nothing to tell."""
        known = np.isfinite(self.scel)
        return [
            f"{100 * self.accuracy:.1f}%",
            f"{self.scel:.3f}" if known else "–",
            f"{self.error:.2f} ± {self.error_std_error:.2f}" if known else "–",
            f"{self.seconds:.1f}",
        ]


HEADER = ("accuracy", "SCEL", "URE of the error", "seconds")


def models(T: FloatArray) -> dict[str, Any]:
    """Return the models to compare, told T and nothing else."""
    shared: dict[str, Any] = {"transition": T}
    found: dict[str, Any] = {
        "logistic regression": CPEClassifier(LogisticRegression(max_iter=1000), **shared),
        "nearest neighbours": CPEKNeighborsClassifierCV(random_state=0, **shared),
        "boosting": CPEBoostingClassifierCV(
            [0.1], range(5, 151, 5), method="cpe-f", random_state=0, n_jobs=1, **shared
        ),
    }
    for name, method in _NETWORKS.items():
        found[name] = ComplementaryNetClassifier(
            method, max_epochs=_EPOCHS, random_state=0, **shared
        )
    return found


def matrices() -> dict[str, FloatArray]:
    """Return how the labels of the demo come about."""
    return {"uniform T": transition.uniform(10), "strong T": transition.strong(10, 0)}


def n_models() -> int:
    """Return how many rows `run` yields."""
    return sum(len(models(T)) for T in matrices().values()) + 1


def run(keep: Callable[[str, str, Any], Any] = lambda *_: None) -> Iterator[Row]:
    """Fit all models and yield what became of each; `keep` is given each that was fitted."""
    with threadpool_limits(1):  # more only wait for one another on data this small
        yield from _run(keep)


def _run(keep: Callable[[str, str, Any], Any]) -> Iterator[Row]:
    data = datasets.load("digits")
    for name, T in matrices().items():
        y_comp = labels.draw(data.y_train, T, random_state=1)
        unseen = labels.draw(data.y_test, T, random_state=2)
        for model, clf in models(T).items():
            started = time.perf_counter()
            predicted = clf.fit(data.X_train, y_comp).predict(data.X_test)
            seconds = time.perf_counter() - started
            error, std_error = metrics.ure_zero_one(unseen, predicted, T, return_std_error=True)
            keep(name, model, clf)
            yield Row(
                name,
                model,
                float(np.mean(predicted == data.y_test)),
                -float(clf.score(data.X_test, unseen)),
                error,
                std_error,
                seconds,
            )
    started = time.perf_counter()
    ceiling = MLPClassifier((500,), max_iter=200, random_state=0).fit(data.X_train, data.y_train)
    accuracy = float(np.mean(ceiling.predict(data.X_test) == data.y_test))
    seconds = time.perf_counter() - started
    yield Row("true labels", "a network that saw them", accuracy, seconds=seconds)


def page(rows: list[Row], shown: Any) -> Page:
    """Return the page of the demo; `shown` is the network whose pictures it has."""
    data = datasets.load("digits")
    T = matrices()["strong T"]
    y_comp = labels.draw(data.y_train, T, random_state=1)
    predicted = shown.predict(data.X_test)
    grid: list[Any] = []
    for name in dict.fromkeys(row.labels for row in rows):
        grid.append(Group(name))
        grid += [[row.model, *row.cells()] for row in rows if row.labels == name]
    best = max((row for row in rows if row.labels == "strong T"), key=lambda row: row.accuracy)
    ceiling = rows[-1]
    return Page(
        "Learning from what things are not",
        f"{len(data.X_train)} images of handwritten digits, each with one complementary label: a "
        "digit that it is not. No model saw a true label, but for the last one in the table.",
        [
            Section(
                "Summary",
                [
                    KeyFigures(
                        [
                            (f"{100 * best.accuracy:.1f}%", f"accuracy of {best.model}, strong T"),
                            (f"{100 * ceiling.accuracy:.1f}%", "a network that saw true labels"),
                            ("10%", "chance"),
                        ]
                    ),
                    Grid(
                        [Column("model", words=True), *map(Column, HEADER)],
                        grid,
                        notes=[
                            "Accuracy needs true labels, those of 450 test images. SCEL is the "
                            "loss on complementary labels that were not seen (2.303 is what a "
                            "constant guess gets under uniform T); URE estimates the error rate "
                            "from them. Neither needs a true label."
                        ],
                    ),
                ],
            ),
            Section(
                "What it saw, and what it says",
                [
                    Text(["Above, training images and their labels. Below, test images."]),
                    picture(
                        examples(data, y_comp, predicted),
                        "Ten training images titled with a digit they are not, ten test images "
                        "titled with the digit predicted",
                    ),
                ],
            ),
            Section(
                "How labels come about",
                [
                    picture(
                        figure(lambda ax: TransitionDisplay.from_matrix(T, ax=ax), 5.2, 4.4),
                        "Heat map of the transition matrix",
                        caption="T: the chance that a digit (row) is said not to be another.",
                    )
                ],
            ),
            Section(
                "How it learned",
                [
                    picture(
                        figure(lambda ax: TrainingCurveDisplay.from_estimator(shown, ax=ax), 7, 4),
                        "Training loss and validation loss by epoch",
                    )
                ],
            ),
            Section(
                "What it takes for what",
                [
                    picture(
                        figure(
                            lambda ax: ConfusionDisplay.from_true(data.y_test, predicted, ax=ax),
                            5.2,
                            4.4,
                        ),
                        "Confusion matrix of true and predicted digits",
                    )
                ],
            ),
        ],
        "Made by ybar demo.",
    )


def examples(data: Bunch, y_comp: IntArray, predicted: IntArray) -> Any:
    """Return training images with what they are said not to be, and test images as predicted."""
    figures = require("matplotlib.figure", "report", "ybar demo")
    figure = figures.Figure(figsize=(9, 2.9), layout="constrained")
    axes = figure.subplots(2, 10)
    for column in range(10):
        for row, X in enumerate((data.X_train, data.X_test)):
            axes[row, column].imshow(X[column].reshape(8, 8), cmap="gray_r")
            axes[row, column].set_axis_off()
        axes[0, column].set_title(f"not {y_comp[column]}", fontsize=10)
        right = predicted[column] == data.y_test[column]
        axes[1, column].set_title(
            f"a {predicted[column]}" + ("" if right else f", truly {data.y_test[column]}"),
            fontsize=10,
            color="black" if right else "firebrick",
        )
    return figure


def check(folder: Path) -> None:
    """Refuse a folder that the page cannot be written to, before anything is fitted."""
    target_folder(folder, "--output")


def write(rows: list[Row], shown: Any, folder: Path) -> Path:
    """Write the page, and return where."""
    from ..report import write as write_page

    folder.mkdir(parents=True, exist_ok=True)
    write_page(page(rows, shown), folder / "index.html")
    return folder / "index.html"
