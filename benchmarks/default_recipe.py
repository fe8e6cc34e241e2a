"""Train 784-500-10 as `ComplementaryNetClassifier` comes, on trials of the paper's columns.

Writes ``results/default_recipe.csv``, one line a run as it ends; runs that are in it are not run
again.

    python benchmarks/default_recipe.py
"""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from ybar import ComplementaryNetClassifier
from ybar.experiments import published
from ybar.experiments.plan import Dataset
from ybar.experiments.run import draw, load, seed_of

FILE = Path(__file__).resolve().parent.parent / "results" / "default_recipe.csv"
COLUMNS = list(itertools.product(("kmnist", "mnist"), ("strong", "uniform")))
FIELDS = ["dataset", "setting", "trial", "epochs", "best_epoch", "scel", "ure", "l1", "max"]
FIELDS += ["seconds_an_epoch"]


def default_run(dataset: str, setting: str, trial: int) -> dict[str, Any]:
    """Return the accuracy of the classifier as it comes, told T and nothing else."""
    data = load(Dataset(dataset))
    seed = seed_of(dataset, setting, trial)
    T, y_comp, *_ = draw(data, published.SETTINGS[setting], seed, validation_fraction=0.1)
    clf = ComplementaryNetClassifier(transition=T, random_state=trial).fit(data.X_train, y_comp)
    at = clf.best_epoch_ - 1
    found: dict[str, Any] = {
        "dataset": dataset,
        "setting": setting,
        "trial": trial,
        "epochs": clf.n_epochs_,
        "best_epoch": clf.best_epoch_,
        "scel": clf.history_["scel"][at],
        "ure": clf.history_["ure"][at],
    }
    for decoder in ("l1", "max"):
        clf.set_params(decoder=decoder)
        found[decoder] = 100 * float(np.mean(clf.predict(data.X_test) == data.y_test))
    return found | {"seconds_an_epoch": float(np.median(clf.history_["seconds"]))}


def best_published(dataset: str, setting: str) -> tuple[float, float, str]:
    """Return accuracy, standard deviation and name of the paper's best method on its network."""
    return max(
        (*figure, row)
        for (table, base, row, *column), figure in published.figures().items()
        if (table, base, *column) == ("main", "mlp", dataset, setting)
    )


def read() -> list[dict[str, str]]:
    """Return the runs that are in the file."""
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """Return the figures beside the paper's as Markdown."""
    lines = ["| data | setting | the paper's best method | ours |", "|---|---|---|---|"]
    for run in read():
        accuracy, std, row = best_published(run["dataset"], run["setting"])
        lines.append(
            f"| {run['dataset']} | {run['setting']} | {accuracy} ± {std} ({row}) "
            f"| **{float(run['l1']):.1f}** (epoch {run['best_epoch']} of {run['epochs']}) |"
        )
    return "\n".join(lines) + "\n"


def add(row: dict[str, Any]) -> None:
    """Add a line to the file in one write."""
    values = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()]
    text = "" if FILE.exists() else ",".join(FIELDS) + "\n"
    with FILE.open("a") as file:
        file.write(text + ",".join(values) + "\n")


def main() -> None:
    torch.set_num_threads(1)
    done = {(run["dataset"], run["setting"], run["trial"]) for run in read()}
    for dataset, setting in COLUMNS:
        if (dataset, setting, "0") not in done:
            row = default_run(dataset, setting, 0)
            add(row)
            Console().print(row)
    FILE.with_suffix(".md").write_text(table())


if __name__ == "__main__":
    main()
