"""The jobs of a plan, and the name of each run, derived from its configuration."""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ...neural import methods
from .functions import NO_CODE, Code, identify
from .model import KINDS, Base, Dataset, Facts, Method, Network, Part, Plan, Setting

# Beyond this width, more runs side by side are not faster (see `neural.population`).
_WIDEST_JOB = 512
_UNKNOWN = Facts("", 0, 0, ("",))
# Fields that were added later: at their default they are not part of the name of a run, so that
# the names of recorded runs stay valid.
_ADDED_LATER = (
    *("dropout", "input_dropout", "weight_averaging"),
    *("module", "true_labels", "told_noise", "transition_optimiser"),
    *("method", "min_data_in_leaf", "feature_fraction", "bagging_fraction"),
)


@dataclass(frozen=True)
class Training:
    """What distinguishes the runs of a job from each other."""

    method: str  # that of this name, and those that share its training
    learning_rate: float | None = None
    assumed: str = "given"  # the T that the loss gets: the trial's, or "uniform"
    loss: str | None = None  # "module:function" of a user's loss
    code: Code = NO_CODE  # that of the loss when the run was planned
    estimates: str = "p"
    decoder: str = "max"


@dataclass(frozen=True)
class Job:
    """Runs that train together: one data set, setting, trial and base."""

    dataset: Dataset
    data_sha256: str
    setting: Setting
    trial: int
    base: Base
    validation_fraction: float
    trainings: tuple[Training, ...]
    module_code: Code = NO_CODE  # that of the base's module when the job was planned


def training_of(part: Part, method: Method, setting: Setting) -> Training:
    """Return the training that a table row needs, without the learning rate.

    ``fwd`` and ``cpe-f`` share one training. Under uniform T, ``scl-nl`` shares it too, because its
    loss differs by a constant only.
    """
    if method.loss is not None:
        return Training(
            method.name,
            loss=method.loss,
            code=identify(method.loss),
            estimates=method.estimates,
            decoder=method.decoder,
        )
    base = part.base
    told_noise = isinstance(base, Network) and base.told_noise and setting.noise > 0
    uniform = setting.transition == "uniform" and not told_noise
    if method.name == "fwd" or (uniform and method.name == "scl-nl"):
        return Training("cpe-f")
    known = methods.METHODS.get(method.name)
    is_risk = known is not None and known.family == "risk"
    assumed = part.uniform_risk and is_risk and not uniform
    return Training(method.name, assumed="uniform" if assumed else "given")


def trainings(part: Part, setting: Setting) -> list[Training]:
    """Return the distinct trainings of one data set, setting and trial."""
    needed = dict.fromkeys(training_of(part, method, setting) for method in part.methods)
    return [replace(t, learning_rate=rate) for t in needed for rate in part.learning_rates]


def jobs(plan: Plan, facts: Mapping[Dataset, Facts]) -> list[Job]:
    """Return all jobs: base by base, trial by trial, so that tables fill evenly.

    In a trial, jobs of many runs come first, so that workers end at about the same time. Runs on a
    data set without facts can be counted, but neither named nor run.
    """
    return [job for part in plan.parts for job in _jobs_of_part(part, plan, facts)]


def _jobs_of_part(part: Part, plan: Plan, facts: Mapping[Dataset, Facts]) -> Iterator[Job]:
    module = part.base.module if isinstance(part.base, Network) else None
    code = NO_CODE if module is None else identify(module)
    by_setting = [(setting, tuple(trainings(part, setting))) for setting in part.settings]
    by_setting.sort(key=lambda pair: -len(pair[1]))
    for trial, (setting, every), dataset in itertools.product(
        range(part.trials), by_setting, part.datasets
    ):
        known = facts.get(dataset, _UNKNOWN)
        job = Job(
            dataset,
            known.sha256,
            setting,
            trial,
            part.base,
            plan.validation_fraction,
            every,
            code,
        )
        yield from split(job, runs_at_once(part.base, known.n_classes))


def runs_at_once(base: Base, n_classes: int) -> int:
    """Return how many runs make one job: as many as fit into one matrix product."""
    if not isinstance(base, Network) or base.module is not None:
        return 1
    return max(1, _WIDEST_JOB // [*base.hidden_layer_sizes, n_classes][0])


def split(job: Job, most: int) -> list[Job]:
    """Return a job in pieces of at most `most` runs."""
    every = job.trainings
    return [replace(job, trainings=every[i : i + most]) for i in range(0, len(every), most)]


def config(job: Job, training: Training) -> dict[str, Any]:
    """Return everything that a run's outcome depends on, and nothing about the machine."""
    kind = next(name for name, cls in KINDS.items() if isinstance(job.base, cls))
    setting = {name: value for name, value in asdict(job.setting).items() if name != "name"}
    if not setting["classes"]:
        del setting["classes"]
    version, sha256 = training.code
    what = asdict(training) | {"source": sha256, "loss_version": version}
    what = {name: value for name, value in what.items() if name != "code" and value is not None}
    if training.loss is None:
        del what["estimates"], what["decoder"]  # the method's own
    if job.dataset.scaled:
        what["scaled"] = True
    return {
        "dataset": job.dataset.name,
        "data_sha256": job.data_sha256,
        "setting": job.setting.name,
        **setting,
        "trial": job.trial,
        "validation_fraction": job.validation_fraction,
        "base": job.base.name,
        "kind": kind,
        "how": _config_of_base(job, training),
        **what,
    }


def _config_of_base(job: Job, training: Training) -> dict[str, Any]:
    defaults = {field.name: field.default for field in fields(job.base)}
    how = {
        name: value
        for name, value in asdict(job.base).items()
        if name != "name" and (name not in _ADDED_LATER or value != defaults[name])
    }
    method = methods.METHODS.get(training.method)
    if training.loss is not None or method is None or method.learns is None:
        how.pop("transition_optimiser", None)  # there is no T to train
    version, sha256 = job.module_code
    code = {"module_sha256": sha256, "module_version": version}
    return how | {name: value for name, value in code.items() if value is not None}


def hash_of(configuration: Mapping[str, Any]) -> str:
    """Return the name of a run: the shortened sha256 of its configuration."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def seed_of(dataset: str, setting: str, trial: int) -> list[int]:
    """Return the seed of all random draws in a trial."""
    return [trial, zlib.crc32(f"{dataset}/{setting}".encode())]


def hashes(job: Job) -> list[str]:
    """Return the names of a job's runs."""
    return [hash_of(config(job, training)) for training in job.trainings]


def count_naive(parts: Iterable[Part]) -> int:
    """Return how many trainings the tables would need if no rows shared a training.

    That is one per table row and learning rate. Networks add a second decoder for CPE-F, a second
    criterion for CPE-T and Fwd, and every criterion of all methods if the plan asks for that.
    """
    total = 0
    for part in parts:
        rows = len(part.methods)
        if isinstance(part.base, Network):
            names = {method.name for method in part.methods}
            rows += 2 * ("cpe-f" in names) * bool(part.base.hidden_layer_sizes)
            rows += 2 * ("cpe-t" in names) + 2 * ("fwd" in names)
            rows += 3 * len(names) * part.every_criterion
        columns = len(part.datasets) * len(part.settings)
        total += rows * len(part.learning_rates) * columns * part.trials
    return total
