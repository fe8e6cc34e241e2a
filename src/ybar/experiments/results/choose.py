"""Which run of a trial counts: the learning rate of the lowest validation loss."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..plan.jobs import Job, config, hash_of, jobs, module_code, training_of
from ..plan.model import Dataset, Facts, Method, Network, Part, Plan, Setting
from ..runs.ledger import Entry

EPOCHS = ("last", "best")
URES = ("given", "uniform")


def planned(plan: Plan) -> dict[str, str]:
    """Return the base of each run of a plan, by its name whatever version of the data it is of.

    Runs that parts share are there once.
    """
    return {
        _without_data(config(job, training)): job.base.name
        for job in jobs(plan, {})
        for training in job.trainings
    }


def of_plan(
    entries: Iterable[Entry], plan: Plan, facts: Mapping[Dataset, Facts] | None = None
) -> list[Entry]:
    """Return the runs of a plan, on the data that its tables are of."""
    entries, wanted = list(entries), planned(plan)
    versions = {d.name: sha256 for d, sha256 in Runs(entries, plan, facts).versions.items()}
    return [
        entry
        for entry in entries
        if versions.get(entry.config["dataset"]) == entry.config["data_sha256"]
        and _without_data(entry.config) in wanted
    ]


def _without_data(configuration: Mapping[str, Any]) -> str:
    return hash_of({**configuration, "data_sha256": ""})


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


class Runs:
    """The entries of a plan, found by what they are runs of.

    Parameters
    ----------
    entries : iterable of Entry
    plan : Plan
    facts : dict of Facts, optional
        Which data the plan means; without them, those that entries were run on last.
    """

    def __init__(
        self, entries: Iterable[Entry], plan: Plan, facts: Mapping[Dataset, Facts] | None = None
    ) -> None:
        self.plan = plan
        self._entries = {entry.hash: entry for entry in entries}
        self.versions = {dataset: known.sha256 for dataset, known in (facts or {}).items()}
        for dataset in dict.fromkeys(d for part in plan.parts for d in part.datasets):
            if dataset not in self.versions:
                self._find_sha256(dataset)
        self._hash = functools.cache(hash_of_run)

    def _find_sha256(self, dataset: Dataset) -> None:
        entries = [e for e in self._entries.values() if e.config["dataset"] == dataset.name]
        if entries:
            last = max(entries, key=lambda entry: entry.finished)
            self.versions[dataset] = last.config["data_sha256"]

    def choose(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, trial: int, rule: Rule
    ) -> Chosen | None:
        """Return the run that counts, None where there is none yet or all failed.

        All learning rates must have come to an end: a choice out of some would be another one. Of
        two with the same loss the first in the plan counts.
        """
        if dataset not in self.versions:
            return None
        loss, accuracy = rule.names(part, method)
        candidates = []
        ended = self._ended(part, method, dataset, setting, trial)
        for rate, entry in zip(part.learning_rates, ended, strict=True):
            if entry is None:
                return None
            if _counts(entry, loss, accuracy):
                candidates.append(Chosen(entry, rate, entry.figures[accuracy]))
        if not candidates:
            return None
        # To the digits that an export has: URE takes few values, and must tie there as here.
        return min(candidates, key=lambda chosen: float(f"{chosen.entry.figures[loss]:.6g}"))

    def n_failed(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, rule: Rule
    ) -> int:
        """Return how many runs that have come to an end failed, and can be no choice."""
        if dataset not in self.versions:
            return 0
        names = rule.names(part, method)
        return sum(
            entry is not None and not _counts(entry, *names)
            for trial in range(part.trials)
            for entry in self._ended(part, method, dataset, setting, trial)
        )

    def _ended(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, trial: int
    ) -> list[Entry | None]:
        """Return the run of each learning rate, None where it has not come to an end."""
        code = module_code(part.base)
        job = Job(
            dataset,
            self.versions[dataset],
            setting,
            trial,
            part.base,
            self.plan.validation_fraction,
            (training_of(part, method, setting),),
            code.sha256,
            code.version,
        )
        return [self._entries.get(self._hash(job, rate)) for rate in part.learning_rates]

    def choose_all(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, rule: Rule
    ) -> list[Chosen]:
        """Return the run that counts of each trial that is complete."""
        trials = range(part.trials)
        found = (self.choose(part, method, dataset, setting, trial, rule) for trial in trials)
        return [chosen for chosen in found if chosen is not None]


def _counts(entry: Entry, loss: str, accuracy: str) -> bool:
    """Return whether a run can be chosen."""
    figures = entry.figures
    known = {loss, accuracy} <= figures.keys() and not math.isnan(figures[loss])
    return entry.cause is None and known


def hash_of_run(job: Job, learning_rate: float | None) -> str:
    """Return the name of the run of a job's only training with a learning rate."""
    (training,) = job.trainings
    return hash_of(config(job, replace(training, learning_rate=learning_rate)))
