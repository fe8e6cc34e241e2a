"""What `run.py` measures of several networks: populations, and runs in two processes."""

from __future__ import annotations

import multiprocessing
from typing import Any

from jobs import CPE_F, LINEAR, MLP, RATES, WALL, Job, products, threads, timed
from loops import best_epoch, loader_loop, tensor_loop
from ybar.neural import methods
from ybar.neural.objective import Run

METHODS = ("ure-ga", "scl-nl", "dm", "cpe-i", "cpe-f", "cpe-t")


def population_linear() -> dict[str, Any]:
    """30 linear runs (5 rates × 6 methods) as a population against one by one."""
    job = Job()
    runs = [Run(methods.METHODS[m], rate) for m in METHODS for rate in RATES]
    n_epochs = 3

    def one_by_one() -> None:
        for run in runs:
            job.fit(LINEAR, [run], n_epochs)

    alone = min(timed(one_by_one) for _ in range(2))
    together = min(timed(lambda: job.fit(LINEAR, runs, n_epochs)) for _ in range(3))
    with threads(1):
        of_methods = sum(best_epoch(tensor_loop(job, LINEAR, m)) for m in METHODS)
        plain = n_epochs * len(RATES) * of_methods
        loader = n_epochs * len(runs) * best_epoch(loader_loop(job, LINEAR))
        floor = n_epochs * products((784, 10 * len(runs)))
    return {
        "what": "30 linear 784-10 runs as a population against one by one, one thread (other loops "
        "one by one in the file)",
        "seconds one by one": alone,
        "seconds, one thread": together,
        "seconds of the products alone, one thread": floor,
        "ratio to plain tensors, autograd and fused Adam, one by one, unevaluated": plain
        / together,
        "ratio to a DataLoader loop, one by one, unevaluated": loader / together,
        "target": "at least 8",
        "measured": alone / together,
        "reached": alone / together >= 8,
    }


def population_mlp() -> dict[str, Any]:
    """5 rates of 784-500-10 as a population on 2 threads against one by one on 2 threads."""
    job = Job()
    runs = [Run(CPE_F, rate) for rate in RATES]

    def one_by_one(n_threads: int) -> None:
        for run in runs:
            job.fit(MLP, [run], 2, n_threads=n_threads)

    together, alone, on_one = [], [], []
    for _ in range(3):
        together.append(timed(lambda: job.fit(MLP, runs, 2, n_jobs=2), WALL))
        alone.append(timed(lambda: one_by_one(2), WALL))
        on_one.append(timed(lambda: one_by_one(1), WALL))
    ratio = min(alone) / min(together)
    return {
        "what": "5 runs of 784-500-10 as a population on 2 threads against one by one on 2 threads",
        "seconds one by one": min(alone),
        "seconds one by one, one thread": min(on_one),
        "seconds as a population": min(together),
        "most possible: half of the time on one thread": 2 * min(alone) / min(on_one),
        "target": "at least 1.3",
        "measured": ratio,
        "reached": ratio >= 1.3,
    }


def _timed_run(gate: Any, answers: Any) -> None:
    job = Job()
    job.epochs(MLP, 1)
    gate.wait()
    answers.put(timed(lambda: job.epochs(MLP, 3), WALL))


def network_processes() -> dict[str, Any]:
    """Two runs in two processes against one after the other."""
    context = multiprocessing.get_context("spawn")

    def slowest(n: int) -> float:
        gate, answers = context.Barrier(n), context.Queue()
        workers = [context.Process(target=_timed_run, args=(gate, answers)) for _ in range(n)]
        for worker in workers:
            worker.start()
        slowest_of_all = max(answers.get() for _ in workers)
        for worker in workers:
            worker.join()
        return slowest_of_all

    pairs = [(slowest(1), slowest(2)) for _ in range(3)]
    one, two = (min(values) for values in zip(*pairs, strict=True))
    return {
        "what": "two runs in two processes against one after the other",
        "seconds of one alone": one,
        "seconds of two at once": two,
        "target": "at least 1.8",
        "measured": 2 * one / two,
        "reached": 2 * one / two >= 1.8,
    }


BENCHMARKS = (population_linear, population_mlp, network_processes)
