"""What `run.py` measures of the networks: how near the loop comes to the processor's limit."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from skorch import NeuralNet
from torch.utils.data import DataLoader, TensorDataset

from ybar import datasets, labels, transition
from ybar.neural import fitting, loop, methods, population
from ybar.neural.data import Rows
from ybar.neural.methods import likelihoods
from ybar.neural.networks import Dense
from ybar.neural.objective import Run
from ybar.neural.optimiser import Adam
from ybar.neural.samples import Samples

N_TRAINING, BATCH = 54_000, 256
N_BATCHES = math.ceil(N_TRAINING / BATCH)
N_EPOCHS, N_TIMED = 40, 8  # weights become subnormal after some ten epochs
RATES = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5)
METHODS = ("ure-ga", "scl-nl", "dm", "cpe-i", "cpe-f", "cpe-t")
CPE_F = methods.METHODS["cpe-f"]
MLP, LINEAR = (784, 500, 10), (784, 10)


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

    def epochs(self, sizes: tuple[int, ...], n: int) -> Iterator[loop.Epoch]:
        """Train one run of `cpe-f` for n epochs, with nothing else around it."""
        recipe = loop.Recipe(n, BATCH, weight_decay=1e-4)
        with np.errstate(divide="ignore"):
            stack = loop.Stack(Dense(sizes, [0]), [Run(CPE_F)], np.log(self.T), recipe)
        rows = Rows(self.mnist.X_train, torch.device("cpu"))
        generator = np.random.default_rng(0)
        return loop.train(stack, rows, self.training, recipe, generator, threading.Event())

    def grow(
        self,
        sizes: tuple[int, ...],
        runs: list[Run],
        n_epochs: int,
        n_jobs: int = 1,
        watched: tuple[Any, ...] = (),
    ) -> list[population.Record]:
        """Train runs with the paper's settings, held-out labels evaluated after each epoch."""
        return fitting.fit_runs(
            runs,
            population.Data(self.mnist.X_train, self.training, self.held_out, self.T, watched),
            fitting.Architecture(sizes),
            loop.Recipe(n_epochs, BATCH, weight_decay=1e-4),
            population.Selection("last"),
            order_seed=0,
            mask_seed=0,
            n_jobs=n_jobs,
        )


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def products(sizes: tuple[int, ...]) -> float:
    """Return the seconds of one epoch's matrix products alone, those that the loop calls."""
    calls: list[Callable[[], Any]] = []
    for layer, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
        W, z, g = torch.rand(n_out, n_in), torch.empty(n_out, BATCH), torch.rand(n_out, BATCH)
        dW, x = torch.empty(n_out, n_in), torch.rand(BATCH, n_in)
        if layer == 0:  # rows come first in X, units in what is between the layers
            calls.append(lambda W=W, x=x, z=z: torch.mm(W, x.t(), out=z))
            calls.append(lambda g=g, x=x, dW=dW: torch.mm(g, x, out=dW))
            continue
        h, dh = torch.rand(n_in, BATCH), torch.empty(n_in, BATCH)
        calls.append(lambda W=W, h=h, z=z: torch.mm(W, h, out=z))
        calls.append(lambda g=g, h=h, dW=dW: torch.mm(g, h.t(), out=dW))
        calls.append(lambda g=g, W=W, dh=dh: torch.mm(W.t(), g, out=dh))
    return epoch_of(calls)


def epoch_of(calls: list[Callable[[], Any]]) -> float:
    """Return the seconds of all calls once per batch of an epoch, on one thread."""

    def epoch() -> None:
        for _ in range(N_BATCHES):
            for call in calls:
                call()

    with threads(1):
        return timed(epoch)


def layouts(m: int, k: int, n: int) -> Iterator[Callable[[], Any]]:
    """Yield the product of m×k and k×n matrices with each of them in both orders of memory."""

    def matrix(rows: int, columns: int, transposed: bool) -> torch.Tensor:
        return torch.rand(columns, rows).t() if transposed else torch.rand(rows, columns)

    for a, b, c in itertools.product((False, True), repeat=3):
        left, right, out = matrix(m, k, a), matrix(k, n, b), matrix(m, n, c)
        yield lambda left=left, right=right, out=out: torch.mm(left, right, out=out)


class Roofline:
    """The least that an epoch can take: products in their best layouts, Adam, and the rows."""

    def __init__(self, job: Job, sizes: tuple[int, ...]) -> None:
        self.calls = []
        for layer, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
            shapes = [(n_out, n_in, BATCH), (n_out, BATCH, n_in), (n_in, n_out, BATCH)]
            for shape in shapes if layer else shapes[:2]:
                of_layout = [(epoch_of([call]), call) for call in layouts(*shape)]
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
        adam = epoch_of([self.adam.step])
        return {"products": epoch_of(self.calls), "adam": adam, "rows": gathered}


