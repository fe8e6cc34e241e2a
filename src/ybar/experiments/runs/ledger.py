"""The ledger: the outcome of every run, in one SQLite file.

A run is written once and whole, in one transaction, so that a process that is killed leaves no
half-written run. A sweep claims the runs that it works on. A claim is valid only while its sweep
holds the lock on a file (see `locks`), so the claims of a sweep that died are void.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sqlite3
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from ...utils.checks import shown
from ...utils.errors import InputError, input_errors
from ...utils.files import as_path, target_file
from ..plan.jobs import hash_of
from . import locks
from .entry import COLUMNS, Entry, checksum, from_row, to_row, unpack

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
# A separate table: older versions of ybar, which knew no checksums, can read the ledger too.
_CHECKSUMS = "CREATE TABLE IF NOT EXISTS checksum (hash TEXT PRIMARY KEY, sha256 TEXT NOT NULL)"
_SELECTED = ", ".join(COLUMNS)
_INSERT = f"INSERT OR IGNORE INTO run ({_SELECTED}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_LOCK_NAME = re.compile(r"[^/\\\0]+\.[0-9a-f]{12}\.lock")
_MOST_NAMED = 5


class LedgerError(OSError):
    """The ledger cannot be read or written; the message says why and what to do."""


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
        Whether to open it for writing, which raises an error at once if it is impossible.

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
        self._named: set[str] = set()
        with self._errors():
            self._connection = self._open(write)

    def _open(self, write: bool) -> sqlite3.Connection:
        # Opened for writing even to read: SQLite then repairs what a killed writer left.
        mode = "rwc" if write else "rw" if os.access(self.path, os.W_OK) else "ro"
        name = f"{self.path.resolve().as_uri()}?mode={mode}"
        if not write and self.path.stat().st_size == 0:
            name = ":memory:"  # a full disk may have left an empty file
        connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, uri=True)
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
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
                connection.execute(_CHECKSUMS)
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
        """Return all runs, in an order that does not depend on when they were recorded.

        Runs that are damaged are left out; a warning names them.
        """
        sound, damaged = self._read(curves=curves)
        new = sorted({names[0] for names in damaged.values()} - self._named)
        if new:
            self._named |= set(new)
            more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
            warnings.warn(
                f"ledger {self.path} is damaged: these runs are left out, and a sweep runs them "
                f"again: {', '.join(map(shown, new[:_MOST_NAMED]))}{more}",
                stacklevel=2,
            )
        return sorted(sound, key=_place)

    def _read(self, *, curves: bool) -> tuple[list[Entry], dict[int, list[str]]]:
        """Return the intact runs, and the names that damaged ones may have, likely ones first.

        A run that has a checksum but no row gets a negative row number.
        """
        with self._errors():
            checksums = self._checksums()
            rows = [row for (row,) in self._connection.execute("SELECT rowid FROM run")]
            sound: dict[str, Entry] = {}
            damaged: dict[int, list[str]] = {}
            for rowid in rows:
                values = self._row(rowid)
                try:
                    entry = from_row(values, curves=curves)
                    expected = checksums.get(entry.hash)
                    if expected is not None and checksum(values) != expected:
                        raise ValueError(f"run {entry.hash} has another checksum")
                    sound[entry.hash] = entry
                except Exception:  # damaged bytes can raise any error
                    names = _names(values) or {f"row {rowid}"}
                    damaged[rowid] = sorted(names, key=lambda name: name not in checksums)
        lost = checksums.keys() - sound.keys() - set().union(*damaged.values())
        return [*sound.values()], damaged | {-i: [name] for i, name in enumerate(lost, 1)}

    def _checksums(self) -> dict[str, str]:
        there = "SELECT 1 FROM sqlite_master WHERE name = 'checksum'"
        if self._connection.execute(there).fetchone() is None:
            return {}
        return dict(self._connection.execute("SELECT hash, sha256 FROM checksum").fetchall())

    def _row(self, rowid: int) -> Sequence[Any]:
        """Return the values of a row; nothing if its page is damaged."""
        query = f"SELECT {_SELECTED} FROM run WHERE rowid = ?"  # noqa: S608
        try:
            return self._connection.execute(query, (rowid,)).fetchone() or ()
        except sqlite3.DatabaseError as error:
            if "malformed" not in str(error) and "too big" not in str(error):
                raise
            return ()

    def record(self, entries: Sequence[Entry], *, replace: bool = False) -> int:
        """Write runs, all or none, and return how many were new.

        A run that is recorded already stays as it is, unless `replace` is true and it failed or has
        fewer curves.
        """
        rows = [to_row(entry) for entry in entries]
        new = 0
        with self._transaction() as connection:
            for entry, row in zip(entries, rows, strict=True):
                if replace and entry.cause is None and self._is_less(entry):
                    self._delete(entry.hash)
                inserted = connection.execute(_INSERT, row)
                if inserted.rowcount == 1:
                    new += 1
                    stored = self._row(inserted.lastrowid or 0)  # SQLite converts some values
                    pair = entry.hash, checksum(stored)
                    connection.execute("INSERT OR REPLACE INTO checksum VALUES (?, ?)", pair)
                connection.execute("DELETE FROM claim WHERE hash = ?", (entry.hash,))
        return new

    def _is_less(self, entry: Entry) -> bool:
        """Return whether the recorded run failed or has fewer curves than the entry."""
        query = "SELECT cause IS NOT NULL, curves FROM run WHERE hash = ?"
        row = self._connection.execute(query, (entry.hash,)).fetchone()
        return bool(row and (row[0] or len(unpack(row[1])) < len(entry.curves)))

    def _delete(self, name: str) -> None:
        for table in ("run", "checksum"):
            self._connection.execute(f"DELETE FROM {table} WHERE hash = ?", (name,))  # noqa: S608

    def forget(self, names: Iterable[str], *, failed: bool) -> int:
        """Delete damaged runs among these, so that they are run again.

        With `failed`, also delete failed runs. Return the number of failed runs.
        """
        wanted = set(names)
        _, damaged = self._read(curves=True)
        with self._transaction() as connection:
            for rowid, possible in damaged.items():
                if wanted.intersection(possible):
                    connection.execute("DELETE FROM run WHERE rowid = ?", (rowid,))
                    for name in wanted.intersection(possible):
                        self._delete(name)
            query = "SELECT hash FROM run WHERE cause IS NOT NULL"
            n_failed = wanted & {name for (name,) in connection.execute(query) if failed}
            for name in n_failed:
                self._delete(name)
        return len(n_failed)

    def claim(self, names: Sequence[str]) -> Claimed:
        """Claim the runs that are neither recorded nor claimed by another sweep.

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
        if not _LOCK_NAME.fullmatch(owner):  # not of a sweep: damaged, or a path elsewhere
            return False
        return owner == self.owner or locks.is_held(self._lock_file(owner))


def _place(entry: Entry) -> tuple[Any, ...]:
    """Return what orders entries."""
    names = [entry.config[name] for name in ("dataset", "setting", "base", "trial", "method")]
    return (*names, entry.config.get("learning_rate", -1.0), entry.hash)


def _names(values: Sequence[Any]) -> set[str]:
    """Return the possible names of a damaged run: as recorded, and of its configuration."""
    named = dict(zip(COLUMNS, values, strict=False))
    names = {named.get("hash")}
    with contextlib.suppress(ValueError, TypeError):
        names.add(hash_of(json.loads(named.get("config", ""))))
    return {name for name in names if isinstance(name, str)}
