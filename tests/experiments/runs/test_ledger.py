"""The ledger: a run is written once and whole, and nothing that happens to the file goes unsaid."""

import csv
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan.jobs import Job, Training
from ybar.experiments.plan.model import Dataset, Network, Setting
from ybar.experiments.runs import transfer
from ybar.experiments.runs.ledger import Entry, Ledger, LedgerError
from ybar.utils.errors import InputError


def entry(rate=1e-3, dataset="digits", **changes):
    training = Training("cpe-f", rate)
    job = Job(Dataset(dataset), "0" * 64, Setting("s", "strong"), 0, Network("l"), 0.1, (training,))
    config = plan_jobs.config(job, training)
    made = Entry(
        plan_jobs.hash_of(config),
        config,
        scores={"last.scel": 2.25, "last.accuracy_l1": 75.43},
        curves={"scel": np.array([2.5, np.nan, 2.25])},
        seconds=1.5,
        finished="2026-01-01T00:00:00+00:00",
        versions={"ybar": "0", "python": "3"},
    )
    return replace(made, **changes)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "runs.sqlite") as opened:
        yield opened


def same(a, b, *, curves=True):
    assert replace(a, curves={}, config={}) == replace(b, curves={}, config={})
    assert plan_jobs.hash_of(a.config) == plan_jobs.hash_of(b.config)
    if curves:
        assert a.curves.keys() == b.curves.keys()
        for name, values in a.curves.items():
            np.testing.assert_array_equal(values, np.float32(b.curves[name]))


def test_what_is_recorded_is_read_back_and_only_once(ledger):
    first = entry()
    assert ledger.record([first]) == 1
    assert ledger.record([replace(first, seconds=9.0)]) == 0
    (found,) = ledger.entries(curves=True)
    same(found, first)
    assert ledger.entries()[0].curves == {}
    assert ledger.hashes() == {first.hash: True}


def test_runs_of_a_job_are_written_together_or_not_at_all(ledger):
    good, bad = entry(1e-3), replace(entry(1e-4), hash="0" * 32)
    with pytest.raises(ValueError, match="must be that of its configuration"):
        ledger.record([good, bad])
    assert ledger.hashes() == {}


def test_a_failure_gives_way_to_a_success_only_where_asked(ledger):
    failed, well = entry(cause="it broke", scores={}), entry()
    ledger.record([failed])
    assert ledger.record([well]) == 0
    assert ledger.record([well], replace=True) == 1
    assert ledger.record([failed], replace=True) == 0
    assert ledger.hashes() == {well.hash: True}


def test_failed_runs_are_forgotten_on_demand(ledger):
    failed, well = entry(1e-3, cause="it broke"), entry(1e-4)
    ledger.record([failed, well])
    assert ledger.forget_failed([failed.hash, well.hash]) == 1
    assert ledger.hashes() == {well.hash: True}


def test_entries_come_in_an_order_that_does_not_depend_on_when_they_came(tmp_path):
    made = [entry(rate, name) for rate in (1e-3, 1e-4) for name in ("b", "a")]
    orders = []
    for i, order in enumerate([made, made[::-1]]):
        with Ledger(tmp_path / f"{i}.sqlite") as opened:
            for each in order:
                opened.record([each])
            orders.append([e.hash for e in opened.entries()])
    assert orders[0] == orders[1]


def test_a_run_is_claimed_by_one_sweep_at_a_time(ledger):
    names = [entry(rate).hash for rate in (1e-3, 1e-4, 1e-5)]
    ledger.record([entry(1e-3)])
    with Ledger(ledger.path) as other:
        assert ledger.claim(names[:2]) == ([names[1]], [])
        assert other.claim(names) == ([names[2]], [names[1]])
        assert ledger.claim(names) == ([names[1]], [names[2]])
    assert ledger.claim(names) == (names[1:], [])  # what the other left


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_to_a_ledger_sees_its_claims(ledger):
    folder = ledger.path.parent / "elsewhere"
    folder.mkdir()
    (folder / "link.sqlite").symlink_to(ledger.path)
    assert ledger.claim(["a", "b"]).mine == ["a", "b"]
    with Ledger(folder / "link.sqlite") as other:
        assert other.claim(["a", "b"]).mine == []
    assert os.listdir(folder) == ["link.sqlite"]


