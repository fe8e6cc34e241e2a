"""The tables of a plan's TOML file: their keys, and their conversion to a plan.

The checks here raise ValueError with a predicate such as "be some text"; `reading` turns it into
"KEY must be some text; got VALUE".
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, cast

from ... import datasets, transition
from ...neural import methods as networks
from ...transition.counting import ANNOTATORS
from ...transition.reading import WORDS, read_matrix
from ...utils.checks import shown
from ...utils.extras import require
from .functions import find_function, identify
from .model import (
    EACH_ONCE,
    KINDS,
    KNOWN_KEYS,
    METHODS,
    NOT_EMPTY,
    ONLY_METHOD,
    Base,
    Boosting,
    Count,
    Dataset,
    Decoder,
    Flag,
    Method,
    Name,
    Neighbors,
    Network,
    Part,
    Plan,
    Rates,
    Setting,
    Share,
)

if TYPE_CHECKING:
    import pydantic
    import pydantic.dataclasses
else:
    pydantic = require("pydantic", "cli", "a plan of experiments")

_DATASETS = ("digits", *datasets.REGISTRY)


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
    """A transition matrix, or the word for one, and the classes of its rows if they are named."""

    rows: str | tuple[tuple[float, ...], ...]
    classes: tuple[str, ...] | None = None


def _matrix(value: Any, info: Info) -> _Matrix:
    if isinstance(value, str) and value in WORDS:
        return _Matrix(value)
    words = ", ".join(map(repr, (*WORDS, *ANNOTATORS)))
    allowed = f"be {words}, rows of numbers, or the path of a CSV file"
    rows, classes = value, None
    try:
        if isinstance(value, str) and value in ANNOTATORS:  # the classes are other data's
            rows = transition.annotators(value)
        elif isinstance(value, str):
            rows, classes = read_matrix(_regular(_definitions(info).path(value)))
        T = transition.check(rows)
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"{allowed} ({error})") from error
    return _Matrix(
        tuple(tuple(row) for row in T.tolist()), None if classes is None else tuple(classes)
    )


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


def _one_of(known: Iterable[str], value: Any) -> ValueError:
    known = list(known)
    near = difflib.get_close_matches(str(value), known, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return ValueError(f"be one of {', '.join(known)}{hint}")


def _find_dataset(value: Any, info: Info) -> Dataset:
    defined: dict[str, Dataset] = _definitions(info).datasets
    if isinstance(value, str) and value in defined:
        return defined[value]
    if value in _DATASETS:
        return Dataset(value)
    raise _one_of([*_DATASETS, *defined], value)


def _find_setting(value: Any, info: Info) -> Setting:
    defined: dict[str, Setting] = _definitions(info).settings
    if isinstance(value, str):
        if value in defined:
            return defined[value]
        if value in WORDS:
            return Setting(value, value)
        if re.fullmatch(r"noise-(0?\.\d+|[01](\.0*)?)", value):
            return Setting(value, "strong", float(value.removeprefix("noise-")))
    raise _one_of([*WORDS, "noise-<level from 0 to 1>", *defined], value)


def _find_method(value: Any, info: Info) -> Method:
    known: dict[str, Method] = METHODS | _definitions(info).methods
    if isinstance(value, str) and value in known:
        return known[value]
    raise _one_of(known, value)


def _define(values: tuple[Any, ...], info: Info) -> tuple[Any, ...]:
    """Record what an array of tables defines, for the parts of the plan that refer to it."""
    known = getattr(_definitions(info), f"{info.field_name}s")
    for each in values:
        if each.name in known:
            raise ValueError(f"have names that are used once, not {shown(each.name)} twice")
        known[each.name] = each
    return values


Reference = Annotated[Name, pydantic.AfterValidator(_function)]
Datasets = Annotated[
    tuple[Annotated[Dataset, pydantic.BeforeValidator(_find_dataset)], ...], NOT_EMPTY, EACH_ONCE
]
Settings = Annotated[
    tuple[Annotated[Setting, pydantic.BeforeValidator(_find_setting)], ...], NOT_EMPTY, EACH_ONCE
]
Methods = Annotated[
    tuple[Annotated[Method, pydantic.BeforeValidator(_find_method)], ...], NOT_EMPTY, EACH_ONCE
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
    noise: Share = 0.0

    def setting(self) -> Setting:
        return Setting(self.name, self.transition.rows, self.noise, self.transition.classes)


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class _MethodTable:
    name: Name
    loss: Reference
    label: Name | None = None
    estimates: Literal["p", "q"] = "p"
    decoder: Decoder = "max"
    criterion: Literal["scel", "ure"] = "scel"

    def method(self) -> Method:
        if self.name in METHODS:
            raise ValueError("have a name that is not a method of ybar")
        label = self.label or self.name
        return Method(self.name, label, self.decoder, self.criterion, self.loss, self.estimates)


@dataclass(frozen=True)
class _Defaults:
    """Defaults of every ``[[base]]``."""

    datasets: tuple[Dataset, ...]
    settings: tuple[Setting, ...]
    trials: int


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _Grid:
    """The keys of every ``[[base]]``, besides the fields of its base."""

    datasets: Datasets | None = None
    settings: Settings | None = None
    trials: Count | None = None

    def part(self, defaults: _Defaults) -> Part:
        base = _base_of(self)
        return Part(
            base,
            self.datasets or defaults.datasets,
            self.settings or defaults.settings,
            self.trials or defaults.trials,
            (Method(ONLY_METHOD, f"CPE-{base.name.upper()}", "l1"),),
        )


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _NetworkTable(Network, _Grid):
    kind: Literal["network"]
    methods: Methods
    learning_rates: Rates
    uniform_risk: Flag = True
    every_criterion: Flag = False
    module: Reference | None = None

    @pydantic.model_validator(mode="after")
    def _check_true_labels(self) -> Self:
        allowed = [name for name, each in networks.METHODS.items() if each.learns_true_labels]
        wrong = [
            method.name
            for method in self.methods
            if method.loss is None and method.name not in allowed
        ]
        if self.true_labels and wrong:
            raise ValueError(
                f"have no method {wrong[0]!r} where true_labels is true, only "
                f"{', '.join(allowed)} or your own"
            )
        return self

    def part(self, defaults: _Defaults) -> Part:
        part = super().part(defaults)
        return replace(
            part,
            methods=self.methods,
            learning_rates=self.learning_rates,
            uniform_risk=self.uniform_risk,
            every_criterion=self.every_criterion,
        )


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _NeighborsTable(Neighbors, _Grid):
    kind: Literal["knn"]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=KNOWN_KEYS)
class _BoostingTable(Boosting, _Grid):
    kind: Literal["gbdt"]


def _base_of(table: _Grid) -> Base:
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
    trials: Count = 5
    base: Annotated[
        tuple[
            Annotated[
                _NetworkTable | _NeighborsTable | _BoostingTable,
                pydantic.Field(discriminator="kind"),
            ],
            ...,
        ],
        NOT_EMPTY,
    ]

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

    def count(self) -> int:
        """Return how many runs the plan has, before any of them is built."""
        return sum(
            (base.trials or self.trials)
            * len(base.datasets or self.datasets or self.dataset)
            * len(base.settings or self.settings or self.setting)
            * (len(base.methods) * len(base.learning_rates) if base.kind == "network" else 1)
            for base in self.base
        )

    def plan(self, default_name: str) -> Plan:
        """Return the plan."""
        defaults = _Defaults(
            self.datasets or self.dataset,
            self.settings or self.setting,  # type: ignore[arg-type]
            self.trials,
        )
        return Plan(
            self.name or default_name,
            tuple(base.part(defaults) for base in self.base),
            self.validation_fraction,
        )


TABLES: dict[int | str, type[Any]] = {
    "dataset": Dataset,
    "setting": _SettingTable,
    "method": _MethodTable,
    "network": _NetworkTable,
    "knn": _NeighborsTable,
    "gbdt": _BoostingTable,
}
"""The tables by the key, or the kind of base, that stands for them in a pydantic error."""
