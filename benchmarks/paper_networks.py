"""Train `cpe-f` on 784-500-10 with the paper's settings and with ours, beside the paper's figures.

Writes ``results/networks.csv``, one line a run as it ends; runs that are in it are not run again.

    python benchmarks/paper_networks.py [--part 0/2]
"""

from __future__ import annotations

import argparse
import csv
import itertools
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from paper_knn import RESULTS, matrices
from ybar import ComplementaryNetClassifier, datasets, labels
from ybar.neural import losses
from ybar.neural.evaluate import Reading
from ybar.neural.models import Dense
from ybar.neural.objective import Run
from ybar.neural.population import Data, Selection, grow
from ybar.neural.train import Recipe, Samples

COLUMNS = list(itertools.product(("kmnist", "mnist"), ("strong", "uniform")))
RATES = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5)
FILE = RESULTS / "networks.csv"
FIELDS = ["dataset", "setting", "trial", "recipe", "learning_rate", "epochs"]
FIELDS += [f"{what}_{when}" for when in ("last", "best") for what in ("scel", "ure", "l1", "max")]
FIELDS += ["best_epoch", "seconds_an_epoch"]


def paper_run(dataset: str, setting: str, trial: int, rate: float) -> dict[str, Any]:
    """Return the last epoch, and the one of the lowest SCEL, of a run with the paper's settings."""
    data = datasets.load(dataset)
    rng = np.random.default_rng([trial, zlib.crc32(f"{dataset}/{setting}".encode())])
    T, T_labels = matrices(setting, rng)
    y_comp = labels.draw(data.y_train, T_labels, rng)
    order = rng.permutation(len(y_comp))
    held_out, training = np.sort(order[:6000]), np.sort(order[6000:])
    readings = {name: Reading("p", name, T) for name in ("l1", "max")}

    def accuracies(logits: np.ndarray, _: int, own_T: np.ndarray) -> dict[str, float]:
        return {
            name: 100 * float(np.mean(reading.classes(logits, own_T) == data.y_test))
            for name, reading in readings.items()
        }

    (record,) = grow(
        [Run(losses.METHODS["cpe-f"], rate)],
        [readings["l1"]],
        Data(
            data.X_train,
            Samples(training, y_comp[training]),
            Samples(held_out, y_comp[held_out]),
            T,
            ((data.X_test, accuracies),),
        ),
        Recipe(max_epochs=300, batch_size=256, weight_decay=1e-4),
        Selection("best", "scel"),
        make=lambda _: Dense([784, 500, 10], [trial]),
        width=500,
        seed=trial,
    )
    last = {f"{name}_last": values[-1] for name, values in record.history.items()}
    best = {f"{k}_best": values[record.kept_epoch - 1] for k, values in record.history.items()}
    found = {
        "dataset": dataset,
        "setting": setting,
        "trial": trial,
        "recipe": "paper",
        "learning_rate": rate,
        "epochs": len(record.history["loss"]),
        "best_epoch": record.kept_epoch,
        "seconds_an_epoch": float(np.median(record.history["seconds"])),
        **last,
        **best,
    }
    return {name: found[name] for name in FIELDS}


def default_run(dataset: str, setting: str, trial: int) -> dict[str, Any]:
    """Return the accuracy of the classifier as it comes, told T and nothing else."""
    data = datasets.load(dataset)
    rng = np.random.default_rng([trial, zlib.crc32(f"{dataset}/{setting}".encode())])
    T, T_labels = matrices(setting, rng)
    y_comp = labels.draw(data.y_train, T_labels, rng)
    clf = ComplementaryNetClassifier(transition=T, random_state=trial).fit(data.X_train, y_comp)
    at = clf.best_epoch_ - 1
    found: dict[str, Any] = dict.fromkeys(FIELDS, float("nan"))
    found |= {
        "dataset": dataset,
        "setting": setting,
        "trial": trial,
        "recipe": "default",
        "learning_rate": clf.learning_rate,
        "epochs": clf.n_epochs_,
        "scel_last": clf.history_["scel"][-1],
        "ure_last": clf.history_["ure"][-1],
        "scel_best": clf.history_["scel"][at],
        "ure_best": clf.history_["ure"][at],
        "best_epoch": clf.best_epoch_,
        "seconds_an_epoch": float(np.median(clf.history_["seconds"])),
    }
    for decoder in ("l1", "max"):
        clf.set_params(decoder=decoder)
        right = clf.predict(data.X_test) == data.y_test
        found[f"{decoder}_best"] = 100 * float(np.mean(right))
    return found


def table() -> str:
    """Return the figures beside the paper's as Markdown; rates are chosen by SCEL alone."""
    with FILE.open(newline="") as file:
        runs = list(csv.DictReader(file))
    with (RESULTS / "paper.csv").open(newline="") as file:
        paper = [r for r in csv.DictReader(file) if (r["table"], r["base"]) == ("main", "mlp")]
    lines = ["| data | setting | the paper's best method | its CPE-F | ours, its settings, last "
             "epoch | best epoch | ours, default recipe |"]  # fmt: skip
    lines.append("|---|---|---|---|---|---|---|")
    for dataset, setting in COLUMNS:
        column = [r for r in paper if (r["dataset"], r["setting"]) == (dataset, setting)]
        best = max(column, key=lambda r: float(r["accuracy"]))
        cpe_f = next(r for r in column if r["row"] == "CPE-F")
        mine = [r for r in runs if (r["dataset"], r["setting"]) == (dataset, setting)]
        rates = [r for r in mine if r["recipe"] == "paper"]
        default = [r for r in mine if r["recipe"] == "default"]
        cells = [dataset, setting, f"{best['accuracy']} ± {best['std']} ({best['row']})"]
        cells.append(f"{cpe_f['accuracy']} ± {cpe_f['std']}")
        for when in ("last", "best"):
            if len(rates) < len(RATES):
                cells.append(f"{len(rates)} of {len(RATES)} rates run")
                continue
            chosen = min(rates, key=lambda r: float(r[f"scel_{when}"]))
            rate = float(chosen["learning_rate"])
            cells.append(f"{float(chosen[f'l1_{when}']):.1f} (rate {rate:g})")
        cells += [f"**{float(r['l1_best']):.1f}** (epoch {r['best_epoch']})" for r in default]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def done() -> set[tuple[str, str, int, str, float]]:
    """Return the keys of the runs that are in the file."""
    if not FILE.exists():
        return set()
    with FILE.open(newline="") as file:
        return {
            (r["dataset"], r["setting"], int(r["trial"]), r["recipe"], float(r["learning_rate"]))
            for r in csv.DictReader(file)
        }


def add(row: dict[str, Any]) -> None:
    """Add a line to the file in one write."""
    values = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()]
    text = "" if FILE.exists() else ",".join(FIELDS) + "\n"
    with Path(FILE).open("a") as file:
        file.write(text + ",".join(values) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="0/1", help="this process's share of the runs: i/n")
    part, parts = map(int, parser.parse_args().part.split("/"))
    torch.set_num_threads(1)
    for dataset, setting in COLUMNS[part::parts]:
        if (dataset, setting, 0, "default", 1e-3) not in done():
            add(default_run(dataset, setting, 0))
    jobs = [(d, s, 0, rate) for (d, s), rate in itertools.product(COLUMNS, RATES)]
    for dataset, setting, trial, rate in jobs[part::parts]:
        if (dataset, setting, trial, "paper", rate) not in done():
            row = paper_run(dataset, setting, trial, rate)
            add(row)
            Console().print(row)
    FILE.with_suffix(".md").write_text(table())


if __name__ == "__main__":
    main()
