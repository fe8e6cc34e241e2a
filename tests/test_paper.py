"""Our runs beside the paper's, on the full data; see docs/reproducing.md."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from ybar.experiments import outputs, plan, plan_file, published, run, tables, transfer
from ybar.experiments.plan import Dataset, Job, Neighbors, Network, Training

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "paper"


@pytest.fixture(scope="module")
def entries():
    return transfer.read(RESULTS / "runs.csv")


@pytest.fixture(scope="module")
def built(entries):
    return {table.name: table for table in tables.build(entries, plan_file.read("paper"))}


def test_the_committed_tables_are_those_of_the_committed_runs(entries, tmp_path):
    outputs.check_folder(tmp_path)
    outputs.write(entries, plan_file.read("paper"), tmp_path)
    for name in ("tables.md", "tables.tex", "tables.csv", "overview.md", "choices.md"):
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), name


def test_no_committed_run_tells_of_the_machine_or_failed(entries):
    for entry in entries:
        assert entry.cause is None
        assert "/" not in "".join(map(str, entry.versions.values()))


def test_cpe_knn_agrees_with_the_paper_in_every_column(built):
    rows = dict(built["traditional"].rows)
    assert len(rows["CPE-KNN"]) == 18
    for cell in rows["CPE-KNN"]:
        assert cell.n == cell.of == 5
        assert cell.differs is False


@pytest.fixture(scope="module")
def default_recipe():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return importlib.import_module("default_recipe")


def test_the_default_recipe_as_committed_beats_the_papers_best_network(default_recipe):
    runs = default_recipe.read()
    assert [(r["dataset"], r["setting"]) for r in runs] != []
    for r in runs:
        assert int(r["epochs"]) <= 40
        best, *_ = default_recipe.best_published(r["dataset"], r["setting"])
        assert float(r["l1"]) > best


def again(entries, dataset, setting, base, *trainings):
    """Run the first trial of a column anew and yield (committed, new) runs."""
    facts = run.facts(Dataset(dataset))
    its = published.SETTINGS[setting]
    job = Job(Dataset(dataset), facts.sha256, its, 0, base, 0.1, trainings)
    known = {entry.hash: entry for entry in entries}
    for outcome in run.run(job):
        yield known[plan.hash_of(plan.config(job, outcome.training))], outcome


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["uniform", "strong"])
@pytest.mark.parametrize("dataset", ["mnist", "fashion-mnist", "kmnist"])
def test_knn_runs_give_the_committed_figures_again(entries, dataset, setting):
    ((before, now),) = again(entries, dataset, setting, Neighbors("knn"), Training("cpe"))
    assert now.figures["last.n_neighbors"] == before.figures["last.n_neighbors"]
    assert now.figures["last.accuracy_l1"] == pytest.approx(
        before.figures["last.accuracy_l1"], abs=0.05
    )


@pytest.mark.slow
def test_linear_runs_give_the_committed_figures_again(entries):
    trainings = [Training(name, 1e-3) for name in ("cpe-f", "cpe-i")]
    for before, now in again(entries, "kmnist", "strong", Network("linear"), *trainings):
        assert now.figures["last.scel"] == pytest.approx(before.figures["last.scel"], rel=1e-3)
        assert now.figures["last.accuracy_l1"] == pytest.approx(
            before.figures["last.accuracy_l1"], abs=0.5
        )


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "setting"), [("kmnist", "strong"), ("mnist", "uniform")])
def test_the_default_recipe_beats_the_papers_best_network(default_recipe, dataset, setting):
    now = default_recipe.default_run(dataset, setting, 0)
    assert now["l1"] > default_recipe.best_published(dataset, setting)[0]
    (before,) = (
        r for r in default_recipe.read() if (r["dataset"], r["setting"]) == (dataset, setting)
    )
    assert now["l1"] == pytest.approx(float(before["l1"]), abs=1)
