"""Which run of a trial counts: the learning rate with the lowest validation loss."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..plan.jobs import Job, Training, config, hash_of, job_of, jobs, training_of
from ..plan.model import Dataset, Facts, Method, Network, Part, Plan, Setting
from ..runs.entry import Entry

EPOCHS = ("last", "best")
URES = ("given", "uniform")


class Rule(NamedTuple):
    """What the paper leaves open.

    Attributes
    ----------
    epoch : {"last", "best"}
        Whether the last epoch counts, or the one with the lowest validation loss.
    ure : {"given", "uniform"}
        Whether URE is computed under the learner's T, or under the uniform T.
    """

    epoch: str = "last"
    ure: str = "given"

    def names(self, part: Part, method: Method) -> tuple[str, str]:
        """Return the names that the validation loss and the accuracy have in a run's scores."""
        decoder = method.decoder
        if method.criterion == "true":
            return f"last.accuracy_{decoder}", f"last.accuracy_{decoder}"
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
    """The recorded runs of a plan.

    Parameters
    ----------
    entries : iterable of Entry
        Runs of other plans among them do not count.
    plan : Plan
    facts : mapping of Dataset to Facts, optional
        The data that the plan refers to. For a data set that is missing here, it is the data of
        its most recent entries.
    every_job : sequence of Job, optional
        All jobs of the plan, if they are known already.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        plan: Plan,
        facts: Mapping[Dataset, Facts] | None = None,
        every_job: Sequence[Job] | None = None,
    ) -> None:
        self.plan = plan
        self._jobs = every_job
        self._by_hash = {entry.hash: entry for entry in entries}
        self.versions = {dataset: known.sha256 for dataset, known in (facts or {}).items()}
        for dataset in dict.fromkeys(d for part in plan.parts for d in part.datasets):
            if dataset not in self.versions:
                self._find_version(dataset)
        self._ended = functools.cache(self._find_ended)

    def _find_version(self, dataset: Dataset) -> None:
        entries = [e for e in self._by_hash.values() if e.config["dataset"] == dataset.name]
        if entries:
            last = max(entries, key=lambda entry: entry.finished)
            self.versions[dataset] = last.config["data_sha256"]

    @functools.cached_property
    def planned(self) -> dict[str, str]:
        """The base of each planned run, by a name that does not depend on the version of the data.

        A run that several parts share occurs once.
        """
        every_job = jobs(self.plan, {}) if self._jobs is None else self._jobs
        return {
            _without_data(config(job, training)): job.base.name
            for job in every_job
            for training in job.trainings
        }

    @functools.cached_property
    def entries(self) -> list[Entry]:
        """The recorded runs of the plan, on the data of its tables."""
        versions = {dataset.name: sha256 for dataset, sha256 in self.versions.items()}
        return [
            entry
            for entry in self._by_hash.values()
            if versions.get(entry.config["dataset"]) == entry.config["data_sha256"]
            and _without_data(entry.config) in self.planned
        ]

    def choose(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, trial: int, rule: Rule
    ) -> Chosen | None:
        """Return the run that counts; None if some have not ended, or all failed.

        All learning rates must have ended, because the missing one could be the best. Of two runs
        with the same loss, the first in the plan counts.
        """
        if dataset not in self.versions:
            return None
        loss, accuracy = rule.names(part, method)
        candidates = []
        ended = self._ended(part, training_of(part, method, setting), dataset, setting, trial)
        for rate, entry in zip(part.learning_rates, ended, strict=True):
            if entry is None:
                return None
            if _counts(entry, loss, accuracy):
                candidates.append(Chosen(entry, rate, entry.scores[accuracy]))
        if not candidates:
            return None
        # Rounded to the digits of an export: URE has few values, and ties must be the same there.
        sign = -1 if method.criterion == "true" else 1
        return min(candidates, key=lambda chosen: sign * float(f"{chosen.entry.scores[loss]:.6g}"))

    def choose_all(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, rule: Rule
    ) -> list[Chosen]:
        """Return the run that counts of each complete trial."""
        trials = range(part.trials)
        chosen = (self.choose(part, method, dataset, setting, trial, rule) for trial in trials)
        return [each for each in chosen if each is not None]

    def n_failed(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, rule: Rule
    ) -> int:
        """Return how many runs ended but failed, and cannot be chosen."""
        if dataset not in self.versions:
            return 0
        names = rule.names(part, method)
        training = training_of(part, method, setting)
        return sum(
            entry is not None and not _counts(entry, *names)
            for trial in range(part.trials)
            for entry in self._ended(part, training, dataset, setting, trial)
        )

    def _find_ended(
        self, part: Part, training: Training, dataset: Dataset, setting: Setting, trial: int
    ) -> list[Entry | None]:
        """Return the run of each learning rate; None if it has not ended."""
        trainings = tuple(replace(training, learning_rate=rate) for rate in part.learning_rates)
        sha256 = self.versions[dataset]
        job = job_of(self.plan, part, dataset, sha256, setting, trial, trainings)
        return [self._by_hash.get(hash_of(config(job, each))) for each in trainings]


def _without_data(configuration: Mapping[str, Any]) -> str:
    return hash_of({**configuration, "data_sha256": ""})


def _counts(entry: Entry, loss: str, accuracy: str) -> bool:
    """Return whether a run can be chosen."""
    scores = entry.scores
    known = {loss, accuracy} <= scores.keys() and not math.isnan(scores[loss])
    return entry.cause is None and known
