"""Run one job: draw the trial, train, and record what tables and figures need of every epoch."""

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

from ... import labels, transition
from ...classifiers import hold_out
from ..plan.jobs import Job, Training, seed_of
from ..plan.model import Boosting, Neighbors, Network, Setting
from .data import load_planned, matrix_of
from .networks import networks
from .outcome import Outcome, Progress, Trial
from .paths import boosting, neighbors

_LONGEST_CAUSE = 1000
_PATHS = re.compile(r"""(?<![\w:/])/(?:[^/\s'"]+/)+([^/\s'"]+)""")


def draw(data: Bunch, setting: Setting, seed: Sequence[int], validation_fraction: float) -> Trial:
    """Draw T, complementary labels under it (and the noise), and the rows held out."""
    rng = np.random.default_rng(list(seed))
    T = matrix_of(setting, tuple(map(str, data.classes)), rng)
    y_comp = labels.draw(data.y_train, transition.with_uniform_noise(T, setting.noise), rng)
    n_held_out = math.ceil(validation_fraction * len(y_comp))
    return Trial(T, y_comp, *hold_out.split(len(y_comp), n_held_out, rng))


def run(
    job: Job, progress: Progress = lambda _: None, *, source: str | None = None
) -> list[Outcome]:
    """Return the outcome of each run of a job, in the order of its trainings.

    A run that raises does not end the others: the job is split until the failing run is alone.
    Errors of the machine, such as different data or a missing module, are raised. `progress` is
    called regularly with the share of the job that is done. `source` is the hash of ybar's source
    when the job was planned (see `versions`): a worker may have another version of ybar.
    """
    started = time.perf_counter()
    actual = versions()["source"]  # before the run: the files may change during it
    if source is not None and source != actual:
        raise ImportError(
            f"ybar must be the version of the plan, whose source has sha256 {source}…; this "
            f"worker has {actual}…. Install the same on every worker"
        )
    data = load_planned(job.dataset, job.data_sha256)
    try:
        seed = seed_of(job.dataset.name, job.setting.name, job.trial)
        trial = draw(data, job.setting, seed, job.validation_fraction)
        outcomes = _RUNNERS[type(job.base)](job, data, trial, progress)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:
        if len(job.trainings) == 1:
            return [failure(job.trainings[0], error, time.perf_counter() - started)]
        half = len(job.trainings) // 2
        parts = job.trainings[:half], job.trainings[half:]
        return [o for part in parts for o in run(replace(job, trainings=part), progress)]
    for outcome in outcomes:
        outcome.seconds = (time.perf_counter() - started) / len(outcomes)
        outcome.versions = versions()
    return outcomes


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that the outcome of a run may depend on."""
    versions = {"python": platform.python_version()}
    for name in ("ybar", "numpy", "scipy", "scikit-learn", "torch", "lightgbm"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    digest = hashlib.sha256()
    for file in sorted(importlib.resources.files("ybar").rglob("*.py")):  # type: ignore[attr-defined]
        digest.update(file.read_bytes())
    return versions | {"source": digest.hexdigest()[:16]}


def failure(training: Training, error: BaseException, seconds: float = math.nan) -> Outcome:
    """Return the outcome of a run that raised; paths of this machine are left out."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{_module_path(f.filename)}:{f.lineno} in {f.name}: {f.line}" for f in frames]
    cause = _PATHS.sub(r"…/\1", " ".join(f"{type(error).__name__}: {error}".split()))
    if len(cause) > _LONGEST_CAUSE:
        cause = f"{cause[:_LONGEST_CAUSE]}…"
    return Outcome(
        training, cause, "\n".join([*lines, cause]), seconds=seconds, versions=versions()
    )


def _module_path(filename: str) -> str:
    for mark in ("/site-packages/", "/src/", "/lib/python"):
        if mark in filename:
            return filename.rpartition(mark)[2]
    return filename.rpartition("/")[2]


_RUNNERS: dict[type, Callable[[Job, Bunch, Trial, Progress], list[Outcome]]] = {
    Network: networks,
    Neighbors: neighbors,
    Boosting: boosting,
}
