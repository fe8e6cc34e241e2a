"""Which run of a trial counts: the learning rate of the lowest validation loss."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from .ledger import Entry
from .plan import (
    Dataset,
    Facts,
    Job,
    Method,
    Network,
    Part,
    Plan,
    Setting,
    config,
    hash_of,
    training_of,
)

EPOCHS = ("last", "best")
URES = ("given", "uniform")


class Rule(NamedTuple):
    """What the paper leaves open.

    Attributes
    ----------
    epoch : {"last", "best"}
        Whether the last epoch counts, or the one of the lowest validation loss.
    ure : {"given", "uniform"}
        Whether URE is taken under the T that the learner is given, or under the uniform one.
    """

    epoch: str = "last"
    ure: str = "given"

    def names(self, part: Part, method: Method) -> tuple[str, str]:
        """Return the names of the validation loss and of the accuracy among a run's figures."""
        decoder = method.decoder
        loss = "scel"
        if method.criterion == "ure":
            loss = f"ure_uniform_{decoder}" if self.ure == "uniform" else f"ure_{decoder}"
        epochs = self.epoch == "best" and isinstance(part.base, Network)
        place = f"best-{loss}" if epochs else "last"
        return f"{place}.{loss}", f"{place}.accuracy_{decoder}"


class Chosen(NamedTuple):
    """The run that counts for a trial."""

    entry: Entry
    learning_rate: float | None
    accuracy: float
    failed: int = 0
    """How many learning rates of the trial failed, and could not be chosen."""


class Runs:
    """The entries of a plan, found by what they are runs of.

    Parameters
    ----------
    entries : iterable of Entry
    plan : Plan
    facts : dict of Facts, optional
        Which data the plan means; without them, those that the entries were run on.
    """

    def __init__(
        self, entries: Iterable[Entry], plan: Plan, facts: Mapping[Dataset, Facts] | None = None
    ) -> None:
        self.plan = plan
        self._entries = {entry.hash: entry for entry in entries}
        self._sha256 = {dataset: known.sha256 for dataset, known in (facts or {}).items()}
        for dataset in dict.fromkeys(d for part in plan.parts for d in part.datasets):
            if dataset not in self._sha256:
                self._find_sha256(dataset)
        self._hash = functools.cache(hash_of_run)

    def _find_sha256(self, dataset: Dataset) -> None:
        configs = (entry.config for entry in self._entries.values())
        found = sorted({c["data_sha256"] for c in configs if c["dataset"] == dataset.name})
        if len(found) > 1:
            raise ValueError(
                f"entries of data set {dataset.name!r} must be of one version of the data; got "
                f"those of sha256 {', '.join(found)}. Say which one by facts"
            )
        if found:
            self._sha256[dataset] = found[0]

    def choose(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, trial: int, rule: Rule
    ) -> Chosen | None:
        """Return the run that counts, None where there is none yet or all failed.

        All learning rates must have come to an end: a choice out of some would be another one. Of
        two with the same loss the first in the plan counts.
        """
        if dataset not in self._sha256:
            return None
        loss, accuracy = rule.names(part, method)
        job = Job(
            dataset,
            self._sha256[dataset],
            setting,
            trial,
            part.base,
            self.plan.validation_fraction,
            (training_of(part, method, setting),),
        )
        candidates = []
        for rate in part.learning_rates:
            entry = self._entries.get(self._hash(job, rate))
            if entry is None:
                return None
            figures = entry.figures
            if (
                entry.cause is None
                and {loss, accuracy} <= figures.keys()
                and not math.isnan(figures[loss])
            ):
                candidates.append(Chosen(entry, rate, figures[accuracy]))
        if not candidates:
            return None
        # To the digits that an export has: URE takes few values, and must tie there as here.
        best = min(candidates, key=lambda chosen: float(f"{chosen.entry.figures[loss]:.6g}"))
        return best._replace(failed=len(part.learning_rates) - len(candidates))

    def choose_all(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, rule: Rule
    ) -> list[Chosen]:
        """Return the run that counts of each trial that is complete."""
        trials = range(part.trials)
        found = (self.choose(part, method, dataset, setting, trial, rule) for trial in trials)
        return [chosen for chosen in found if chosen is not None]


def hash_of_run(job: Job, learning_rate: float | None) -> str:
    """Return the name of the run of a job's only training with a learning rate."""
    (training,) = job.trainings
    return hash_of(config(job, replace(training, learning_rate=learning_rate)))
