"""What `run.py` measures of whole trainings: populations, processes, evaluation, memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import subprocess
import sys
from typing import Any

import numpy as np

from networks import (
    CPE_F,
    LINEAR,
    METHODS,
    MLP,
    RATES,
    Job,
    loader_loop,
    products,
    tensor_loop,
    threads,
    timed,
)
from ybar import decode
from ybar.neural import loop, methods, population
from ybar.neural.evaluate import Outputs
from ybar.neural.objective import Run


def population_linear() -> dict[str, Any]:
    """30 linear runs (5 rates × 6 methods) as a population against one by one."""
    job = Job()
    runs = [Run(methods.METHODS[m], rate) for m in METHODS for rate in RATES]
    n_epochs = 3

    def one_by_one() -> None:
        for run in runs:
            job.grow(LINEAR, [run], n_epochs)

    alone = min(timed(one_by_one) for _ in range(2))
    together = min(timed(lambda: job.grow(LINEAR, runs, n_epochs)) for _ in range(3))
    on_two = min(timed(lambda: job.grow(LINEAR, runs, n_epochs, 2)) for _ in range(3))
    with threads(1):
        plain = n_epochs * len(RATES) * sum(tensor_loop(job, LINEAR, m) for m in METHODS)
        loader = n_epochs * len(runs) * loader_loop(job, LINEAR)
        floor = n_epochs * products((784, 10 * len(runs)))
    return {
        "what": "30 linear 784-10 runs as a population against one by one, one thread (2 threads, "
        "and other loops one by one, in the file)",
        "seconds one by one": alone,
        "seconds, one thread": together,
        "seconds, 2 threads": on_two,
        "seconds of the products alone, one thread": floor,
        "ratio, 2 threads, to one by one on one": alone / on_two,
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
    together = min(timed(lambda: job.grow(MLP, runs, 2, 2)) for _ in range(3))

    def one_by_one() -> None:
        for run in runs:
            job.grow(MLP, [run], 2)

    as_it_is = loop.one_thread
    try:
        # Runs of ours keep to one thread: let these have both.
        loop.one_thread = population.one_thread = contextlib.nullcontext
        with threads(2):
            alone = min(timed(one_by_one) for _ in range(3))
    finally:
        loop.one_thread = population.one_thread = as_it_is
    return {
        "what": "5 runs of 784-500-10 as a population on 2 threads against one by one on 2 threads",
        "seconds one by one": alone,
        "seconds as a population": together,
        "target": "at least 1.1",
        "measured": alone / together,
        "reached": alone / together >= 1.1,
    }


def _timed_run(gate: Any, answers: Any) -> None:
    job = Job()
    for _ in job.epochs(MLP, 1):
        pass
    gate.wait()
    answers.put(timed(lambda: list(job.epochs(MLP, 3))))


def network_processes() -> dict[str, Any]:
    """Two runs in two processes against one after the other."""
    context = multiprocessing.get_context("spawn")

    def slowest(n: int) -> float:
        gate, answers = context.Barrier(n), context.Queue()
        workers = [context.Process(target=_timed_run, args=(gate, answers)) for _ in range(n)]
        for worker in workers:
            worker.start()
        found = max(answers.get() for _ in workers)
        for worker in workers:
            worker.join()
        return found

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


def network_evaluation() -> dict[str, Any]:
    """Time the evaluation of 6,000 and 10,000 rows after each epoch, as a share of it."""
    job = Job()
    decoders, inverse = ("l1", "l2", "max"), decode.inverse(job.T)

    def on_test(outputs: Outputs, _: population.Record) -> dict[str, float]:
        return {
            f"test {name}": float(np.mean(outputs.classes(name) == job.mnist.y_test))
            for name in decoders
        }

    def on_held_out(outputs: Outputs, _: population.Record) -> dict[str, float]:
        found, k = {}, job.held_out.y_comp
        for name in decoders:
            predicted = outputs.classes(name)
            found[f"ure {name}"] = float(np.mean(inverse.sum(axis=1)[k] - inverse[k, predicted]))
        return found

    held_out = job.mnist.X_train[job.held_out.rows]
    watched = ((job.mnist.X_test, on_test), (held_out, on_held_out))
    n_epochs = 4
    shares = []
    for _ in range(2):
        kept: dict[str, Any] = {}
        whole = timed(
            lambda kept=kept: kept.update(
                records=job.grow(MLP, [Run(CPE_F)], n_epochs, watched=watched)
            )
        )
        training = sum(kept["records"][0].history["seconds"])
        shares.append((whole - training) / whole)
    return {
        "what": "evaluation of 6,000 + 10,000 rows (SCEL; URE and accuracy under L1, L2, MAX = "
        "likelihood), share of an epoch",
        "note": "the 6,000 go through the network twice here: once for SCEL, once for the decoders",
        "target": "at most 0.20",
        "measured": min(shares),
        "reached": min(shares) <= 0.20,
    }


MEMORY = """
from pathlib import Path
import numpy as np, torch
from ybar import ComplementaryNetClassifier, datasets, labels, transition
mnist = datasets.load("mnist")
T = transition.strong(10, 0)
y_comp = labels.draw(mnist.y_train, T, 0)

def kilobytes(name):
    status = Path("/proc/self/status").read_text()
    return int(status.partition(name + ":")[2].split()[0])

Path("/proc/self/clear_refs").write_text("5")  # forget the peak of reading the data
before = kilobytes("VmRSS")
ComplementaryNetClassifier(transition=T, max_epochs=2, random_state=0).fit(mnist.X_train, y_comp)
print(kilobytes("VmHWM") - before)
"""


def network_memory() -> dict[str, Any]:
    """Memory of a fit of 784-500-10 beyond its training data, in a new process (Linux)."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    megabytes = int(done.stdout) / 2**10
    return {
        "what": "MB of a fit of 784-500-10 beyond the 60,000 rows of uint8 it is given",
        "target": "below 300",
        "measured": megabytes,
        "reached": megabytes < 300,
    }


BENCHMARKS = (
    population_linear,
    population_mlp,
    network_processes,
    network_evaluation,
    network_memory,
)
