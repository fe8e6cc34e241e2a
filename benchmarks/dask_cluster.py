"""Fit and predict on a Dask cluster of this machine; see ``results/distributed.md``.

python benchmarks/dask_cluster.py [--rows 10000000] [--rounds 20] [--folder FOLDER]

Writes the Parquet files into a temporary folder (2 GB for 10 million rows of 50 columns), and
``results/distributed.json`` and ``results/distributed.md``.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from ybar import CPEBoostingClassifierCV, distributed, labels, metrics, transition

RESULTS = Path(__file__).resolve().parent.parent / "results"
COLUMNS = [f"x{i}" for i in range(50)]
K = 4
ROWS_PER_FILE = 250_000
MOST_ROWS_OF_ONE_PROCESS = 1_000_000
ROWS_OF_THE_RATIO = 2_000_000
TEST_ROWS = 200_000
LIMIT = 10**9
SETTINGS = {"dataframe.convert-string": False}


def rows(n: int, seed: int) -> pd.DataFrame:
    """Return features of single precision, the class, and a uniform complementary label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(COLUMNS))).astype(np.float32)
    scores = np.stack([X[:, 3 * k] + X[:, 3 * k + 1] * X[:, 3 * k + 2] for k in range(K)], axis=1)
    y = (scores + 0.3 * rng.gumbel(size=scores.shape)).argmax(axis=1)
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame["y"] = y.astype(np.int8)
    frame["not_y"] = labels.draw(y, transition.uniform(K), random_state=seed).astype(np.int8)
    return frame


def write(folder: Path, n: int) -> list[str]:
    """Write files of rows, and a file of test rows, unless they are there."""
    starts = range(0, n, ROWS_PER_FILE)
    names = [str(folder / f"part-{i:04}.parquet") for i in range(len(starts))]
    for i, (name, start) in enumerate(zip(names, starts, strict=True)):
        if not Path(name).exists():
            rows(min(ROWS_PER_FILE, n - start), i + 1).to_parquet(name, compression=None)
    rows(TEST_ROWS, 0).to_parquet(folder / "test.parquet", compression=None)
    return names


def peak_bytes() -> tuple[int, int]:
    """Return the process id and the most memory that the process has held."""
    status = Path("/proc/self/status").read_text()
    return os.getpid(), 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])


