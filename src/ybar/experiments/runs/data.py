"""The data of a plan: load them, identify them, check that the plan can be run on them."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from ... import datasets
from ...transition.reading import Matrix, assumed_order, read_matrix
from ...utils.errors import InputError
from ...utils.typing import FloatArray, IntArray
from ..plan.model import Dataset, Facts, Neighbors, Part, Plan, Setting

Progress = Callable[[float], Any]
"""Called with the share of a job that is done."""

# The facts of published data, so that a dry run need not download them.
PUBLISHED = {
    name: Facts(sha256, n_rows, n_features, tuple(map(str, datasets.REGISTRY[name].classes)))
    for name, n_rows, n_features, sha256 in (
        ("mnist", 60_000, 784, "d3b60201899d400466b02a4ae8111406dcc74a0cb1e99655bfae939accce07ff"),
        (
            "fashion-mnist",
            60_000,
            784,
            "a9ba6e0004f489b24c0f0344f14dba3588db4217061f7439624809a5b6243273",
        ),
        ("kmnist", 60_000, 784, "4740e5c9565e1c3387735c666712b776ca3e1bf20a58c68313c23245e68096f8"),
        (
            "cifar10",
            50_000,
            3072,
            "bcbda401dda9441498a14330ad74fdd12a53a6f7b57cae65234a9049202a26df",
        ),
    )
}


class Trial(NamedTuple):
    """What all methods of a trial share: T, the drawn labels, the rows to train and validate on."""

    T: FloatArray
    y_comp: IntArray
    training: IntArray
    held_out: IntArray


def load(dataset: Dataset) -> Bunch:
    """Return the data, their features as rows of numbers; images become rows of pixels."""
    data = datasets.load(dataset.path or dataset.name, target=dataset.target)
    for name in ("X_train", "X_test"):
        X = np.asarray(data[name])
        if X.dtype.kind not in "buif":
            raise InputError(
                f"dataset {dataset.name!r} must have features that are numbers; got {X.dtype} in "
                f"{name}. Encode them first"
            )
        if X.dtype.kind == "f" and not np.isfinite(X).all():
            raise InputError(
                f"dataset {dataset.name!r} must have finite features; got missing or infinite ones "
                f"in {name}. Fill them in first"
            )
        data[name] = np.ascontiguousarray(X.reshape(len(X), math.prod(X.shape[1:])))
    return data


@functools.lru_cache(maxsize=1)
def load_planned(dataset: Dataset, expected: str) -> Bunch:
    """Return the data, scaled as the plan says, after checking their sha256."""
    data = load(dataset)
    actual = sha256(data)
    if actual != expected:
        raise InputError(
            f"dataset {dataset.name!r} must be the data of the plan, with sha256 {expected}; got "
            f"{actual}. Copy the same files to every worker"
        )
    if dataset.scaled and data.X_train.dtype != np.uint8:
        scaler = StandardScaler().fit(data.X_train)
        data.X_train, data.X_test = map(scaler.transform, (data.X_train, data.X_test))
    return data


def facts(dataset: Dataset, *, download: bool = True) -> Facts:
    """Return the facts of a data set that a plan needs."""
    published = None if dataset.path else PUBLISHED.get(dataset.name)
    if published and not download and datasets.find(dataset.name) is None:
        return published
    data = load(dataset)
    n_rows, n_features = data.X_train.shape
    return Facts(sha256(data), n_rows, n_features, tuple(map(str, data.classes)))


def sha256(data: Bunch) -> str:
    """Return the sha256 of all features and labels, independent of the file format."""
    digest = hashlib.sha256()
    for name in ("X_train", "y_train", "X_test", "y_test"):
        array = np.ascontiguousarray(data[name])
        digest.update(f"{name} {array.shape} {array.dtype.kind}{array.dtype.itemsize}".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()


def matrix_of(
    setting: Setting, classes: Sequence[str], rng: np.random.Generator | None = None
) -> FloatArray:
    """Return the matrix of a setting, its rows and columns in the order of the data's classes."""
    T = setting.transition
    names = list(setting.classes or [])
    source = T if isinstance(T, str) else Matrix(np.asarray(T), names or None)
    name = f"transition of setting {setting.name!r}"
    return read_matrix(source, list(classes), random_state=rng, name=name).T


def assumed_orders(plan: Plan, facts: Mapping[Dataset, Facts]) -> list[str]:
    """Return a warning for each matrix without class names, with the order that is assumed."""
    return list(
        dict.fromkeys(
            assumed_order(
                f"transition of setting {setting.name!r}",
                facts[dataset].classes,
                f"the order of the classes of dataset {dataset.name!r}",
            )
            for part in plan.parts
            for dataset in part.datasets
            for setting in part.settings
            if dataset in facts and setting.classes is None
            if not isinstance(setting.transition, str)
        )
    )


def check(plan: Plan, facts: Mapping[Dataset, Facts]) -> None:
    """Raise `InputError` if the data do not have what the plan needs."""
    for part in plan.parts:
        for dataset in part.datasets:
            if dataset in facts:
                _check_part(part, dataset, facts[dataset], plan.validation_fraction)


def _check_part(part: Part, dataset: Dataset, facts: Facts, fraction: float) -> None:
    if facts.n_classes < 2:
        raise InputError(
            f"dataset {dataset.name!r} must have at least 2 classes; got {facts.n_classes}"
        )
    n_training = facts.n_rows - math.ceil(fraction * facts.n_rows)
    if n_training < 2:
        raise InputError(
            f"validation_fraction must leave at least 2 rows to train on; {fraction} leaves "
            f"{n_training} of the {facts.n_rows} rows of dataset {dataset.name!r}"
        )
    if isinstance(part.base, Neighbors) and min(part.base.n_neighbors) > n_training:
        raise InputError(
            f"n_neighbors of base {part.base.name!r} must have values up to {n_training}, the rows "
            f"of dataset {dataset.name!r} to train on; the smallest is {min(part.base.n_neighbors)}"
        )
    for setting in part.settings:
        if isinstance(setting.transition, str):
            continue
        if len(setting.transition) != facts.n_classes:
            raise InputError(
                f"transition of setting {setting.name!r} must have a row for each of the "
                f"{facts.n_classes} classes of dataset {dataset.name!r}; got "
                f"{len(setting.transition)} rows. List other settings for this dataset"
            )
        try:
            matrix_of(setting, facts.classes)
        except InputError as error:
            raise InputError(f"{error}. It is for dataset {dataset.name!r}") from error
