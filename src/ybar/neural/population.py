"""Many runs on the same rows: train them in stacks, record every epoch, keep the best."""

from __future__ import annotations

import collections
import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..utils.typing import AnyArray, FloatArray, IntArray
from . import evaluate
from .data import Rows, rows_of
from .loop import Epoch, Recipe, Stack, batches, computing, train
from .networks import Dense, Module
from .objective import Run
from .samples import Samples
from .transition_layer import HeldOutUpdates, Judgement, LearnedTransition

# Wider matrix products are not faster, and slower if the weights do not fit into the cache.
_WIDEST_STACK = 512
_SECONDS_BETWEEN_LOOKS = 0.1

Measure: TypeAlias = "Callable[[evaluate.Outputs, Record], dict[str, float]]"


class Data(NamedTuple):
    """The rows and labels that all runs of a population train on and are evaluated with."""

    X: Any
    training: Samples
    validation: Samples | None
    T: FloatArray
    watched: tuple[tuple[Any, Measure], ...] = ()
    """Further (X, measure): more values to record of each epoch, from the outputs for X."""
    held_out: Measure | None = None
    """A measure of the validation rows, each row once, in ascending order."""
    jointly: Samples | None = None
    """The validation labels with those of a row as one pattern, if T is learned from them."""


@dataclass(frozen=True)
class Selection:
    """Which epoch is kept, and when a run stops early."""

    select: str = "best"
    criterion: str = "scel"
    patience: int | None = None


@dataclass
class Record:
    """The record of a run: the values of every epoch, and the weights of the kept one."""

    run: Run
    reading: evaluate.Reading
    index: int = 0
    """The position of the run in the population."""
    history: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    lowest: float = math.inf
    lowest_epoch: int = 0
    kept_epoch: int = 0
    weights: list[AnyArray] = field(default_factory=list)
    learned: LearnedTransition | None = None
    comparable_from: int = 1
    """The first epoch after the T of the run was estimated: earlier ones had another T."""
    failed: tuple[int, int] | None = None
    """Epoch and batch at which the loss was no longer finite."""
    state: list[AnyArray] = field(default_factory=list)
    """The state of its stack at the end of training, if a caller asked for it."""
    done: bool = False

    @property
    def n_epochs(self) -> int:
        """The number of epochs recorded."""
        return len(self.history["loss"])

    def update(
        self,
        values: dict[str, float],
        stack: Stack,
        run: int,
        selection: Selection,
        judgement: Judgement,
    ) -> None:
        """Record an epoch, and keep its weights if the selection says so.

        A provisional epoch is not compared with later ones, whose T differs.
        """
        epoch, provisional = self.n_epochs + 1, judgement.provisional
        if provisional:
            self.comparable_from = epoch + 1
        better = provisional or values[selection.criterion] < self.lowest
        if better:
            self.lowest = math.inf if provisional else values[selection.criterion]
            self.lowest_epoch = epoch
        if better or selection.select == "last" or not self.weights:
            self.kept_epoch, self.weights = epoch, stack.model.weights(run)
            self.learned = stack.transition.learned(run, judgement.estimate)
        for name, value in (dict.fromkeys(self.history, math.nan) | values).items():
            self.history[name].append(value)
        if selection.patience is not None and epoch - self.lowest_epoch >= selection.patience:
            self.done = True

    def curves(self) -> dict[str, FloatArray]:
        """Return the values of every epoch as arrays."""
        return {name: np.array(values) for name, values in self.history.items()}

    def kept(self, name: str) -> float:
        """Return a value of the kept epoch; infinity if there is none."""
        return self.history[name][self.kept_epoch - 1] if self.weights else math.inf


