"""Learn T with the matrix passed in as a prior, whose weight (trust) SCEL chooses.

The columns of the paper with strong labels, without noise and with noise 0.5, which the T passed in
does not contain. Each trial trains ``cpe-f`` with that T, ``cpe-t`` with each trust, and ``cpe-f``
with the T that the labels were drawn from. The last one is a reference: SCEL cannot choose it.
Writes ``results/trust.csv``, one line per trial, as it ends (trials in the file are not run again),
and ``results/trust.md``.

    python studies/trust.py
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import lines
from ybar import ComplementaryNetClassifier, transition
from ybar.experiments.plan.jobs import seed_of
from ybar.experiments.plan.model import Dataset
from ybar.experiments.results import published
from ybar.experiments.runs.data import load
from ybar.experiments.runs.run import draw

RESULTS = Path(__file__).resolve().parent.parent / "results"
FILE = RESULTS / "trust.csv"
COLUMNS = list(itertools.product(range(3), ("kmnist", "mnist"), ("strong", "noise-0.5")))
TRUSTS = (0, 100, 1_000, 10_000)


def measured(number: int, dataset: str, setting: str) -> dict[str, Any]:
    """Return accuracies and SCELs of a trial of a column."""
    data = load(Dataset(dataset))
    how = published.SETTINGS[setting]
    trial = draw(data, how, seed_of(dataset, setting, number), 0.1)

    def fitted(T: Any, **settings: Any) -> tuple[float, float]:
        clf = ComplementaryNetClassifier(
            transition=T, random_state=number, decoder="max", **settings
        )
        clf.fit(data.X_train, trial.y_comp)
        accuracy = 100 * float(np.mean(clf.predict(data.X_test) == data.y_test))
        return accuracy, float(clf.history_["scel"][clf.best_epoch_ - 1])

    results = {"given": fitted(trial.T)}  # T unchanged
    for trust in TRUSTS:
        results[str(trust)] = fitted(trial.T, method="cpe-t", transition_trust=trust)
    of_true_T, _ = results["given"]
    if how.noise:
        of_true_T, _ = fitted(transition.with_uniform_noise(trial.T, how.noise))
    return {
        "trial": number,
        "dataset": dataset,
        "setting": setting,
        **{f"accuracy {name}": accuracy for name, (accuracy, _) in results.items()},
        **{f"scel {name}": scel for name, (_, scel) in results.items()},
        "true T": of_true_T,
    }


def chosen(row: dict[str, str]) -> str:
    """Return the trust of the lowest SCEL, or "given"."""
    return min(("given", *map(str, TRUSTS)), key=lambda name: float(row[f"scel {name}"]))


def table(rows: list[dict[str, str]]) -> str:
    """Return the accuracies as Markdown."""
    table_lines = [
        "| data | labels | trial | `cpe-f`, T unchanged "
        f"| {' | '.join(f'trust {t:,}' for t in TRUSTS)} | chosen by SCEL | `cpe-f`, true T |",
        f"|---|---|---|---|{'---|' * len(TRUSTS)}---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row["dataset"], row["setting"], row["trial"])):
        choice = chosen(row)
        names = ["given", *map(str, TRUSTS), choice]
        cells = " | ".join(f"{float(row[f'accuracy {name}']):.1f}" for name in names)
        shown = "T unchanged" if choice == "given" else f"{int(choice):,}"
        table_lines.append(
            f"| {row['dataset']} | {row['setting']} | {row['trial']} "
            f"| {cells} ({shown}) | {float(row['true T']):.1f} |"
        )
    return "\n".join(table_lines) + "\n"


if __name__ == "__main__":
    console = Console()
    done = {(int(row["trial"]), row["dataset"], row["setting"]) for row in lines.read(FILE)}
    for column in COLUMNS:
        if column in done:
            continue
        line = measured(*column)
        console.print(line)
        lines.add(FILE, line)
        (RESULTS / "trust.md").write_text(table(lines.read(FILE)))
