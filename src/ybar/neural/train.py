"""The loop: one or many runs over the same rows, an epoch at a time.

`train` reads from top to bottom. It yields after each epoch and keeps nothing: what is best, when
to stop and what to show is up to its caller, `population.follow`.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor
from torch.optim.adam import adam

from ..utils.typing import AnyArray, FloatArray, IntArray
from .data import Rows
from .losses import LEARNED
from .models import Dense, Module
from .objective import Objective, Patterns, Run

_SETTLED_AT_ONCE = 64
_TINY = float(np.finfo(np.float32).tiny)


class Samples(NamedTuple):
    """One entry for each single complementary label: its row, the label, its weight (mean 1).

    With patterns one for each row: `y_comp` tells which pattern it has.
    """

    rows: IntArray
    y_comp: IntArray
    weight: AnyArray | None = None
    patterns: Patterns | None = None


@dataclass(frozen=True)
class Recipe:
    """What the runs of a population share."""

    max_epochs: int = 40
    batch_size: int = 256
    weight_decay: float = 0.0
    weight_averaging: float = 0.0


class Epoch(NamedTuple):
    """What `train` yields; ``loss`` has one entry for each run."""

    epoch: int
    loss: FloatArray
    seconds: float
    batches: int
    failed: dict[int, int]
    """Runs whose loss is no longer finite, and the batch at which that happened."""


class Average:
    """A running mean of the weights: each step moves it 1 - decay of the way, more at first."""

    def __init__(self, parameters: Sequence[Tensor], decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.parameters = list(parameters) if decay else []
        self.mean = [p.detach().clone() for p in self.parameters]

    def update(self) -> None:
        """Take in the weights as they are now."""
        if not self.mean:
            return
        self.steps += 1
        share = 1 - min(self.decay, self.steps / (self.steps + 10))
        for mean, parameter in zip(self.mean, self.parameters, strict=True):
            mean.lerp_(parameter, share)

    @torch.no_grad()
    def restart(self) -> None:
        """Begin anew from the weights as they are now."""
        self.steps = 0
        for mean, parameter in zip(self.mean, self.parameters, strict=True):
            mean.copy_(parameter)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Have the mean in place of the weights for a while."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the mean and the weights."""
        for mean, parameter in zip(self.mean, self.parameters, strict=True):
            kept = parameter.clone()
            parameter.copy_(mean)
            mean.copy_(kept)


class Group:
    """Tensors that Adam moves at one learning rate, with its moments."""

    def __init__(
        self, parameters: list[Tensor], rate: float, weight_decay: float = 0.0, eps: float = 1e-8
    ) -> None:
        self.parameters = parameters
        self.settings: dict[str, Any] = {
            "lr": rate,
            "beta1": 0.9,
            "beta2": 0.999,
            "weight_decay": weight_decay,
            "eps": eps,
            "amsgrad": False,
            "maximize": False,
        }
        # What torch.optim.Adam(fused=True) ends in. Getting there costs it as much again.
        there = parameters[0].device.type in ("cpu", "cuda")
        self.fused = getattr(torch, "_fused_adam_", None) if there else None
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]
        self.step = torch.zeros((), device=parameters[0].device)

    def descend(self) -> None:
        """Go a step down ``.grad``, as torch.optim.Adam does; tensors without one stay."""
        live = [i for i, p in enumerate(self.parameters) if p.grad is not None]
        if not live:
            return
        parameters, first, second = (
            those if len(live) == len(those) else [those[i] for i in live]
            for those in (self.parameters, self.first, self.second)
        )
        gradients = [p.grad for p in parameters]
        if self.fused is None:  # it counts by itself, so on a copy for each tensor
            steps = [self.step.clone() for _ in live]
            adam(parameters, gradients, first, second, [], steps, **self.settings)  # type: ignore[arg-type]
            self.step += 1
        else:
            self.step += 1
            self.fused(
                parameters, gradients, first, second, [], [self.step] * len(live), **self.settings
            )