def network_epoch() -> dict[str, Any]:
    """Time epochs of 784-500-10 on one thread, early and late, against their roofline."""
    job = Job()
    roofline, parts, alone, whole = Roofline(job, MLP), [], [], []
    for epoch in job.epochs(MLP, N_EPOCHS):
        whole.append(epoch.seconds)
        if epoch.epoch <= N_TIMED or epoch.epoch > N_EPOCHS - N_TIMED:
            parts.append(roofline.seconds())
            alone.append(products(MLP))
    least = {name: min(part[name] for part in parts) for name in parts[0]}
    early, late = min(whole[:N_TIMED]), min(whole[-N_TIMED:])
    floating = sum(2 * N_TRAINING * a * b * (2 + (a != 784)) for a, b in itertools.pairwise(MLP))
    share = sum(least.values()) / late
    return {
        "what": "784-500-10, 54,000 rows, batch 256, one thread: a roofline (products in their "
        f"best layouts, one pass of Adam, one over the rows) as a share of epochs "
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


def module(sizes: tuple[int, ...]) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


class ForwardLoss(torch.nn.Module):
    """The loss of `cpe-f`, for loops that are not ours."""

    def __init__(self, T: np.ndarray) -> None:
        super().__init__()
        with np.errstate(divide="ignore"):
            self.log_T = torch.as_tensor(np.log(T), dtype=torch.float32)

    def forward(self, logits: torch.Tensor, y_comp: torch.Tensor) -> torch.Tensor:
        """Return the mean over the batch."""
        return likelihoods.forward(logits, y_comp, self.log_T).mean()


def loader_loop(job: Job, sizes: tuple[int, ...]) -> float:
    """Return the seconds of an epoch of the loop that everybody writes first."""
    X = torch.from_numpy(job.mnist.X_train[job.training.rows]).float() / 255
    loader = DataLoader(
        TensorDataset(X, torch.from_numpy(job.training.y_comp)), batch_size=BATCH, shuffle=True
    )
    net, loss = module(sizes), ForwardLoss(job.T)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)

    def epoch() -> None:
        for x, y in loader:
            adam.zero_grad()
            loss(net(x), y).backward()
            adam.step()

    epoch()
    return min(timed(epoch) for _ in range(2))


def tensor_loop(job: Job, sizes: tuple[int, ...], method: str = "cpe-f") -> float:
    """Return the seconds of an epoch without a loader: tensors, autograd, fused Adam."""
    X = torch.from_numpy(job.mnist.X_train[job.training.rows]).float() / 255
    y_comp = torch.from_numpy(job.training.y_comp)
    net, log_T = module(sizes), ForwardLoss(job.T).log_T
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4, fused=True)

    def epoch() -> None:
        for at in torch.randperm(N_TRAINING).split(BATCH):
            adam.zero_grad()
            methods.METHODS[method].loss(net(X[at]), y_comp[at], log_T).mean().backward()
            adam.step()

    epoch()
    return min(timed(epoch) for _ in range(2))


def skorch_loop(job: Job, sizes: tuple[int, ...]) -> float:
    """Return the seconds of an epoch of skorch, without validation or output."""
    X = job.mnist.X_train[job.training.rows].astype(np.float32) / 255
    net = NeuralNet(
        module(sizes),
        ForwardLoss(job.T),
        optimizer=torch.optim.Adam,
        optimizer__weight_decay=1e-4,
        lr=1e-3,
        batch_size=BATCH,
        iterator_train__shuffle=True,
        train_split=None,
        max_epochs=1,
        verbose=0,
        warm_start=True,
    )
    net.fit(X, job.training.y_comp)
    return min(timed(lambda: net.fit(X, job.training.y_comp)) for _ in range(2))


def network_loops() -> dict[str, Any]:
    """Our epoch against a DataLoader loop and skorch, one thread each."""
    job = Job()
    out: dict[str, Any] = {
        "what": "an epoch against DataLoader(TensorDataset) + Adam and skorch, one thread, "
        "784-500-10 (784-10 in the file)"
    }
    least = {}
    with threads(1):
        for name, sizes in (("784-500-10", MLP), ("784-10", LINEAR)):
            ours = min(epoch.seconds for epoch in job.epochs(sizes, 4))
            out[f"{name}, seconds ours"] = ours
            for other in (loader_loop, skorch_loop, tensor_loop):
                out[f"{name}, {other.__name__}"] = other(job, sizes) / ours
            least[name] = min(out[f"{name}, {other}"] for other in ("loader_loop", "skorch_loop"))
    out["target"] = "at least 1.1; 784-10: 2"
    out["measured"] = least["784-500-10"]
    out["784-10, least"] = least["784-10"]
    out["reached"] = bool(least["784-500-10"] >= 1.1 and least["784-10"] >= 2)
    return out


def lightning_loop(job: Job, sizes: tuple[int, ...]) -> float:
    """Return the seconds of an epoch of Lightning's Trainer over a DataLoader, nothing logged."""
    import lightning

    net, loss = module(sizes), ForwardLoss(job.T)

    class Learner(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.loss = net, loss
            self.ends: list[float] = []

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            x, y = batch
            return self.loss(self.net(x), y)

        def on_train_epoch_end(self) -> None:
            self.ends.append(time.perf_counter())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.net.parameters(), lr=1e-3, weight_decay=1e-4)

    X = torch.from_numpy(job.mnist.X_train[job.training.rows]).float() / 255
    rows = TensorDataset(X, torch.from_numpy(job.training.y_comp))
    learner = Learner()
    lightning.Trainer(
        max_epochs=4,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(learner, DataLoader(rows, batch_size=BATCH, shuffle=True))
    return float(min(np.diff(learner.ends)))


def network_peer() -> dict[str, Any]:
    """Our epoch on one thread against the loop of libcll, DataLoader and Lightning, on two.

    Its images go through torchvision's transforms one by one, which are left out here. Needs
    ``pip install lightning``.
    """
    job = Job()
    with threads(1):
        ours = min(epoch.seconds for epoch in job.epochs(MLP, 4))
    with threads(2):
        theirs = lightning_loop(job, MLP)
    return {
        "what": "784-500-10: an epoch of DataLoader + Lightning (libcll's loop, without its "
        "transforms) on 2 threads, in epochs of ours on one",
        "seconds ours": ours,
        "seconds theirs": theirs,
        "measured": theirs / ours,
    }


BENCHMARKS = (network_epoch, network_loops, network_peer)
