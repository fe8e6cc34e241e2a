"""The ledger: a run is written once and whole, and nothing that happens to the file goes unsaid."""

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ledger_helpers import entry, same
from ybar.experiments.runs.ledger import Ledger, LedgerError
from ybar.utils.errors import InputError


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
    assert ledger.forget([failed.hash, well.hash], failed=True) == 1
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


def test_a_failure_is_never_better_than_a_success(ledger):
    ledger.record([entry(curves={})])
    assert ledger.record([entry(cause="it broke", scores={})], replace=True) == 0
    assert ledger.hashes() == {entry().hash: True}


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
