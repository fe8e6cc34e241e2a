"""What is to be run: a grid that a TOML file describes, and the jobs that it comes to.

`plan_file.read` makes a `Plan` of a file; everything here is plain data that a worker can be sent.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

from ...neural import methods

# Products wider than this gain nothing from more runs side by side (see `neural.population`).
_WIDEST_JOB = 512

ONLY_METHOD = "cpe"
BOOSTING_METHODS = ("cpe-i", "cpe-f")


@dataclass(frozen=True)
class Dataset:
    """Data with true labels, from which complementary ones are drawn."""

    name: str
    path: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class Setting:
    """How complementary labels come about.

    Attributes
    ----------
    transition : "uniform", "weak", "strong" or rows of a matrix
        The T that the learner is given; weak and strong ones are drawn anew for every trial.
    noise : float
        Labels are drawn from (1-noise)T + noise/K.
    classes : tuple of str or None
        The class of each row of the matrix, where it is named; else they are in the data's order.
    """

    name: str
    transition: str | tuple[tuple[float, ...], ...]
    noise: float = 0.0
    classes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Network:
    """Networks of one shape, with the paper's settings unless told otherwise.

    Attributes
    ----------
    module : str or None
        ``module:function`` that builds a torch module, in place of the layers.
    true_labels : bool
        Whether it learns from the true labels: the ceiling of what complementary ones can give.
    told_noise : bool
        Whether the T that it is given has the noise of the setting in it.
    """

    name: str
    hidden_layer_sizes: tuple[int, ...] = ()
    epochs: int = 300
    batch_size: int = 256
    weight_decay: float = 1e-4
    dropout: float = 0.0
    input_dropout: float = 0.0
    weight_averaging: float = 0.0
    module: str | None = None
    true_labels: bool = False
    told_noise: bool = False


@dataclass(frozen=True)
class Neighbors:
    """The paper's CPE-KNN: k by SCEL; `n_components` is 0 for no PCA."""

    name: str
    n_neighbors: tuple[int, ...] = tuple(range(10, 251, 10))
    n_components: int = 32


@dataclass(frozen=True)
class Boosting:
    """The paper's CPE-GBDT: learning rate and number of rounds by SCEL.

    `early_stopping` ends learning rates that can no longer win, as far as their losses so far
    tell (see `CPEBoostingClassifierCV`).
    With `method` "cpe-f" trees learn p through T. What follows it is LightGBM's, and the
    classifier's own where nothing is said.
    """

    name: str
    learning_rates: tuple[float, ...] = (0.01, 0.025, 0.05, 0.1)
    n_estimators: tuple[int, ...] = tuple(range(5, 501, 5))
    max_bin: int = 255
    early_stopping: bool = True
    method: str = "cpe-i"
    min_data_in_leaf: int | None = None
    feature_fraction: float | None = None
    bagging_fraction: float | None = None


Base = Network | Neighbors | Boosting
# What came later: it is no part of the names of runs that have its default.
_LATER = (
    *("dropout", "input_dropout", "weight_averaging"),
    *("module", "true_labels", "told_noise"),
    *("method", "min_data_in_leaf", "feature_fraction", "bagging_fraction"),
)
KINDS: dict[str, type[Base]] = {"network": Network, "knn": Neighbors, "gbdt": Boosting}


@dataclass(frozen=True)
class Method:
    """A row of a table: what is trained, how it is decoded, what chooses its learning rate.

    Attributes
    ----------
    name : str
        As ``method=`` of the networks; "cpe" where the base has only one.
    label : str
        What tables call it.
    criterion : {"scel", "ure"}
    loss : str or None
        ``module:function`` of a method that ybar does not know, and `estimates` as in
        `neural.methods.Method`.
    """

    name: str
    label: str
    decoder: str = "max"
    criterion: str = "scel"
    loss: str | None = None
    estimates: str = "p"


