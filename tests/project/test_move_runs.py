"""The step that moved the runs of ``cpe-t`` to a plan of their own."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from ybar.experiments.plan import jobs, reading
from ybar.experiments.plan.model import Facts
from ybar.experiments.runs import transfer
from ybar.experiments.runs.entry import Entry

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "studies" / "choices" / "transition_layer.toml"


@pytest.fixture
def move(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    return importlib.import_module("move_runs").move


def runs_of(plan, n):
    """The first runs of the first trial of the linear models of a plan, with curves."""
    plan = reading.read(plan)
    facts = {d: Facts("0" * 64, 0, 0, ("",)) for part in plan.parts for d in part.datasets}
    configs = (
        jobs.config(job, training)
        for job in jobs.jobs(plan, facts)
        for training in job.trainings
        if job.base.name == "linear"
    )
    return [
        Entry(jobs.hash_of(config), config, curves={"loss": np.ones(3)}, seconds=1.5)
        for config, _ in zip(configs, range(n), strict=False)
    ]


def export(runs, file):
    transfer.export(runs, file, {run.hash: run.curves for run in runs})


def test_runs_of_the_plan_move_and_all_others_stay_as_they_are(move, tmp_path):
    source, target, expected = (tmp_path / f"{name}.csv" for name in ("from", "to", "expected"))
    stay, go = runs_of("paper", 4), runs_of(STUDY, 3)
    export([*stay[:2], *go, *stay[2:]], source)
    export(stay, expected)
    assert move(STUDY, source, target) == 3
    assert source.read_bytes() == expected.read_bytes()
    export(go, expected)
    assert target.read_bytes() == expected.read_bytes()
    assert move(STUDY, source, target) == 0
    export(runs_of(STUDY, 5)[2:], source)
    assert move(STUDY, source, target) == 3
    assert [run.hash for run in transfer.read(target)] == [run.hash for run in runs_of(STUDY, 5)]


def test_no_committed_run_of_the_paper_has_to_be_moved():
    study = reading.read(STUDY)
    committed = transfer.read(ROOT / "results" / "paper" / "runs.csv")
    ways = {
        entry.config["how"].get("transition_optimiser")
        for entry in committed
        if entry.config["method"] == "cpe-t"
    }
    assert ways <= {"weights"}
    moved = transfer.read(ROOT / "results" / "choices" / "transition_layer.csv")
    assert len(moved) == 462
    assert {run.config["base"] for run in moved} == {part.base.name for part in study.parts}
