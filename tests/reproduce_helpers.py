"""The command ``ybar reproduce`` on a small plan."""

import os
import sqlite3
import subprocess
import sys

from ybar.experiments.runs.ledger import Ledger

PLAN = """
trials = 2
datasets = ["digits"]
settings = ["strong", "noise-0.2"]
[[base]]
name = "knn"
kind = "knn"
n_neighbors = [10, 40]
[[base]]
name = "linear"
kind = "network"
methods = ["scl-nl", "fwd", "cpe-f", "cpe-t"]
learning_rates = [1e-2, 1e-3]
epochs = 3
"""
N_RUNS = 2 * 2 * (1 + 3 * 2)
TABLES = ("tables.md", "tables.tex", "tables.csv")


def ybar(*arguments, cwd, **kwargs):
    command = [sys.executable, "-c", "from ybar.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def ran(*arguments, cwd):
    process = ybar(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=250)
    return process.returncode, out, err


def rows(path):
    """Return the names of the runs of a ledger that is sound."""
    if not path.exists():
        return []
    connection = sqlite3.connect(path, timeout=60)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT name FROM sqlite_master").fetchone():
            return []
        return [name for (name,) in connection.execute("SELECT hash FROM run")]
    finally:
        connection.close()


def copy(source, target, change):
    """Write the runs of a ledger to another one, each as `change` returns it."""
    with Ledger(source, write=False) as old, Ledger(target) as new:
        new.record([change(entry) for entry in old.entries(curves=True)])
