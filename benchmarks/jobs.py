"""What the benchmarks of networks share: the labels, our training, and its roofline."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ybar import datasets, labels, transition
from ybar.neural import fitting, loop, methods, population
from ybar.neural.data import Rows
from ybar.neural.networks.products import multiply
from ybar.neural.objective import Run
from ybar.neural.optimiser import Adam
from ybar.neural.samples import Samples

N_TRAINING, BATCH = 54_000, 256
N_BATCHES = math.ceil(N_TRAINING / BATCH)
RATES = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5)
CPE_F = methods.METHODS["cpe-f"]
MLP, LINEAR = (784, 500, 10), (784, 10)

# Other work on the machine lengthens the time on the wall most, which several threads need.
CPU, WALL = time.process_time, time.perf_counter


class Job:
    """MNIST with labels of a strong T: 54,000 rows to train on, 6,000 held out."""

    def __init__(self) -> None:
        self.mnist = datasets.load("mnist")
        self.T = transition.strong(10, 0)
        y_comp = labels.draw(self.mnist.y_train, self.T, 0)
        rows = np.random.default_rng(0).permutation(len(y_comp))
        training, held_out = rows[:N_TRAINING], rows[N_TRAINING:]
        self.training = Samples(training, y_comp[training])
        self.held_out = Samples(held_out, y_comp[held_out])

    def fit(
        self,
        sizes: tuple[int, ...],
        runs: list[Run],
        n_epochs: int,
        *,
        n_jobs: int = 1,
        n_threads: int = 1,
        evaluate: bool = True,
        report: Callable[[population.Record], Any] | None = None,
    ) -> list[population.Record]:
        """Train runs with the paper's settings."""
        held_out = self.held_out if evaluate else None
        return fitting.fit_runs(
            runs,
            population.Data(self.mnist.X_train, self.training, held_out, self.T),
            fitting.Architecture(sizes),
            loop.Recipe(n_epochs, BATCH, weight_decay=1e-4, n_threads=n_threads),
            population.Selection("last"),
            order_seed=0,
            mask_seed=0,
            n_jobs=n_jobs,
            report=report,
        )

    def epochs(
        self,
        sizes: tuple[int, ...],
        n_epochs: int,
        n_threads: int = 1,
        between: Callable[[int], Any] = lambda _: None,
        clock: Callable[[], float] = CPU,
    ) -> list[float]:
        """Return the seconds of each epoch of one run of `cpe-f`, with nothing evaluated.

        `between` is called after each epoch, with its number.
        """
        seconds, started = [], clock()

        def report(record: population.Record) -> None:
            nonlocal started
            seconds.append(clock() - started)
            between(record.n_epochs)
            started = clock()

        self.fit(sizes, [Run(CPE_F)], n_epochs, n_threads=n_threads, evaluate=False, report=report)
        return seconds

    def pixels(self) -> np.ndarray:
        """Return the training rows as other loops need them: floats from 0 to 1."""
        return self.mnist.X_train[self.training.rows].astype(np.float32) / 255


def timed(work: Callable[[], Any], clock: Callable[[], float] = CPU) -> float:
    start = clock()
    work()
    return clock() - start


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def products(sizes: tuple[int, ...], n_threads: int = 1, clock: Callable[[], float] = CPU) -> float:
    """Return the seconds of one epoch's matrix products alone, those that the loop calls."""
    calls: list[Callable[[], Any]] = []
    for layer, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
        W, z, g = torch.rand(n_out, n_in), torch.empty(n_out, BATCH), torch.rand(n_out, BATCH)
        dW, x = torch.empty(n_out, n_in), torch.rand(BATCH, n_in)
        if layer == 0:  # rows come first in X, units in what is between the layers
            calls.append(lambda W=W, x=x, z=z: multiply(W, x.t(), z))
            calls.append(lambda g=g, x=x, dW=dW: multiply(g, x, dW))
            continue
        h, dh = torch.rand(n_in, BATCH), torch.empty(n_in, BATCH)
        calls.append(lambda W=W, h=h, z=z: multiply(W, h, z))
        calls.append(lambda g=g, h=h, dW=dW: multiply(g, h.t(), dW))
        calls.append(lambda g=g, W=W, dh=dh: multiply(W.t(), g, dh))
    return seconds_of(calls, n_threads, clock)


def seconds_of(
    calls: list[Callable[[], Any]], n_threads: int = 1, clock: Callable[[], float] = CPU
) -> float:
    """Return the seconds of all calls once per batch of an epoch."""

    def epoch() -> None:
        for _ in range(N_BATCHES):
            for call in calls:
                call()

    with threads(n_threads):
        return timed(epoch, clock)


def layouts(m: int, k: int, n: int) -> Iterator[Callable[[], Any]]:
    """Yield the product of m×k and k×n matrices: in both orders of memory, by both libraries."""

    def matrix(rows: int, columns: int, transposed: bool) -> torch.Tensor:
        return torch.rand(columns, rows).t() if transposed else torch.rand(rows, columns)

    for a, b, c in itertools.product((False, True), repeat=3):
        left, right, out = matrix(m, k, a), matrix(k, n, b), matrix(m, n, c)
        yield lambda left=left, right=right, out=out: torch.mm(left, right, out=out)
        yield lambda left=left, right=right, out=out: multiply(left, right, out)


class Roofline:
    """The least that an epoch can take: products in their best layouts, Adam, and the rows."""

    def __init__(self, job: Job, sizes: tuple[int, ...]) -> None:
        self.calls = []
        for layer, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
            shapes = [(n_out, n_in, BATCH), (n_out, BATCH, n_in), (n_in, n_out, BATCH)]
            for shape in shapes if layer else shapes[:2]:
                of_layout = [(seconds_of([call]), call) for call in layouts(*shape)]
                self.calls.append(min(of_layout, key=operator.itemgetter(0))[1])
        n_weights = sum((n_in + 1) * n_out for n_in, n_out in itertools.pairwise(sizes))
        weights = torch.rand(n_weights)
        weights.grad = torch.rand(n_weights)
        self.adam = Adam([weights], 1e-3, 1e-4)
        self.rows = Rows(job.mnist.X_train, torch.device("cpu"))
        self.index = np.random.default_rng(0).permutation(job.training.rows)

    def fetch(self) -> None:
        """Read and scale all rows, batch by batch."""
        for _ in self.rows.batches(self.index, loop.batches(len(self.index), BATCH)):
            pass

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each part, once per batch of an epoch."""
        with threads(1):
            gathered = timed(self.fetch)
        adam = seconds_of([self.adam.step])
        return {"products": seconds_of(self.calls), "adam": adam, "rows": gathered}

    def least(self, repeat: int = 3) -> float:
        """Return the shortest seconds of all parts."""
        return min(sum(self.seconds().values()) for _ in range(repeat))
