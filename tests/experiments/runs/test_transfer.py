"""Exports and merges: what leaves a ledger comes back as it was, and nothing else comes in."""

import csv
import os
from dataclasses import replace

import numpy as np
import pytest

from ledger_helpers import entry, same
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.runs import transfer
from ybar.experiments.runs.ledger import Ledger, LedgerError
from ybar.utils.errors import InputError


def test_curves_arrive_after_what_has_none(ledger, tmp_path):
    with Ledger(tmp_path / "whole.sqlite") as whole:
        whole.record([entry()])
        transfer.export(whole.entries(curves=True), tmp_path / "x.csv")
    transfer.merge(ledger, tmp_path / "x.csv")
    assert ledger.entries(curves=True)[0].curves == {}
    transfer.merge(ledger, tmp_path / "whole.sqlite")
    same(ledger.entries(curves=True)[0], entry())
    transfer.merge(ledger, tmp_path / "x.csv")
    same(ledger.entries(curves=True)[0], entry())


def test_a_csv_has_the_curves_it_is_told_to_have_and_more_of_them_may_come(ledger, tmp_path):
    several = {"loss": np.linspace(2, 1, 300), "scel": np.full(300, 2.25), "ure_max": np.ones(300)}
    made = [entry(1e-3, curves=several), entry(1e-4, curves=several)]
    path = tmp_path / "x.csv"
    chosen = {made[0].hash: {name: several[name] for name in ("loss", "scel")}}
    transfer.export(made, path, chosen)
    first, second = sorted(transfer.read(path), key=lambda each: each.hash != made[0].hash)
    assert first.curves.keys() == {"loss", "scel"}
    np.testing.assert_allclose(first.curves["loss"], several["loss"], rtol=5e-5)
    np.testing.assert_array_equal(first.curves["scel"], 2.25)
    assert second.curves == {}
    same(first, made[0], curves=False)
    transfer.merge(ledger, path)
    with Ledger(tmp_path / "whole.sqlite") as whole:
        whole.record(made)
    assert transfer.merge(ledger, tmp_path / "whole.sqlite") == (2, 0)
    assert transfer.merge(ledger, path) == (0, 2)
    other = {name: np.random.default_rng(0).random(300) for name in several}  # takes more bytes
    with Ledger(tmp_path / "again.sqlite") as again:
        again.record([replace(each, curves=other, seconds=9.0) for each in made])
    assert transfer.merge(ledger, tmp_path / "again.sqlite") == (0, 2)
    for each in ledger.entries(curves=True):
        assert each.curves.keys() == several.keys()
        np.testing.assert_array_equal(each.curves["scel"], 2.25)
        assert each.seconds == made[0].seconds


@pytest.mark.parametrize("config", ['{"a": 1}', "[]", "3"])
def test_rows_made_by_hand_are_refused(ledger, tmp_path, config):
    import json

    name = plan_jobs.hash_of(json.loads(config))
    row = f"hash,config,versions,cause,traceback,seconds,finished\n{name},"
    text = row + '"' + config.replace('"', '""') + '",{},,,1,x\n'
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(LedgerError, match=r"no proper configuration|not an export"):
        transfer.merge(ledger, tmp_path / "x.csv")
    assert ledger.hashes() == {}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("how", None),
        ("trial", "0"),
        ("noise", "much"),
        ("transition", 3),
        ("learning_rate", "fast"),
        ("scores", {"last.scel": "low"}),
        ("versions", {"ybar": 1}),
    ],
)
def test_runs_that_would_break_later_commands_are_refused(ledger, tmp_path, part, value):
    made = entry()
    if part in ("scores", "versions"):
        made = replace(made, **{part: value})
    else:
        config = {**made.config, part: value}
        made = replace(made, config=config, hash=plan_jobs.hash_of(config))
    with Ledger(tmp_path / "other.sqlite") as other:
        other.record([made])
    with pytest.raises(LedgerError, match="no proper configuration or scores"):
        transfer.merge(ledger, tmp_path / "other.sqlite")
    assert ledger.hashes() == {}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "sqlite"])
def test_what_is_exported_can_be_merged(ledger, tmp_path, suffix):
    made = [
        entry(1e-3),
        entry(1e-4, cause="=it broke", traceback="a\nb", scores={}, curves={}),
        entry(1e-5, dataset="-1+1"),
    ]
    ledger.record(made)
    path = tmp_path / f"copy.{suffix}"
    if suffix == "sqlite":
        with Ledger(path) as copy:
            copy.record(made)
    else:
        transfer.export(ledger.entries(curves=True), path)
    with Ledger(tmp_path / "other.sqlite") as other:
        other.record([made[0]])
        assert transfer.merge(other, path) == (2, 1)
        assert transfer.merge(other, path) == (0, 3)
        for a, b in zip(other.entries(curves=True), ledger.entries(curves=True), strict=True):
            same(a, b, curves=suffix != "csv" or a.hash == made[0].hash)


def test_an_export_that_was_changed_is_refused_whole(ledger, tmp_path):
    ledger.record([entry(1e-3), entry(1e-4)])
    path = tmp_path / "runs.csv"
    transfer.export(ledger.entries(), path)
    path.write_text(path.read_text().replace('""epochs"":300', '""epochs"":299', 1))
    with (
        Ledger(tmp_path / "other.sqlite") as other,
        pytest.raises(LedgerError, match="has been changed"),
    ):
        transfer.merge(other, path)
    with Ledger(tmp_path / "other.sqlite") as other:
        assert other.hashes() == {}


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.sqlite"])
def test_what_is_no_export_is_refused(ledger, tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(LedgerError):
        transfer.merge(ledger, tmp_path / name)
    with pytest.raises(InputError, match="does not"):
        transfer.merge(ledger, tmp_path / "missing.csv")


def test_an_export_is_whole_or_not_there(ledger, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"must end in .csv or .parquet"):
        transfer.export([], tmp_path / "x.xlsx")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        transfer.export([entry()], tmp_path / "x.csv")
    assert sorted(os.listdir(tmp_path)) == ["runs.sqlite"]


def test_no_cell_of_a_csv_is_a_formula(tmp_path):
    hostile = ["=1+1", "+1", "-1+cmd", "@SUM(A1)", "\t=1", "\r=1"]
    made = [entry(1e-3, dataset=text, cause=text) for text in hostile]
    transfer.export(made, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            for cell in (row["dataset"], row["cause"]):
                assert cell[0] in "'\\"
    causes = [each.cause for each in transfer.read(tmp_path / "x.csv")]
    assert causes == [text.replace("\r", "\\r") for text in hostile]


def test_no_cell_of_what_was_merged_from_a_stranger_is_a_formula(tmp_path):
    strange = replace(entry(), finished="=HYPERLINK(1)", scores={"=cmd.x": 1.0})
    transfer.export([strange], tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        for cells in csv.reader(file):
            assert not [cell for cell in cells if cell.startswith("=")]
    (back,) = transfer.read(tmp_path / "x.csv")
    assert (back.finished, back.scores) == (strange.finished, strange.scores)
