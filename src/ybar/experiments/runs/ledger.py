"""The ledger: the outcome of every run, in one SQLite file.

A run is written once and whole, in one transaction, so that a process that is killed leaves no
half-written run. A sweep claims the runs that it works on. Its claims count only while it holds the
lock on a file (see `locks`): the claims of a sweep that died are void.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ...utils.checks import shown
from ...utils.errors import InputError, input_errors
from ...utils.files import as_path, target_file
from ...utils.typing import AnyArray
from ..plan.jobs import hash_of, seed_of
from . import locks

_VERSION = 1
_APPLICATION = 0x79626172  # "ybar", in the header of the file
_PATIENCE = 60.0  # seconds to wait for another writer
_SCHEMA = """
CREATE TABLE run (
    hash TEXT PRIMARY KEY,
    dataset TEXT NOT NULL,
    setting TEXT NOT NULL,
    trial INTEGER NOT NULL,
    base TEXT NOT NULL,
    method TEXT NOT NULL,
    learning_rate REAL,
    seed TEXT NOT NULL,
    data_sha256 TEXT NOT NULL,
    config TEXT NOT NULL,
    versions TEXT NOT NULL,
    cause TEXT,
    traceback TEXT,
    figures TEXT NOT NULL,
    curves BLOB NOT NULL,
    seconds REAL,
    finished TEXT NOT NULL
);
CREATE TABLE claim (hash TEXT PRIMARY KEY, owner TEXT NOT NULL);
"""
_COLUMNS = (
    *("hash", "dataset", "setting", "trial", "base", "method", "learning_rate", "seed"),
    *("data_sha256", "config", "versions", "cause", "traceback", "figures", "curves", "seconds"),
    "finished",
)


class LedgerError(OSError):
    """The ledger cannot be read or written; the message says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """A recorded run.

    Attributes
    ----------
    hash : str
        The name of the run: the hash of its configuration.
    config : dict
        All that the outcome depends on, see `plan.jobs.config`.
    cause, traceback : str or None
        Why the run failed; None if it did not.
    scores : dict of float
        What tables are built from, such as ``last.accuracy_l1``; see `networks.scores`.
    curves : dict of ndarray
        The values of each epoch; empty if they were not asked for.
    seconds : float
        The run's share of the time of its job.
    finished : str
        When the run ended, as an ISO date in UTC.
    versions : dict of str
        The versions of ybar, Python and the libraries.
    """

    hash: str
    config: dict[str, Any]
    cause: str | None = None
    traceback: str | None = None
    scores: dict[str, float] = field(default_factory=dict)
    curves: dict[str, AnyArray] = field(default_factory=dict)
    seconds: float = 0.0
    finished: str = ""
    versions: dict[str, str] = field(default_factory=dict)


class Claimed(NamedTuple):
    """Runs that are not recorded yet: those of this sweep, and those of other sweeps."""

    mine: list[str]
    theirs: list[str]


