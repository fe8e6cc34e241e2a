"""What a fit on a cluster costs, from its parts; writes ``results/scaling.json`` and ``.md``.

python studies/scaling.py

Processor time of each part is measured on one core for several numbers of rows, columns, classes
and labels. A model with a few constants is fitted to it. A simulation of the scheduler, of the
workers and of the tree of the reduction then extends it to 10¹⁰ rows.
"""

from __future__ import annotations

import heapq
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from ybar import decode, transition
from ybar.distributed import binning
from ybar.distributed.metrics import scel_sums
from ybar.distributed.sums import FAN_IN, Sums
from ybar.labels.observed import observe_codes

RESULTS = Path(__file__).resolve().parent.parent / "results"
ROUNDS = 100
ROWS_PER_BLOCK = 250_000
SECONDS_PER_TASK = 1e-3  # of the scheduler, as Dask's documentation says: up to a millisecond
BYTES_PER_SECOND = 1e9  # between workers
SECONDS_PER_MESSAGE = 2e-4
BYTES_PER_BIN = 16  # the sums of both derivatives
LEAVES = 31
FEATURES, CLASSES = 50, 10


def processor_time(work: Callable[..., Any], *arguments: Any, repeat: int = 3) -> float:
    """Return the least processor time of a few runs: it hardly depends on other processes."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def constant(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the seconds per unit of work, and the largest relative error of that model."""
    units, seconds = np.array(points).T
    slope = float((units / seconds).sum() / ((units / seconds) ** 2).sum())  # of relative errors
    return slope, float(np.abs(slope * units / seconds - 1).max())


def bins() -> list[tuple[float, float]]:
    """Rows × columns, and the seconds to bin them."""
    points = []
    for n, columns in ((50_000, 10), (100_000, 20), (50_000, 50)):
        X = np.random.default_rng(0).normal(size=(n, columns)).astype(np.float32)
        edges = binning.edges_of(X[:20_000])
        points.append((n * columns, processor_time(binning.binned, X, edges)))
    return points


def trees() -> list[tuple[float, float]]:
    """Rows × columns × classes, and the seconds of a round of boosting."""
    points = []
    for n, columns, K in ((100_000, 20, 4), (100_000, 50, 4), (50_000, 50, 10)):
        rng = np.random.default_rng(0)
        data = lightgbm.Dataset(
            rng.integers(0, 255, (n, columns)).astype(float), rng.integers(0, K, n)
        )
        params = {"objective": "multiclass", "num_class": K, "num_threads": 1, "verbosity": -1}
        params["force_row_wise"] = True
        booster = lightgbm.Booster(params, data.construct())
        booster.update()
        points.append((n * columns * K, processor_time(booster.update, repeat=4)))
    return points


def decoding() -> list[tuple[float, float]]:
    """Rows × classes², and the seconds to decode them by L1."""
    points = []
    for n, K in ((50_000, 10), (100_000, 10), (20_000, 20)):
        q = np.random.default_rng(0).dirichlet(np.ones(K), n)
        T = transition.biased(K, random_state=0)
        points.append((n * K * K, processor_time(decode.decode, q, T)))
    return points


def sums_of(y: Any, q: Any) -> Sums:
    """Return the sums of a block."""
    return scel_sums(observe_codes(y, CLASSES), q)


def scoring() -> list[tuple[float, float]]:
    """Labels, and the seconds of their sums for SCEL."""
    points = []
    for n, several in ((100_000, 1), (200_000, 1), (100_000, 3)):
        rng = np.random.default_rng(0)
        q = rng.dirichlet(np.ones(CLASSES), n)
        y: Any = rng.integers(0, CLASSES, n)
        if several > 1:
            y = rng.random((n, CLASSES)).argsort(axis=1) < several
        points.append((n * several, processor_time(sums_of, y, q)))
    return points


def merging() -> list[tuple[float, float]]:
    """Blocks, and the seconds to add up their sums."""
    part = sums_of(np.arange(1000) % CLASSES, np.full((1000, CLASSES), 1 / CLASSES))
    return [(n, processor_time(merge_all, part, n)) for n in (1600, 3200, 6400)]


def merge_all(part: Sums, n: int) -> None:
    """Add up the sums of n blocks."""
    for _ in range(n // FAN_IN):
        Sums.merged([part] * FAN_IN)


def predicting() -> list[tuple[float, float]]:
    """Rows × trees, and the seconds to predict with them."""
    points = []
    for n, K, rounds in ((20_000, 4, 20), (20_000, 10, 20), (40_000, 4, 40)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 20))
        y = (X[:, :K] ** 2).argmax(axis=1)
        params = {"objective": "multiclass", "num_class": K, "num_threads": 1, "verbosity": -1}
        booster = lightgbm.train(params, lightgbm.Dataset(X, y), rounds)
        points.append((n * K * rounds, processor_time(booster.predict, X)))
    return points


