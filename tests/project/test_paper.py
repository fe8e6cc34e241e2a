"""Our runs beside the paper's, on the full data; see docs/reproducing.md."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.jobs import Job, Training
from ybar.experiments.plan.model import Dataset, Neighbors, Network
from ybar.experiments.results import outputs, published, render, tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import run, transfer

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "paper"


@pytest.fixture(scope="module")
def entries():
    return transfer.read(RESULTS / "runs.csv")


@pytest.fixture(scope="module")
def asked():
    return plan_file.read("paper")


@pytest.fixture(scope="module")
def built(entries, asked):
    return {table.name: table for table in tables.build(Runs(entries, asked))}


def test_the_committed_tables_are_those_of_the_committed_runs(entries, asked, tmp_path):
    outputs.check_folder(tmp_path)
    outputs.write(Runs(entries, asked), tmp_path)
    for name in ("tables.md", "tables.tex", "tables.csv", "overview.md", "choices.md"):
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), name


@pytest.mark.parametrize(
    ("plan", "table", "exports"),
    [
        ("field", "field/tables.md", ["paper/runs.csv", "choices/transition_layer.csv"]),
        (ROOT / "studies/choices/choices.toml", "choices/tables.md", ["choices/runs.csv"]),
    ],
    ids=["field", "choices"],
)
def test_the_tables_of_other_plans_are_those_of_their_runs(plan, table, exports):
    own = ROOT / "results" / "field" / "runs.csv"
    files = [ROOT / "results" / export for export in exports] + [own] * own.exists()
    entries = [entry for file in files for entry in transfer.read(file)]
    built = tables.build(Runs(entries, plan_file.read(plan)))
    text = (ROOT / "results" / table).read_text().partition("\n\n")[2]
    assert text == "\n".join(map(render.markdown, built))


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
def leaderboard():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "studies"))
        return importlib.import_module("leaderboard")


def test_the_committed_leaderboard_is_that_of_the_committed_runs(leaderboard):
    ours, papers = leaderboard.rows("leaderboard"), leaderboard.rows("paper")
    for name, text in {
        "leaderboard": leaderboard.board(ours, papers),
        "ablation": leaderboard.ablation(ours),
        "recipe_choices": leaderboard.recipe_choices(ours),
        "noise": leaderboard.noise(ours),
        "trees": leaderboard.trees(ours, papers),
    }.items():
        assert (ROOT / "results" / f"{name}.md").read_text() == text


def test_no_run_stands_twice_on_the_leaderboard(leaderboard):
    names = ("base", "method", "dataset", "setting", "trial", "learning_rate")
    runs = [tuple(row[name] for name in names) for row in leaderboard.rows("leaderboard")]
    assert len(set(runs)) == len(runs) > 0


def again(entries, dataset, setting, base, *trainings):
    """Run the first trial of a column anew and yield (committed, new) runs."""
    facts = run_data.facts(Dataset(dataset))
    its = published.SETTINGS[setting]
    job = Job(Dataset(dataset), facts.sha256, its, 0, base, 0.1, trainings)
    known = {entry.hash: entry for entry in entries}
    for entry in run.run(job):
        yield known[entry.hash], entry


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["uniform", "strong"])
@pytest.mark.parametrize("dataset", ["mnist", "fashion-mnist", "kmnist"])
def test_knn_runs_give_the_committed_figures_again(entries, dataset, setting):
    ((before, now),) = again(entries, dataset, setting, Neighbors("knn"), Training("cpe"))
    assert now.scores["last.n_neighbors"] == before.scores["last.n_neighbors"]
    assert now.scores["last.accuracy_l1"] == pytest.approx(
        before.scores["last.accuracy_l1"], abs=0.05
    )


@pytest.mark.slow
def test_linear_runs_give_the_committed_figures_again(entries):
    trainings = [Training(name, 1e-3) for name in ("cpe-f", "cpe-i")]
    for before, now in again(entries, "kmnist", "strong", Network("linear"), *trainings):
        assert now.scores["last.scel"] == pytest.approx(before.scores["last.scel"], rel=1e-3)
        assert now.scores["last.accuracy_l1"] == pytest.approx(
            before.scores["last.accuracy_l1"], abs=0.5
        )


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "setting"), [("kmnist", "strong"), ("mnist", "uniform")])
def test_the_recipe_is_ahead_of_the_papers_best_again(leaderboard, dataset, setting):
    (part,) = (p for p in plan_file.read("leaderboard").parts if p.base.name == "ours")
    entries = transfer.read(ROOT / "results" / "leaderboard" / "runs.csv")
    for before, now in again(entries, dataset, setting, part.base, Training("cpe-n", 1e-3)):
        accuracy = now.scores["best-scel.accuracy_max"]
        assert accuracy > leaderboard.best_published(dataset, setting)[0]
        assert accuracy == pytest.approx(before.scores["best-scel.accuracy_max"], abs=1)