class Ledger:
    """The ledger at a path, which is created if it does not exist.

    Parameters
    ----------
    path : path
    write : bool
        Whether to open it for writing: if that is impossible, an error is raised at once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ybar.experiments.runs.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger(pathlib.Path(folder.name) / "runs.sqlite") as ledger:
    ...     len(ledger.hashes())
    0
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, write: bool = True) -> None:
        self.path = as_path(path)
        if write:
            with input_errors():
                target_file(self.path, "ledger")
        elif not self.path.is_file():
            raise InputError(f"ledger must be a file that exists; {self.path} does not")
        self.owner = f"{self.path.name}.{uuid.uuid4().hex[:12]}.lock"
        self._lock: io.IOBase | None = None
        with self._errors():
            self._connection = self._open(write)

    def _open(self, write: bool) -> sqlite3.Connection:
        # For reading too it is opened for writing: SQLite then repairs what a killed writer left.
        mode = "rwc" if write else "rw" if os.access(self.path, os.W_OK) else "ro"
        name = f"{self.path.resolve().as_uri()}?mode={mode}"
        if not write and self.path.stat().st_size == 0:
            name = ":memory:"  # a full disk may have left an empty file
        connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, uri=True)
        try:
            if write:
                connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT name FROM sqlite_master").fetchone():
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION:
                raise LedgerError(
                    f"ledger must be one that ybar wrote; {self.path} is another SQLite file. "
                    "Choose another path"
                )
            if version > _VERSION:
                raise LedgerError(
                    f"ledger must be of version {_VERSION} or before; {self.path} is of version "
                    f"{version}. Install a newer ybar"
                )
            if write:
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's errors into one line that says what is wrong with the file."""
        try:
            yield
        except sqlite3.Error as error:
            reasons = {
                "readonly": "it, or its folder, is read-only. Choose another path",
                "unable to open": "it cannot be opened: is its folder writable?",
                "full": "the disk is full. Make room and run the same command again",
                "not a database": "it is no SQLite file. Choose another path",
                "malformed": "it is damaged. Restore it, or merge its export into a new one",
                "locked": f"another process has held it for {_PATIENCE:.0f} s. Try again later",
                "I/O": "the disk failed or is full. Make room and run the same command again",
            }
            message = str(error)
            reason = next((text for mark, text in reasons.items() if mark in message), message)
            raise LedgerError(f"ledger {self.path} cannot be used: {reason}") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release all claims and close the file."""
        if self._lock is not None:
            with contextlib.suppress(LedgerError), self._transaction() as connection:
                connection.execute("DELETE FROM claim WHERE owner = ?", (self.owner,))
            self._lock_file(self.owner).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None
        self._connection.close()

    def hashes(self) -> dict[str, bool]:
        """Return the names of all runs, and whether each ended well."""
        with self._errors():
            rows = self._connection.execute("SELECT hash, cause IS NULL FROM run")
            return {name: bool(well) for name, well in rows}

    def entries(self, *, curves: bool = False) -> list[Entry]:
        """Return all runs, in an order that does not depend on when they were recorded."""
        columns = "hash, config, cause, traceback, figures, seconds, finished, versions, "
        columns += "curves" if curves else "x''"
        with self._errors():
            order = "dataset, setting, base, trial, method, learning_rate, hash"
            query = f"SELECT {columns} FROM run ORDER BY {order}"  # noqa: S608
            return [_entry(row) for row in self._connection.execute(query)]

    def record(self, entries: Sequence[Entry], *, replace: bool = False) -> int:
        """Write runs, all or none, and return how many were new.

        A run that is recorded already stays as it is, unless `replace` is true and it failed or has
        fewer curves.
        """
        rows = [_row(entry) for entry in entries]
        marks = ", ".join("?" * len(_COLUMNS))
        with self._transaction() as connection:
            before = connection.total_changes
            if replace:
                for entry in entries:
                    if entry.cause is None and self._is_less(entry):
                        connection.execute("DELETE FROM run WHERE hash = ?", (entry.hash,))
                before = connection.total_changes
            connection.executemany(f"INSERT OR IGNORE INTO run VALUES ({marks})", rows)  # noqa: S608
            new = connection.total_changes - before
            connection.executemany("DELETE FROM claim WHERE hash = ?", [(r[0],) for r in rows])
        return new

    def _is_less(self, entry: Entry) -> bool:
        """Return whether the recorded run failed, or has fewer curves than the entry."""
        query = "SELECT cause IS NOT NULL, curves FROM run WHERE hash = ?"
        row = self._connection.execute(query, (entry.hash,)).fetchone()
        return bool(row and (row[0] or len(unpack(row[1])) < len(entry.curves)))

    def forget_failed(self, names: Iterable[str]) -> int:
        """Delete those of the runs that failed, so that they are run again."""
        with self._transaction() as connection:
            before = connection.total_changes
            connection.executemany(
                "DELETE FROM run WHERE hash = ? AND cause IS NOT NULL", [(n,) for n in names]
            )
            return connection.total_changes - before

    def claim(self, names: Sequence[str]) -> Claimed:
        """Claim those of the runs that are neither recorded nor claimed by another sweep.

        Without locks (see `locks`) two sweeps may run the same run, but it is recorded once.
        """
        self._hold_lock()
        with self._transaction() as connection:
            owners = dict(connection.execute("SELECT hash, owner FROM claim").fetchall())
            dead = {owner for owner in set(owners.values()) if not self._is_alive(owner)}
            for owner in dead:
                connection.execute("DELETE FROM claim WHERE owner = ?", (owner,))
            held = {name for name, owner in owners.items() if owner not in dead | {self.owner}}
            query = "SELECT 1 FROM run WHERE hash = ?"
            left = [n for n in names if connection.execute(query, (n,)).fetchone() is None]
            mine = [name for name in left if name not in held]
            connection.executemany(
                "INSERT OR REPLACE INTO claim VALUES (?, ?)", [(n, self.owner) for n in mine]
            )
        return Claimed(mine, [name for name in left if name in held])

    def _lock_file(self, owner: str) -> Path:
        return self.path.resolve().parent / owner

    def _hold_lock(self) -> None:
        if self._lock is None:
            try:
                self._lock = locks.hold(self._lock_file(self.owner))
            except OSError as error:
                raise LedgerError(
                    f"ledger must lie in a folder that can be written to; {self.path.parent} "
                    f"cannot ({error.strerror})"
                ) from error
            locks.delete_free(self.path.resolve().parent, f"{self.path.name}.")

    def _is_alive(self, owner: str) -> bool:
        """Return whether the sweep that made a claim still runs."""
        return owner == self.owner or locks.is_held(self._lock_file(owner))


def _row(entry: Entry) -> tuple[Any, ...]:
    config = entry.config
    if hash_of(config) != entry.hash:
        raise InputError(
            f"a run's hash must be that of its configuration; got {shown(entry.hash)} for "
            f"{shown(config)}"
        )
    seed = seed_of(config["dataset"], config["setting"], config["trial"])
    return (
        entry.hash,
        config["dataset"],
        config["setting"],
        config["trial"],
        config["base"],
        config["method"],
        config.get("learning_rate"),
        json.dumps(seed),
        config["data_sha256"],
        json.dumps(config, sort_keys=True),
        json.dumps(entry.versions, sort_keys=True),
        entry.cause,
        entry.traceback,
        json.dumps(entry.scores, sort_keys=True),
        pack(entry.curves),
        entry.seconds,
        entry.finished,
    )


def _entry(row: Sequence[Any]) -> Entry:
    name, config, cause, traceback, scores, seconds, finished, versions, curves = row
    return Entry(
        name,
        json.loads(config),
        cause,
        traceback,
        json.loads(scores),
        unpack(curves),
        float("nan") if seconds is None else seconds,
        finished,
        json.loads(versions),
    )


def pack(curves: dict[str, AnyArray]) -> bytes:
    """Return curves as the bytes of a compressed npz file, in single precision."""
    if not curves:
        return b""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {n: np.asarray(v, np.float32) for n, v in sorted(curves.items())}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, AnyArray]:
    """Return the curves that `pack` made bytes of."""
    if not data:
        return {}
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)
