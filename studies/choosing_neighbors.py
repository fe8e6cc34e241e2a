"""Measure every k of CPE-KNN on the paper's trials, by complementary labels and by true ones.

The ledger has only the k that SCEL chose. Here a line of ``results/choosing_neighbors.csv`` is one
k: SCEL of q, SCEL of ``p T`` (what the likelihood makes of q), URE, and test accuracy, with the
90% of the rows that networks are trained on too. A trial takes about a minute; those that are in
the file are not run again.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from ybar import decode, metrics
from ybar.classifiers.neighbors import _frequencies
from ybar.experiments.plan.jobs import seed_of
from ybar.experiments.plan.model import Dataset
from ybar.experiments.results import published
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import run
from ybar.metrics.likelihood import log_losses

OUTPUT = Path(__file__).resolve().parent.parent / "results" / "choosing_neighbors.csv"
NEIGHBORS = range(10, 251, 10)
KEYS = ("dataset", "setting", "trial")


def measure(dataset: str, setting: str, trial: int) -> list[dict[str, str]]:
    """Return the measurements of all k of one trial."""
    data = run_data.load(Dataset(dataset))
    seed = seed_of(dataset, setting, trial)
    drawn = run.draw(data, published.SETTINGS[setting], seed, published.VALIDATION_FRACTION)
    T, train, y_comp = drawn.T, drawn.training, drawn.y_comp[drawn.held_out]
    pca = PCA(32, random_state=trial).fit(data.X_train[train].astype(np.float32))
    reduced = {
        name: pca.transform(X.astype(np.float32))
        for name, X in (
            ("train", data.X_train[train]),
            ("held_out", data.X_train[drawn.held_out]),
            ("test", data.X_test),
        )
    }
    search = NearestNeighbors().fit(reduced["train"])
    near = {
        part: search.kneighbors(reduced[part], max(NEIGHBORS), return_distance=False)
        for part in ("held_out", "test")
    }
    zero_as = 1 / (len(y_comp) + 1)
    one_label = np.eye(len(T), dtype=bool)  # which label each code is
    lines, losses = [], []
    for k in NEIGHBORS:
        q, q_test = (
            _frequencies(drawn.y_comp[train], one_label, near[part][:, :k])
            for part in ("held_out", "test")
        )
        p, p_test = decode.class_probabilities(q, T), decode.class_probabilities(q_test, T)
        line: dict[str, object] = {"n_neighbors": k}
        for name, judged in (("scel", q), ("scel_p", p @ T)):
            found = metrics.scel(y_comp, judged, zero_as=zero_as, return_std_error=True)
            line[name], line[f"{name}_std_error"] = found
        losses.append(log_losses(q[np.arange(len(q)), y_comp], zero_as))
        decoded = {
            "l1": (decode.decode(q, T), decode.decode(q_test, T)),
            "likelihood": (p.argmax(axis=1), p_test.argmax(axis=1)),
        }
        for decoder, (held_out, test) in decoded.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a T that is nearly singular: so be it
                found = metrics.ure_zero_one(y_comp, held_out, T, return_std_error=True)
            line[f"ure_{decoder}"], line[f"ure_{decoder}_std_error"] = found
            line[f"accuracy_{decoder}"] = 100 * np.mean(test == data.y_test)
        lines.append(line)
    best = int(np.argmin([line["scel"] for line in lines]))
    for line, loss in zip(lines, losses, strict=True):
        difference = loss - losses[best]
        line["scel_difference_std_error"] = difference.std(ddof=1) / np.sqrt(len(difference))
    keys = dict(zip(KEYS, (dataset, setting, str(trial)), strict=True))
    return [keys | {name: f"{value:.7g}" for name, value in line.items()} for line in lines]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1)
    trials = range(parser.parse_args().trials)
    lines = list(csv.DictReader(OUTPUT.open())) if OUTPUT.exists() else []
    done = {tuple(line[key] for key in KEYS) for line in lines}
    for trial in trials:
        for setting in published.SETTINGS:
            for dataset in published.DATASETS:
                if (dataset, setting, str(trial)) in done:
                    continue
                lines += measure(dataset, setting, trial)
                with OUTPUT.open("w", newline="") as file:
                    writer = csv.DictWriter(file, lines[0].keys(), lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(lines)
                print(dataset, setting, trial, flush=True)
