"""Many runs on the same rows: which train as one stack, on which thread, and what is kept."""

from __future__ import annotations

import collections
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .. import decode
from ..transition.building import with_uniform_noise
from ..utils.typing import AnyArray, FloatArray, IntArray
from . import evaluate
from .data import Rows
from .losses import FIRST_NOISE
from .models import Dense, Module
from .noise import Noise
from .objective import Run
from .train import Epoch, Recipe, Samples, Stack, one_thread, train

# Products wider than this gain nothing from more columns, and lose where weights leave the cache.
_WIDEST_STACK = 512
_SECONDS_BETWEEN_LOOKS = 0.1
# As many as the mean of the weights looks back on.
_STEPS_BEFORE_NOISE = 1000
_LEAST_NOISE = 1e-4


Measure: TypeAlias = "Callable[[evaluate.Outputs, Record], dict[str, float]]"


class Data(NamedTuple):
    """What all runs of a population see."""

    X: Any
    training: Samples
    validation: Samples | None
    T: FloatArray
    watched: tuple[tuple[Any, Measure], ...] = ()
    """(X, function of what a run says of it, and of its record): more to record of each epoch."""
    held_out: Measure | None = None
    """The same of the validation's rows, each row once, in ascending order."""
    jointly: Samples | None = None
    """The validation's labels with all of a row taken together, if T is learned from them."""


@dataclass(frozen=True)
class Selection:
    """Which epoch counts, and when to give up."""

    select: str = "best"
    criterion: str = "scel"
    patience: int | None = None


@dataclass
class Record:
    """What is known of a run: every epoch, and the weights of the one that counts."""

    run: Run
    reading: evaluate.Reading
    history: dict[str, list[float]] = field(default_factory=lambda: collections.defaultdict(list))
    lowest: float = math.inf
    lowest_epoch: int = 0
    kept_epoch: int = 0
    weights: list[AnyArray] = field(default_factory=list)
    transition: FloatArray | None = None
    learned: AnyArray | None = None
    noise: Noise | None = None
    """Where the noise level was learned: what held-out labels say of it."""
    judged_from: int = 1
    """The first epoch that later ones can be held against: by then T is what it will be."""
    failed: tuple[int, int] | None = None
    """Epoch and batch at which the loss was no longer finite."""
    done: bool = False

    def take(
        self,
        epoch: int,
        values: dict[str, float],
        stack: Stack,
        run: int,
        how: Selection,
        noise: Noise | None = None,
        begins: bool = False,
    ) -> None:
        """Add an epoch, and its weights if they are the ones to keep.

        One that only `begins` is no rival of later ones: it was judged by another T than they.
        """
        if begins:
            self.judged_from = epoch + 1
        better = begins or values[how.criterion] < self.lowest
        if better:
            self.lowest = math.inf if begins else values[how.criterion]
            self.lowest_epoch = epoch
        if better or how.select == "last" or not self.weights:
            weights, transition = stack.model.weights(run), stack.objective.transition(run)
            learned = stack.objective.parameters_of(run)
            self.kept_epoch, self.weights = epoch, weights
            self.transition, self.learned, self.noise = transition, learned, noise
        for name, value in values.items():
            self.history[name].append(value)
        if how.patience is not None and epoch - self.lowest_epoch >= how.patience:
            self.done = True

    def kept(self, name: str) -> float:
        """Return a number of the epoch that is kept, infinity if there is none."""
        return self.history[name][self.kept_epoch - 1] if self.weights else math.inf