METHODS = {
    name: Method(name, method.label, method.decoder, method.criterion)
    for name, method in methods.METHODS.items()
}
_RISKS = [name for name, method in methods.METHODS.items() if method.family == "risk"]


@dataclass(frozen=True)
class Training:
    """What tells the runs of a job from one another.

    Attributes
    ----------
    method : str
        The method of that name, and those that share its training.
    assumed : {"given", "uniform"}
        The T that the loss is given: the trial's, or the uniform one.
    loss : str or None
        ``module:function``, and `source` the sha256 of the module's file.
    """

    method: str
    learning_rate: float | None = None
    assumed: str = "given"
    loss: str | None = None
    source: str | None = None
    estimates: str = "p"
    decoder: str = "max"


@dataclass(frozen=True)
class Part:
    """The grid of one base.

    Attributes
    ----------
    uniform_risk : bool
        Whether ``ure``, ``ure-nn`` and ``ure-ga`` assume uniform T when they train, as the
        paper's baselines do.
    """

    base: Base
    datasets: tuple[Dataset, ...]
    settings: tuple[Setting, ...]
    trials: int
    methods: tuple[Method, ...]
    learning_rates: tuple[float | None, ...] = (None,)
    uniform_risk: bool = True


@dataclass(frozen=True)
class Plan:
    """All that is to be run."""

    name: str
    parts: tuple[Part, ...]
    validation_fraction: float = 0.1


class Facts(NamedTuple):
    """What a plan must know of a data set before it can name its runs."""

    sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)


@dataclass(frozen=True)
class Job:
    """Runs that train together: one data set, setting, trial and base.

    `module_sha256` is that of the file of the base's module when the job was planned.
    """

    dataset: Dataset
    data_sha256: str
    setting: Setting
    trial: int
    base: Base
    validation_fraction: float
    trainings: tuple[Training, ...]
    module_sha256: str | None = None


def training_of(part: Part, method: Method, setting: Setting) -> Training:
    """Return what must be trained for a row of a table, but for the learning rate.

    ``fwd`` and ``cpe-f`` are one training, under uniform T with ``scl-nl``, whose loss then
    differs by a constant.
    """
    if method.loss is not None:
        return Training(
            method.name,
            loss=method.loss,
            source=_source(method.loss),
            estimates=method.estimates,
            decoder=method.decoder,
        )
    base = part.base
    told_noise = isinstance(base, Network) and base.told_noise and setting.noise > 0
    uniform = setting.transition == "uniform" and not told_noise
    if method.name == "fwd" or (uniform and method.name == "scl-nl"):
        return Training("cpe-f")
    assumed = part.uniform_risk and method.name in _RISKS and not uniform
    return Training(method.name, assumed="uniform" if assumed else "given")


_IMPORTED: dict[str, str] = {}


def find_function(reference: str, source: str | None = None) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, as its file is now.

    `source` is the sha256 that the file must have: a worker may have another.
    """
    module, _, name = reference.partition(":")
    found = importlib.import_module(module)
    now = _source(reference)
    if _IMPORTED.setdefault(module, now) != now:
        found, _IMPORTED[module] = importlib.reload(found), now
    if source is not None and source != now:
        raise ImportError(
            f"{reference!r} must come from the file planned with, of sha256 {source}; "
            f"this worker has {now or 'no file'}. Give every worker the same module"
        )
    return getattr(found, name)  # type: ignore[no-any-return]


def module_sha256(base: Base) -> str | None:
    """Return the sha256 of the file of a base's module as it is now, None where it has none."""
    module = base.module if isinstance(base, Network) else None
    return None if module is None else _source(module)


def _source(reference: str) -> str:
    file = importlib.import_module(reference.partition(":")[0]).__file__
    if file is None:
        return ""
    with open(file, "rb") as opened:
        return hashlib.sha256(opened.read()).hexdigest()


def trainings(part: Part, setting: Setting) -> list[Training]:
    """Return the distinct trainings of one data set, setting and trial."""
    needed = dict.fromkeys(training_of(part, method, setting) for method in part.methods)
    return [replace(t, learning_rate=rate) for t in needed for rate in part.learning_rates]