def stacks_of(runs: Sequence[Run], width: int) -> list[list[int]]:
    """Return which runs train as one stack; `width` is that of a run's first layer.

    The stacks do not depend on the number of threads, so the results do not either. Runs of a
    method stay together if possible, and runs with the same learning rate are adjacent.
    """
    methods = list(dict.fromkeys(run.method for run in runs))
    by_method = sorted(range(len(runs)), key=lambda i: methods.index(runs[i].method))
    n_stacks = math.ceil(len(runs) / max(1, _WIDEST_STACK // width))
    parts = np.array_split(np.array(by_method, dtype=int), n_stacks)
    return [sorted(part.tolist(), key=lambda i: runs[i].learning_rate) for part in parts]


@dataclass
class StackTraining:
    """Trains a stack and records every epoch of its runs."""

    stack: Stack
    records: list[Record]
    """One per run of the stack."""
    data: Data
    recipe: Recipe
    selection: Selection
    inverse: FloatArray
    """T⁻¹, with which URE is computed."""
    report: Callable[[Record], Any]
    """Called with each record after each epoch; if it returns True, the run stops."""

    def __post_init__(self) -> None:
        data, device = self.data, self.stack.model.device
        self.rows = rows_of(data.X, device)
        self.watched = [(Rows(X, device), measure) for X, measure in data.watched]
        self.updates: HeldOutUpdates | None = None
        if data.validation is not None:
            self.held_out, self.positions = np.unique(data.validation.rows, return_inverse=True)
            n_batches = len(batches(len(data.training.rows), self.recipe.batch_size))
            self.updates = HeldOutUpdates(
                self.stack.runs,
                data.T,
                data.jointly or data.validation,
                data.validation.rows,
                self.recipe.max_epochs * n_batches,
            )

    def fix_first_transitions(self) -> None:
        """Fix the T of the runs that wait for their first estimate on held-out labels."""
        for run, learned in self.updates.starts().items() if self.updates else ():
            self.stack.fix_transition(run, learned)

    def epochs(self, generator: np.random.Generator, stop: threading.Event) -> Iterator[None]:
        """Train an epoch at each ``next``, and record it."""
        training = train(self.stack, self.rows, self.data.training, self.recipe, generator, stop)
        with contextlib.closing(training):
            for epoch in training:
                self._record(epoch)
                if all(record.done for record in self.records):
                    return
                yield

    def _record(self, epoch: Epoch) -> None:
        """Evaluate the active runs, and record the epoch."""
        model, held_out = self.stack.model, None
        if self.data.validation is not None:
            held_out = logits_of(model, self.rows, self.held_out)
        self._end_failed(epoch, held_out)
        watched = [
            (logits_of(model, rows, np.arange(len(rows))), measure)
            for rows, measure in self.watched
        ]
        for run, record in enumerate(self.records):
            if record.done:
                continue
            values = {"loss": float(epoch.loss[run]), "scel": math.nan, "ure": math.nan}
            judgement = Judgement()
            if held_out is not None:
                judgement, measured = self._on_held_out(run, held_out[run], epoch)
                values |= measured
            T = self.stack.transition.matrix(run)
            for logits, measure in watched:
                values |= measure(evaluate.Outputs(logits[run], record.reading, T), record)
            values["seconds"] = epoch.seconds
            record.update(values, self.stack, run, self.selection, judgement)
            record.done |= bool(self.report(record))

    def _on_held_out(
        self, run: int, logits: AnyArray, epoch: Epoch
    ) -> tuple[Judgement, dict[str, float]]:
        """Estimate T if the run does so on held-out labels, and evaluate the run on them."""
        assert self.data.validation is not None and self.updates is not None  # noqa: S101, PT018
        judgement = self.updates.judge(run, logits, epoch.epoch * epoch.batches)
        if judgement.parameters is not None:
            self.stack.fix_transition(run, judgement.parameters)
        record, T = self.records[run], self.stack.transition.matrix(run)
        outputs = evaluate.Outputs(logits, record.reading, T)
        labels, inverse = self.data.validation, self.inverse
        if judgement.estimate is not None:
            inverse = pseudo_inverse(T)
        values = evaluate.held_out(outputs, labels, self.positions, inverse, judgement)
        if self.data.held_out is not None:
            values |= self.data.held_out(outputs, record)
        return judgement, values

    def _end_failed(self, epoch: Epoch, logits: AnyArray | None) -> None:
        """End runs whose loss, weights or held-out logits are not finite."""
        for run, record in enumerate(self.records):
            batch = epoch.failed.get(run)
            arrays = self.stack.model.weights(run) if logits is None else [logits[run]]
            if batch is None and not all(np.isfinite(array).all() for array in arrays):
                batch = epoch.batches
            if batch is not None and not record.done:
                record.failed, record.done = (record.n_epochs + 1, batch), True


def pseudo_inverse(T: FloatArray) -> FloatArray:
    """Return the pseudo-inverse of T, without a warning where T is singular."""
    return np.asarray(np.linalg.pinv(T), dtype=np.float64)


def logits_of(model: Dense | Module, rows: Rows, index: IntArray) -> AnyArray:
    """Return the logits of all runs at those rows, (runs, rows, K)."""
    out: AnyArray | None = None
    for place, x in rows.blocks(index):
        logits = model.forward(x).cpu().numpy()
        if out is None:
            out = np.empty((len(logits), len(index), logits.shape[2]), np.float32)
        out[:, place] = logits
    return np.empty((model.n_runs, 0, 0)) if out is None else out


def train_in_turns(
    trainings: Sequence[Iterator[None]], n_jobs: int, stop: threading.Event, n_threads: int = 1
) -> None:
    """Advance all stacks by one epoch in turn, until all have ended.

    They share `n_jobs` threads, and each epoch is computed on `n_threads` threads.
    """
    waiting = collections.deque(trainings)

    def work() -> None:
        with computing(n_threads):
            while not stop.is_set():
                try:
                    training = waiting.popleft()
                except IndexError:
                    return
                try:
                    next(training)
                except StopIteration:
                    continue
                except BaseException:
                    stop.set()
                    raise
                waiting.append(training)

    n_workers = min(n_jobs, len(trainings))
    if n_workers == n_threads == 1:
        work()
        return
    # Threads of torch flush subnormal numbers only if they are started by a thread that does.
    with ThreadPoolExecutor(n_workers) as pool:
        futures = [pool.submit(work) for _ in range(n_workers)]
        try:  # in short waits: a signal may wake another thread, and this one must see Ctrl-C
            while wait(futures, _SECONDS_BETWEEN_LOOKS).not_done:
                pass
        except BaseException:
            stop.set()
            raise
    for future in futures:
        future.result()