def stacks_of(runs: Sequence[Run], width: int) -> list[list[int]]:
    """Return which runs train as one stack; `width` is that of a run's first layer.

    It depends on nothing else, so that results do not depend on the number of threads. Runs of a
    method stay together where they can, and those of one rate are neighbours.
    """
    methods = list(dict.fromkeys(run.method for run in runs))
    by_method = sorted(range(len(runs)), key=lambda i: methods.index(runs[i].method))
    n_stacks = math.ceil(len(runs) / max(1, _WIDEST_STACK // width))
    found = []
    for part in np.array_split(np.array(by_method, dtype=int), n_stacks):
        found.append(sorted(part.tolist(), key=lambda i: runs[i].learning_rate))
    return found


def follow(
    stack: Stack,
    records: Sequence[Record],
    data: Data,
    recipe: Recipe,
    how: Selection,
    inverse: FloatArray,
    generator: np.random.Generator,
    stop: threading.Event,
    tell: Callable[[Record, int], Any],
) -> Iterator[None]:
    """Train a stack, an epoch at each ``next``, and record it."""
    device = stack.model.device
    rows = Rows(data.X, device)
    watched = [(Rows(X, device), measure) for X, measure in data.watched]
    held_out = at = np.empty(0, dtype=np.intp)
    if data.validation is not None:
        held_out, at = np.unique(data.validation.rows, return_inverse=True)
    for epoch in train(stack, rows, data.training, recipe, generator, stop):
        with one_thread():
            logits = None
            if data.validation is not None:
                logits = logits_of(stack.model, rows, held_out)
            _end_failed(records, epoch, stack, logits)
            alive = [run for run, record in enumerate(records) if not record.done]
            noise: dict[int, Noise] = {}
            under: dict[int, Any] = {}
            learned_from = data.jointly or data.validation
            if learned_from is not None and logits is not None:
                there = np.searchsorted(held_out, learned_from.rows)
                k, weight, patterns = learned_from[1:]
                for run in alive:
                    if records[run].run.learns_held_out:
                        noise[run] = Noise(logits[run][there], k, weight, data.T, patterns)
            # Trained with once p is about something: an unsure p explains any noise, and without
            # noise in T it would have to stay unsure.
            soon = min(_STEPS_BEFORE_NOISE, recipe.max_epochs * epoch.batches / 2)
            begins = epoch.epoch * epoch.batches < soon
            if not begins:
                for run, found in noise.items():
                    own, halves = _learned(found, records[run].run, there)
                    under[run] = [(np.flatnonzero(at % 2 == i), T) for i, T in enumerate(halves)]
                    stack.give(run, own)
            T = [stack.objective.transition(run) for run in range(len(records))]
            values = [
                {"loss": float(loss), "scel": math.nan, "ure": math.nan} for loss in epoch.loss
            ]
            if data.validation is not None and logits is not None:
                for run in alive:
                    outputs = evaluate.Outputs(logits[run], records[run].reading, T[run])
                    values[run] |= evaluate.held_out(
                        outputs,
                        at,
                        data.validation.y_comp,
                        data.validation.weight,
                        _inverse(T[run]) if run in noise else inverse,
                        data.validation.patterns,
                        under.get(run, ()),
                    )
                    if data.held_out is not None:
                        values[run] |= data.held_out(outputs, records[run])
            for its_rows, measure in watched:
                logits = logits_of(stack.model, its_rows, np.arange(len(its_rows)))
                for run in alive:
                    outputs = evaluate.Outputs(logits[run], records[run].reading, T[run])
                    values[run] |= measure(outputs, records[run])
        for run in alive:
            record = records[run]
            values[run]["seconds"] = epoch.seconds
            own_noise, waits = noise.get(run), begins and run in noise
            record.take(epoch.epoch, values[run], stack, run, how, own_noise, waits)
            if tell(record, epoch.epoch):
                record.done = True
        if all(record.done for record in records):
            return
        yield


def _learned(found: Noise, run: Run, rows: IntArray) -> tuple[AnyArray, list[FloatArray]]:
    """Return the parameters of T that held-out labels give a run, and the T to judge each half by.

    None where all labels are judged by the T found.
    """
    if run.method.learns == "free":
        return np.log(found.transition(run.trust)), found.elsewhere(rows, run.trust)
    level = min(max(found.estimate, _LEAST_NOISE), 1 - _LEAST_NOISE)
    return np.array([math.log(level) - math.log1p(-level)]), []


def _inverse(T: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.pinv(T), dtype=np.float64)


def _end_failed(
    records: Sequence[Record], epoch: Epoch, stack: Stack, logits: AnyArray | None
) -> None:
    """End runs whose loss, weights or held-out logits are no longer finite."""
    for run, record in enumerate(records):
        batch = epoch.failed.get(run)
        arrays = stack.model.weights(run) if logits is None else [logits[run]]
        if batch is None and not all(np.isfinite(array).all() for array in arrays):
            batch = epoch.batches
        if batch is not None and not record.done:
            record.failed, record.done = (epoch.epoch, batch), True


def logits_of(model: Dense | Module, rows: Rows, index: IntArray) -> AnyArray:
    """Return the logits of all runs at those rows, (runs, rows, K)."""
    found: AnyArray | None = None
    for place, x in rows.blocks(index):
        logits = model.forward(x).cpu().numpy()
        if found is None:
            found = np.empty((len(logits), len(index), logits.shape[2]), np.float32)
        found[:, place] = logits
    return np.empty((model.n_runs, 0, 0)) if found is None else found


def take_turns(trainings: Sequence[Iterator[None]], n_jobs: int, stop: threading.Event) -> None:
    """Advance all by an epoch in turn until each is at its end, on so many threads."""
    waiting = collections.deque(trainings)
    failures: list[BaseException] = []

    def work() -> None:
        while not stop.is_set():
            try:
                training = waiting.popleft()
            except IndexError:
                return
            try:
                next(training)
            except StopIteration:
                continue
            except BaseException as failure:
                failures.append(failure)
                stop.set()
                return
            waiting.append(training)

    if n_jobs == 1 or len(trainings) == 1:
        work()
    else:
        threads = [threading.Thread(target=work) for _ in range(min(n_jobs, len(trainings)))]
        for thread in threads:
            thread.start()
        try:
            # In short waits: a signal may wake another thread, and this one must see Ctrl-C.
            for thread in threads:
                while thread.is_alive():
                    thread.join(_SECONDS_BETWEEN_LOOKS)
        except BaseException:
            stop.set()
            for thread in threads:
                thread.join()
            raise
    if failures:
        raise failures[0]


def grow(
    runs: Sequence[Run],
    readings: Sequence[evaluate.Reading],
    data: Data,
    recipe: Recipe,
    how: Selection,
    *,
    make: Callable[[Sequence[Run]], Dense | Module],
    width: int,
    seed: int,
    n_jobs: int = 1,
    tell: Callable[[Record, int], Any] | None = None,
    start: dict[str, Any] | None = None,
) -> list[Record]:
    """Train all runs and return their records, in the order of the runs.

    Parameters
    ----------
    make : callable
        Makes the model of those runs that train as one stack.
    width : int
        Outputs of a run's first layer: how many runs make a stack.
    seed : int
        Of the order in which rows come, which all runs share.
    n_jobs : int
        Threads, each training a stack at a time. Results do not depend on it.
    tell : callable
        Called after each epoch of each run with its record; a true answer ends the run.
    start : dict, optional
        ``weights`` and ``learned`` of a record to start from.

    Notes
    -----
    Ctrl-C ends all runs and is passed on as `Interrupted`, which carries the records.
    """
    with np.errstate(divide="ignore"):
        log_T = np.log(data.T)
    if how.criterion == "ure" or any(run.method.inverts for run in runs):
        inverse = decode.inverse(data.T, stacklevel=5)
    else:  # URE is recorded, but nothing depends on it: no warning where T is singular
        inverse = _inverse(data.T)
    records = [Record(run, reading) for run, reading in zip(runs, readings, strict=True)]
    stop = threading.Event()
    lock = threading.Lock()

    def tell_one_at_a_time(record: Record, epoch: int) -> Any:
        with lock:
            return tell is not None and tell(record, epoch)

    trainings = []
    for chosen in stacks_of(runs, width):
        mine = [runs[i] for i in chosen]
        stack = Stack(make(mine), mine, log_T, recipe)
        if start is not None:
            stack.start(start["weights"], start["learned"])
        elif data.validation is not None:
            for i, run in enumerate(mine):
                if run.method.learns == "free" and run.learns_held_out:
                    stack.give(i, np.log(with_uniform_noise(data.T, FIRST_NOISE)))
        trainings.append(
            follow(
                stack,
                [records[i] for i in chosen],
                data,
                recipe,
                how,
                inverse,
                np.random.default_rng(seed),
                stop,
                tell_one_at_a_time,
            )
        )
    try:
        take_turns(trainings, n_jobs, stop)
    except KeyboardInterrupt:
        raise Interrupted(records) from None
    return records


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what there is so far."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__()
        self.records = records
