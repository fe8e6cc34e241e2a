"""The step that renamed runs from hashes of files to versions: names and configurations only."""

import csv
import importlib
from dataclasses import replace
from pathlib import Path

import pytest

from ybar.experiments.plan import jobs
from ybar.experiments.plan.functions import Code
from ybar.experiments.plan.model import Dataset, Network, Setting
from ybar.experiments.runs import transfer
from ybar.experiments.runs.entry import Entry
from ybar.experiments.runs.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def rename_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    return importlib.import_module("rename_runs")


def entries(rename_runs):
    """A run of the network, one of a loss, one of another network, one of neither."""
    ((module, (_, sha256)),) = rename_runs.MODULES.items()
    loss, source = next(iter(rename_runs.LOSSES.items()))
    plain = jobs.Training("cpe-n", 1e-3)
    own = jobs.Training("mine", 1e-3, loss=loss, code=Code(sha256=source))
    setting, data = Setting("strong", "strong"), Dataset("digits")
    made = []
    for code, base, training in (
        (sha256, Network("cnn", module=module), plain),
        (None, Network("linear"), own),
        ("0" * 64, Network("other", module=module), plain),
        (None, Network("linear"), plain),
    ):
        job = jobs.Job(data, "0" * 64, setting, 0, base, 0.1, (training,), Code(sha256=code))
        config = jobs.config(job, training)
        made.append(Entry(jobs.hash_of(config), config, seconds=1.5, finished="2026-01-01"))
    return made


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_only_names_and_configurations_change(rename_runs, tmp_path, suffix):
    before, file = entries(rename_runs), tmp_path / f"runs.{suffix}"
    if suffix == "csv":
        transfer.export(before, file)
        rename = rename_runs.rename_export
    else:
        with Ledger(file) as ledger:
            ledger.record(before)
        rename = rename_runs.rename_ledger
    assert rename(file) == 2
    assert rename(file) == 0
    after = transfer.read(file)  # which checks the names
    blank = {"hash": "", "config": {}}
    key = str
    assert sorted((replace(e, **blank) for e in after), key=key) == sorted(
        (replace(e, **blank) for e in before), key=key
    )
    assert {e.hash for e in before[2:]} < {e.hash for e in after}
    versions = [
        (e.config["how"].get("module_version"), e.config.get("loss_version")) for e in after
    ]
    assert sorted(versions, key=str) == sorted(
        [(1, None), (None, 1), (None, None), (None, None)], key=str
    )


@pytest.mark.parametrize("name", ["leaderboard", "choices", "paper"])
def test_no_committed_run_has_a_name_to_change(rename_runs, name):
    with (ROOT / "results" / name / "runs.csv").open(newline="") as file:
        csv.field_size_limit(2**24)
        for row in csv.DictReader(file):
            config = rename_runs.json.loads(row["config"])
            assert rename_runs.renamed(config) == config
