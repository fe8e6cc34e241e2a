"""The loop: one or many runs over the same rows, an epoch at a time.

`train` reads from top to bottom. It yields after each epoch and keeps nothing: what is best, when
to stop and what to show is up to its caller, `population.follow`.
"""

from __future__ import annotations

import contextlib
import math
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

from .._typing import AnyArray, FloatArray, IntArray
from .data import Rows
from .losses import LEARNED, Method
from .models import Dense, Module

__all__ = ["Epoch", "Objective", "Recipe", "Run", "Samples", "Stack", "one_thread", "train"]

class Samples(NamedTuple):
    """One entry for each single complementary label: its row, the label, its weight (mean 1)."""

    rows: IntArray
    y_comp: IntArray
    weight: AnyArray | None = None


@dataclass(frozen=True)
class Run:
    """What tells a run of a population from the others."""

    method: Method
    learning_rate: float = 1e-3
    seed: Any = 0


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


class Objective:
    """Each run's loss by its own method, the gradient at the logits, and what is learned of T."""

    def __init__(self, runs: Sequence[Run], log_T: FloatArray, device: torch.device) -> None:
        self.log_T = torch.as_tensor(log_T, dtype=torch.float32, device=device)
        self.learned: list[Tensor | None] = []
        for run in runs:
            start = None
            if run.method.learns:
                values = LEARNED[run.method.learns].start(log_T)
                start = torch.tensor(values, dtype=torch.float32, device=device)
                start.requires_grad_()
            self.learned.append(start)
        self.groups = [
            (method, [i for i, run in enumerate(runs) if run.method is method])
            for method in dict.fromkeys(run.method for run in runs)
        ]
        self.places = [_as_slice(chosen) for _, chosen in self.groups]

    def log_transition(self, method: Method, chosen: Sequence[int]) -> Tensor:
        """Return log T as runs of a method have it: one for all, or one for each."""
        own = [w for w in (self.learned[run] for run in chosen) if w is not None]
        if method.learns is None:
            return self.log_T
        return LEARNED[method.learns].log_T(torch.stack(own), self.log_T)

    def transition(self, run: int) -> FloatArray:
        """Return T as a run has it now."""
        with torch.no_grad():
            for method, chosen in self.groups:
                if run in chosen:
                    log_T = self.log_transition(method, [run]).double()
                    return np.asarray(np.exp(log_T.cpu().numpy()).reshape(self.log_T.shape))
        raise IndexError(run)

    def parameters_of(self, run: int) -> AnyArray | None:
        """Return a copy of what a run has learned of T, in the parameters it is learned in."""
        learned = self.learned[run]
        return None if learned is None else learned.detach().cpu().numpy().copy()

    def __call__(
        self, logits: Tensor, y_comp: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return each run's mean loss over the batch, and its gradient at the logits."""
        parts = [
            self._of_method(method, chosen, logits[place], y_comp, weight)
            for (method, chosen), place in zip(self.groups, self.places, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        loss, gradient = logits.new_empty(len(logits)), torch.empty_like(logits)
        for place, (its_loss, its_gradient) in zip(self.places, parts, strict=True):
            loss[place], gradient[place] = its_loss, its_gradient
        return loss, gradient

    def _of_method(
        self,
        method: Method,
        chosen: list[int],
        logits: Tensor,
        y_comp: Tensor,
        weight: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        if method.gradient is not None and method.learns is None:
            rows, gradient = method.gradient(logits, y_comp, self.log_T)
            if weight is not None:
                rows, gradient = rows * weight, gradient * weight.unsqueeze(-1)
            return rows.mean(-1), gradient.div_(len(y_comp))
        z = logits.detach().requires_grad_()
        arguments = [z, y_comp, self.log_transition(method, chosen)]
        if method.whole_batch:
            mean = method.loss(*arguments, weight)
        else:
            rows = method.loss(*arguments)
            mean = (rows if weight is None else rows * weight).mean(-1)
        learned = [w for w in (self.learned[run] for run in chosen) if w is not None]
        gradient, *others = torch.autograd.grad(mean.sum(), [z, *learned])
        for parameter, its in zip(learned, others, strict=True):
            parameter.grad = its
        return mean.detach(), gradient


def _as_slice(chosen: list[int]) -> slice | list[int]:
    """Return evenly spaced indices as a slice, which takes a view where a list takes a copy."""
    step = chosen[1] - chosen[0] if len(chosen) > 1 else 1
    evenly = slice(chosen[0], chosen[-1] + 1, step)
    return evenly if chosen == list(range(chosen[-1] + 1))[evenly] else chosen


class Average:
    """A running mean of the weights: each step moves it 1 - decay of the way, more at first."""

    def __init__(self, parameters: Sequence[Tensor], decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.parameters = list(parameters) if decay else []
        self.mean = [p.detach().clone() for p in self.parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now."""
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
        self.parameters, self.rate, self.weight_decay = parameters, rate, weight_decay
        self.eps = eps
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]
        self.steps = [torch.zeros((), device=p.device) for p in parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Go a step down ``.grad``, as torch.optim.Adam does; this is what it calls inside."""
        adam(
            self.parameters,
            [p.grad for p in self.parameters if p.grad is not None],
            self.first,
            self.second,
            [],
            self.steps,
            fused=self.parameters[0].device.type in ("cpu", "cuda"),
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=self.weight_decay,
            eps=self.eps,
            maximize=False,
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
        self.average = Average(every, recipe.weight_averaging)

    @torch.no_grad()
    def start(self, weights: Sequence[AnyArray], learned: AnyArray | None) -> None:
        """Have all runs start from these weights, and from what was learned of T."""
        for run in range(len(self.runs)):
            self.model.set_weights(run, weights)
            own = self.objective.learned[run]
            if own is not None and learned is not None:
                own.copy_(torch.from_numpy(learned))
        self.average.restart()

    def _state(self) -> Iterator[Tensor]:
        for group in self.groups:
            yield from (*group.parameters, *group.first, *group.second, *group.steps)
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
    failed: dict[int, int] = {}
    for epoch in range(1, recipe.max_epochs + 1):
        started = time.perf_counter()
        total = np.zeros(model.n_runs)
        order = generator.permutation(n)
        with one_thread(), model.randomness():
            for batch, first in enumerate(range(0, n, recipe.batch_size), start=1):
                if stop.is_set():
                    return
                chosen = order[first : first + recipe.batch_size]
                at = torch.from_numpy(chosen).to(device)
                x = rows.take(samples.rows[chosen])
                logits = model.forward(x, train=True)
                loss, gradient = objective(
                    logits, y_comp[at], None if weight is None else weight[at]
                )
                model.backward(gradient)
                for group in stack.groups:
                    group.step()
                stack.average.update()
                losses = loss.cpu().numpy()
                total += losses * (len(chosen) / n)
                if not math.isfinite(losses.sum()):
                    for run in np.flatnonzero(~np.isfinite(losses)):
                        failed.setdefault(int(run), batch)
                    if len(failed) == model.n_runs:
                        break
        with stack.average.in_place():
            yield Epoch(epoch, total, time.perf_counter() - started, batch, dict(failed))
        if len(failed) == model.n_runs:
            return


_threads = threading.Lock()
_inside = 0
_before = 1


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Have torch use one thread in here, and as many as before when the last one has left.

    Sums do not depend on the number of cores then, and runs side by side do not wait for one
    another's threads.
    """
    global _inside, _before
    with _threads:
        if _inside == 0:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _threads:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)
