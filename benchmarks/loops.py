"""What `run.py` measures of other loops that train the same network on the same rows.

Every ratio comes with the most that is possible: the seconds of the other loop in units of a
roofline, measured in the same process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from skorch import NeuralNet
from torch.utils.data import DataLoader, TensorDataset

from jobs import BATCH, CPU, LINEAR, MLP, N_TRAINING, WALL, Job, Roofline, threads, timed
from ybar.neural import methods
from ybar.neural.methods import likelihoods

N_EPOCHS, N_LATE = 16, 3  # weights become subnormal after some ten epochs


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


def loader_of(job: Job) -> DataLoader:
    rows = TensorDataset(torch.from_numpy(job.pixels()), torch.from_numpy(job.training.y_comp))
    return DataLoader(rows, batch_size=BATCH, shuffle=True)


def loader_loop(job: Job, sizes: tuple[int, ...]) -> Callable[[], Any]:
    """Return an epoch of the loop that everybody writes first."""
    loader, net, loss = loader_of(job), module(sizes), ForwardLoss(job.T)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)

    def epoch() -> None:
        for x, y in loader:
            adam.zero_grad()
            loss(net(x), y).backward()
            adam.step()

    return epoch


def tensor_loop(job: Job, sizes: tuple[int, ...], method: str = "cpe-f") -> Callable[[], Any]:
    """Return an epoch without a loader: tensors, autograd, fused Adam."""
    X, y_comp = torch.from_numpy(job.pixels()), torch.from_numpy(job.training.y_comp)
    net, log_T = module(sizes), ForwardLoss(job.T).log_T
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4, fused=True)

    def epoch() -> None:
        for at in torch.randperm(N_TRAINING).split(BATCH):
            adam.zero_grad()
            methods.METHODS[method].loss(net(X[at]), y_comp[at], log_T).mean().backward()
            adam.step()

    return epoch


def skorch_loop(job: Job, sizes: tuple[int, ...]) -> Callable[[], Any]:
    """Return an epoch of skorch, without validation or output."""
    X = job.pixels()
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
    ).initialize()
    return lambda: net.partial_fit(X, job.training.y_comp)


LOOPS = (loader_loop, skorch_loop, tensor_loop)


def best_epoch(loop: Callable[[], Any]) -> float:
    """Return the shortest of two epochs, after a first one."""
    loop()
    return min(timed(loop) for _ in range(2))


def network_loops() -> dict[str, Any]:
    """Our epoch against a DataLoader loop and skorch, one thread each, early and late."""
    job = Job()
    out: dict[str, Any] = {
        "what": "an epoch against DataLoader(TensorDataset) + Adam and skorch, one thread, "
        f"784-500-10, epochs {N_EPOCHS - N_LATE + 1} to {N_EPOCHS} (early epochs, 784-10 and the "
        "most that is possible in the file)"
    }
    with threads(1):
        epochs: dict[str, list[float]] = {}
        least: list[float] = []
        roofline, loops = Roofline(job, MLP), {loop.__name__: loop(job, MLP) for loop in LOOPS}

        def measure(_: int) -> None:
            least.append(roofline.least(1))
            torch.set_flush_denormal(False)  # our setting, which other loops do not have
            for name, loop in loops.items():
                epochs.setdefault(name, []).append(timed(loop))
            torch.set_flush_denormal(True)

        ours = job.epochs(MLP, N_EPOCHS, between=measure)
        for when, part in (("early", slice(1, 1 + N_LATE)), ("late", slice(-N_LATE, None))):
            out[f"784-500-10, {when}, seconds ours"] = min(ours[part])
            for name, theirs in epochs.items():
                out[f"784-500-10, {when}, {name}"] = min(theirs[part]) / min(ours[part])
                out[f"784-500-10, {when}, {name}, most possible"] = min(theirs[part]) / min(least)
        linear = min(job.epochs(LINEAR, 4))
        for loop in LOOPS:
            out[f"784-10, {loop.__name__}"] = best_epoch(loop(job, LINEAR)) / linear
    names = "loader_loop", "skorch_loop"
    out["target"] = "at least 2"
    out["measured"] = min(out[f"784-500-10, late, {name}"] for name in names)
    out["784-10, least"] = min(out[f"784-10, {name}"] for name in names)
    out["reached"] = bool(out["measured"] >= 2 and out["784-10, least"] >= 2)
    return out


def lightning_loop(job: Job, sizes: tuple[int, ...], clock: Callable[[], float]) -> float:
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
            self.ends.append(clock())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.net.parameters(), lr=1e-3, weight_decay=1e-4)

    learner = Learner()
    lightning.Trainer(
        max_epochs=4,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(learner, loader_of(job))
    return float(min(np.diff(learner.ends)))


def network_peer() -> dict[str, Any]:
    """Our epoch against the loop of libcll, DataLoader and Lightning, on as many threads.

    Its images go through torchvision's transforms one by one, which are left out here. Needs
    ``pip install lightning``.
    """
    job = Job()
    out: dict[str, Any] = {
        "what": "784-500-10: an epoch of DataLoader + Lightning (libcll's loop, without its "
        "transforms) in epochs of ours, two threads each (one thread each in the file)"
    }
    least = Roofline(job, MLP).least()
    for n in (1, 2):
        clock = CPU if n == 1 else WALL
        with threads(n):
            theirs = lightning_loop(job, MLP, clock)
        ours = min(job.epochs(MLP, 4, n, clock=clock))
        name = "one thread" if n == 1 else "two threads"
        out |= {f"{name}, seconds ours": ours, f"{name}, seconds theirs": theirs}
        out |= {f"{name}, ratio": theirs / ours, f"{name}, most possible": theirs / (least / n)}
    out["target"], out["measured"] = "at least 6", out["two threads, ratio"]
    out["reached"] = out["measured"] >= 6
    return out


BENCHMARKS = (network_loops, network_peer)
