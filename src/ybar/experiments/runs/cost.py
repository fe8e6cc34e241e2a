"""The duration of jobs, predicted from recorded runs or from the size of the computation."""

from __future__ import annotations

import collections
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..plan.jobs import Job, config
from ..plan.model import Boosting, Dataset, Facts, Network
from .entry import Entry

# Measured on one core of the machines that ybar is built on; see results/benchmarks.md.
_PRODUCTS_PER_SECOND = 60e9
_SECONDS_PER_LOGIT = 6e-8
_SECONDS_PER_DISTANCE = 4e-9
_SECONDS_PER_BINNED_VALUE = 1.4e-6
_SECONDS_PER_BATCH = 3e-4
_SECONDS_PER_ROW_OF_A_MODULE = 2.5e-4

Cost = Callable[[Job], float]


def cost_of_jobs(entries: Iterable[Entry], facts: Mapping[Dataset, Facts]) -> Cost:
    """Return a function from a job to the seconds that it will take on one core, roughly.

    Parameters
    ----------
    entries : iterable of Entry
        Recorded runs: those of the same base and data are the best prediction.
    facts : mapping of Dataset to Facts
    """
    seen: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    for entry in entries:
        if entry.cause is None and entry.seconds > 0:  # not every export has them
            seen[_key(entry.config)].append(entry.seconds)

    def seconds(job: Job) -> float:
        before = seen.get(_key(config(job, job.trainings[0])))
        if before:
            return len(job.trainings) * sum(before) / len(before)
        return _computed(job, facts[job.dataset])

    return seconds


def _key(configuration: Mapping[str, Any]) -> tuple[str, str]:
    return json.dumps(configuration["how"], sort_keys=True), configuration["data_sha256"]


def _computed(job: Job, facts: Facts) -> float:
    base, rows, n_classes = job.base, facts.n_rows, facts.n_classes
    if isinstance(base, Network) and base.module is not None:  # a guess
        return len(job.trainings) * base.epochs * rows * _SECONDS_PER_ROW_OF_A_MODULE
    if isinstance(base, Network):
        sizes = [facts.n_features, *base.hidden_layer_sizes, n_classes]
        layers = [a * b for a, b in itertools.pairwise(sizes)]
        products = 2 * rows * (2.3 * layers[0] + 3.3 * sum(layers[1:]))
        per_epoch = products / _PRODUCTS_PER_SECOND + rows * sum(sizes[1:]) * _SECONDS_PER_LOGIT / 2
        per_epoch += rows / base.batch_size * _SECONDS_PER_BATCH
        return len(job.trainings) * base.epochs * per_epoch
    if isinstance(base, Boosting):
        return rows * facts.n_features * n_classes * _SECONDS_PER_BINNED_VALUE
    return rows * rows * (base.n_components or facts.n_features) * _SECONDS_PER_DISTANCE / 40
