"""What `run.py` measures of one network: how near its training comes to the processor's limit."""

from __future__ import annotations

import cProfile
import itertools
import pstats
import re
import subprocess
import sys
from typing import Any

import numpy as np

from jobs import CPE_F, CPU, MLP, N_TRAINING, WALL, Job, Roofline, products
from ybar import decode
from ybar.experiments.plan import jobs, reading
from ybar.experiments.runs import data
from ybar.experiments.runs.run import run
from ybar.neural import fitting, loop, population
from ybar.neural.evaluate import Outputs, ure_losses
from ybar.neural.objective import Run

N_EPOCHS, N_TIMED = 40, 8  # weights become subnormal after some ten epochs
N_PARTS, PRODUCT = 15, re.compile(r"_linear_pointwise|torch\.(mm|addmm)\b")


def network_epoch() -> dict[str, Any]:
    """Time epochs of 784-500-10 on one thread, early and late, against their roofline."""
    job = Job()
    roofline, parts, alone = Roofline(job, MLP), [], []

    def measure(epoch: int) -> None:
        if epoch <= N_TIMED or epoch > N_EPOCHS - N_TIMED:
            parts.append(roofline.seconds())
            alone.append(products(MLP))

    whole = job.epochs(MLP, N_EPOCHS, between=measure)
    least = {name: min(part[name] for part in parts) for name in parts[0]}
    early, late = min(whole[:N_TIMED]), min(whole[-N_TIMED:])
    floating = sum(2 * N_TRAINING * a * b * (2 + (a != 784)) for a, b in itertools.pairwise(MLP))
    share = sum(least.values()) / late
    return {
        "what": "784-500-10, 54,000 rows, batch 256, one thread: a roofline (products in their "
        "best layouts, one pass of Adam, one over the rows) as a share of epochs "
        f"{N_EPOCHS - N_TIMED + 1} to {N_EPOCHS}",
        "seconds an epoch, late": late,
        "seconds an epoch, early": early,
        "share, early epochs": sum(least.values()) / early,
        **{f"seconds of the {name} alone": value for name, value in least.items()},
        "seconds of the products as the loop has them": min(alone),
        "share of the products as the loop has them": min(alone) / late,
        "GFLOPS of the products": floating / least["products"] / 1e9,
        "target": "at least 0.90",
        "measured": share,
        "reached": share >= 0.90,
    }


def network_parts() -> dict[str, Any]:
    """Where an epoch of 784-500-10 spends its time, by function."""
    job = Job()
    profile = cProfile.Profile(CPU)
    profile.enable()
    job.epochs(MLP, N_TIMED)
    profile.disable()
    own = {name: values[2] for (_, _, name), values in pstats.Stats(profile).stats.items()}
    largest = sorted(own, key=own.__getitem__, reverse=True)[:N_PARTS]
    total = sum(own.values())
    return {
        "what": "784-500-10, one thread: the part of the products in the time of a fit under "
        "cProfile (other functions in the file)",
        **{f"share of {name}": own[name] / total for name in largest},
        "measured": sum(value for name, value in own.items() if PRODUCT.search(name)) / total,
    }


def network_threads() -> dict[str, Any]:
    """One training of 784-500-10 on two threads against one."""
    job = Job()
    epochs: dict[int, list[float]] = {1: [], 2: []}
    alone: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for n in (1, 2):
            epochs[n] += job.epochs(MLP, 3, n, clock=WALL)
            alone[n].append(products(MLP, n, WALL))
    one, two = min(epochs[1]), min(epochs[2])
    return {
        "what": "one training of 784-500-10 with n_threads=2 against n_threads=1",
        "seconds an epoch, one thread": one,
        "seconds an epoch, two threads": two,
        "ratio of the products alone": min(alone[1]) / min(alone[2]),
        "target": "at least 1.7",
        "measured": one / two,
        "reached": one / two >= 1.7,
    }


PLAN = f"""
trials = 1
datasets = ["mnist"]
settings = ["strong"]
[[base]]
name = "mlp"
kind = "network"
hidden_layer_sizes = [500]
methods = ["cpe-f"]
learning_rates = [1e-3]
epochs = {N_EPOCHS}
"""


def network_run() -> dict[str, Any]:
    """Time late epochs of a recorded run of an experiment, against the products of its training."""
    plan = reading.parse(PLAN)
    (job,) = jobs.jobs(plan, {mnist: data.facts(mnist) for mnist in plan.parts[0].datasets})
    starts, ends, alone = [], [], []

    def progress(_: float) -> None:
        ends.append(CPU())
        if len(ends) > N_EPOCHS - N_TIMED:
            alone.append(products(MLP))
        starts.append(CPU())

    (outcome,) = run(job, progress)
    if outcome.cause is not None:
        raise RuntimeError(outcome.cause)
    whole = min(np.subtract(ends[1:], starts[:-1])[-N_TIMED:])
    return {
        "what": "784-500-10 in an experiment, one thread: an epoch with its evaluations (6,000 "
        "held-out and 10,000 test rows) and records, in units of its training's products; epochs "
        f"{N_EPOCHS - N_TIMED + 1} to {N_EPOCHS}",
        "seconds an epoch": whole,
        "seconds of the products alone": min(alone),
        "target": "at most 1.4",
        "measured": whole / min(alone),
        "reached": bool(whole / min(alone) <= 1.4),
    }


def network_evaluation() -> dict[str, Any]:
    """Time the evaluation of 6,000 and 10,000 rows after each epoch, as a share of it."""
    job = Job()
    decoders, inverse = ("l1", "l2", "max"), decode.inverse(job.T)

    def on_test(outputs: Outputs, _: population.Record) -> dict[str, float]:
        y = job.mnist.y_test
        return {f"test {name}": float(np.mean(outputs.classes(name) == y)) for name in decoders}

    def on_held_out(outputs: Outputs, _: population.Record) -> dict[str, float]:
        k = job.held_out.y_comp
        return {
            f"ure {name}": float(ure_losses(outputs.classes(name), k, inverse).mean())
            for name in decoders
        }

    watched = ((job.mnist.X_test, on_test),)
    rows = job.mnist.X_train, job.training, job.held_out, job.T, watched, on_held_out
    whole, training = [], []
    for _ in range(3):
        ends: list[float] = []
        fitting.fit_runs(
            [Run(CPE_F)],
            population.Data(*rows),
            fitting.Architecture(MLP),
            loop.Recipe(N_TIMED, weight_decay=1e-4),
            population.Selection("last"),
            order_seed=0,
            mask_seed=0,
            report=lambda _, ends=ends: ends.append(CPU()),
        )
        whole.append(np.diff(ends).min())
        training.append(min(job.epochs(MLP, N_TIMED)))
    seconds = min(whole) - min(training)
    share = seconds / min(whole)
    return {
        "what": "evaluation of 6,000 + 10,000 rows (SCEL; URE and accuracy under L1, L2, MAX), "
        "share of an epoch",
        "seconds of the evaluation": seconds,
        "target": "at most 0.15",
        "measured": share,
        "reached": bool(share <= 0.15),
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
        "what": "MB of a fit of 784-500-10 beyond its 60,000 rows of uint8",
        "target": "below 300",
        "measured": megabytes,
        "reached": megabytes < 300,
    }


BENCHMARKS = (
    network_epoch,
    network_parts,
    network_threads,
    network_run,
    network_evaluation,
    network_memory,
)