def jobs(plan: Plan, facts: Mapping[Dataset, Facts]) -> list[Job]:
    """Return all jobs: base by base, trial by trial, so that tables fill evenly."""
    found = []
    for part in plan.parts:
        module = module_sha256(part.base)
        for trial in range(part.trials):
            for setting in part.settings:
                for dataset in part.datasets:
                    known = facts[dataset]
                    job = Job(
                        dataset,
                        known.sha256,
                        setting,
                        trial,
                        part.base,
                        plan.validation_fraction,
                        tuple(trainings(part, setting)),
                        module,
                    )
                    found += parted(job, runs_at_once(part.base, known.n_classes))
    return found


def only(plan: Plan, datasets: Sequence[Dataset]) -> Plan:
    """Return what of a plan is on some of its data sets."""
    parts = (
        replace(part, datasets=tuple(d for d in part.datasets if d in datasets))
        for part in plan.parts
    )
    return replace(plan, parts=tuple(part for part in parts if part.datasets))


def runs_at_once(base: Base, n_classes: int) -> int:
    """Return how many runs make one job: as many as go through one product."""
    if not isinstance(base, Network) or base.module is not None:
        return 1
    return max(1, _WIDEST_JOB // [*base.hidden_layer_sizes, n_classes][0])


def parted(job: Job, most: int) -> list[Job]:
    """Return a job in parts of at most so many runs."""
    every = job.trainings
    return [replace(job, trainings=every[i : i + most]) for i in range(0, len(every), most)]


def config(job: Job, training: Training) -> dict[str, Any]:
    """Return all that a run's outcome depends on, and nothing of the machine it runs on."""
    kind = next(name for name, cls in KINDS.items() if isinstance(job.base, cls))
    setting = {name: value for name, value in asdict(job.setting).items() if name != "name"}
    if setting["classes"] is None:
        del setting["classes"]
    defaults = {field.name: field.default for field in fields(job.base)}
    how = {
        name: value
        for name, value in asdict(job.base).items()
        if name != "name" and (name not in _LATER or value != defaults[name])
    }
    if job.module_sha256 is not None:
        how["module_sha256"] = job.module_sha256
    what = {name: value for name, value in asdict(training).items() if value is not None}
    if training.loss is None:
        del what["estimates"], what["decoder"]  # the method's own
    return {
        "dataset": job.dataset.name,
        "data_sha256": job.data_sha256,
        "setting": job.setting.name,
        **setting,
        "trial": job.trial,
        "validation_fraction": job.validation_fraction,
        "base": job.base.name,
        "kind": kind,
        "how": how,
        **what,
    }


def hash_of(configuration: Mapping[str, Any]) -> str:
    """Return the name of a run: the sha256 of its configuration, shortened."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def seed_of(dataset: str, setting: str, trial: int) -> list[int]:
    """Return the seed from which all of a trial is drawn."""
    return [trial, zlib.crc32(f"{dataset}/{setting}".encode())]


def hashes(job: Job) -> list[str]:
    """Return the names of a job's runs."""
    return [hash_of(config(job, training)) for training in job.trainings]


def count_naive(parts: Iterable[Part]) -> int:
    """Return how many trainings the tables take where nothing is shared.

    A row of each table for every learning rate; of networks also both decoders of CPE-F, and both
    criteria of CPE-T and Fwd.
    """
    total = 0
    for part in parts:
        rows = len(part.methods)
        if isinstance(part.base, Network):
            names = {method.name for method in part.methods}
            rows += 2 * ("cpe-f" in names) * bool(part.base.hidden_layer_sizes)
            rows += 2 * ("cpe-t" in names) + 2 * ("fwd" in names)
        columns = len(part.datasets) * len(part.settings)
        total += rows * len(part.learning_rates) * columns * part.trials
    return total
