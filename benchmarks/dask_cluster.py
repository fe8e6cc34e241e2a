"""Fit and predict on a Dask cluster of this machine; see ``results/distributed.md``.

python benchmarks/dask_cluster.py [--rows 10000000] [--rounds 20] [--folder FOLDER] [--again PART]

Measures the parts ``cluster`` (4 workers of 1 GB), ``process`` (one process), ``1 worker`` and
``2 workers`` (without a limit of memory), each in a process of its own. Each part is written to
``results/distributed.json`` when it ends; a part that is there is not measured again, unless
``--again`` names it. The Parquet files (3 GB for 10 million rows of 50 columns) lie in a temporary
folder, or in ``--folder``, where they stay. ``results/distributed.md`` has the table.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import multiprocessing
import os
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
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(-(-n // ROWS_PER_FILE))
    names = [str(folder / f"part-{i:04}.parquet") for i in numbers]
    sizes = [min(ROWS_PER_FILE, n - ROWS_PER_FILE * i) for i in numbers]
    files = zip([*names, str(folder / "test.parquet")], [*sizes, TEST_ROWS], strict=True)
    for i, (name, size) in enumerate(files, 1):
        if not Path(name).exists():
            rows(size, i % (len(names) + 1)).to_parquet(f"{name}.part", compression=None)
            os.replace(f"{name}.part", name)
    return names


def peak_bytes() -> tuple[int, int]:
    """Return the process id and the most memory that the process has held."""
    status = Path("/proc/self/status").read_text()
    return os.getpid(), 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])


def on_cluster(names: list[str], rounds: int, n_workers: int, limit: int | None) -> dict[str, Any]:
    """Fit and predict on workers of this machine."""
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
        fitted = time.perf_counter()
        model.predict(frame[COLUMNS]).sum().compute()
        predicted = time.perf_counter()
        ended = client.run(peak_bytes)
    return {
        "fit_seconds": fitted - begin,
        "predict_seconds": predicted - fitted,
        "peak_bytes_per_worker": sorted(peak for _, peak in ended.values()),
        "workers_lost": len(dict(started.values()).keys() - dict(ended.values()).keys()),
        "chosen_rounds": model.best_params_["n_estimators"],
        "accuracy": accuracy(model.to_local(), names),
    }


def in_one_process(names: list[str], rounds: int) -> dict[str, Any]:
    """Fit LightGBM to the rows that one process of the same memory holds."""
    few = names[: MOST_ROWS_OF_ONE_PROCESS // ROWS_PER_FILE]
    frame = pd.concat([pd.read_parquet(name) for name in few])
    model = CPEBoostingClassifierCV(
        [0.1],
        range(5, rounds + 1, 5),
        classes=np.arange(K),
        early_stopping=False,
        random_state=0,
        n_jobs=1,
    )
    begin = time.perf_counter()
    model.fit(frame[COLUMNS], frame["not_y"].to_numpy())
    return {
        "rows_of_the_process": len(frame),
        "fit_seconds": time.perf_counter() - begin,
        "peak_bytes": peak_bytes()[1],
        "chosen_rounds": model.best_params_["n_estimators"],
        "accuracy": accuracy(model, names),
        "differences": differences(model, names),
    }


def accuracy(model: Any, names: list[str]) -> float:
    """Return the accuracy on the test rows."""
    test = pd.read_parquet(Path(names[0]).with_name("test.parquet"))
    predicted = model.set_params(n_jobs=1).predict(test[COLUMNS])
    return float((predicted == test["y"]).mean())


def differences(model: Any, names: list[str]) -> dict[str, float]:
    """Return how far SCEL, URE and their errors over blocks are from the local functions."""
    frame = pd.concat([pd.read_parquet(name) for name in names[:2]])
    X, y_comp = frame[COLUMNS], frame["not_y"].to_numpy().astype(int)
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


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "cluster": functools.partial(on_cluster, n_workers=4, limit=LIMIT),
    "process": in_one_process,
    "1 worker": functools.partial(on_cluster, n_workers=1, limit=None),
    "2 workers": functools.partial(on_cluster, n_workers=2, limit=None),
}


def page(known: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a table; parts that are not measured have no rows."""
    lines = ["| what | goal | figure |", "|---|---|---|"]
    if "cluster" in known:
        big = known["cluster"]
        lines += [
            f"| rows × columns in Parquet | 10 million × 50 | {big['rows']:,} × {len(COLUMNS)}, "
            f"{K} classes |",
            f"| fit on 4 workers of 1 GB, {big['rounds']} rounds at most | done | "
            f"{big['fit_seconds']:.0f} s |",
            f"| predict all rows there | done | {big['predict_seconds']:.0f} s |",
            f"| load average of the {os.cpu_count()} cores before | | {big['load_average']:.1f} |",
            f"| workers lost | 0 | {big['workers_lost']} |",
            f"| most memory of a worker | 1,000 MB | "
            f"{max(big['peak_bytes_per_worker']) / 1e6:,.0f} MB |",
            f"| accuracy on {TEST_ROWS:,} new rows | | {100 * big['accuracy']:.2f}% |",
        ]
    if "process" in known:
        one = known["process"]
        lines += [
            f"| the same of LightGBM in one process on {one['rows_of_the_process']:,} rows | | "
            f"{100 * one['accuracy']:.2f}% |",
            f"| largest difference of SCEL, URE and their errors | 1e-12 | "
            f"{max(one['differences'].values()):.1e} |",
        ]
    if "process" in known and "cluster" in known:
        gap = 100 * (known["cluster"]["accuracy"] - known["process"]["accuracy"])
        lines.append(f"| difference of the accuracies in points | at least -0.3 | {gap:+.2f} |")
    if "1 worker" in known and "2 workers" in known:
        both = [known[name] for name in ("1 worker", "2 workers")]
        accuracy_of_one = 100 * both[0]["accuracy"]
        lines.append(
            f"| accuracy of LightGBM on 1 worker, without a network, all rows | | "
            f"{accuracy_of_one:.2f}% |"
        )
        slow, fast = (part["fit_seconds"] + part["predict_seconds"] for part in both)
        lines.append(
            f"| fit and predict {both[0]['rows']:,} rows on 1 worker and on 2 | 1.6 times | "
            f"{slow:.0f} s and {fast:.0f} s: {slow / fast:.2f} times (load average before "
            f"{both[0]['load_average']:.1f} and {both[1]['load_average']:.1f}) |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--output", type=Path, default=RESULTS / "distributed.json")
    parser.add_argument("--part", choices=PARTS, nargs="*", default=list(PARTS))
    parser.add_argument("--again", choices=PARTS, nargs="*", default=[])
    options = parser.parse_args()
    known = json.loads(options.output.read_text()) if options.output.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.part:
            if name in known and name not in options.again:
                continue
            names = write(options.folder or Path(temporary), options.rows)
            facts = {"rows": options.rows, "rounds": options.rounds}
            facts["load_average"] = os.getloadavg()[0]
            known[name] = facts | in_new_process(PARTS[name], names, options.rounds)
            options.output.write_text(json.dumps(known, indent=2) + "\n")
            options.output.with_suffix(".md").write_text(page(known))
    print(page(known))


if __name__ == "__main__":
    main()
