"""The training loop: one or many runs over the same rows, an epoch at a time.

`train` reads from top to bottom. It yields after each epoch and records nothing: its caller,
`population`, evaluates, selects the best epoch and decides when to stop.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..utils.typing import AnyArray, FloatArray
from .data import Rows
from .networks import Dense, Module
from .objective import Objective, Run
from .optimiser import Adam, Average
from .samples import Samples
from .transition_layer import PARAMETRISATIONS, TransitionLayer

_BATCHES_PER_SUM = 64
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Recipe:
    """The training settings that the runs of a population share.

    With `transition_as_weights`, Adam trains the learned T with the same settings as the weights.
    """

    max_epochs: int = 40
    batch_size: int = 256
    weight_decay: float = 0.0
    weight_averaging: float = 0.0
    transition_as_weights: bool = False
    n_threads: int = 1


class Epoch(NamedTuple):
    """What `train` yields; ``loss`` has one entry per run."""

    epoch: int
    loss: FloatArray
    seconds: float
    batches: int
    failed: dict[int, int]
    """Runs whose loss is no longer finite, and the batch at which that happened."""


class Stack:
    """Runs that train together: the model that holds them all, their objective and optimiser.

    Runs with the same learning rate must be adjacent: they share an optimiser.
    """

    def __init__(
        self, model: Dense | Module, runs: Sequence[Run], log_T: FloatArray, recipe: Recipe
    ) -> None:
        self.model, self.runs = model, list(runs)
        self.transition = TransitionLayer(runs, log_T, model.device)
        self.objective = Objective(runs, self.transition)
        self.optimisers = []
        for rate, group in itertools.groupby(range(len(runs)), lambda i: runs[i].learning_rate):
            members = list(group)
            weights = model.parameters(members[0], members[-1] + 1)
            self.optimisers.append(Adam(weights, rate, recipe.weight_decay))
        for run, parameters in zip(runs, self.transition.parameters, strict=True):
            if parameters is not None:
                rate = run.learning_rate * PARAMETRISATIONS[str(run.method.learns)].relative_rate
                # The gradient at an entry of T is as small as the entry: 1e-8 would stop it.
                alike = recipe.transition_as_weights
                decay, eps = (recipe.weight_decay, 1e-8) if alike else (0.0, 1e-16)
                self.optimisers.append(Adam([parameters], rate, decay, eps))
        trained = [p for optimiser in self.optimisers for p in optimiser.parameters]
        # The statistics of batch normalisation are averaged like the weights.
        self.average = Average([*trained, *model.untrained()], recipe.weight_averaging)

    @torch.no_grad()
    def step(self) -> None:
        """Move the weights against their gradients, and update their mean."""
        for optimiser in self.optimisers:
            optimiser.step()
        self.average.update()

    @torch.no_grad()
    def start_from(self, weights: Sequence[AnyArray], learned: AnyArray | None) -> None:
        """Start all runs from these weights, and from these parameters of T."""
        for run, parameters in enumerate(self.transition.parameters):
            self.model.set_weights(run, weights)
            if parameters is not None and learned is not None:
                parameters.copy_(torch.from_numpy(learned))
        self.average.restart()

    @torch.no_grad()
    def fix_transition(self, run: int, learned: AnyArray) -> None:
        """Continue with these parameters of T, also in the mean of the weights."""
        parameters = self.transition.freeze(run)
        for tensor in (parameters, *self.average.means_of(parameters)):
            tensor.copy_(torch.from_numpy(learned))

    def _state(self) -> Iterator[Tensor]:
        for optimiser in self.optimisers:
            yield from optimiser.state()
        yield from self.average.mean

    def state(self) -> list[AnyArray]:
        """Return the state from which another stack of the same shape can continue."""
        arrays = [tensor.detach().cpu().numpy().copy() for tensor in self._state()]
        return [*self.model.weights(0), np.array(self.average.steps), *arrays]

    @torch.no_grad()
    def restore(self, state: Sequence[AnyArray]) -> None:
        """Continue from a `state`."""
        weights = self.model.weights(0)
        self.model.set_weights(0, state[: len(weights)])
        self.average.steps = int(state[len(weights)])
        for tensor, array in zip(self._state(), state[len(weights) + 1 :], strict=True):
            tensor.copy_(torch.from_numpy(array))


def train(
    stack: Stack,
    rows: Rows,
    samples: Samples,
    recipe: Recipe,
    generator: np.random.Generator,
    stop: threading.Event,
) -> Generator[Epoch]:
    """Train with Adam, yielding after each epoch with the (averaged) weights in the stack's model.

    Up to rounding, each run trains as it would alone: all runs share the order of the rows, drawn
    from `generator`; weights, gradients, learning rates and losses are separate. A run whose loss
    becomes infinite or NaN does not affect the others.
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
        objective.pop_losses()
        n_seen = 0
        with model.randomness():
            fetched = _batches_of_epoch(rows, samples, y_comp, weight, recipe, generator)
            for batch, (x, y_now, weight_now) in enumerate(fetched, start=1):
                if stop.is_set():
                    return
                logits = model.forward(x, train=True)
                gradient = objective(logits, y_now, weight_now)
                model.backward(gradient, 1 / len(x))
                stack.step()
                n_seen += len(x)
                if batch % _BATCHES_PER_SUM == 0 or n_seen >= n:
                    sums = objective.pop_losses()
                    total += sums.sum(axis=0) / n
                    _note_failures(failed, sums, batch)
                if len(failed) == model.n_runs:
                    break
        with stack.average.in_place():
            yield Epoch(epoch, total, time.perf_counter() - started, batch, dict(failed))
        if len(failed) == model.n_runs:
            return


