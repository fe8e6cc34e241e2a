"""The paper's accuracies stand only beside runs of the paper's protocol."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments_helpers import part_of
from ybar.experiments.plan.model import (
    METHODS,
    Boosting,
    Dataset,
    Method,
    Neighbors,
    Network,
    Setting,
)
from ybar.experiments.results import published, tables
from ybar.experiments.results.choose import Runs


def test_every_published_figure_stands_in_one_cell(paper):
    bases = {"main": "mlp", "decoders": "mlp", "linear": "linear"}
    found = {}
    for table in tables.build(Runs([], paper)):
        for label, dataset, setting, cell in table.cells():
            name = table.name.removesuffix("-clean").removesuffix("-noisy")
            base, _, row = label.rpartition(" ")
            base = base or bases.get(name) or label.removeprefix("CPE-").lower()
            assert (name, base, row, dataset, setting) not in found
            found[name, base, row, dataset, setting] = cell.paper
    assert len(found) == 468
    assert found == published.accuracies()


@pytest.mark.parametrize(
    ("base", "change", "kept"),
    [
        ("mlp", {}, 18 * 7),
        ("mlp", {"learning_rates": (1e-3,)}, 18 * 7),
        ("mlp", {"trials": 1}, 18 * 7),
        ("mlp", {"base": Network("mlp", (500,), epochs=40)}, 0),
        ("mlp", {"base": Network("mlp", (300,))}, 0),
        ("mlp", {"base": Network("big", (500,))}, 0),
        ("linear", {"base": Network("linear", batch_size=512)}, 0),
        ("mlp", {"datasets": (Dataset("mnist", "/tmp/mine"), Dataset("kmnist"))}, 6 * 7),
        ("mlp", {"datasets": (Dataset("digits"),)}, 0),
        ("mlp", {"settings": (Setting("weak", "strong"), Setting("strong", "strong"))}, 3 * 7),
        ("mlp", {"settings": (Setting("noise-0.1", "strong", 0.2),)}, 0),
        ("mlp", {"uniform_risk": False}, 18 * 6 + 3),  # under uniform T it is the same training
        ("mlp", {"methods": (METHODS["cpe-n"], METHODS["fwd"])}, 18),
        ("mlp", {"methods": (replace(METHODS["fwd"], label="Forward"),)}, 18),
        ("mlp", {"methods": (replace(METHODS["fwd"], criterion="scel"),)}, 0),
        ("mlp", {"methods": (Method("mine", "CPE-F", "l1", loss="json:loads"),)}, 0),
        ("knn", {"base": Neighbors("knn", (10, 20))}, 0),
        ("gbdt", {"base": Boosting("gbdt", max_bin=15)}, 18),
        ("gbdt", {"base": Boosting("gbdt", n_estimators=(5,))}, 0),
    ],
)
def test_published_figures_stand_only_beside_the_papers_protocol(paper, base, change, kept):
    plan = replace(paper, parts=(replace(part_of(paper, base), **change),))
    compared = ("decoders", "validation-cpe-t", "validation-fwd")
    cells = [
        cell
        for table in tables.build(Runs([], plan))
        if table.name not in compared
        for *_, cell in table.cells()
    ]
    assert sum(cell.paper is not None for cell in cells) == kept


def test_trees_that_all_run_to_their_end_are_the_papers_protocol(paper):
    (part,) = [p for p in paper.parts if p.base.name == "gbdt"]
    to_the_end = replace(part, base=replace(part.base, early_stopping=False))
    changed = replace(paper, parts=(to_the_end,))
    assert tables.agreement(tables.build(Runs([], changed))).published == 18


def test_another_share_held_out_is_another_protocol(paper):
    built = tables.build(Runs([], replace(paper, validation_fraction=0.2)))
    assert tables.agreement(built).published == 0
