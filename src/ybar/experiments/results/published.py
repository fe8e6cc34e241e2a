"""The accuracies that the paper published, and the protocol under which they may be compared."""

from __future__ import annotations

import csv
import functools
import importlib.resources
from dataclasses import replace

from ..plan.jobs import training_of
from ..plan.model import Base, Boosting, Dataset, Method, Neighbors, Network, Part, Plan, Setting

DATASETS = ("mnist", "fashion-mnist", "kmnist")
SETTINGS = {
    setting.name: setting
    for setting in (
        *(Setting(name, name) for name in ("uniform", "weak", "strong")),
        *(Setting(f"noise-{level}", "strong", level) for level in (0.1, 0.2, 0.5)),
    )
}
BASES: dict[str, Base] = {
    base.name: base
    for base in (Network("linear"), Network("mlp", (500,)), Neighbors("knn"), Boosting("gbdt"))
}
VALIDATION_FRACTION = 0.1
TRIALS = 5

Accuracy = tuple[float, float]
"""An accuracy and its standard deviation over five trials, in points."""


@functools.cache
def accuracies() -> dict[tuple[str, str, str, str, str], Accuracy]:
    """Return all published accuracies by table, base, row, data set and setting.

    Examples
    --------
    >>> from ybar.experiments.results import published
    >>> published.accuracies()["main", "mlp", "CPE-F", "kmnist", "strong"]
    (75.3, 2.6)
    """
    file = importlib.resources.files("ybar.experiments.results") / "paper.csv"
    names = ("table", "base", "row", "dataset", "setting")
    return {
        tuple(row[name] for name in names): (float(row["accuracy"]), float(row["std"]))  # type: ignore[misc]
        for row in csv.DictReader(file.read_text("utf-8").splitlines())
    }


def accuracy(
    table: str,
    row: str,
    plan: Plan,
    part: Part,
    method: Method,
    dataset: Dataset,
    setting: Setting,
) -> Accuracy | None:
    """Return the paper's accuracy for a cell; None if it has none, or had another protocol.

    The comparison ignores the learning rates, LightGBM's bins (which the paper does not name),
    early stopping of boosting, and how cpe-t trains its T.
    """
    trains_alike = training_of(part, method, setting) == training_of(
        replace(part, uniform_risk=True), method, setting
    )
    base = part.base
    if isinstance(base, Boosting):
        base = replace(base, max_bin=Boosting.max_bin, early_stopping=Boosting.early_stopping)
    if isinstance(base, Network):
        base = replace(base, transition_optimiser="own")
    if (
        not trains_alike
        or plan.validation_fraction != VALIDATION_FRACTION
        or BASES.get(base.name) != base
        or SETTINGS.get(setting.name) != setting
        or dataset.name not in DATASETS
        or dataset.path is not None
    ):
        return None
    return accuracies().get((table, base.name, row, dataset.name, setting.name))
