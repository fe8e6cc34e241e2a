"""The one driver of training: all classifiers and the experiments call `fit_runs`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .. import decode
from ..utils.typing import AnyArray
from .data import rows_of
from .evaluate import Reading
from .loop import Recipe, Stack
from .networks import Dense, Module
from .objective import Run
from .population import (
    Data,
    Record,
    Selection,
    StackTraining,
    pseudo_inverse,
    stacks_of,
    train_in_turns,
)

_WIDER_THAN_ANY_STACK = 2**31


@dataclass(frozen=True)
class Architecture:
    """The network that every run trains."""

    sizes: Sequence[int]
    """Features, hidden units of each layer, classes."""
    network: Callable[[], Any] | None = None
    """Builds a torch module, in place of dense layers of those sizes with dropout."""
    dropout: float = 0.0
    input_dropout: float = 0.0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def width(self) -> int:
        """Outputs of the first layer; a module trains alone, as if it were wider than any stack."""
        return _WIDER_THAN_ANY_STACK if self.network is not None else self.sizes[1]

    def build(self, runs: Sequence[Run], mask_seed: int, X: Any) -> Dense | Module:
        """Return a model for runs that train as one stack.

        First weights come from the seed of each run, dropout masks of dense layers from
        `mask_seed`.
        """
        if self.network is None:
            return Dense(
                self.sizes,
                [run.seed for run in runs],
                dropout=self.dropout,
                input_dropout=self.input_dropout,
                seed=mask_seed,
                device=self.device,
            )
        model = Module(self.network, runs[0].seed, self.device)
        rows = rows_of(X, self.device).fetch(np.arange(min(2, len(X))))
        try:
            with model.randomness():
                n_outputs = model.forward(rows).shape[2]
        except RuntimeError as err:
            reason = " ".join(str(err).split())
            raise ValueError(
                f"network must take batches of the shape of X, {tuple(rows.shape)} for two rows; "
                f"got an error from it: {reason}"
            ) from err
        if n_outputs != self.sizes[-1]:
            raise ValueError(
                f"network must return one output for each of the {self.sizes[-1]} classes; got "
                f"{n_outputs}"
            )
        return model


@dataclass(frozen=True)
class Start:
    """The state from which training continues."""

    weights: Sequence[AnyArray]
    learned: AnyArray | None
    """Parameters of the learned T."""
    state: Sequence[AnyArray] | None = None
    """The `Record.state` of a run, which includes the optimiser; replaces the two above."""
    history: Mapping[str, Sequence[float]] = field(default_factory=dict)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training, with the records so far."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__()
        self.records = records


def fit_runs(
    runs: Sequence[Run],
    data: Data,
    architecture: Architecture,
    recipe: Recipe,
    selection: Selection,
    *,
    order_seed: int | np.random.Generator,
    mask_seed: int,
    n_jobs: int = 1,
    report: Callable[[Record], Any] | None = None,
    start: Start | None = None,
    keep_state: bool = False,
) -> list[Record]:
    """Train all runs on the same rows and return their records, in the order of the runs.

    Parameters
    ----------
    order_seed : int, or Generator of the only run
        Draws the order of the rows, which all runs share.
    mask_seed : int
        Draws the dropout masks, which all runs share.
    n_jobs : int
        Threads, each training one stack at a time. Results do not depend on it.
    report : callable, optional
        Called with a run's record after each of its epochs, never concurrently. If it returns
        True, the run ends.
    keep_state : bool
        Whether to set `Record.state`, from which a `Start` is built. Only for a single run.

    Raises
    ------
    Interrupted
        After Ctrl-C, which ends all runs.
    """
    with np.errstate(divide="ignore"):
        log_T = np.log(data.T)
    if selection.criterion == "ure" or any(run.method.inverts for run in runs):
        inverse = decode.inverse(data.T, stacklevel=6)
    else:  # URE is only recorded, so a singular T causes no warning
        inverse = pseudo_inverse(data.T)
    records = [
        Record(run, Reading(run.method.estimates, run.decoder, data.T), index)
        for index, run in enumerate(runs)
    ]
    stop, lock = threading.Event(), threading.Lock()

    def report_alone(record: Record) -> Any:
        with lock:
            return report is not None and report(record)

    trainings = []
    for members in stacks_of(runs, architecture.width):
        of_stack = [runs[i] for i in members]
        stack = Stack(architecture.build(of_stack, mask_seed, data.X), of_stack, log_T, recipe)
        of_stack_records = [records[i] for i in members]
        training = StackTraining(
            stack, of_stack_records, data, recipe, selection, inverse, report_alone
        )
        if start is None:
            training.fix_first_transitions()
        else:
            _continue(stack, training.records, start)
        trainings.append(training)
    epochs = [each.epochs(np.random.default_rng(order_seed), stop) for each in trainings]
    try:
        train_in_turns(epochs, n_jobs, stop, recipe.n_threads)
    except KeyboardInterrupt:
        raise Interrupted(records) from None
    if keep_state:
        records[0].state = trainings[0].stack.state()
    return records


def _continue(stack: Stack, records: Sequence[Record], start: Start) -> None:
    if start.state is None:
        stack.start_from(start.weights, start.learned)
    else:
        stack.restore(start.state)
    for record in records:
        for name, values in start.history.items():
            record.history[name].extend(values)