def test_claims_of_a_killed_sweep_are_worth_nothing(ledger):
    name = entry().hash
    code = (
        "import sys, time; from ybar.experiments.runs.ledger import Ledger\n"
        "ledger = Ledger(sys.argv[1]); print(ledger.claim([sys.argv[2]])); sys.stdout.flush()\n"
        "time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, ledger.path, name], stdout=subprocess.PIPE, text=True
    )
    assert name in other.stdout.readline()
    assert ledger.claim([name]).mine == []
    other.send_signal(signal.SIGKILL)
    other.communicate()
    assert ledger.claim([name]).mine == [name]
    ledger.close()
    assert os.listdir(ledger.path.parent) == ["runs.sqlite"]  # no lock stays


def _other_sqlite(path):
    sqlite3.connect(path).execute("CREATE TABLE a (b)").connection.close()


def _newer(path):
    Ledger(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def _damaged(path):
    with Ledger(path) as opened:
        opened.record([entry(rate / 1e6) for rate in range(1, 60)])
    content = bytearray(path.read_bytes())
    content[100:] = b"\x55" * (len(content) - 100)
    path.write_bytes(content)


UNUSABLE = {
    "another program's": (_other_sqlite, "another SQLite file"),
    "text": (lambda path: path.write_text("run,accuracy\n" * 99), "no SQLite file"),
    "newer": (_newer, "Install a newer ybar"),
    "damaged": (_damaged, "damaged"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_is(tmp_path, what):
    make, said = UNUSABLE[what]
    path = tmp_path / "x.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=said) as refused, Ledger(path) as opened:
        opened.entries()
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == before


def test_a_ledger_that_cannot_be_made(tmp_path):
    with pytest.raises(InputError, match="Make it first"):
        Ledger(tmp_path / "no" / "x.sqlite")
    with pytest.raises(InputError, match="is a folder"):
        Ledger(tmp_path)
    with pytest.raises(InputError, match="does not"):
        Ledger(tmp_path / "x.sqlite", write=False)
    with pytest.raises(OSError, match="/proc must be a folder that can be written to"):
        Ledger("/proc/x.sqlite")  # where not even root may write
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_one_clear_error_and_nothing_half_written(ledger):
    ledger.record([entry()])
    (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    noise = {"scel": np.random.default_rng(0).random(30_000)}
    many = [entry(1e-4), entry(1e-5, curves=noise)]
    with pytest.raises(LedgerError, match=r"the disk is full\. Make room"):
        ledger.record(many)
    assert list(ledger.hashes()) == [entry().hash]
    ledger._connection.execute("PRAGMA max_page_count = 100000")
    assert ledger.record(many) == 2


def test_what_a_killed_writer_left_is_put_right_by_a_reader(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Ledger(path) as opened:
        opened.record([entry()])
    code = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "c.executemany('INSERT INTO claim VALUES (?, ?)',"
        " [(str(i) * 50, 'x' * 500) for i in range(2000)])\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, path])
    assert (tmp_path / "runs.sqlite-journal").stat().st_size > 0
    with Ledger(path, write=False) as opened:
        assert list(opened.hashes()) == [entry().hash]


def test_an_empty_file_is_an_empty_ledger(tmp_path):
    (tmp_path / "runs.sqlite").touch()
    with Ledger(tmp_path / "runs.sqlite", write=False) as opened:
        assert opened.hashes() == {}
        assert opened.entries() == []
    with Ledger(tmp_path / "runs.sqlite") as opened:
        assert opened.record([entry()]) == 1


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


def test_a_failure_is_never_better_than_a_success(ledger):
    ledger.record([entry(curves={})])
    assert ledger.record([entry(cause="it broke", scores={})], replace=True) == 0
    assert ledger.hashes() == {entry().hash: True}


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


def test_locks_of_the_dead_are_cleared_up_and_those_of_the_living_stay(ledger):
    dead, young, foreign = (
        ledger.path.with_name(name)
        for name in (f"{ledger.path.name}.a.lock", f"{ledger.path.name}.b.lock", "other.lock")
    )
    for file in (dead, young, foreign):
        file.touch()
    for file in (dead, foreign):
        os.utime(file, (0, 0))
    with Ledger(ledger.path) as living:
        living.claim(["x"])
        lock = ledger.path.with_name(living.owner)
        os.utime(lock, (0, 0))
        ledger.claim(["x"])
        assert [f.exists() for f in (dead, young, foreign, lock)] == [False, True, True, True]


def test_a_read_only_ledger_is_one_clear_error(ledger):
    ledger._connection.execute("PRAGMA query_only = 1")
    with pytest.raises(LedgerError, match="read-only"):
        ledger.record([entry()])


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
