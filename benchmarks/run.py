"""Measure what the library promises, as ratios within one run; see ``results/benchmarks.json``.

python benchmarks/run.py [name ...]
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import sklearn
import torch
from rich.console import Console
from rich.table import Table
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import decoding
import loops
import networks
import populations
import streaming
import sweeps
from ybar import (
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKNeighborsClassifierCV,
    datasets,
    labels,
    metrics,
    transition,
)

RESULTS = Path(__file__).resolve().parent.parent / "results" / "benchmarks.json"


def seconds(work: Callable[[], Any], repeat: int = 1) -> float:
    """Return the shortest of a few timings: the others had company."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def draw() -> dict[str, Any]:
    """10 million labels against the 10 million random numbers they need."""
    n = 10_000_000
    rng = np.random.default_rng(0)
    out: dict[str, Any] = {"what": f"draw {n:,} labels, in units of rng.random({n:,})"}
    y10, y1000 = rng.integers(0, 10, n), rng.integers(0, 1000, n)
    base = seconds(lambda: rng.random(n), 5)
    cases = {
        "uniform K=10": (y10, transition.uniform(10)),
        "strong K=10": (y10, transition.strong(10, 0)),
        "strong K=1000": (y1000, transition.strong(1000, 0)),
    }
    for name, (y, T) in cases.items():
        out[name] = seconds(lambda y=y, T=T: labels.draw(y, T, rng), 3) / base
    out["target"], out["measured"] = "at most 8", out["strong K=10"]
    out["reached"] = out["measured"] <= 8
    return out


def knn_path() -> dict[str, Any]:
    """All 25 numbers of neighbours from one search against a grid search, full MNIST."""
    data = datasets.load("mnist")
    T = transition.strong(10, 0)
    y_comp = labels.draw(data.y_train, T, 0)
    pca = PCA(32, random_state=0).fit(data.X_train)
    reduced, reduced_test = pca.transform(data.X_train), pca.transform(data.X_test)
    split = list(ShuffleSplit(1, test_size=0.1, random_state=0).split(reduced))
    candidates = list(range(10, 251, 10))

    def grid(base: Any, name: str, X: Any) -> GridSearchCV:
        search = GridSearchCV(
            CPEClassifier(base, transition=T), {name: candidates}, cv=split, scoring=scorer
        )
        return search.fit(X, y_comp)

    def path(n_components: int | None, X: Any) -> CPEKNeighborsClassifierCV:
        clf = CPEKNeighborsClassifierCV(n_components=n_components, transition=T, cv=split)
        return clf.set_params(random_state=0).fit(X, y_comp)

    scorer = metrics.scel_scorer
    kept: dict[str, Any] = {}
    ours = seconds(lambda: kept.update(ours=path(None, reduced)), 3)
    theirs = seconds(
        lambda: kept.update(grid=grid(KNeighborsClassifier(), "estimator__n_neighbors", reduced))
    )
    ours_pca = seconds(lambda: path(32, data.X_train), 3)
    pipeline = make_pipeline(PCA(32, random_state=0), KNeighborsClassifier())
    name = "estimator__kneighborsclassifier__n_neighbors"
    theirs_pca = seconds(lambda: grid(pipeline, name, data.X_train.astype(np.float32)))
    return {
        "what": "CPEKNeighborsClassifierCV against GridSearchCV, 60,000 rows, 25 values of k",
        "seconds ours": ours,
        "seconds grid": theirs,
        "ratio with PCA inside both": theirs_pca / ours_pca,
        "same k": kept["ours"].n_neighbors_ == kept["grid"].best_params_["estimator__n_neighbors"],
        "k": kept["ours"].n_neighbors_,
        "share of 10,000 predictions that are the same": float(
            np.mean(kept["ours"].predict(reduced_test) == kept["grid"].predict(reduced_test))
        ),
        "target": "at least 15",
        "measured": theirs / ours,
        "reached": theirs / ours >= 15,
    }


def boosting_path() -> dict[str, Any]:
    """All 400 pairs from four fits against a fit for each pair, digits, one thread each."""
    data = datasets.load("digits")
    T = transition.strong(10, 0)
    y_comp = labels.draw(data.y_train, T, 0)
    train, validation = next(ShuffleSplit(1, test_size=0.1, random_state=0).split(data.X_train))
    rates, counts = [0.01, 0.025, 0.05, 0.1], list(range(5, 501, 5))

    def path(early_stopping: bool) -> CPEBoostingClassifierCV:
        clf = CPEBoostingClassifierCV(
            rates,
            counts,
            transition=T,
            cv=[(train, validation)],
            early_stopping=early_stopping,
            random_state=0,
            n_jobs=1,
        )
        return clf.fit(data.X_train, y_comp)

    def every_pair() -> dict[str, Any]:
        scores = {}
        for rate, count in itertools.product(rates, counts):
            base = lightgbm.LGBMClassifier(
                learning_rate=rate,
                n_estimators=count,
                n_jobs=1,
                verbosity=-1,
                force_row_wise=True,
            )
            clf = CPEClassifier(base, transition=T).fit(data.X_train[train], y_comp[train])
            scores[rate, count] = clf.score(data.X_train[validation], y_comp[validation])
        rate, count = max(scores, key=scores.__getitem__)
        return {"learning_rate": rate, "n_estimators": count}

    kept: dict[str, Any] = {}
    ours = seconds(lambda: kept.update(ours=path(True)), 3)
    whole = seconds(lambda: kept.update(whole=path(False)))
    theirs = seconds(lambda: kept.update(best=every_pair()))
    return {
        "what": "CPEBoostingClassifierCV against a fit for each of 400 pairs, digits",
        "seconds ours": ours,
        "seconds every pair": theirs,
        "ratio without early stopping": theirs / whole,
        "same choice": kept["ours"].best_params_ == kept["best"] == kept["whole"].best_params_,
        "choice": kept["best"],
        "target": "at least 20",
        "measured": theirs / ours,
        "reached": theirs / ours >= 20,
    }


BENCHMARKS = {
    f.__name__: f
    for f in (
        *(draw, knn_path, boosting_path),
        *decoding.BENCHMARKS,
        *networks.BENCHMARKS,
        *loops.BENCHMARKS,
        *populations.BENCHMARKS,
        *streaming.BENCHMARKS,
        *sweeps.BENCHMARKS,
    )
}


def main() -> None:
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}; known: {', '.join(BENCHMARKS)}")
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names:
        if name == "network_peer" and importlib.util.find_spec("lightning") is None:
            Console().print(f"{name} is left as it was: it needs pip install lightning")
            continue
        Console().print(f"[bold]{name}[/bold]: {BENCHMARKS[name].__doc__}")
        record[name] = BENCHMARKS[name]()
        record["machine"] = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "lightgbm": lightgbm.__version__,
            "torch": torch.__version__,
            "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
        temporary = RESULTS.with_suffix(".tmp")
        temporary.write_text(json.dumps(record, indent=2, default=float) + "\n")
        temporary.replace(RESULTS)
    rows = [
        (
            name,
            row["what"],
            f"{row['measured']:.3g}",
            row.get("target", ""),
            {True: "yes", False: "NO"}.get(row.get("reached"), ""),
        )
        for name, row in record.items()
        if name in BENCHMARKS
    ]
    header = ("benchmark", "what", "measured", "target", "reached")
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    lines = [header, ("---",) * len(header), *rows]
    markdown = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    RESULTS.with_suffix(".md").write_text(markdown)


if __name__ == "__main__":
    main()
