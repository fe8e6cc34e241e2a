"""The model of a plan: what is to be run, on which data, and how labels are drawn.

`reading` builds a `Plan` from a TOML file, `jobs` the jobs that it comes to. The classes are plain,
frozen data that can be sent to a worker; pydantic checks their fields.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from ... import decode
from ...neural import methods
from ...utils.extras import require

if TYPE_CHECKING:
    import pydantic
    import pydantic.dataclasses
else:
    pydantic = require("pydantic", "cli", "a plan of experiments")
    require("pydantic.dataclasses", "cli", "a plan of experiments")

ONLY_METHOD = "cpe"
KNOWN_KEYS = pydantic.ConfigDict(extra="forbid")
"""An unknown key is an error."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("be some text")
    return value


def _each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("have each value once")
    return values


def _is_decoder(value: str) -> str:
    try:
        decode.check_method(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"be a decoder ({error})") from error
    return value


# Strict: the text "1" is not a number, and neither is true.
Name = Annotated[str, pydantic.AfterValidator(_not_blank)]
Decoder = Annotated[str, pydantic.AfterValidator(_is_decoder)]
Flag = Annotated[bool, pydantic.Field(strict=True)]
Count = Annotated[int, pydantic.Field(strict=True, ge=1)]
Positive = Annotated[float, pydantic.Field(strict=True, gt=0, allow_inf_nan=False)]
Share = Annotated[float, pydantic.Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
ShareAbove0 = Annotated[float, pydantic.Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
ShareBelow1 = Annotated[float, pydantic.Field(strict=True, ge=0, lt=1, allow_inf_nan=False)]
NOT_EMPTY = pydantic.Field(min_length=1)
EACH_ONCE = pydantic.AfterValidator(_each_once)
Counts = Annotated[tuple[Count, ...], NOT_EMPTY, EACH_ONCE]
Rates = Annotated[tuple[Positive, ...], NOT_EMPTY, EACH_ONCE]


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class Dataset:
    """Data with true labels, from which complementary ones are drawn.

    With `scale`, features of data from a path get mean 0 and deviation 1 in the training rows.
    Images (uint8) are scaled to [0, 1] instead, as those that come with ybar.
    """

    name: Name
    path: Name | None = None
    target: Name | None = None
    scale: Flag = True

    @property
    def scaled(self) -> bool:
        """Whether the features are scaled as `scale` says."""
        return self.path is not None and self.scale


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class Setting:
    """How complementary labels are drawn: from (1-noise)T + noise/K.

    The learner gets T: rows, or "uniform", "weak" or "strong". The last two are drawn anew for
    every trial.
    """

    name: str
    transition: str | tuple[tuple[float, ...], ...]
    noise: Share = 0.0
    # The names of the rows. Without names they are in the order of the data's classes: (), if that
    # is what the plan says, None if it is assumed.
    classes: tuple[str, ...] | None = None


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class Network:
    """Networks of one shape; the defaults are the paper's settings, but for the T of cpe-t.

    `transition_optimiser` says how T is learned: without weight decay and with a small epsilon, or
    as the weights, with their decay and Adam's default epsilon, which is what the paper describes.
    """

    name: Name
    hidden_layer_sizes: tuple[Count, ...] = ()
    epochs: Count = 300
    batch_size: Count = 256
    weight_decay: Share = 1e-4
    dropout: ShareBelow1 = 0.0
    input_dropout: ShareBelow1 = 0.0
    weight_averaging: ShareBelow1 = 0.0
    module: Name | None = None  # "module:function" that builds a torch module
    true_labels: Flag = False  # learn from them: the ceiling for complementary labels
    told_noise: Flag = False  # the learner's T includes the noise of the setting
    transition_optimiser: Literal["own", "weights"] = "own"

    @pydantic.model_validator(mode="after")
    def _check_layers(self) -> Self:
        layers = self.hidden_layer_sizes or self.dropout or self.input_dropout
        if self.module is not None and layers:
            raise ValueError(
                "have no hidden_layer_sizes, dropout or input_dropout beside a module, which has "
                "its own layers"
            )
        return self


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class Neighbors:
    """The paper's CPE-KNN, k chosen by SCEL; `n_components` is 0 for no PCA."""

    name: Name
    n_neighbors: Counts = tuple(range(10, 251, 10))
    n_components: Annotated[int, pydantic.Field(strict=True, ge=0)] = 32


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class Boosting:
    """The paper's CPE-GBDT, learning rate and number of rounds chosen by SCEL.

    `early_stopping` ends learning rates whose losses so far suggest that they cannot win (see
    `CPEBoostingClassifierCV`). With `method` "cpe-f" the trees learn p through T. The other
    parameters are LightGBM's; None leaves them at the classifier's defaults.
    """

    name: Name
    learning_rates: Rates = (0.01, 0.025, 0.05, 0.1)
    n_estimators: Counts = tuple(range(5, 501, 5))
    max_bin: Annotated[int, pydantic.Field(strict=True, ge=2)] = 255
    early_stopping: Flag = True
    method: Literal["cpe-i", "cpe-f"] = "cpe-i"
    min_data_in_leaf: Count | None = None
    feature_fraction: ShareAbove0 | None = None
    bagging_fraction: ShareAbove0 | None = None


Base = Network | Neighbors | Boosting
KINDS: dict[str, type[Base]] = {"network": Network, "knn": Neighbors, "gbdt": Boosting}


@pydantic.dataclasses.dataclass(frozen=True, config=KNOWN_KEYS)
class Method:
    """A row of a table: what is trained, how it is decoded, what chooses its learning rate."""

    name: Name  # as ``method=`` of the networks; "cpe" for bases that have only one method
    label: Name  # what tables call it
    decoder: Decoder = "max"
    criterion: Literal["scel", "ure", "true"] = "scel"  # "true": the test accuracy, to compare with
    loss: Name | None = None  # "module:function" of a method that ybar does not know
    estimates: Literal["p", "q"] = "p"  # as in `neural.methods.Method`


METHODS = {
    name: Method(name, method.label, method.decoder, method.criterion)
    for name, method in methods.METHODS.items()
}


@dataclass(frozen=True)
class Part:
    """The grid of one base."""

    base: Base
    datasets: tuple[Dataset, ...]
    settings: tuple[Setting, ...]
    trials: int
    methods: tuple[Method, ...]
    learning_rates: tuple[float | None, ...] = (None,)
    uniform_risk: bool = True  # ure, ure-nn and ure-ga assume uniform T, as in the paper
    every_criterion: bool = False  # a table shows each method by each criterion


@dataclass(frozen=True)
class Plan:
    """Everything that is to be run."""

    name: str
    parts: tuple[Part, ...]
    validation_fraction: float = 0.1

    @property
    def n_runs(self) -> int:
        """How many runs of a method at a learning rate on a trial the tables show."""
        return sum(
            math.prod(map(len, (p.methods, p.learning_rates, p.datasets, p.settings))) * p.trials
            for p in self.parts
        )


class Facts(NamedTuple):
    """The facts about a data set that the names of runs depend on."""

    sha256: str
    n_rows: int
    n_features: int
    classes: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)
