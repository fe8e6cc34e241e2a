"""Our CPE-KNN beside the paper's, on the full data."""

from __future__ import annotations

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