class Stack:
    """Runs that train together: the model that holds them all, their objective and optimiser.

    Runs of one learning rate must be neighbours: they are one group of the optimiser.
    """

    def __init__(
        self, model: Dense | Module, runs: Sequence[Run], log_T: FloatArray, recipe: Recipe
    ) -> None:
        self.model, self.runs = model, list(runs)
        self.objective = Objective(runs, log_T, model.device)
        groups = [
            Group(model.parameters(first, last), runs[first].learning_rate, recipe.weight_decay)
            for first, last in _neighbours([run.learning_rate for run in runs])
        ]
        groups += [
            # The gradient at an entry is as small as the entry: 1e-8 would hold it where it is.
            Group([learned], run.learning_rate * LEARNED[run.method.learns].pace, eps=1e-16)
            for run, learned in zip(runs, self.objective.learned, strict=True)
            if learned is not None and run.method.learns is not None
        ]
        self.groups = groups
        every = [p for group in groups for p in group.parameters]
        # What batch normalisation has seen belongs to the weights: their mean needs that of it.
        self.average = Average([*every, *model.untrained()], recipe.weight_averaging)

    @torch.no_grad()
    def descend(self) -> None:
        """Go a step down the gradients, and take the weights into their mean."""
        for group in self.groups:
            group.descend()
        self.average.update()

    @torch.no_grad()
    def start(self, weights: Sequence[AnyArray], learned: AnyArray | None) -> None:
        """Have all runs start from these weights, and from what was learned of T."""
        for run in range(len(self.runs)):
            self.model.set_weights(run, weights)
            own = self.objective.learned[run]
            if own is not None and learned is not None:
                own.copy_(torch.from_numpy(learned))
        self.average.restart()

    @torch.no_grad()
    def give(self, run: int, learned: AnyArray) -> None:
        """Have a run go on with these parameters of T, its mean of the weights too."""
        self.objective.give(run)
        own = self.objective.learned[run]
        pairs = zip(self.average.parameters, self.average.mean, strict=True)
        for tensor in (own, *(mean for parameter, mean in pairs if parameter is own)):
            if tensor is not None:
                tensor.copy_(torch.from_numpy(learned))

    def _state(self) -> Iterator[Tensor]:
        for group in self.groups:
            yield from (*group.parameters, *group.first, *group.second, group.step)
        yield from self.average.mean

    def state(self) -> list[AnyArray]:
        """Return all that another stack of the same shape needs to go on from here."""
        arrays = [tensor.detach().cpu().numpy().copy() for tensor in self._state()]
        return [*self.model.weights(0), np.array(self.average.steps), *arrays]

    @torch.no_grad()
    def restore(self, state: Sequence[AnyArray]) -> None:
        """Go on from what `state` gave."""
        weights = self.model.weights(0)
        self.model.set_weights(0, state[: len(weights)])
        self.average.steps = int(state[len(weights)])
        for tensor, array in zip(self._state(), state[len(weights) + 1 :], strict=True):
            tensor.copy_(torch.from_numpy(array))


def _neighbours(values: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) of neighbours that are equal."""
    first = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[first]:
            yield first, i
            first = i


def train(
    stack: Stack,
    rows: Rows,
    samples: Samples,
    recipe: Recipe,
    generator: Generator,
    stop: threading.Event,
) -> Iterator[Epoch]:
    """Train with Adam, yielding after each epoch with the (averaged) weights in the stack's model.

    Each run goes as it would alone, but for rounding: rows come in the order that `generator`
    gives, the same for all; weights, gradients, rates and losses are a run's own. A run whose
    loss is no longer finite harms no other.
    """
    model, objective = stack.model, stack.objective
    n, device = len(samples.rows), model.device
    y_comp = torch.from_numpy(samples.y_comp).to(device)
    weight = None if samples.weight is None else torch.from_numpy(samples.weight).float().to(device)
    objective.observe(y_comp, weight, samples.patterns)
    failed: dict[int, int] = {}
    for epoch in range(1, recipe.max_epochs + 1):
        started = time.perf_counter()
        total = np.zeros(model.n_runs)
        objective.settle()
        order = generator.permutation(n)
        rows_now, y_now = samples.rows[order], y_comp[torch.from_numpy(order).to(device)]
        weight_now = None if weight is None else weight[torch.from_numpy(order).to(device)]
        with one_thread(), model.randomness():
            parts = batches(n, recipe.batch_size)
            fetched = zip(parts, rows.batches(rows_now, parts), strict=True)
            for batch, (part, x) in enumerate(fetched, start=1):
                if stop.is_set():
                    return
                logits = model.forward(x, train=True)
                gradient = objective(
                    logits, y_now[part], None if weight_now is None else weight_now[part]
                )
                model.backward(gradient, 1 / len(x))
                stack.descend()
                if batch % _SETTLED_AT_ONCE == 0 or part.stop >= n:
                    sums = objective.settle()
                    total += sums.sum(axis=0) / n
                    for at, run in np.argwhere(~np.isfinite(sums)):
                        failed.setdefault(int(run), batch - len(sums) + int(at) + 1)
                    if len(failed) == model.n_runs:
                        break
        with stack.average.in_place():
            yield Epoch(epoch, total, time.perf_counter() - started, batch, dict(failed))
        if len(failed) == model.n_runs:
            return


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, with subnormal numbers taken for 0, while inside.

    With one thread, sums do not depend on the number of cores, and runs side by side do not wait
    for one another's threads. Subnormal numbers (below 1.2e-38) appear in large numbers where
    weight decay alone moves a weight, as at pixels that are always 0; a product with them takes
    several times as long. Both settings belong to the calling thread and are restored at the end.
    """
    threads, flushed = torch.get_num_threads(), _flushes_subnormals()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # False, and no effect, on processors that cannot
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(flushed)


def _flushes_subnormals() -> bool:
    """Return whether this thread takes subnormal numbers for 0; torch can set it but not say it."""
    return bool((torch.tensor(_TINY) * 0.5).item() == 0)


def batches(n: int, size: int) -> list[slice]:
    """Return n rows in parts of a size, a single row at the end joining those before it."""
    starts = list(range(0, n, size))
    if len(starts) > 1 and n - starts[-1] == 1:
        starts.pop()  # batch normalisation cannot do with one
    return [slice(a, b) for a, b in itertools.pairwise([*starts, n])]
