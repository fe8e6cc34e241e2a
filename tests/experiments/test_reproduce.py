"""``ybar reproduce``: one command from a plan to the tables."""

import csv
import io
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

import experiments_helpers as helpers
from reproduce_helpers import N_RUNS, PLAN, TABLES, copy, ran, rows
from ybar import datasets, transition
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import model as plans
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.runs import data as run_data
from ybar.transition import reading

pytest.importorskip("torch")
pytest.importorskip("typer")
rich = pytest.importorskip("rich.console")


def failed_where(names):
    """A change of the entries that match: they failed."""

    def change(entry):
        if not helpers.where(entry, names):
            return entry
        return replace(entry, cause="it broke", scores={})

    return change


def test_one_command_gives_the_tables_the_figures_and_the_page(unbroken):
    folder, out = unbroken
    assert len(rows(folder / "mine.sqlite")) == N_RUNS
    assert sorted(os.listdir(folder)) == ["mine-results", "mine.sqlite", "mine.toml"]
    results = folder / "mine-results"
    assert sorted(os.listdir(results)) == sorted([*TABLES, "figures", "report.html"])
    assert "accuracy-by-noise.png" in os.listdir(results / "figures")
    assert "loss-linear-digits.png" in os.listdir(results / "figures")
    for label in ("SCL", "Fwd", "CPE-F", "CPE-T", "CPE-KNN", "(2/2)", "report.html"):
        assert label in out
    assert "CPE-KNN" in (results / "report.html").read_text()


def test_asking_again_runs_nothing_and_writes_the_same_tables(unbroken):
    folder, _ = unbroken
    results = folder / "mine-results"
    before = {name: (results / name).read_bytes() for name in TABLES}
    ledger = (folder / "mine.sqlite").read_bytes()
    code, _, err = ran("reproduce", "mine.toml", cwd=folder)
    assert code == 0, err
    assert {name: (results / name).read_bytes() for name in TABLES} == before
    assert (folder / "mine.sqlite").read_bytes() == ledger


def test_dry_run_counts_and_writes_nothing(unbroken, folder, ran_here):
    code, out, _ = ran_here("reproduce", "mine.toml", "--dry-run", cwd=folder)
    assert code == 0
    assert f"{2 * 2 * (1 + 4 * 2)} runs" in out
    assert f"{N_RUNS} trainings in 8 jobs" in out
    assert f"In the ledger: 0. To run: {N_RUNS}, about" in out
    assert os.listdir(folder) == ["mine.toml"]
    done = unbroken[0] / "mine.sqlite"
    _, out, _ = ran_here("reproduce", "mine.toml", "--dry-run", "--ledger", done, cwd=folder)
    assert f"In the ledger: {N_RUNS}. To run: 0" in out


def test_the_order_of_a_matrix_without_names_is_reported(folder, ran_here):
    T = transition.uniform(10)
    names = [str(i) for i in range(10)]
    np.savetxt(folder / "unnamed.csv", T, delimiter=",")
    (folder / "named.csv").write_text(reading.as_csv(T, names))
    plan = PLAN.replace('"noise-0.2"', '"own"') + '\n[[setting]]\nname = "own"\n'
    for matrix in ("unnamed.csv", "named.csv", "clcifar10"):
        (folder / "own.toml").write_text(f'{plan}transition = "{matrix}"\n')
        code, _, err = ran_here("reproduce", "own.toml", "--dry-run", cwd=folder)
        assert code == 0, err
        assert ("'own'" in err and ", ".join(names) in err) == (matrix == "unnamed.csv")


