"""The main job on the embedded digits: several models from "not this" labels, side by side.

    python examples/demo.py --output demo

Prints a table and writes a page, ``index.html``, with it. True labels are used in the column
"accuracy" only; everything is chosen by complementary labels.
"""

from __future__ import annotations

import argparse
import base64
import io
import time
from pathlib import Path
from typing import Any

import jinja2
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from ybar import (
    ComplementaryNetClassifier,
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKNeighborsClassifierCV,
    datasets,
    labels,
    metrics,
    transition,
)

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ybar demo</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #8886; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
</style></head><body>
<h1>Learning from what things are not</h1>
<p>{{ n_train }} images of handwritten digits, each with one complementary label: a digit that it is
<em>not</em>. Nothing below saw a true label, except the column “accuracy” ({{ n_test }} test
images) and the last row.</p>
<div class="wide"><table><thead><tr>{% for name in header %}<th>{{ name }}</th>{% endfor %}</tr>
</thead><tbody>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
<p>SCEL is the loss of the complementary probabilities on unseen complementary labels (lower is
better; {{ constant }} is what a constant guess gets). URE estimates the error rate without true
labels.</p>
{% for picture in pictures %}<h2>{{ picture.title }}</h2>
<img alt="{{ picture.title }}" src="data:image/png;base64,{{ picture.data }}">
{% endfor %}</body></html>
"""
HEADER = ("labels drawn by", "model", "accuracy", "SCEL", "URE of the error", "seconds")


def models(T: np.ndarray) -> dict[str, Any]:
    """Return the models to compare."""
    forest = ExtraTreesClassifier(300, min_samples_leaf=5, random_state=0)
    return {
        "logistic regression": CPEClassifier(LogisticRegression(max_iter=1000), transition=T),
        "extra trees": CPEClassifier(forest, transition=T),
        "boosting": CPEBoostingClassifierCV(transition=T, random_state=0),
        "network": ComplementaryNetClassifier(transition=T, max_epochs=200, random_state=0),
        "nearest neighbours": CPEKNeighborsClassifierCV(transition=T, random_state=0),
        "nearest neighbours, likelihood": CPEKNeighborsClassifierCV(
            transition=T, decoder="likelihood", random_state=0
        ),
    }


def picture(title: str, figure: Figure) -> dict[str, str]:
    """Return a figure as a PNG that a page can hold."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return {"title": title, "data": base64.b64encode(buffer.getvalue()).decode()}


def draw_examples(data: Any, y_comp: np.ndarray, predicted: np.ndarray) -> Figure:
    """Show training images with what they are said not to be, and test images with predictions."""
    figure = Figure(figsize=(9, 2.9), layout="constrained")
    axes = figure.subplots(2, 10)
    for column in range(10):
        for row, X in enumerate((data.X_train, data.X_test)):
            axis = axes[row, column]
            axis.imshow(X[column].reshape(8, 8), cmap="gray_r")
            axis.set_axis_off()
        axes[0, column].set_title(f"not {y_comp[column]}", fontsize=10)
        right = predicted[column] == data.y_test[column]
        axes[1, column].set_title(
            f"a {predicted[column]}" + ("" if right else f", truly {data.y_test[column]}"),
            fontsize=10,
            color="black" if right else "firebrick",
        )
    return figure


def draw_matrix(values: np.ndarray, xlabel: str, ylabel: str) -> Figure:
    """Show a matrix as a heat map."""
    figure = Figure(figsize=(4.6, 4), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(values, cmap="Greys")
    figure.colorbar(image, ax=axis)
    axis.set(xlabel=xlabel, ylabel=ylabel, xticks=range(10), yticks=range(10))
    return figure


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo"))
    folder = parser.parse_args().output
    mpl.rcParams["font.size"] = 10
    data = datasets.load("digits")
    matrices = {"uniform T": transition.uniform(10), "strong T": transition.strong(10, 0)}
    jobs = [(kind, name) for kind, T in matrices.items() for name in models(T)]
    rows, pictures = [], []
    console = Console()
    for kind, name in track(jobs, description="fitting", console=console, transient=True):
        T = matrices[kind]
        y_comp = labels.draw(data.y_train, T, random_state=1)
        unseen = labels.draw(data.y_test, T, random_state=2)
        clf = models(T)[name]
        start = time.perf_counter()
        predicted = clf.fit(data.X_train, y_comp).predict(data.X_test)
        seconds = time.perf_counter() - start
        error, deviation = metrics.ure_zero_one(unseen, predicted, T, return_std_error=True)
        rows.append(
            (
                kind,
                name,
                f"{np.mean(predicted == data.y_test):.1%}",
                f"{-clf.score(data.X_test, unseen):.3f}",
                f"{error:.2f} ± {deviation:.2f}",
                f"{seconds:.1f}",
            )
        )
        if (kind, name) == ("strong T", "nearest neighbours"):
            confusion = np.zeros((10, 10))
            np.add.at(confusion, (data.y_test, predicted), 1)
            pictures = [
                picture(
                    "What it saw, and what it says of images it never saw",
                    draw_examples(data, y_comp, predicted),
                ),
                picture("The transition matrix T", draw_matrix(T, "said not to be", "class")),
                picture("True and predicted classes", draw_matrix(confusion, "predicted", "class")),
            ]
    start = time.perf_counter()
    ceiling = LogisticRegression(max_iter=1000).fit(data.X_train, data.y_train)
    accuracy = ceiling.score(data.X_test, data.y_test)
    took = f"{time.perf_counter() - start:.1f}"
    rows.append(("true labels", "logistic regression", f"{accuracy:.1%}", "", "", took))

    table = Table(*HEADER, title=f"{len(data.X_train)} digits, one complementary label each")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    folder.mkdir(parents=True, exist_ok=True)
    page = jinja2.Environment(autoescape=True).from_string(PAGE)
    (folder / "index.html").write_text(
        page.render(
            header=HEADER,
            rows=rows,
            pictures=pictures,
            n_train=len(data.X_train),
            n_test=len(data.X_test),
            constant=f"{np.log(10):.3f}",
        ),
        encoding="utf-8",
    )
    console.print(f"report page: {folder / 'index.html'}")


if __name__ == "__main__":
    main()
