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
from dataclasses import replace

import numpy as np
from sklearn.utils import Bunch

from ... import datasets, labels, transition
from ...transition.reading import in_order
from ...utils.typing import FloatArray
from ..plan.jobs import Job, Training, seed_of
from ..plan.model import Boosting, Dataset, Facts, Neighbors, Network, Setting
from .networks import networks
from .outcome import Outcome, Tell, Trial
from .paths import boosting, neighbors

_LONGEST_CAUSE = 1000
_PATHS = re.compile(r"""(?<![\w:/])/(?:[^/\s'"]+/)+([^/\s'"]+)""")
# What is known of published data without having them.
PUBLISHED = {
    name: Facts(sha256, 60_000, 784, tuple(map(str, datasets.REGISTRY[name].classes)))
    for name, sha256 in (
        ("mnist", "d3b60201899d400466b02a4ae8111406dcc74a0cb1e99655bfae939accce07ff"),
        ("fashion-mnist", "a9ba6e0004f489b24c0f0344f14dba3588db4217061f7439624809a5b6243273"),
        ("kmnist", "4740e5c9565e1c3387735c666712b776ca3e1bf20a58c68313c23245e68096f8"),
    )
}


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


_RUNNERS: dict[type, Callable[[Job, Bunch, Trial, Tell], list[Outcome]]] = {
    Network: networks,
    Neighbors: neighbors,
    Boosting: boosting,
}
