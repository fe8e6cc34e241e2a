"""The tables of a plan's TOML file: their keys, and their conversion to a plan.

The checks here raise ValueError with a predicate such as "be some text"; `reading` turns it into
"KEY must be some text; got VALUE".
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, cast

from ... import datasets
from ...neural import methods as networks
from ...transition.counting import ANNOTATORS
from ...transition.reading import WORDS, read_matrix
from ...utils.checks import shown
from ...utils.extras import require
from . import model
from .functions import find_function, identify
from .model import KINDS, KNOWN_KEYS, METHODS, Dataset, Method, Name, Plan, Setting

if TYPE_CHECKING:
    import pydantic
    import pydantic.dataclasses
else:
    pydantic = require("pydantic", "cli", "a plan of experiments")

_DATASETS = ("digits", *datasets.REGISTRY)
_NOISE = re.compile(r"noise-(0?\.\d+|[01](\.0*)?)")


@dataclass
class Definitions:
    """What a plan has defined so far, by name, and the folder that its paths start from.

    With `imports`, modules that the plan names are imported; otherwise they only have to exist.
    """

    folder: Path | None
    imports: bool = True
    datasets: dict[str, Dataset] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)

    def path(self, relative: str) -> Path:
        """Return a path of the plan, which is relative to the folder of the plan."""
        return (self.folder or Path()) / relative


Info = pydantic.ValidationInfo


def _definitions(info: Info) -> Definitions:
    return cast(Definitions, info.context)


class _Matrix(NamedTuple):
    """A transition matrix, or the word for one, and its classes as in `Setting`."""

    rows: str | tuple[tuple[float, ...], ...]
    classes: tuple[str, ...] | None = None


def _matrix(value: Any, info: Info) -> _Matrix:
    if isinstance(value, str) and value in WORDS:  # built for each trial and data set
        return _Matrix(value)
    of_annotators = isinstance(value, str) and value in ANNOTATORS
    is_path = isinstance(value, str) and not of_annotators
    try:
        matrix = read_matrix(_regular(_definitions(info).path(value)) if is_path else value)
    except (ValueError, OSError) as error:
        words = ", ".join(map(repr, (*WORDS, *ANNOTATORS)))
        raise ValueError(
            f"be {words}, rows of numbers, or the path of a CSV file ({error})"
        ) from error
    rows = tuple(map(tuple, matrix.T.tolist()))
    if of_annotators:  # the names are those of other data
        return _Matrix(rows, ())
    return _Matrix(rows, None if matrix.classes is None else tuple(matrix.classes))


def _regular(path: Path) -> Path:
    """Return a path that is not a device or a pipe, which may be endless."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no regular file")
    return path


def _function(value: str, info: Info) -> str:
    # The module may be in the folder of the plan, where this process and its workers must find it.
    folder = _definitions(info).folder
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))  # at the end: a random.py there must not hide Python's
    allowed = "be 'module:function' that Python can import, beside the plan or installed"
    try:
        if not _definitions(info).imports:
            identify(value)
            return value
        function = find_function(value)
    except (Exception, SystemExit) as error:  # a user's module may raise any error
        raise ValueError(f"{allowed} ({type(error).__name__}: {error})") from error
    if not callable(function):
        raise ValueError(f"{allowed}, and that can be called")
    return value


def _look_up(value: Any, known: Mapping[str, Any], *also: str) -> Any:
    if isinstance(value, str) and value in known:
        return known[value]
    near = difflib.get_close_matches(str(value), known, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"be one of {', '.join([*known, *also])}{hint}")


def _find_dataset(value: Any, info: Info) -> Dataset:
    known = {name: Dataset(name) for name in _DATASETS} | _definitions(info).datasets
    return cast(Dataset, _look_up(value, known))


def _find_setting(value: Any, info: Info) -> Setting:
    known = {word: Setting(word, word) for word in WORDS} | _definitions(info).settings
    if isinstance(value, str) and value not in known and _NOISE.fullmatch(value):
        return Setting(value, "strong", float(value.removeprefix("noise-")))
    return cast(Setting, _look_up(value, known, "noise-<level from 0 to 1>"))


def _find_method(value: Any, info: Info) -> Method:
    return cast(Method, _look_up(value, METHODS | _definitions(info).methods))


def _define(values: tuple[Any, ...], info: Info) -> tuple[Any, ...]:
    """Record what an array of tables defines, for the parts of the plan that refer to it."""
    known = getattr(_definitions(info), f"{info.field_name}s")
    for each in values:
        if each.name in known:
            raise ValueError(f"have names that are used once, not {shown(each.name)} twice")
        known[each.name] = each
    return values


Reference = Annotated[Name, pydantic.AfterValidator(_function)]
_EACH_ONCE = model.NOT_EMPTY, model.EACH_ONCE
Datasets = Annotated[
    tuple[Annotated[Dataset, pydantic.BeforeValidator(_find_dataset)], ...], *_EACH_ONCE
]
Settings = Annotated[
    tuple[Annotated[Setting, pydantic.BeforeValidator(_find_setting)], ...], *_EACH_ONCE
]
Methods = Annotated[
    tuple[Annotated[Method, pydantic.BeforeValidator(_find_method)], ...], *_EACH_ONCE
]


