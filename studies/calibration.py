"""Measure how far class probabilities are from the truth, by several ways to make them.

Fits KNN and the network as it comes to nine tenths of a trial of the paper's columns; the other
tenth, with its complementary labels, sets the temperature. Writes ``results/calibration.csv``, a
line a model as it ends (those in it are not run again), and ``results/calibration.md``.

    python studies/calibration.py
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import lines
from ybar import ComplementaryNetClassifier, CPEKNeighborsClassifierCV, calibration, decode
from ybar.experiments.plan.jobs import seed_of
from ybar.experiments.plan.model import Dataset
from ybar.experiments.results import published
from ybar.experiments.runs.data import load
from ybar.experiments.runs.run import draw
from ybar.utils.distances import pairwise

RESULTS = Path(__file__).resolve().parent.parent / "results"
FILE = RESULTS / "calibration.csv"
COLUMNS = list(itertools.product(("mnist", "kmnist"), ("uniform", "weak", "strong")))
MODELS = ("knn", "network")
WAYS = ("inverse", "distance", "predict_proba", "tempered")


def measured(dataset: str, setting: str, model: str) -> dict[str, Any]:
    """Return the calibration error of a model's probabilities, made in several ways."""
    data = load(Dataset(dataset))
    trial = draw(data, published.SETTINGS[setting], seed_of(dataset, setting, 0), 0.1)
    clf: Any = CPEKNeighborsClassifierCV(transition=trial.T, random_state=0, n_jobs=1)
    if model == "network":
        clf = ComplementaryNetClassifier(transition=trial.T, random_state=0)
    clf.fit(data.X_train[trial.training], trial.y_comp[trial.training])
    held_out = clf.predict_proba(data.X_train[trial.held_out])
    temperature = calibration.fit_temperature(trial.y_comp[trial.held_out], held_out, trial.T)
    q, p = clf.predict_complementary_proba(data.X_test), clf.predict_proba(data.X_test)
    ways = {
        "inverse": _normalised(np.maximum(q @ decode.inverse(trial.T), 0.0)),
        "distance": _normalised(1 / np.maximum(pairwise(q, trial.T, "l1"), 1e-12)),
        "predict_proba": p,
        "tempered": calibration.temper(p, temperature),
    }
    found = {
        name: 100 * calibration.expected_calibration_error(data.y_test, way)
        for name, way in ways.items()
    }
    accuracy = 100 * float(np.mean(p.argmax(axis=1) == data.y_test))
    named = {"dataset": dataset, "setting": setting, "model": model}
    return named | found | {"temperature": temperature, "accuracy": accuracy}


def _normalised(scores: Any) -> Any:
    total = scores.sum(axis=1, keepdims=True)
    return np.divide(scores, total, out=np.full_like(scores, 1 / scores.shape[1]), where=total > 0)


def table(rows: list[dict[str, str]]) -> str:
    """Return the errors as Markdown."""
    found = [
        "| data | labels | model | accuracy | q T⁻¹, normalised | 1 / L1 distance, normalised "
        "| `predict_proba` | with temperature |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        errors = " | ".join(f"{float(row[way]):.1f}" for way in WAYS)
        found.append(
            f"| {row['dataset']} | {row['setting']} | {row['model']} "
            f"| {float(row['accuracy']):.1f} | {errors} ({float(row['temperature']):.2f}) |"
        )
    return "\n".join(found) + "\n"


if __name__ == "__main__":
    console = Console()
    done = {(row["dataset"], row["setting"], row["model"]) for row in lines.read(FILE)}
    for model, (dataset, setting) in itertools.product(MODELS, COLUMNS):
        if (dataset, setting, model) in done:
            continue
        found = measured(dataset, setting, model)
        console.print(found)
        lines.add(FILE, found)
        (RESULTS / "calibration.md").write_text(table(lines.read(FILE)))
