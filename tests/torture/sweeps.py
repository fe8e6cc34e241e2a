"""Kill a sweep at random instants; it continues, and ends with the tables of one never killed."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from reproduce_helpers import N_RUNS, PLAN, TABLES, ran, ybar

_COMMAND = ("reproduce", "mine.toml", "--jobs", 2)


def prepare(folder):
    """Run the sweep once without a kill."""
    unbroken, killed = folder / "unbroken", folder / "killed"
    for place in (unbroken, killed):
        place.mkdir()
        (place / "mine.toml").write_text(PLAN)
    started = time.monotonic()
    code, _, errors = ran(*_COMMAND, cwd=unbroken)
    if code:
        raise RuntimeError(errors)
    (folder / "seconds").write_text(str(time.monotonic() - started))


def killed(folder, number):
    """Kill the sweep once. What was recorded stays as it was; the sweep that is complete is right."""
    place, known = folder / "killed", folder / "known.json"
    latest = float((folder / "seconds").read_text())
    before = json.loads(known.read_text()) if known.exists() else {}
    sweep = ybar(*_COMMAND, cwd=place, start_new_session=True)
    try:
        sweep.wait(timeout=np.random.default_rng([7, number]).uniform(0.1, latest))
    except subprocess.TimeoutExpired:
        sweep.send_signal(signal.SIGKILL)
    _, errors = sweep.communicate()
    if "Traceback" in errors:
        return "traceback", errors[-600:]
    found = _runs(place / "mine.sqlite")
    if found is None:
        return "lost", "the ledger is damaged"
    if any(found.get(name) != content for name, content in before.items()):
        return "lost", "a run that was recorded is gone or has changed"
    known.write_text(json.dumps(found))
    return _ended(folder) if len(found) == N_RUNS else ("right", f"{len(found)} runs")


def _ended(folder):
    """Let a sweep whose runs are all recorded end, compare its tables, and delete it."""
    place = folder / "killed"
    code, _, errors = ran(*_COMMAND, cwd=place)
    if code:
        return "traceback", errors[-600:]
    for table in TABLES:
        expected = folder / "unbroken" / "mine-results" / table
        if (place / "mine-results" / table).read_bytes() != expected.read_bytes():
            return "silent", f"{table} differs"
    if left := [path.name for path in place.iterdir() if path.suffix == ".lock"]:
        return "lost", f"{left} stay"
    shutil.rmtree(place)
    place.mkdir()
    (place / "mine.toml").write_text(PLAN)
    (folder / "known.json").unlink()
    return "right", "complete"


def _runs(path):
    """Return the runs of a ledger, or None if it is damaged."""
    if not path.exists():
        return {}
    connection = sqlite3.connect(path, timeout=60)
    try:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            return None
        if not connection.execute("SELECT name FROM sqlite_master").fetchone():
            return {}
        return {
            name: rest
            for name, *rest in connection.execute("SELECT hash, figures, finished FROM run")
        }
    finally:
        connection.close()
