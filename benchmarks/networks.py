"""What `run.py` measures of the networks: how near the loop comes to the processor's limit."""

from __future__ import annotations

import contextlib
import itertools
import math
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from skorch import NeuralNet
from torch.utils.data import DataLoader, TensorDataset

from ybar import datasets, decode, labels, transition
from ybar.neural import fitting, loop, methods, population
from ybar.neural.data import Rows
from ybar.neural.evaluate import Outputs
from ybar.neural.methods import likelihoods
from ybar.neural.networks import Dense
from ybar.neural.objective import Run
from ybar.neural.samples import Samples

N_TRAINING, BATCH = 54_000, 256
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
    n_batches = math.ceil(N_TRAINING / BATCH)

    def epoch() -> None:
        for _ in range(n_batches):
            for call in calls:
                call()

    with threads(1):
        return timed(epoch)


def network_epoch() -> dict[str, Any]:
    """Time a whole epoch of 784-500-10 on one thread against its matrix products alone."""
    job, alone, whole = Job(), [], []
    for epoch in job.epochs(MLP, 16):
        whole.append(epoch.seconds)
        alone.append(products(MLP))
    floating = sum(2 * N_TRAINING * a * b * (2 + (a != 784)) for a, b in itertools.pairwise(MLP))
    share = min(alone) / min(whole)
    return {
        "what": "784-500-10, 54,000 rows, batch 256, one thread: epoch as a share of SGEMM speed",
        "seconds an epoch": min(whole),
        "seconds of its products alone": min(alone),
        "GFLOPS of the products": floating / min(alone) / 1e9,
        "share by medians": float(np.median(alone) / np.median(whole)),
        "target": "at least 0.85",
        "measured": share,
        "reached": share >= 0.85,
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
    network_epoch,
    network_loops,
    network_peer,
    population_linear,
    population_mlp,
    network_processes,
    network_evaluation,
    network_memory,
)
