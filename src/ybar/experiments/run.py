"""Run one job: draw the trial, train, read off every epoch what tables and figures need."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.resources
import math
import platform
import re
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from .. import datasets, decode, labels, transition
from .._extras import require
from .._matrix_file import in_order
from .._typing import AnyArray, FloatArray, IntArray
from .plan import (
    Boosting,
    Dataset,
    Facts,
    Job,
    Neighbors,
    Network,
    Setting,
    Training,
    find_function,
    seed_of,
)

Tell = Callable[[float], Any]

_LONGEST_CAUSE = 1000
_PATHS = re.compile(r"""(?<![\w:/])/(?:[^/\s'"]+/)+([^/\s'"]+)""")
# Methods whose softmax is p and that know of no T: there is nothing for L1 to decode.
_ORDINARY = ("ure", "ure-nn", "ure-ga", "scl-nl", "scl-exp", "dm", "dm-unweighted")
# What is known of published data without having them.
PUBLISHED = {
    name: Facts(sha256, 60_000, 784, tuple(map(str, datasets.REGISTRY[name].classes)))
    for name, sha256 in (
        ("mnist", "d3b60201899d400466b02a4ae8111406dcc74a0cb1e99655bfae939accce07ff"),
        ("fashion-mnist", "a9ba6e0004f489b24c0f0344f14dba3588db4217061f7439624809a5b6243273"),
        ("kmnist", "4740e5c9565e1c3387735c666712b776ca3e1bf20a58c68313c23245e68096f8"),
    )
}


@dataclass
class Outcome:
    """What came of a run.

    Attributes
    ----------
    cause : str or None
        Why it failed, in a line; None where it did not.
    curves : dict of ndarray
        Numbers of each epoch (or of each candidate of a path).
    figures : dict of float
        What tables are made from, see `figures`.
    seconds : float
        Its share of the time of the job.
    versions : dict of str
        Of ybar, Python and the libraries that it ran with.
    """

    training: Training
    cause: str | None = None
    traceback: str | None = None
    curves: dict[str, AnyArray] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = math.nan
    versions: dict[str, str] = field(default_factory=dict)


class Trial(NamedTuple):
    """What all methods of a trial see: T, the labels drawn, the rows to train and validate on."""

    T: FloatArray
    y_comp: IntArray
    training: IntArray
    held_out: IntArray


def load(dataset: Dataset) -> Bunch:
    """Return the data of a plan, their features as rows of numbers; of images, their pixels."""
    found = datasets.load(dataset.path or dataset.name, target=dataset.target)
    for name in ("X_train", "X_test"):
        X = np.asarray(found[name])
        if X.dtype.kind not in "buif":
            raise ValueError(
                f"data set {dataset.name!r} must have features that are numbers; got "
                f"{X.dtype} in {name}. Encode them first"
            )
        if X.dtype.kind == "f" and not np.isfinite(X).all():
            raise ValueError(
                f"data set {dataset.name!r} must have finite features; {name} has missing or "
                "infinite ones. Fill them in first"
            )
        found[name] = np.ascontiguousarray(X.reshape(len(X), math.prod(X.shape[1:])))
    return found


def facts(dataset: Dataset, *, download: bool = True) -> Facts:
    """Return what a plan must know of a data set."""
    published = None if dataset.path else PUBLISHED.get(dataset.name)
    if published and not download and datasets.find(dataset.name) is None:
        return published
    data = load(dataset)
    n_rows, n_features = data.X_train.shape
    return Facts(sha256(data), n_rows, n_features, tuple(map(str, data.classes)))


def sha256(data: Bunch) -> str:
    """Return the sha256 of all features and labels, whatever file they came from."""
    digest = hashlib.sha256()
    for name in ("X_train", "y_train", "X_test", "y_test"):
        array = np.ascontiguousarray(data[name])
        digest.update(f"{name} {array.shape} {array.dtype.kind}{array.dtype.itemsize}".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()


@functools.lru_cache(maxsize=1)
def _loaded(dataset: Dataset, expected: str) -> Bunch:
    data = load(dataset)
    found = sha256(data)
    if found != expected:
        raise ValueError(
            f"data set {dataset.name!r} must be the one planned with, of sha256 {expected}; got "
            f"{found}. Give every worker the same files"
        )
    return data


def draw(data: Bunch, setting: Setting, seed: Sequence[int], validation_fraction: float) -> Trial:
    """Draw T, complementary labels under it (and the noise), and the rows held out."""
    rng = np.random.default_rng(list(seed))
    n_classes = len(data.classes)
    if isinstance(setting.transition, str):
        makers: dict[str, Callable[[], FloatArray]] = {
            "uniform": lambda: transition.uniform(n_classes),
            "weak": lambda: transition.weak(n_classes, rng),
            "strong": lambda: transition.strong(n_classes, rng),
        }
        T = makers[setting.transition]()
    else:
        T = matrix_of(setting, tuple(map(str, data.classes)))
    y_comp = labels.draw(data.y_train, transition.with_uniform_noise(T, setting.noise), rng)
    order = rng.permutation(len(y_comp))
    n_held_out = math.ceil(validation_fraction * len(y_comp))
    return Trial(T, y_comp, np.sort(order[n_held_out:]), np.sort(order[:n_held_out]))


def matrix_of(setting: Setting, classes: Sequence[str]) -> FloatArray:
    """Return the matrix that a setting brings, its rows and columns in the order of the data's."""
    name = f"transition of {setting.name}"
    T = transition.check(setting.transition, len(classes), name=name)
    return in_order(T, setting.classes, classes, name)


def run(job: Job, tell: Tell = lambda _: None, *, source: str | None = None) -> list[Outcome]:
    """Return what came of each run of a job, in the order of its trainings.

    A run that raises does not take the others with it: the job is parted until it stands alone.
    What is wrong with the machine, other data or a missing module, is raised.
    `tell` is given the share of the job that is done, now and then. `source` is that of the
    `versions` that the code must have: a worker may have another ybar.
    """
    started = time.perf_counter()
    own = versions()["source"]  # of the code that runs, should it be changed while it does
    if source is not None and source != own:
        raise ImportError(
            f"ybar must be the one planned with, whose source has the sha256 {source}…; this "
            f"worker has {own}…. Install the same on every worker"
        )
    data = _loaded(job.dataset, job.data_sha256)
    try:
        seed = seed_of(job.dataset.name, job.setting.name, job.trial)
        trial = draw(data, job.setting, seed, job.validation_fraction)
        outcomes = _RUNNERS[type(job.base)](job, data, trial, tell)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:
        if len(job.trainings) == 1:
            return [failure(job.trainings[0], error, time.perf_counter() - started)]
        half = len(job.trainings) // 2
        parts = job.trainings[:half], job.trainings[half:]
        return [o for part in parts for o in run(replace(job, trainings=part), tell)]
    for outcome in outcomes:
        outcome.seconds = (time.perf_counter() - started) / len(outcomes)
        outcome.versions = versions()
    return outcomes


@functools.cache
def versions() -> dict[str, str]:
    """Return what the outcome of a run may depend on besides its configuration."""
    found = {"python": platform.python_version()}
    for name in ("ybar", "numpy", "scipy", "scikit-learn", "torch", "lightgbm"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    digest = hashlib.sha256()
    for file in sorted(importlib.resources.files("ybar").rglob("*.py")):  # type: ignore[attr-defined]
        digest.update(file.read_bytes())
    return found | {"source": digest.hexdigest()[:16]}


def failure(training: Training, error: BaseException, seconds: float = math.nan) -> Outcome:
    """Return the outcome of a run that raised; paths of this machine are left out."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{_module_path(f.filename)}:{f.lineno} in {f.name}: {f.line}" for f in frames]
    cause = _shortened(_PATHS.sub(r"…/\1", " ".join(f"{type(error).__name__}: {error}".split())))
    return Outcome(
        training, cause, "\n".join([*lines, cause]), seconds=seconds, versions=versions()
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_CAUSE else f"{text[:_LONGEST_CAUSE]}…"


def _module_path(filename: str) -> str:
    for mark in ("/site-packages/", "/src/", "/lib/python"):
        if mark in filename:
            return filename.rpartition(mark)[2]
    return filename.rpartition("/")[2]


def _networks(job: Job, data: Bunch, trial: Trial, tell: Tell) -> list[Outcome]:
    torch = require("torch", "torch", "a plan with networks")
    from ..neural import losses
    from ..neural.evaluate import Outputs, Reading, ure_losses
    from ..neural.models import Dense, Module
    from ..neural.objective import Run
    from ..neural.population import Data, Record, Selection, grow
    from ..neural.train import Recipe, Samples

    base, T, y = job.base, trial.T, trial.y_comp
    assert isinstance(base, Network)  # noqa: S101
    n_classes = len(T)
    if base.told_noise:
        T = transition.with_uniform_noise(T, job.setting.noise)
    if base.true_labels:  # a label that is drawn from the unit matrix is the class itself
        T, y = np.eye(n_classes), np.asarray(data.y_train, dtype=np.intp)
    uniform = transition.uniform(n_classes)
    given, its_uniform = (np.asarray(np.linalg.pinv(m), np.float64) for m in (T, uniform))

    @functools.cache
    def method_of(training: Training) -> losses.Method:
        if training.loss is not None:
            return losses.Method(
                find_function(training.loss, training.source),
                estimates=training.estimates,  # type: ignore[arg-type]
                decoder=training.decoder,
            )
        method = losses.find(training.method)
        return losses.assuming(method, uniform) if training.assumed == "uniform" else method

    methods = [method_of(replace(t, learning_rate=None)) for t in job.trainings]
    runs = [
        Run(method, float(t.learning_rate or 0), seed=i)
        for i, (method, t) in enumerate(zip(methods, job.trainings, strict=True))
    ]
    readings = [Reading(method.estimates, "max", T) for method in methods]
    decoders = [decoders_of(t, m.decoder) for t, m in zip(job.trainings, methods, strict=True)]

    def predictions(outputs: Outputs, record: Record) -> dict[str, IntArray]:
        return {decoder: outputs.classes(decoder) for decoder in decoders[record.run.seed]}

    def on_test(outputs: Outputs, record: Record) -> dict[str, float]:
        found = predictions(outputs, record)
        return {f"accuracy_{d}": 100 * float(np.mean(c == data.y_test)) for d, c in found.items()}

    y_held_out = y[trial.held_out]

    def on_held_out(outputs: Outputs, record: Record) -> dict[str, float]:
        found = {}
        for decoder, classes in predictions(outputs, record).items():
            found[f"ure_{decoder}"] = float(ure_losses(classes, y_held_out, given).mean())
            uniformly = ure_losses(classes, y_held_out, its_uniform)
            found[f"ure_uniform_{decoder}"] = float(uniformly.mean())
        return found

    done = dict.fromkeys(range(len(runs)), 0)

    def count(record: Record, epoch: int) -> None:
        news = epoch > max(done.values())
        done[record.run.seed] = base.epochs if record.done else epoch
        if news:
            tell(sum(done.values()) / (base.epochs * len(runs)))

    sizes = [data.X_train.shape[1], *base.hidden_layer_sizes, n_classes]

    def make(those: Sequence[Run]) -> Dense | Module:
        if base.module is not None:
            build = find_function(base.module, job.module_sha256)
            return Module(build, job.trial, torch.device("cpu"))
        return Dense(
            sizes,
            [job.trial] * len(those),
            dropout=base.dropout,
            input_dropout=base.input_dropout,
            seed=job.trial,
        )

    records = grow(
        runs,
        readings,
        Data(
            data.X_train,
            Samples(trial.training, y[trial.training]),
            Samples(trial.held_out, y_held_out),
            T,
            ((data.X_test, on_test),),
            on_held_out,
        ),
        Recipe(base.epochs, base.batch_size, base.weight_decay, base.weight_averaging),
        Selection("last", "scel"),
        make=make,
        width=sizes[1] if base.module is None else 2**31,
        seed=job.trial,
        tell=count,
    )
    outcomes = []
    for training, record in zip(job.trainings, records, strict=True):
        curves = {name: np.array(values) for name, values in record.history.items()}
        for name in ("ure", "ure_std_error"):  # recorded for each decoder
            curves.pop(name, None)
        outcome = Outcome(training, curves=curves)
        if record.failed is not None:
            epoch, batch = record.failed
            outcome.cause = f"the loss was not finite at epoch {epoch}, batch {batch}"
        else:
            outcome.figures = figures(curves, record.judged_from)
        outcomes.append(outcome)
    return outcomes


def decoders_of(training: Training, own: str) -> list[str]:
    """Return the decoders whose predictions a network's run records."""
    return ["max"] if training.method in _ORDINARY else sorted({"l1", "max", own})


def figures(curves: dict[str, AnyArray], judged_from: int = 1) -> dict[str, float]:
    """Return all numbers at the last epoch, and at the lowest of each validation loss.

    Their names are ``last.<curve>`` and ``best-<criterion>.<curve>``, such as
    ``best-scel.accuracy_l1``, and ``best-<criterion>.epoch``. Epochs before `judged_from`, which
    had another T, are not among the best.
    """
    criteria = [name for name in curves if name == "scel" or name.startswith("ure_")]
    places = {"last": len(curves["scel"]) - 1}
    start = min(judged_from, len(curves["scel"])) - 1
    places |= {f"best-{name}": start + int(np.nanargmin(curves[name][start:])) for name in criteria}
    found: dict[str, float] = {}
    for place, at in places.items():
        found[f"{place}.epoch"] = at + 1
        for name, values in curves.items():
            if name != "seconds":
                found[f"{place}.{name}"] = float(values[at])
    return found


def _neighbors(job: Job, data: Bunch, trial: Trial, _: Tell) -> list[Outcome]:
    from ..neighbors import CPEKNeighborsClassifierCV

    base = job.base
    assert isinstance(base, Neighbors)  # noqa: S101
    clf = CPEKNeighborsClassifierCV(
        [k for k in base.n_neighbors if k <= len(trial.training)],
        n_components=base.n_components or None,
        n_jobs=1,
        **_shared(job, data, trial),
    ).fit(data.X_train, trial.y_comp)
    return [_of_path(job, data, trial, clf, ["n_neighbors"])]


def _boosting(job: Job, data: Bunch, trial: Trial, _: Tell) -> list[Outcome]:
    from ..boosting import CPEBoostingClassifierCV

    base = job.base
    assert isinstance(base, Boosting)  # noqa: S101
    clf = CPEBoostingClassifierCV(
        base.learning_rates,
        base.n_estimators,
        method=base.method,
        early_stopping=base.early_stopping,
        lightgbm_params={
            name: value
            for name in ("max_bin", "min_data_in_leaf", "feature_fraction", "bagging_fraction")
            if (value := getattr(base, name)) is not None
        }
        | ({"bagging_freq": 1} if base.bagging_fraction is not None else {}),
        n_jobs=1,
        **_shared(job, data, trial),
    ).fit(data.X_train, trial.y_comp)
    return [_of_path(job, data, trial, clf, ["learning_rate", "n_estimators"])]


def _shared(job: Job, data: Bunch, trial: Trial) -> dict[str, Any]:
    return {
        "transition": trial.T,
        "classes": np.arange(len(data.classes)),
        "cv": [(trial.training, trial.held_out)],
        "random_state": job.trial,
    }


def _of_path(job: Job, data: Bunch, trial: Trial, clf: Any, names: list[str]) -> Outcome:
    """Return the path by SCEL, and what the chosen model makes of the test data."""
    curves = {name: np.asarray(clf.cv_results_[f"param_{name}"]) for name in names}
    curves |= {name: np.asarray(clf.cv_results_[name]) for name in ("scel", "scel_std_error")}
    found = {f"last.{name}": float(clf.best_params_[name]) for name in names}
    found["last.scel"] = -float(clf.best_score_)
    q = clf.predict_complementary_proba(data.X_test)
    for decoder in ("l1", "max", "likelihood"):
        right = decode.decode(q, trial.T, decoder) == data.y_test
        found[f"last.accuracy_{decoder}"] = 100 * float(np.mean(right))
    return Outcome(job.trainings[0], curves=curves, figures=found)


_RUNNERS: dict[type, Callable[[Job, Bunch, Trial, Tell], list[Outcome]]] = {
    Network: _networks,
    Neighbors: _neighbors,
    Boosting: _boosting,
}
