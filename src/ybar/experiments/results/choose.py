"""Which run of a trial counts: the learning rate with the lowest validation loss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..plan.jobs import Job, config, hash_of, jobs, training_of
from ..plan.model import Dataset, Facts, Method, Network, Part, Plan, Setting
from ..runs.entry import Entry

EPOCHS = ("last", "best")
URES = ("given", "uniform")


class Rule(NamedTuple):
    """What the paper leaves open."""

    epoch: str = "last"  # or "best": the epoch with the lowest validation loss
    ure: str = "given"  # URE under the learner's T, or "uniform": under the uniform one

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
        Which data the plan means. A data set that is missing here stands for the data that its
        entries were run on last.
    every_job : iterable of Job, optional
        All jobs of the plan, if they are known already.

    Attributes
    ----------
    planned : dict of str
        The base of each planned run.
    entries : list of Entry
        The recorded runs of the plan, on the data that its tables are of.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        plan: Plan,
        facts: Mapping[Dataset, Facts] | None = None,
        every_job: Iterable[Job] | None = None,
    ) -> None:
        self.plan = plan
        recorded = {entry.hash: entry for entry in entries}.values()
        last = sorted(recorded, key=lambda entry: entry.finished)
        versions = {entry.config["dataset"]: entry.config["data_sha256"] for entry in last}
        versions |= {dataset.name: known.sha256 for dataset, known in (facts or {}).items()}
        by_name = {
            _without_data(entry.config): entry
            for entry in recorded
            if versions[entry.config["dataset"]] == entry.config["data_sha256"]
        }
        # Names here do not depend on the version of the data. Runs that parts share are there once.
        self.planned: dict[str, str] = {}
        self._ended: dict[tuple[Any, ...], Entry | None] = {}
        for job in jobs(plan, {}) if every_job is None else every_job:
            for training in job.trainings:
                name = _without_data(config(job, training))
                self.planned[name] = job.base.name
                place = job.base, job.dataset, job.setting, job.trial, training
                self._ended[place] = by_name.get(name)
        self.entries = [entry for name, entry in by_name.items() if name in self.planned]

    def choose(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, trial: int, rule: Rule
    ) -> Chosen | None:
        """Return the run that counts; None if some have not ended, or all failed.

        All learning rates must have ended, because the missing one could be the best. Of two runs
        with the same loss, the first in the plan counts.
        """
        loss, accuracy = rule.names(part, method)
        candidates = []
        ended = self._find_ended(part, method, dataset, setting, trial)
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

    def find_undecided(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting
    ) -> list[Entry]:
        """Return the runs of trials that are not complete: any of them may be chosen later."""
        trials = (
            self._find_ended(part, method, dataset, setting, trial) for trial in range(part.trials)
        )
        return [entry for ended in trials if None in ended for entry in ended if entry is not None]

    def n_failed(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, rule: Rule
    ) -> int:
        """Return how many runs ended but failed, and cannot be chosen."""
        names = rule.names(part, method)
        return sum(
            entry is not None and not _counts(entry, *names)
            for trial in range(part.trials)
            for entry in self._find_ended(part, method, dataset, setting, trial)
        )

    def _find_ended(
        self, part: Part, method: Method, dataset: Dataset, setting: Setting, trial: int
    ) -> list[Entry | None]:
        """Return the run of each learning rate; None if it has not ended."""
        training = training_of(part, method, setting)  # new, if its file has changed by now
        trainings = (replace(training, learning_rate=rate) for rate in part.learning_rates)
        return [self._ended.get((part.base, dataset, setting, trial, each)) for each in trainings]


def _without_data(configuration: Mapping[str, Any]) -> str:
    return hash_of({**configuration, "data_sha256": ""})


def _counts(entry: Entry, loss: str, accuracy: str) -> bool:
    """Return whether a run can be chosen."""
    scores = entry.scores
    known = {loss, accuracy} <= scores.keys() and not math.isnan(scores[loss])
    return entry.cause is None and known
