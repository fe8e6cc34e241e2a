"""Compare our results under uniform T with the highest published accuracies that we know of.

Reads ``results/paper/runs.csv``, ``results/field/runs.csv`` and ``results/leaderboard/runs.csv``;
writes ``results/anchors.md``.

    python studies/anchors.py
"""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from summary import RESULTS, Recorded, table
from ybar.experiments.plan import model
from ybar.experiments.results import choose


class Anchor(NamedTuple):
    """A published accuracy, with its standard deviation if we know it."""

    dataset: str
    network: str
    method: str
    accuracy: float
    std: float | None = None
    labels: str = "uniform"


ANCHORS = (
    Anchor("mnist", "mlp", "SCL-NL", 94.7),
    Anchor("fashion-mnist", "mlp", "OP-W", 84.58, 0.39),
    Anchor("kmnist", "mlp", "SCL-NL", 76.4),
    Anchor("mnist", "linear", "OP-W", 90.5),
    Anchor("fashion-mnist", "linear", "SCL-EXP", 82.8),
    Anchor("kmnist", "linear", "OP-W", 61.7),
    Anchor("cifar10", "ResNet-18", "SCL-NL, intra-cluster mixup", 64.3),
    Anchor("cifar10", "DenseNet", "–", 54.6),
    Anchor("cifar10", "ResNet", "Fwd", 50.6),
    Anchor("cifar10", "–", "Fwd", 69.5, 1.2, "ACLCIFAR10"),
    Anchor("cifar10", "–", "CPE-F", 69.1, 1.1, "ACLCIFAR10"),
)
OURS = {"mlp": ("leaderboard", "ours", "cpe-n"), "linear": ("paper", "linear", "cpe-f")}
"""The plan, base and method of our result for each network."""
LAYERS = {"mlp": "784-500-10", "linear": "784-10"}


def shown(values: Collection[float]) -> str:
    """Return the mean ± standard deviation over trials, and the number of trials."""
    if not values:
        return "not run"
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread} ({len(values)})"


def anchors() -> str:
    """Return the table of anchors as Markdown."""
    plans = {
        "paper": Recorded.of("paper", "paper/runs.csv"),
        "leaderboard": Recorded.of("leaderboard", "leaderboard/runs.csv"),
        "field": Recorded.of("field", "field/runs.csv", "paper/runs.csv"),
    }
    rows = []
    for anchor in ANCHORS:
        where = model.Dataset(anchor.dataset), model.Setting("uniform", "uniform")
        ours: Collection[float] = ()
        rival: Collection[float] = ()
        if anchor.network in OURS:
            name, base, method = OURS[anchor.network]
            rule = choose.Rule("best" if name == "leaderboard" else "last")
            by_scel = replace(model.METHODS[method], criterion="scel")
            ours = plans[name].accuracies(base, by_scel, *where, rule).values()
            same = replace(model.METHODS[anchor.method.lower()], criterion="scel")
            rival = plans["field"].accuracies(anchor.network, same, *where).values()
        gap = f"{statistics.fmean(ours) - anchor.accuracy:+.1f}" if ours else "–"
        rows.append(
            (
                *(anchor.dataset, anchor.labels, LAYERS.get(anchor.network, anchor.network)),
                f"{anchor.accuracy}{f' ± {anchor.std}' if anchor.std else ''} ({anchor.method})",
                *(shown(ours), gap, shown(rival)),
            )
        )
    names = ("data", "labels", "network", "published", "ours", "difference")
    return table((*names, "the published method, run by us"), *rows)


if __name__ == "__main__":
    (RESULTS / "anchors.md").write_text(anchors())