def _batches_of_epoch(
    rows: Rows,
    samples: Samples,
    y_comp: Tensor,
    weight: Tensor | None,
    recipe: Recipe,
    generator: np.random.Generator,
) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """Yield rows, labels and weights in batches, in the random order of the source of the rows."""
    for order in rows.orders(len(samples.rows), generator):
        at = torch.from_numpy(order).to(y_comp.device)
        y_now, weight_now = y_comp[at].long(), None if weight is None else weight[at]
        parts = batches(len(order), recipe.batch_size)
        for part, x in zip(parts, rows.batches(samples.rows[order], parts), strict=True):
            yield x, y_now[part], None if weight_now is None else weight_now[part]


def _note_failures(failed: dict[int, int], sums: FloatArray, batch: int) -> None:
    """Record the runs whose loss was not finite in one of the batches so far."""
    for at, run in np.argwhere(~np.isfinite(sums)):
        failed.setdefault(int(run), batch - len(sums) + int(at) + 1)


@contextlib.contextmanager
def computing(n_threads: int = 1) -> Iterator[None]:
    """Compute on `n_threads` threads, with subnormal numbers flushed to 0, inside the context.

    With one thread, sums do not depend on the number of cores, and parallel runs do not wait for
    each other's threads. Subnormal numbers (below 1.2e-38) appear in large numbers where
    weight decay alone moves a weight, as at pixels that are always 0; a product with them takes
    several times as long. Both settings belong to the calling thread and are restored at the end.
    """
    threads, flushed = torch.get_num_threads(), _flushes_subnormals()
    torch.set_num_threads(n_threads)
    torch.set_flush_denormal(True)  # no effect on processors without this mode
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(flushed)


def _flushes_subnormals() -> bool:
    """Return whether this thread flushes subnormal numbers; torch has no function that says so."""
    return bool((torch.tensor(_TINY) * 0.5).item() == 0)


def batches(n: int, size: int) -> list[slice]:
    """Return n rows in parts of a size; a single row at the end joins the part before it."""
    starts = list(range(0, n, size))
    if len(starts) > 1 and n - starts[-1] == 1:
        starts.pop()  # batch normalisation needs two rows
    return [slice(a, b) for a, b in itertools.pairwise([*starts, n])]
