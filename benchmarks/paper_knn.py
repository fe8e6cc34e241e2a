"""Run the paper's CPE-KNN rows and set our accuracies beside the published ones.

Writes ``results/cpe_knn.csv`` (one line a run), as runs end, and ``results/cpe_knn.md`` (the table
that README shows). A run that is in the file already is not run again.

    python benchmarks/paper_knn.py --trials 3
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.progress import Progress, TimeElapsedColumn
from sklearn.utils import Bunch

from ybar import CPEKNeighborsClassifierCV, datasets, labels, metrics, transition

RESULTS = Path(__file__).resolve().parent.parent / "results"
DATASETS = ("mnist", "fashion-mnist", "kmnist")
SETTINGS = ("uniform", "weak", "strong", "noise-0.1", "noise-0.2", "noise-0.5")


class Run(NamedTuple):
    """One trial of one column of the paper's table."""

    dataset: str
    setting: str
    trial: int
    accuracy: float
    likelihood_accuracy: float
    n_neighbors: int
    scel: float
    ure: float


def matrices(setting: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the T given to the learner and the one that draws the labels."""
    if setting == "uniform":
        T = transition.uniform(10)
    elif setting == "weak":
        T = transition.weak(10, rng)
    else:
        T = transition.strong(10, rng)
    noise = float(setting.removeprefix("noise-")) if setting.startswith("noise-") else 0.0
    return T, transition.with_uniform_noise(T, noise)


def run(data: Bunch, dataset: str, setting: str, trial: int) -> Run:
    """Draw T and the labels of a trial anew, choose k by SCEL, test with true labels."""
    rng = np.random.default_rng([trial, zlib.crc32(f"{dataset}/{setting}".encode())])
    T, T_labels = matrices(setting, rng)
    y_comp = labels.draw(data.y_train, T_labels, rng)
    clf = CPEKNeighborsClassifierCV(transition=T, random_state=rng).fit(data.X_train, y_comp)
    predicted = clf.predict(data.X_test)
    likelihood = clf.set_params(decoder="likelihood").predict(data.X_test)
    unseen = labels.draw(data.y_test, T_labels, rng)
    return Run(
        dataset,
        setting,
        trial,
        round(100 * float(np.mean(predicted == data.y_test)), 2),
        round(100 * float(np.mean(likelihood == data.y_test)), 2),
        clf.n_neighbors_,
        round(-clf.best_score_, 4),
        round(metrics.ure_zero_one(unseen, predicted, T), 4),
    )


def read(path: Path) -> list[Run]:
    """Read the runs of a results file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Run(**{name: _value(name, text) for name, text in row.items()})
            for row in csv.DictReader(file)
        ]


def _value(name: str, text: str) -> str | int | float:
    if name in ("dataset", "setting"):
        return text
    return int(text) if name in ("trial", "n_neighbors") else float(text)


def published(row: str = "CPE-KNN") -> dict[tuple[str, str], tuple[float, float]]:
    """Return the paper's (accuracy, standard deviation) by data set and setting."""
    with (RESULTS / "paper.csv").open(newline="") as file:
        return {
            (line["dataset"], line["setting"]): (float(line["accuracy"]), float(line["std"]))
            for line in csv.DictReader(file)
            if line["row"] == row and line["table"] == "traditional"
        }


def agrees(ours: float, paper: tuple[float, float]) -> bool:
    """Tell whether we are within 1 point and two of the paper's standard deviations."""
    return abs(ours - paper[0]) <= 1 + 2 * paper[1]


def table(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table: mean ± deviation (trials), the paper's beside it."""
    paper = published()
    yield "| data | setting | ours, L1 decoder | paper | ours, likelihood decoder |"
    yield "|---|---|---|---|---|"
    for dataset in DATASETS:
        for setting in SETTINGS:
            cell = [r for r in runs if (r.dataset, r.setting) == (dataset, setting)]
            if not cell:
                continue
            accuracy = np.array([r.accuracy for r in cell])
            likelihood = np.array([r.likelihood_accuracy for r in cell])
            figure = paper[dataset, setting]
            mark = "" if agrees(accuracy.mean(), figure) else " (differs)"
            yield (
                f"| {dataset} | {setting} | {_mean(accuracy)}{mark} "
                f"| {figure[0]} ± {figure[1]} | {_mean(likelihood)} |"
            )


def _mean(values: np.ndarray) -> str:
    deviation = values.std(ddof=1) if len(values) > 1 else float("nan")
    return f"{values.mean():.1f} ± {deviation:.1f} ({len(values)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    options = parser.parse_args()
    path = RESULTS / "cpe_knn.csv"
    runs = read(path)
    done = {(r.dataset, r.setting, r.trial) for r in runs}
    todo = [
        (dataset, setting, trial)
        for dataset in options.datasets
        for setting in options.settings
        for trial in range(options.trials)
        if (dataset, setting, trial) not in done
    ]
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn()) as bar:
        loaded: dict[str, Bunch] = {}
        for dataset, setting, trial in bar.track(todo, description="CPE-KNN runs"):
            if dataset not in loaded:
                loaded = {dataset: datasets.load(dataset)}
            runs.append(run(loaded[dataset], dataset, setting, trial))
            write(path, sorted(runs))
    (RESULTS / "cpe_knn.md").write_text("\n".join(table(runs)) + "\n")


def write(path: Path, runs: list[Run]) -> None:
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Run._fields)
        writer.writerows(runs)
    temporary.replace(path)


if __name__ == "__main__":
    main()
