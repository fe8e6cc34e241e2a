"""What is to be run: the grid of an experiment, and the jobs that it comes to."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    name: str
    transition: str | tuple[tuple[float, ...], ...]
    noise: float = 0.0


@dataclass(frozen=True)
class Network:
    """Networks of one shape, with the paper's settings unless told otherwise."""

    name: str
    hidden_layer_sizes: tuple[int, ...] = ()
    epochs: int = 300
    batch_size: int = 256
    weight_decay: float = 1e-4


@dataclass(frozen=True)
class Neighbors:
    """The paper's CPE-KNN: k by SCEL."""

    name: str
    n_neighbors: tuple[int, ...] = tuple(range(10, 251, 10))
    n_components: int | None = 32


@dataclass(frozen=True)
class Boosting:
    """The paper's CPE-GBDT: learning rate and number of rounds by SCEL."""

    name: str
    learning_rates: tuple[float, ...] = (0.01, 0.025, 0.05, 0.1)
    n_estimators: tuple[int, ...] = tuple(range(5, 501, 5))
    max_bin: int = 255


Base = Network | Neighbors | Boosting


@dataclass(frozen=True)
class Training:
    """What tells the runs of a job from one another.

    Attributes
    ----------
    method : str
        As ``method=`` of the networks; "cpe" where the base has only one.
    assumed : {"given", "uniform"}
        The T that the loss is given: the trial's, or the uniform one.
    loss : str or None
        ``module:function`` of a method that ybar does not know.
    """

    method: str
    learning_rate: float | None = None
    assumed: str = "given"
    loss: str | None = None
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
