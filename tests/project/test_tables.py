"""The step that exports the runs of ledgers and builds the committed tables."""

import importlib
from pathlib import Path

import pytest

from experiments_helpers import made_up
from ybar.experiments.plan import reading
from ybar.experiments.runs import transfer
from ybar.experiments.runs.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
PLAN = """
trials = {trials}
datasets = ["digits"]
settings = ["strong"]
[[base]]
name = "knn"
kind = "knn"
"""


@pytest.fixture
def committed(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    study = importlib.import_module("tables")
    monkeypatch.setattr(study, "RESULTS", tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN.format(trials=3))
    return study.Committed(tmp_path / "plan.toml", "runs.csv", ("tables.md",))


def test_runs_of_a_ledger_are_added_to_the_export(committed, tmp_path):
    runs = made_up(reading.read(committed.plan))
    transfer.export(runs[:1], tmp_path / "runs.csv")
    with Ledger(tmp_path / "other.sqlite") as ledger:
        ledger.record(runs[1:])
    committed.rebuild([tmp_path / "other.sqlite"])
    assert {run.hash for run in transfer.read(tmp_path / "runs.csv")} == {run.hash for run in runs}
    assert "(3/3)" in (tmp_path / "tables.md").read_text()


def test_an_export_that_would_lose_runs_stays_as_it_is(committed, tmp_path):
    transfer.export(made_up(reading.read(committed.plan)), tmp_path / "runs.csv")
    before = (tmp_path / "runs.csv").read_bytes()
    (tmp_path / "plan.toml").write_text(PLAN.format(trials=1))
    with pytest.raises(RuntimeError, match=r"runs\.csv would lose 2 of its 3 runs"):
        committed.rebuild([])
    assert (tmp_path / "runs.csv").read_bytes() == before
