"""A sweep that is interrupted or killed continues where it was, and leaves nothing behind."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reproduce_helpers import N_RUNS, PLAN, TABLES, ran, rows, ybar

pytest.importorskip("torch")
pytest.importorskip("typer")
rich = pytest.importorskip("rich.console")


def survive(folder, unbroken, kills, seed):
    """Kill a sweep at random instants, look at the ledger each time, then let it end."""
    rng = random.Random(seed)
    ledger = folder / "mine.sqlite"
    known: set[str] = set()
    for _ in range(kills):
        sweep = ybar("reproduce", "mine.toml", "--jobs", 2, cwd=folder, start_new_session=True)
        try:
            sweep.wait(timeout=rng.uniform(0.2, 12))
        except subprocess.TimeoutExpired:
            sweep.send_signal(signal.SIGKILL)
        sweep.communicate()
        found = rows(ledger)
        assert len(found) == len(set(found))
        assert known <= set(found)  # what was recorded stays
        known = set(found)
        if len(known) == N_RUNS:  # begin anew: there are instants left to try
            ledger.unlink()
            known = set()
    code, _, err = ran("reproduce", "mine.toml", "--jobs", 2, cwd=folder)
    assert code == 0, err
    assert len(rows(ledger)) == N_RUNS
    for table in TABLES:
        expected = (unbroken[0] / "mine-results" / table).read_bytes()
        assert (folder / "mine-results" / table).read_bytes() == expected
    left = {name for name in os.listdir(folder) if name.endswith(".lock")}
    assert left == set()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_sweep_that_is_killed_goes_on_where_it_was(folder, unbroken):
    survive(folder, unbroken, kills=2, seed=3)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_sweep_survives_fifty_kills(folder, unbroken):
    survive(folder, unbroken, kills=50, seed=1)


def descendants(pid):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    direct = [int(line) for line in listed.stdout.split()]
    return direct + [pid for child in direct for pid in descendants(child)]


@pytest.mark.usefixtures("interrupts_heard")
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ctrl_c_and_death_leave_no_process_and_no_claim(folder, how):
    (folder / "mine.toml").write_text(PLAN.replace("epochs = 3", "epochs = 100000"))
    sweep = ybar("reproduce", "mine.toml", "--jobs", 2, cwd=folder, start_new_session=True)
    try:
        for _ in range(600):  # until both workers are at work
            time.sleep(0.1)
            if len(rows(folder / "mine.sqlite")) >= 4 and len(descendants(sweep.pid)) >= 3:
                break
        workers = descendants(sweep.pid)
        assert len(workers) >= 3
        if how == signal.SIGINT:
            os.killpg(sweep.pid, how)  # as a terminal does: to all
        else:
            sweep.send_signal(how)
        _, err = sweep.communicate(timeout=60)
    finally:
        sweep.kill()  # one that did not hear would go on for days
    if how != signal.SIGKILL:
        assert sweep.returncode == 130
        assert "Interrupted: 4 runs were recorded" in err
        assert "Traceback" not in err
        assert not [name for name in os.listdir(folder) if name.endswith(".lock")]
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert len(rows(folder / "mine.sqlite")) == 4
