"""Our runs beside the paper's, on the full data; see docs/reproducing.md."""

from __future__ import annotations

import collections
import importlib
import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import model as plan
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.jobs import Job, Training
from ybar.experiments.plan.model import Dataset, Neighbors, Network
from ybar.experiments.results import choose, outputs, published, tables
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


@pytest.fixture(scope="module")
def linear(asked):
    (part,) = (part for part in asked.parts if part.base.name == "linear")
    return part


@pytest.fixture(scope="module")
def choices():
    """What the paper leaves open, the other way round: the plan and its runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "studies" / "choices"))
        yield (
            plan_file.read(ROOT / "studies" / "choices" / "choices.toml"),
            transfer.read(ROOT / "results" / "choices" / "runs.csv"),
        )


@pytest.fixture(scope="module")
def said():
    return " ".join((ROOT / "docs" / "reproducing.md").read_text().split())


def test_the_committed_tables_are_those_of_the_committed_runs(entries, asked, tmp_path):
    outputs.check_folder(tmp_path)
    outputs.write(Runs(entries, asked), tmp_path)
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


def test_the_docs_say_in_how_many_columns_forms_of_ure_ga_agree(built, choices, said):
    others, runs = choices
    table = {table.name: table for table in tables.build(Runs(runs, others))}["linear-clean"]
    agree = {}
    for label, cells in table.rows:
        papers = (published.accuracies()["linear", "linear", "URE-GA", *c] for c in table.columns)
        compared = [replace(c, paper=p).differs for c, p in zip(cells, papers, strict=True)]
        assert None not in compared
        agree[label.removeprefix("URE-GA, ")] = compared.count(False)
    factor, split, ours = (
        agree[name]
        for name in (
            "ascent weighted by the labels of a batch",
            "risk split by complementary label",
            "URE-GA",
        )
    )
    assert f"agrees in {factor} of the 9 columns" in said
    assert f"one with the risk split by complementary label in {split}" in said
    assert f"ours in {ours}." in said
    rows = dict(built["linear-clean"].rows)
    means = [cell.differs for cell in rows["URE-GA"]].count(False)
    assert f"its means agree in {means} of the 9" in said


def test_the_docs_say_in_how_many_trials_ure_ga_is_ahead_of_the_paper(entries, asked, linear, said):
    runs, ahead = Runs(entries, asked), collections.defaultdict(list)
    for dataset, setting in itertools.product(linear.datasets, linear.settings):
        at = ("linear", "linear", "URE-GA", dataset.name, setting.name)
        paper, _ = published.accuracies()[at]
        found = runs.choose_all(linear, plan.METHODS["ure-ga"], dataset, setting, choose.Rule())
        kind = "noise" if setting.noise else setting.name
        ahead[kind] += [chosen.accuracy - paper for chosen in found]
    for kind, words in (
        ("weak", "under a weak T in {} of {} trials"),
        ("strong", "under a strong T in {} of {}"),
        ("noise", "with noise in {} of {}"),
    ):
        assert words.format(sum(gap > 0 for gap in ahead[kind]), len(ahead[kind])) in said
    least, most = min(ahead["uniform"]), max(ahead["uniform"])
    assert f"under uniform T between {-least:.0f} points behind and {most:.0f} ahead" in said


def test_the_docs_say_what_batches_of_other_sizes_give(entries, asked, linear, choices, said):
    plan_of_others, runs_of_others = choices
    runs, others = Runs(entries, asked), Runs(runs_of_others, plan_of_others)
    for size in (64, 1024):
        (part,) = (part for part in plan_of_others.parts if part.base.name == f"batches of {size}")
        _, _, row = said.partition(f"with batches of {size} ")
        for setting in part.settings:
            at = Dataset("kmnist"), setting, 0, choose.Rule()
            gaps = [
                abs(others.choose(part, m, *at).accuracy - runs.choose(linear, m, *at).accuracy)
                for m in part.methods
            ]
            within = re.search(rf"within ([\d.]+) (?:points )?under {setting.name} T", row)
            assert 0 <= float(within[1]) - max(gaps) <= 0.1, (size, setting.name)


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
    for outcome in run.run(job):
        yield known[plan_jobs.hash_of(plan_jobs.config(job, outcome.training))], outcome


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