def fit(names: list[str], n_workers: int, limit: int | None, rounds: int, predict: bool) -> Any:
    """Fit on workers of this machine; return seconds, peaks of memory and the local model."""
    with (
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        started = client.run(peak_bytes)
        frame = dd.read_parquet(names)
        model = distributed.DaskCPEBoostingClassifierCV(
            [0.1], range(5, rounds + 1, 5), classes=np.arange(K), random_state=0
        )
        begin = time.perf_counter()
        model.fit(frame[COLUMNS], frame["not_y"])
        fitted = time.perf_counter() - begin
        begin = time.perf_counter()
        if predict:
            (model.predict(frame[COLUMNS]) == 0).sum().compute()
        ended = client.run(peak_bytes)
        return {
            "fit_seconds": fitted,
            "predict_seconds": time.perf_counter() - begin,
            "peak_bytes_per_worker": sorted(peak for _, peak in ended.values()),
            "workers_lost": len(
                {pid for pid, _ in started.values()} - {pid for pid, _ in ended.values()}
            ),
            "rounds": model.best_params_["n_estimators"],
        }, model.to_local()


def fit_in_one_process(names: list[str], rounds: int) -> Any:
    """Fit LightGBM to the rows that one process of the same memory holds."""
    n_files = max(1, MOST_ROWS_OF_ONE_PROCESS // ROWS_PER_FILE)
    frame = pd.concat([pd.read_parquet(name) for name in names[:n_files]])
    model = CPEBoostingClassifierCV(
        [0.1],
        range(5, rounds + 1, 5),
        classes=np.arange(K),
        early_stopping=False,
        random_state=0,
        n_jobs=1,
    )
    model.fit(frame[COLUMNS].to_numpy(), frame["not_y"].to_numpy())
    return len(frame), peak_bytes()[1], model


def differences(model: Any, names: list[str]) -> dict[str, float]:
    """Return how far SCEL, URE and their errors over blocks are from the local functions."""
    frame = pd.concat([pd.read_parquet(name) for name in names[:2]])
    X, y_comp = frame[COLUMNS].to_numpy(), frame["not_y"].to_numpy().astype(int)
    q, predicted, T = model.predict_complementary_proba(X), model.predict(X), model.transition_
    blocks = [da.from_array(each, chunks=(17_321, *each.shape[1:])) for each in (y_comp, q)]
    pairs = [
        (
            distributed.scel(*blocks, return_std_error=True),
            metrics.scel(y_comp, q, return_std_error=True),
        ),
        (
            distributed.ure_zero_one(
                blocks[0], da.from_array(predicted, chunks=17_321), T, return_std_error=True
            ),
            metrics.ure_zero_one(y_comp, predicted, T, return_std_error=True),
        ),
    ]
    names_of = ["scel", "scel_std_error", "ure", "ure_std_error"]
    values = [abs(a - b) for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True)]
    return dict(zip(names_of, values, strict=True))


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function in a process that has started nothing before."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn) as process:
        return process.submit(function, *arguments).result()


def measure(folder: Path, n: int, rounds: int) -> dict[str, Any]:
    """Return all figures."""
    names = write(folder, n)
    test = pd.read_parquet(folder / "test.parquet")
    big, model = in_new_process(fit, names, 4, LIMIT, rounds, True)
    n_local, peak, local = in_new_process(fit_in_one_process, names, rounds)
    few = names[: max(1, ROWS_OF_THE_RATIO // ROWS_PER_FILE)]
    one, two = (in_new_process(fit, few, k, None, rounds, False)[0] for k in (1, 2))
    of_cluster = float((model.predict(test[COLUMNS]) == test["y"]).mean())
    of_process = float((local.predict(test[COLUMNS].to_numpy()) == test["y"]).mean())
    return {
        "rows": n,
        "columns": len(COLUMNS),
        "classes": K,
        "most_rounds": rounds,
        "cores": os.cpu_count(),
        "load_average_before": os.getloadavg()[2],
        "python": platform.python_version(),
        "four_workers_of_1_GB": big,
        "accuracy": of_cluster,
        "one_process": {"rows": n_local, "peak_bytes": peak, "accuracy": of_process},
        "fit_seconds_on_1_worker": one["fit_seconds"],
        "fit_seconds_on_2_workers": two["fit_seconds"],
        "rows_of_the_ratio": min(n, ROWS_OF_THE_RATIO),
        "ratio_of_2_workers": one["fit_seconds"] / two["fit_seconds"],
        "differences": differences(local, names),
    }


def page(figures: dict[str, Any]) -> str:
    """Return the figures as a table."""
    big, local = figures["four_workers_of_1_GB"], figures["one_process"]
    peak = max(big["peak_bytes_per_worker"]) / 1e6
    gap = 100 * (figures["accuracy"] - local["accuracy"])
    lines = [
        "| what | goal | figure |",
        "|---|---|---|",
        f"| rows × columns in Parquet | 10 million × 50 | {figures['rows']:,} × "
        f"{figures['columns']}, {figures['classes']} classes |",
        f"| load average of the {figures['cores']} cores before | | "
        f"{figures['load_average_before']:.1f} |",
        f"| fit on 4 workers of 1 GB, {figures['most_rounds']} rounds at most | done | "
        f"{big['fit_seconds']:.0f} s |",
        f"| predict all rows there | done | {big['predict_seconds']:.0f} s |",
        f"| workers lost | 0 | {big['workers_lost']} |",
        f"| most memory of a worker | 1,000 MB | {peak:,.0f} MB |",
        f"| accuracy on {TEST_ROWS:,} new rows | | {100 * figures['accuracy']:.2f}% |",
        f"| LightGBM in one process on {local['rows']:,} rows | | {100 * local['accuracy']:.2f}% |",
        f"| difference in points | at least -0.3 | {gap:+.2f} |",
        f"| 2 workers against 1, {figures['rows_of_the_ratio']:,} rows | 1.6 times | "
        f"{figures['ratio_of_2_workers']:.2f} times |",
        f"| largest difference of SCEL, URE and their errors | 1e-12 | "
        f"{max(figures['differences'].values()):.1e} |",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--output", type=Path, default=RESULTS / "distributed.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = measure(folder, options.rows, options.rounds)
    options.output.write_text(json.dumps(figures, indent=2) + "\n")
    options.output.with_suffix(".md").write_text(page(figures))
    print(page(figures))


if __name__ == "__main__":
    main()
