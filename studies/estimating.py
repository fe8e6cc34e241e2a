"""Estimate T in several ways, and measure its error and the accuracy that follows.

MNIST and KMNIST; labels drawn under a weakly and a strongly biased T (anew for each trial) and
under those of the annotators of CLCIFAR10 and CLCIFAR20. Of the latter's 20 classes the first ten
are taken, labels among these ten only: its upper left block, rows divided by their sums. q are the
label frequencies of the 250 nearest training images after PCA to 32 dimensions, as in the paper's
CPE-KNN (its choice by SCEL was 220 to 250 here); those of training images leave out the image
itself. Writes ``results/estimating.csv``, one line for each estimate, and a table of it; what is
in the file is not run again.

    python studies/estimating.py
"""

from __future__ import annotations

import csv
import functools
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from ybar import datasets, decode, estimation, labels, transition
from ybar.utils.typing import AnyArray, FloatArray, IntArray

FILE = Path(__file__).resolve().parent.parent / "results" / "estimating.csv"
FIELDS = ["dataset", "setting", "trial", "estimate", "error", "accuracy", "seconds"]
DATASETS, TRIALS = ("mnist", "kmnist"), 3
NEIGHBORS, ROWS = 250, 10_000


def first_ten(T: FloatArray) -> FloatArray:
    return transition.from_counts(T[:10, :10])


SETTINGS: dict[str, Callable[[int], FloatArray]] = {
    "weak": lambda trial: transition.weak(10, trial),
    "strong": lambda trial: transition.strong(10, trial),
    "CLCIFAR10": lambda trial: transition.annotators("clcifar10"),  # noqa: ARG005
    "CLCIFAR20": lambda trial: first_ten(transition.annotators("clcifar20")),  # noqa: ARG005
}

Estimator = Callable[[FloatArray, IntArray, AnyArray], FloatArray]
ESTIMATES: dict[str, Estimator | None] = {
    "uniform": lambda q, y, y_comp: transition.uniform(10),  # noqa: ARG005
    "100 both": lambda q, y, c: transition.estimate(y[:100], c[:100], classes=range(10)),  # noqa: ARG005
    "1000 both": lambda q, y, c: transition.estimate(y[:1000], c[:1000], classes=range(10)),  # noqa: ARG005
    **{
        method: lambda q, y, c, method=method: estimation.estimate_from_probabilities(  # noqa: ARG005
            q, method=method
        )
        for method in ("anchors", "vertices", "volume")
    },
    "true": None,
}


@functools.lru_cache(maxsize=1)
def neighbors(dataset: str) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return classes, some training rows and their neighbours, test classes and neighbours."""
    data = datasets.load(dataset)
    pca = PCA(32, random_state=0).fit(data.X_train.astype(np.float32))
    train, test = (pca.transform(X.astype(np.float32)) for X in (data.X_train, data.X_test))
    search = NearestNeighbors(n_neighbors=NEIGHBORS + 1, algorithm="brute").fit(train)
    rows = np.random.default_rng(0).permutation(len(train))[:ROWS]
    near = search.kneighbors(train[rows], return_distance=False)
    # Of NEIGHBORS + 1 without the row itself; an equal image may stand before it.
    others = near != rows[:, None]
    others[others.all(axis=1), -1] = False
    near = near[others].reshape(len(rows), NEIGHBORS)
    near_test = search.kneighbors(test, NEIGHBORS, return_distance=False)
    return data.y_train, rows, near, data.y_test, near_test


def frequencies(y_comp: AnyArray, near: IntArray) -> FloatArray:
    found = y_comp[near]
    return np.stack([(found == k).mean(axis=1) for k in range(10)], axis=1)


def read() -> list[dict[str, str]]:
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def add(values: list[str]) -> None:
    text = "" if FILE.exists() else ",".join(FIELDS) + "\n"
    with FILE.open("a") as file:
        file.write(text + ",".join(values) + "\n")


def run(dataset: str, setting: str, trial: int, wanted: list[str]) -> None:
    y, rows, near, y_test, near_test = neighbors(dataset)
    T = SETTINGS[setting](trial)
    y_comp = labels.draw(y, T, random_state=100 + trial)
    q, q_test = frequencies(y_comp, near), frequencies(y_comp, near_test)
    for name in wanted:
        estimator = ESTIMATES[name]
        begun = time.process_time()
        found = T if estimator is None else estimator(q, y[rows], y_comp[rows])
        seconds = time.process_time() - begun
        error = float(np.abs(found - T).sum(axis=1).mean())
        accuracy = 100 * float(np.mean(decode.decode(q_test, found, "likelihood") == y_test))
        add(
            [
                dataset,
                setting,
                str(trial),
                name,
                f"{error:.4f}",
                f"{accuracy:.2f}",
                f"{seconds:.2f}",
            ]
        )
        Console().print(dataset, setting, trial, name, round(error, 3), round(accuracy, 1))


def table() -> str:
    """Return error of T and accuracy as Markdown, means over the trials that have all estimates."""
    found: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    for row in read():
        trial = found.setdefault((row["dataset"], row["setting"], row["trial"]), {})
        trial[row["estimate"]] = float(row["error"]), float(row["accuracy"])
    titles = {"uniform": "uniform T", "100 both": "100 rows with both labels"}
    titles |= {"1000 both": "1,000 rows with both labels", "true": "the true T"}
    lines = [
        "| data | T | trials | " + " | ".join(titles.get(name, name) for name in ESTIMATES) + " |",
        "|---|---|---|" + "---|" * len(ESTIMATES),
    ]
    for dataset, setting in itertools.product(DATASETS, SETTINGS):
        trials = [found.get((dataset, setting, str(trial)), {}) for trial in range(TRIALS)]
        whole = [trial for trial in trials if len(trial) == len(ESTIMATES)]
        if whole:
            means = (np.mean([trial[name] for trial in whole], axis=0) for name in ESTIMATES)
            cells = " | ".join(f"{error:.2f}, {accuracy:.1f}%" for error, accuracy in means)
            lines.append(f"| {dataset} | {setting} | {len(whole)} of {TRIALS} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    done = {tuple(row[field] for field in FIELDS[:4]) for row in read()}
    for dataset in DATASETS:
        for trial in range(TRIALS):
            for setting in SETTINGS:
                wanted = [e for e in ESTIMATES if (dataset, setting, str(trial), e) not in done]
                if wanted:
                    run(dataset, setting, trial, wanted)
    FILE.with_suffix(".md").write_text(table())


if __name__ == "__main__":
    main()
