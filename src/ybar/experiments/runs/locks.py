"""Lock files that show which processes are alive: a lock is released when its process ends.

On systems without `fcntl`, and on file systems without locks, every lock counts as free.
"""

from __future__ import annotations

import contextlib
import io
import time
from pathlib import Path

# A file that was just created may not be locked yet.
_SECONDS_TO_LOCK = 60.0


def hold(path: Path) -> io.IOBase:
    """Create a file and lock it until it is closed, or this process ends."""
    file = path.open("wb")
    _lock(file)
    return file


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock; a file whose lock is free is deleted."""
    try:
        with path.open("rb+") as file:
            if not _lock(file):
                return True
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        pass
    return False


def delete_free(folder: Path, prefix: str) -> None:
    """Delete the lock files in a folder that processes left behind when they were killed."""
    for file in folder.iterdir():
        if file.name.startswith(prefix) and file.suffix == ".lock":
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _SECONDS_TO_LOCK:
                    is_held(file)


def _lock(file: io.IOBase) -> bool:
    """Lock an open file; False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