def _locate(dataset: Dataset, info: Info) -> Dataset:
    """Return a data set of the plan with the path of its files, which must exist."""
    if dataset.path is None:
        raise ValueError("have a path: a folder of idx files, an .npz, a .csv or a .parquet")
    file = _definitions(info).path(dataset.path)
    if not file.exists():
        raise ValueError(f"have a path to a file or folder that exists; {file} does not")
    if not file.is_dir():
        _regular(file)
    if file.suffix.lower() in (".csv", ".parquet") and dataset.target is None:
        raise ValueError(f"have a target: the column of {dataset.path} with the classes")
    return replace(dataset, path=str(file))


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class _SettingTable:
    name: Name
    transition: Annotated[_Matrix, pydantic.BeforeValidator(_matrix)]
    noise: model.Share = 0.0

    def setting(self) -> Setting:
        return Setting(self.name, self.transition.rows, self.noise, self.transition.classes)


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class _MethodTable:
    name: Name
    loss: Reference
    label: Name | None = None
    estimates: Literal["p", "q"] = "p"
    decoder: model.Decoder = "max"
    criterion: Literal["scel", "ure"] = "scel"

    def method(self) -> Method:
        if self.name in METHODS:
            raise ValueError("have a name that is not a method of ybar")
        label = self.label or self.name
        return Method(self.name, label, self.decoder, self.criterion, self.loss, self.estimates)


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _Grid:
    """The keys of every ``[[base]]``, besides the fields of its base."""

    datasets: Datasets | None = None
    settings: Settings | None = None
    trials: model.Count | None = None

    def part(self, plan: PlanTable) -> model.Part:
        base = _base_of(self)
        return model.Part(
            base,
            self.datasets or plan.datasets or plan.dataset,
            self.settings or plan.settings or plan.setting,  # type: ignore[arg-type]
            self.trials or plan.trials,
            (Method(model.ONLY_METHOD, f"CPE-{base.name.upper()}", "l1"),),
        )


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _NetworkTable(model.Network, _Grid):
    kind: Literal["network"]
    methods: Methods
    learning_rates: model.Rates
    uniform_risk: model.Flag = True
    every_criterion: model.Flag = False
    module: Reference | None = None

    @pydantic.model_validator(mode="after")
    def _check_true_labels(self) -> Self:
        allowed = [name for name, each in networks.METHODS.items() if each.learns_true_labels]
        known = [method.name for method in self.methods if method.loss is None]
        wrong = [name for name in known if name not in allowed]
        if self.true_labels and wrong:
            raise ValueError(
                f"have no method {wrong[0]!r} where true_labels is true, only "
                f"{', '.join(allowed)} or your own"
            )
        return self

    def part(self, plan: PlanTable) -> model.Part:
        return replace(
            super().part(plan),
            methods=self.methods,
            learning_rates=self.learning_rates,
            uniform_risk=self.uniform_risk,
            every_criterion=self.every_criterion,
        )


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _NeighborsTable(model.Neighbors, _Grid):
    kind: Literal["knn"]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _BoostingTable(model.Boosting, _Grid):
    kind: Literal["gbdt"]


_Base = _NetworkTable | _NeighborsTable | _BoostingTable
_KIND = pydantic.Field(discriminator="kind")


def _base_of(table: _Grid) -> model.Base:
    cls = next(cls for cls in KINDS.values() if isinstance(table, cls))
    return cls(**{field.name: getattr(table, field.name) for field in fields(cls)})


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class PlanTable:
    """The whole file."""

    # Checked in this order: definitions come before references to them.
    dataset: Annotated[
        tuple[Annotated[Dataset, pydantic.AfterValidator(_locate)], ...],
        pydantic.AfterValidator(_define),
    ] = ()
    setting: Annotated[
        tuple[Annotated[_SettingTable, pydantic.AfterValidator(_SettingTable.setting)], ...],
        pydantic.AfterValidator(_define),
    ] = ()
    method: Annotated[
        tuple[Annotated[_MethodTable, pydantic.AfterValidator(_MethodTable.method)], ...],
        pydantic.AfterValidator(_define),
    ] = ()
    name: Name | None = None
    validation_fraction: Annotated[float, pydantic.Field(strict=True, gt=0, lt=1)] = 0.1
    datasets: Datasets | None = None
    settings: Settings | None = None
    trials: model.Count = 5
    base: Annotated[tuple[Annotated[_Base, _KIND], ...], model.NOT_EMPTY]

    @pydantic.model_validator(mode="after")
    def _check_bases(self) -> Self:
        names = [base.name for base in self.base]
        if len(set(names)) < len(names):
            raise ValueError(f"have a name for each base, used once; got {', '.join(names)}")
        for i, base in enumerate(self.base):
            for key in ("datasets", "settings"):
                if not (getattr(base, key) or getattr(self, key) or getattr(self, key[:-1])):
                    raise ValueError(f"name {key}, at the top or in base[{i}]")
        return self

    def plan(self, default_name: str) -> Plan:
        """Return the plan."""
        parts = tuple(base.part(self) for base in self.base)
        return Plan(self.name or default_name, parts, self.validation_fraction)


TABLES: dict[int | str, type[Any]] = {
    "dataset": Dataset,
    "setting": _SettingTable,
    "method": _MethodTable,
    "network": _NetworkTable,
    "knn": _NeighborsTable,
    "gbdt": _BoostingTable,
}
"""The tables by the key, or the kind of base, that stands for them in a pydantic error."""
