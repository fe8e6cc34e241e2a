"""The same sweep on one worker and on two."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

from ybar.experiments.plan import jobs, reading
from ybar.experiments.runs import data
from ybar.experiments.runs.cluster import Cluster
from ybar.experiments.runs.ledger import Ledger
from ybar.experiments.runs.sweep import sweep

PLAN = """
trials = 2
datasets = ["kmnist"]
settings = ["uniform", "weak", "strong", "noise-0.1", "noise-0.2", "noise-0.5"]
[[base]]
name = "linear"
kind = "network"
methods = ["ure-ga", "scl-nl", "dm", "fwd", "cpe-i", "cpe-f", "cpe-t"]
learning_rates = [1e-3, 5e-4, 1e-4, 5e-5, 1e-5]
epochs = 5
"""


def seconds(n_workers: int) -> float:
    """Twelve populations of 25 or 30 linear runs, five epochs each, from start to ledger."""
    plan = reading.parse(PLAN)
    facts = {dataset: data.facts(dataset) for dataset in plan.parts[0].datasets}
    planned = jobs.jobs(plan, facts)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = Path(folder) / "runs.sqlite"
        with Ledger(path) as ledger, contextlib.closing(Cluster(None, n_workers)) as workers:
            sweep(planned, ledger, workers)
            if not all(ledger.hashes().values()):
                raise RuntimeError("a run failed")
        return time.perf_counter() - start


def in_new_process(n_workers: int) -> float:
    """Return the seconds of a sweep in a process that has started no workers before."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn) as process:
        return process.submit(seconds, n_workers).result()


def sweep_workers() -> dict[str, Any]:
    """Run the same sweep on one worker and on two; both start their workers."""
    # In turns: the speed of a machine varies.
    rounds = [(in_new_process(1), in_new_process(2)) for _ in range(2)]
    one, two = (min(times) for times in zip(*rounds, strict=True))
    return {
        "what": "a sweep of 12 linear populations on 2 workers against 1, starts included",
        "seconds, one worker": one,
        "seconds, two workers": two,
        "target": "at least 1.8",
        "measured": one / two,
        "reached": one / two >= 1.8,
    }


BENCHMARKS = (sweep_workers,)
