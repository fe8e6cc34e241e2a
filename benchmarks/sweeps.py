"""The same sweep on one process, on two, and on a local Dask cluster."""

from __future__ import annotations

import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import sweep as execute
from ybar.experiments.runs.ledger import Ledger

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


def sweep_processes() -> dict[str, Any]:
    """Twelve populations of 25 or 30 linear runs, five epochs each, from start to ledger."""
    read = plan_file.parse(PLAN)
    facts = {dataset: run_data.facts(dataset) for dataset in read.parts[0].datasets}
    jobs = plan_jobs.jobs(read, facts)

    def seconds(pool: AbstractContextManager[execute.Pool]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            with Ledger(Path(folder) / "runs.sqlite") as ledger, pool as workers:
                execute.sweep(jobs, ledger, workers)
                if not all(ledger.hashes().values()):
                    raise RuntimeError("a run failed")
            return time.perf_counter() - start

    pools = {
        "one process": lambda: execute.processes(1),
        "two processes": lambda: execute.processes(2),
        "local Dask cluster of two": lambda: execute.cluster(None, 2),
    }
    # In turns: a machine is not as fast all the time.
    rounds = [{name: seconds(make()) for name, make in pools.items()} for _ in range(2)]
    found = {name: min(times[name] for times in rounds) for name in pools}
    one, two, dask = found.values()
    return {
        "what": "a sweep of 12 linear populations on 2 processes against 1, starts included (a "
        "local Dask cluster against 2 processes in the file: at most 1.1)",
        **{f"seconds, {name}": value for name, value in found.items()},
        "Dask in units of processes": dask / two,
        "target": "at least 1.8",
        "measured": one / two,
        "reached": one / two >= 1.8 and dask / two <= 1.1,
    }


BENCHMARKS = (sweep_processes,)