def test_dry_run_downloads_nothing(folder, monkeypatch):
    monkeypatch.delenv("YBAR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody answers
    code, out, err = ran("reproduce", "paper", "--dry-run", cwd=folder)
    assert code == 0, err
    assert "The whole plan paper: 6480 runs" in out
    assert os.listdir(folder) == ["mine.toml"]


@pytest.mark.parametrize("name", run_data.PUBLISHED)
def test_what_is_known_of_published_data_holds(name):
    if datasets.find(name) is None:
        pytest.skip(f"{name} is not on this machine")
    assert run_data.facts(plans.Dataset(name)) == run_data.PUBLISHED[name]


def test_a_part_is_run_and_the_tables_say_what_is_missing(folder):
    arguments = ["--base", "knn", "--setting", "strong", "--trial", 1, "--epoch", "best"]
    code, out, err = ran("reproduce", "mine.toml", *arguments, cwd=folder)
    assert code == 0, err
    assert len(rows(folder / "mine.sqlite")) == 1
    assert "(1/2)" in out
    assert "CPE-F" not in out  # nothing of that table was run


def test_ledgers_are_exported_and_merged(unbroken, folder, ran_here):
    done, _ = unbroken
    exports = ["--export", folder / "runs.csv", "--export", folder / "runs.parquet"]
    code, _, err = ran_here("reproduce", "mine.toml", "--no-run", *exports, cwd=done)
    assert code == 0, err
    for name in ("runs.csv", "runs.parquet"):
        arguments = [
            "--no-run",
            "--merge",
            name,
            "--ledger",
            f"{name}.sqlite",
            "--output",
            name[5:],
        ]
        code, _, err = ran_here("reproduce", "mine.toml", *arguments, cwd=folder)
        assert code == 0, err
        assert f"{name}: {N_RUNS} new runs, 0 known" in err
        for table in TABLES:
            merged = (folder / name[5:] / table).read_bytes()
            assert merged == (done / "mine-results" / table).read_bytes()
        drawn = os.listdir(folder / name[5:] / "figures")
        assert sorted(drawn) == sorted(os.listdir(done / "mine-results" / "figures"))
        assert any(figure.startswith("loss-") for figure in drawn)


def test_an_export_has_the_runs_of_its_plan_only(unbroken, folder, ran_here):
    (folder / "first.toml").write_text(PLAN.replace("trials = 2", "trials = 1"))
    ledger = ["--ledger", unbroken[0] / "mine.sqlite", "--output", "out"]
    arguments = ["first.toml", "--no-run", *ledger, "--export", "runs.csv"]
    code, _, err = ran_here("reproduce", *arguments, cwd=folder)
    assert code == 0, err
    exported = list(csv.DictReader(io.StringIO((folder / "runs.csv").read_text())))
    assert len(exported) == N_RUNS // 2
    assert {run["trial"] for run in exported} == {"0"}


def test_a_run_that_failed_is_marked_and_said(unbroken, folder, ran_here):
    which = {"method": "cpe-f", "setting": "strong", "learning_rate": 0.01}
    copy(unbroken[0] / "mine.sqlite", folder / "mine.sqlite", failed_where(which))
    code, out, err = ran_here("reproduce", "mine.toml", "--no-run", cwd=folder)
    assert code == 0, err
    assert out.count("(2/2†)") == 4  # Fwd and CPE-F, and the comparison for Fwd
    assert "2 runs failed" in out
    results = folder / "mine-results"
    assert "(2/2†)" in (results / "tables.md").read_text()
    assert r"(2/2\dag{})" in (results / "tables.tex").read_text()
    cells = csv.DictReader(io.StringIO((results / "tables.csv").read_text()))
    assert [cell["failed_runs"] for cell in cells].count("2") == 4
    assert "2 runs failed" in (results / "report.html").read_text()


def test_dry_run_counts_what_will_be_merged_and_what_is_tried_again(unbroken, folder, ran_here):
    copy(unbroken[0] / "mine.sqlite", folder / "other.sqlite", failed_where({"base": "knn"}))
    asked = ["reproduce", "mine.toml", "--dry-run", "--merge", "other.sqlite"]
    _, out, _ = ran_here(*asked, cwd=folder)
    assert f"In the ledger: {N_RUNS}. To run: 0" in out
    _, out, _ = ran_here(*asked, "--retry-failed", cwd=folder)
    assert f"In the ledger: {N_RUNS - 4}. To run: 4" in out
    assert not (folder / "mine.sqlite").exists()


def test_a_cell_of_which_all_runs_failed_is_marked_too(unbroken, folder, ran_here):
    which = {"method": "cpe-f", "setting": "strong"}
    copy(unbroken[0] / "mine.sqlite", folder / "mine.sqlite", failed_where(which))
    code, out, err = ran_here("reproduce", "mine.toml", "--no-run", cwd=folder)
    assert code == 0, err
    assert "(0/2†)" in out
    text = (folder / "mine-results" / "tables.csv").read_text()
    lines = list(csv.DictReader(io.StringIO(text)))
    failed = {int(line["failed_runs"]) for line in lines if line["row"] == "CPE-F"}
    assert len(failed) == 2
    assert min(failed) == 0 < max(failed)


def test_data_that_changed_leave_the_runs_of_before_readable(unbroken, folder, ran_here):
    def on_old_data(entry):
        config = {**entry.config, "data_sha256": "an old one"}
        name = plan_jobs.hash_of(config)
        return replace(entry, hash=name, config=config, finished="2020-01-01T00:00:00+00:00")

    for change in (lambda entry: entry, on_old_data):
        copy(unbroken[0] / "mine.sqlite", folder / "mine.sqlite", change)
    code, _, err = ran_here("reproduce", "mine.toml", "--no-run", cwd=folder)
    assert code == 0, err
    for name in ("tables.md", "tables.csv"):
        now, before = (
            (where / "mine-results" / name).read_bytes() for where in (folder, unbroken[0])
        )
        assert now == before


def test_help_has_examples(capsys, monkeypatch):
    from ybar import cli

    monkeypatch.setattr(sys, "argv", ["ybar", "reproduce", "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for word in (*plan_file.packaged(), "ybar reproduce digits", "--dry-run", "--merge", "--dask"):
        assert word in out


def test_the_plans_that_come_with_ybar_can_be_read():
    assert plan_file.packaged() == ["digits", "field", "leaderboard", "paper"]
    for name in plan_file.packaged():
        assert plan_file.read(name).name == name