def simulate(n_blocks: int, n_workers: int, seconds_per_block: float, merge: float) -> float:
    """Return the seconds of one reduction over blocks.

    The scheduler starts one task at a time. A merge starts once its inputs have ended, on the
    worker that is free first, and fetches each of them with a message.
    """
    free = [0.0] * n_workers
    heapq.heapify(free)
    clock = 0.0

    def run(ready: float, seconds: float) -> float:
        nonlocal clock
        clock = max(clock, ready) + SECONDS_PER_TASK
        end = max(clock, heapq.heappop(free)) + seconds
        heapq.heappush(free, end)
        return end

    ends = [run(0.0, seconds_per_block) for _ in range(n_blocks)]
    while len(ends) > 1:
        groups = [ends[i : i + FAN_IN] for i in range(0, len(ends), FAN_IN)]
        step = FAN_IN * (merge + SECONDS_PER_MESSAGE)
        ends = [run(max(group), step) for group in groups]
    return ends[0]


def histograms(n_workers: int) -> float:
    """Return the seconds of LightGBM's network in a round: a reduce-scatter for each split."""
    if n_workers == 1:
        return 0.0
    size = FEATURES * 255 * BYTES_PER_BIN
    step = size / BYTES_PER_SECOND + math.ceil(math.log2(n_workers)) * SECONDS_PER_MESSAGE
    return CLASSES * (LEAVES - 1) * step


def fit(rows: float, n_workers: int, cost: dict[str, float]) -> dict[str, float]:
    """Return the seconds of the parts of a fit: one rate, its evaluation, and the fit to all."""
    n_blocks = max(1, round(rows / ROWS_PER_BLOCK))
    per_block = rows / n_blocks
    read = per_block * FEATURES * cost["bin"]
    round_ = rows / n_workers * FEATURES * CLASSES * cost["tree"] + histograms(n_workers)
    trees = per_block * ROUNDS * CLASSES * cost["predict"]
    score = trees + per_block * (CLASSES**2 * cost["decode"] + cost["score"])
    return {
        "bin": 2 * simulate(n_blocks, n_workers, read, cost["merge"]),
        "train": 2 * ROUNDS * round_,
        "score": simulate(n_blocks, n_workers, score, cost["merge"]),
    }


def bytes_per_worker(rows: float, n_workers: int) -> float:
    """Return the bytes that a worker holds: bytes twice, and scores and derivatives of classes."""
    return rows / n_workers * (2 * FEATURES + 16 * CLASSES + 8)


def main() -> None:
    parts = {
        "bin": ("reading a value into its bin", "rows × columns", bins()),
        "tree": ("a round of boosting", "rows × columns × classes", trees()),
        "predict": ("a prediction by a tree", "rows × trees", predicting()),
        "decode": ("decoding by L1", "rows × classes²", decoding()),
        "score": ("the sums of SCEL", "labels", scoring()),
        "merge": ("adding up the sums of blocks", "blocks", merging()),
    }
    cost, table = (
        {},
        ["| part | proportional to | ns per unit | error of the model |", "|---|---|---|---|"],
    )
    for name, (what, units, points) in parts.items():
        cost[name], error = constant(points)
        table.append(f"| {what} | {units} | {1e9 * cost[name]:.2g} | {100 * error:.0f}% |")
    runs = []
    lines = [
        "| rows | workers | hours to bin | to train | to score | GB per worker |",
        "|---|---|---|---|---|---|",
    ]
    for rows, n_workers in ((1e7, 4), (1e8, 40), (1e9, 100), (1e10, 100), (1e10, 1000)):
        seconds = fit(rows, n_workers, cost)
        size = bytes_per_worker(rows, n_workers) / 1e9
        runs.append({"rows": rows, "workers": n_workers, "seconds": seconds, "gigabytes": size})
        hours = " | ".join(f"{seconds[name] / 3600:.2g}" for name in ("bin", "train", "score"))
        lines.append(f"| 10^{math.log10(rows):.0f} | {n_workers:,} | {hours} | {size:.2g} |")
    record = {"seconds_per_unit": cost, "points": {n: p[2] for n, p in parts.items()}, "runs": runs}
    (RESULTS / "scaling.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "scaling_costs.md").write_text("\n".join(table) + "\n")
    (RESULTS / "scaling.md").write_text("\n".join(lines) + "\n")
    print("\n".join([*table, "", *lines]))


if __name__ == "__main__":
    main()
