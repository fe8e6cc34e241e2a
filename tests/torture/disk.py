"""Let single calls to the disk fail, in `save`, in ``ybar predict`` and in the ledger.

`failing_disk.c` stands between the process and the system's calls. `install` compiles it and starts
this process again with it.
"""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import child
import ledgers
import numpy as np

_LIBRARY = "YBAR_FAILING_DISK"
# What fails: one call as on a broken disk, or one and all after it as on a full disk.
WAYS = ((errno.EIO, 0), (errno.ENOSPC, 0), (errno.ENOSPC, 1), (errno.EIO, 1))
NEW = range(100, 103)


def install():
    """Start this process again with the failing disk, once."""
    if _LIBRARY in os.environ:
        os.environ.pop("LD_PRELOAD")  # the programs that we start have an ordinary disk
        return
    library = Path(tempfile.mkdtemp(prefix="ybar-torture-")) / "failing_disk.so"
    compiler = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) or "cc"
    source = Path(__file__).with_name("failing_disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), _LIBRARY: str(library)}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def calls(work):
    """Return a function of a folder that counts the calls of an attack, once for each way."""

    def count(folder):
        library = ctypes.CDLL(os.environ[_LIBRARY])
        act, _ = work(folder)
        library.disk_arm(-1, 0, 0)
        act()
        return library.disk_disarm() * len(WAYS)

    return count


def attack(work):
    """Return an attack: the call number // len(WAYS) of some work fails."""

    def failing(folder, number):
        library = ctypes.CDLL(os.environ[_LIBRARY])
        act, check = work(folder)
        library.disk_arm(number // len(WAYS), *WAYS[number % len(WAYS)])
        try:
            message = act()
        except OSError as error:
            message = str(error)
        finally:
            library.disk_disarm()
        if wrong := check(message is not None):
            return "lost", f"call {number // len(WAYS)}: {wrong}"
        if message is None:
            return "right", ""
        return ("traceback" if "\n" in message else "refused"), message

    return failing


def save(folder):
    """Save a model over an older one."""
    import ybar

    old, new = (ybar.load(folder / f"{name}.model") for name in ("old", "new"))
    target = folder / "target" / "m.ybar"
    target.parent.mkdir(exist_ok=True)
    ybar.save(old, target)
    before = target.read_bytes()

    def check(failed):
        if target.read_bytes() != before:
            # The new file may be in place, if only its folder could not be synced after it.
            X = np.random.default_rng(1).random((50, 60))
            if not np.array_equal(ybar.load(target).predict_proba(X), new.predict_proba(X)):
                return "neither the old model nor the new one"
        elif not failed:
            return "the new model was not saved, and nothing was said"
        ybar.save(new, target)
        names = [path.name for path in target.parent.iterdir()]
        return "" if names == [target.name] else f"{names} stay"

    return lambda: ybar.save(new, target), check


def predict(folder):
    """Predict over an older file."""
    out, expected = folder / "out" / "out.csv", (folder / "expected.csv").read_bytes()
    out.parent.mkdir(exist_ok=True)
    command = ("predict", folder / "m.ybar", folder / "rows.csv", "--output", out)
    out.write_bytes(b"before\n")

    def act():
        code, _, errors = child.command(folder, *command)
        return errors.strip() if code else None

    def check(failed):
        content = out.read_bytes()
        if content != expected and (content != b"before\n" or not failed):
            return "neither the old file nor the whole new one"
        out.unlink()
        child.command(folder, *command)
        names = [path.name for path in out.parent.iterdir()]
        return "" if names == [out.name] else f"{names} stay"

    return act, check


def record(folder):
    """Record three runs in a ledger of twenty, each in a transaction."""
    path = folder / "ledger" / "runs.sqlite"
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir()
    shutil.copy(folder / "runs.sqlite", path)

    old = range(ledgers.RUNS)
    both = (*old, *NEW)

    def check(failed):
        if not ledgers.holds(path, old, among=both):
            return "a run recorded before, or part of a new one"
        if not failed and not ledgers.holds(path, both):
            return "a new run was not recorded, and nothing was said"
        ledgers.record(path, NEW)
        return "" if ledgers.holds(path, both) else "it cannot be written to"

    return lambda: ledgers.record(path, NEW), check
