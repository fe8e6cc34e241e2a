"""Our CPE-KNN and CPE-F networks beside the paper's, on the full data."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import numpy as np
import pytest

from ybar import datasets

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def paper_knn(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("paper_knn")


def test_the_committed_figures_agree_with_the_paper(paper_knn):
    runs = paper_knn.read(ROOT / "results" / "cpe_knn.csv")
    published = paper_knn.published()
    assert len(published) == 18
    for (dataset, setting), figure in published.items():
        cell = [r.accuracy for r in runs if (r.dataset, r.setting) == (dataset, setting)]
        assert len(cell) >= 3, (dataset, setting)
        assert paper_knn.agrees(np.mean(cell), figure), (dataset, setting, np.mean(cell), figure)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["uniform", "strong"])
@pytest.mark.parametrize("dataset", ["mnist", "fashion-mnist", "kmnist"])
def test_three_fresh_trials_agree_with_the_paper(paper_knn, dataset, setting):
    data = datasets.load(dataset)
    runs = [paper_knn.run(data, dataset, setting, trial) for trial in range(3)]
    accuracy = np.mean([r.accuracy for r in runs])
    assert paper_knn.agrees(accuracy, paper_knn.published()[dataset, setting]), runs
    committed = paper_knn.read(ROOT / "results" / "cpe_knn.csv")
    for run in runs:
        same = next(r for r in committed if r[:3] == run[:3])
        assert run.n_neighbors == same.n_neighbors
        assert run.accuracy == pytest.approx(same.accuracy, abs=0.05)


@pytest.fixture
def paper_networks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("paper_networks")


def main_table(dataset, setting):
    with (ROOT / "results" / "paper.csv").open(newline="") as file:
        return {
            r["row"]: (float(r["accuracy"]), float(r["std"]))
            for r in csv.DictReader(file)
            if (r["table"], r["base"], r["dataset"], r["setting"])
            == ("main", "mlp", dataset, setting)
        }


def test_the_committed_networks_beat_the_paper_and_reproduce_it(paper_networks, paper_knn):
    with paper_networks.FILE.open(newline="") as file:
        runs = list(csv.DictReader(file))
    complete = 0
    for dataset, setting in paper_networks.COLUMNS:
        column = [r for r in runs if (r["dataset"], r["setting"]) == (dataset, setting)]
        published = main_table(dataset, setting)
        (default,) = (r for r in column if r["recipe"] == "default")
        assert int(default["epochs"]) <= 40
        assert float(default["l1_best"]) > max(accuracy for accuracy, _ in published.values())
        rates = [r for r in column if r["recipe"] == "paper"]
        if len(rates) == len(paper_networks.RATES):
            complete += 1
            chosen = min(rates, key=lambda r: float(r["scel_last"]))
            assert chosen["epochs"] == "300"
            assert paper_knn.agrees(float(chosen["l1_last"]), published["CPE-F"]), chosen
    assert complete >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "setting"), [("kmnist", "strong"), ("mnist", "uniform")])
def test_the_default_recipe_beats_the_papers_best_network(paper_networks, dataset, setting):
    run = paper_networks.default_run(dataset, setting, 0)
    best = max(accuracy for accuracy, _ in main_table(dataset, setting).values())
    assert run["l1_best"] > best
    with paper_networks.FILE.open(newline="") as file:
        (same,) = (
            r
            for r in csv.DictReader(file)
            if (r["dataset"], r["setting"], r["recipe"]) == (dataset, setting, "default")
        )
    assert run["l1_best"] == pytest.approx(float(same["l1_best"]), abs=1)
