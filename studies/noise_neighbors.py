"""Measure CPE-KNN on labels with noise 0.5, with and without the noise level in its T.

On the paper's trials, held-out complementary labels choose the number of neighbours k and the noise
level λ: the pair with the lowest SCEL of ``p T(λ)``, with ``T(λ) = (1-λ) T + λ/K``, the T without
noise that the paper's learners are passed, and the p that explains q best under T(λ). The
prediction is argmax p. For comparison: k by SCEL of q, decoded by L1 with T, as in the paper.
Writes ``results/noise_neighbors.csv``, a line per trial (those in it are not run again), and
``results/noise_neighbors.md``.

    python studies/noise_neighbors.py [trials]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

import lines
from ybar import decode, metrics, transition
from ybar.classifiers.neighbors import _frequencies
from ybar.experiments.plan.jobs import seed_of
from ybar.experiments.plan.model import Dataset
from ybar.experiments.results import published
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import run

RESULTS = Path(__file__).resolve().parent.parent / "results"
FILE = RESULTS / "noise_neighbors.csv"
SETTING = "noise-0.5"
NEIGHBORS = range(50, 251, 50)
LEVELS = np.arange(8) / 10


def measured(dataset: str, trial: int) -> dict[str, Any]:
    """Return the choices of one trial and their test accuracies in per cent."""
    data = run_data.load(Dataset(dataset))
    seed = seed_of(dataset, SETTING, trial)
    drawn = run.draw(data, published.SETTINGS[SETTING], seed, published.VALIDATION_FRACTION)
    X_train = data.X_train[drawn.training].astype(np.float32)
    pca = PCA(32, random_state=trial).fit(X_train)
    search = NearestNeighbors(algorithm="brute").fit(pca.transform(X_train))
    held_out, test = (
        search.kneighbors(pca.transform(X.astype(np.float32)), max(NEIGHBORS), False)
        for X in (data.X_train[drawn.held_out], data.X_test)
    )
    y_comp, one_label = drawn.y_comp[drawn.held_out], np.eye(len(drawn.T), dtype=bool)

    def q_of(nearest: Any, k: int) -> Any:
        return _frequencies(drawn.y_comp[drawn.training], one_label, nearest[:, :k])

    def scel(q: Any) -> float:
        return float(metrics.scel(y_comp, q, zero_as=1 / (len(q) + 1)))

    matrices = {level: transition.with_uniform_noise(drawn.T, level) for level in LEVELS}
    of_q, of_p = {}, {}
    for k in NEIGHBORS:
        q = q_of(held_out, k)
        of_q[k] = scel(q)
        for level, T in matrices.items():
            of_p[k, level] = scel(decode.class_probabilities(q, T) @ T)
    plain = min(of_q, key=of_q.__getitem__)
    k, level = min(of_p, key=of_p.__getitem__)
    predicted = decode.decode(q_of(test, k), matrices[level], "likelihood")
    as_paper = decode.decode(q_of(test, plain), drawn.T)
    return {
        "dataset": dataset,
        "trial": trial,
        "k, T without noise": plain,
        "accuracy, T without noise": 100 * float(np.mean(as_paper == data.y_test)),
        "k": k,
        "level": float(level),
        "accuracy": 100 * float(np.mean(predicted == data.y_test)),
    }


def table(rows: list[dict[str, str]]) -> str:
    """Return means and standard deviations over the trials, as Markdown."""
    text = [
        "| data | trials | paper | T without noise | T with estimated noise | noise level |",
        "|---|---|---|---|---|---|",
    ]
    for dataset in published.DATASETS:
        paper, _ = published.accuracies()["traditional", "knn", "CPE-KNN", dataset, SETTING]
        trials = [line for line in rows if line["dataset"] == dataset]
        if not trials:
            continue
        cells = [
            _summary([float(line[column]) for line in trials], digits)
            for column, digits in (("accuracy, T without noise", 1), ("accuracy", 1), ("level", 2))
        ]
        text.append(f"| {dataset} | {len(trials)} | {paper} | {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def _summary(values: list[float], digits: int) -> str:
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


if __name__ == "__main__":
    done = {(line["dataset"], line["trial"]) for line in lines.read(FILE)}
    for trial in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        for dataset in published.DATASETS:
            if (dataset, str(trial)) not in done:
                lines.add(FILE, measured(dataset, trial))
                (RESULTS / "noise_neighbors.md").write_text(table(lines.read(FILE)))
