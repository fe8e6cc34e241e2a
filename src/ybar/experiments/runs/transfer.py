"""Ledgers from one place to another: export to CSV and Parquet, merge back.

A CSV has only those curves that it is told to have, the ones that figures are drawn from; all else
is there: tables can be made from it, and it can be merged. Parquet has all.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...utils import text as text
from ...utils.checks import shown
from ...utils.extras import require
from ...utils.files import as_path, target_file, write_whole
from ...utils.typing import AnyArray
from ..plan import jobs as plan_jobs
from .ledger import Entry, Ledger, LedgerError

_NAMES = ("dataset", "setting", "trial", "base", "method", "learning_rate")
# What every configuration has, see `plan_jobs.config`.
_CONFIGURED: dict[str, Any] = {
    **dict.fromkeys(
        ("dataset", "data_sha256", "setting", "base", "kind", "method", "assumed"), str
    ),
    "trial": int,
    "validation_fraction": float,
    "transition": (str, list),
    "noise": (int, float),
    "how": dict,
}
_DIGITS = 7
_DIGITS_OF_CURVES = 5
_CURVE = "curve."

Curves = Mapping[str, Mapping[str, AnyArray]]
"""By hash: some curves of a run, by their names."""


class Merged(NamedTuple):
    """What a merge came to."""

    new: int
    known: int


def export(
    entries: Sequence[Entry], path: str | os.PathLike[str], curves: Curves | None = None
) -> None:
    """Write runs to a ``.csv`` or, with all their curves, to a ``.parquet``: whole or not at all.

    Parameters
    ----------
    entries : sequence of Entry
    path : path
    curves : mapping, optional
        What a CSV is to have of curves, such as `figures.drawn_from`.
    """
    target = check_target(path)
    as_csv = target.suffix == ".csv"
    write_whole(target, _csv(entries, curves or {}).encode() if as_csv else _parquet(entries))


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of an export, or refuse what cannot be one before anything is run."""
    target = target_file(path, "export")
    if target.suffix not in (".csv", ".parquet"):
        raise ValueError(f"export must end in .csv or .parquet; got {shown(target.name)}")
    if target.suffix == ".parquet":
        require("pyarrow", "data", "an export to Parquet")
    return target


def merge(ledger: Ledger, path: str | os.PathLike[str]) -> Merged:
    """Take the runs of another ledger, or of an export, into this one.

    Those that are here stay as they are; a run that failed here gives way to one that did not.
    """
    entries = read(path)
    new = ledger.record(entries, replace=True)
    return Merged(new, len(entries) - new)


def read(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the runs of a ledger, or of an export of one, each with its hash checked."""
    source = as_path(path)
    if not source.is_file():
        raise FileNotFoundError(f"ledger must be a file that exists; {source} does not")
    if source.suffix == ".csv":
        return _checked(source, _read_csv(source))
    if source.suffix == ".parquet":
        return _checked(source, _read_parquet(source))
    with Ledger(source, write=False) as other:
        return _checked(source, other.entries(curves=True))


def _checked(source: Path, entries: list[Entry]) -> list[Entry]:
    for entry in entries:
        if not _is_proper(entry):
            raise LedgerError(
                f"{source} is not a ledger that ybar wrote: run {shown(entry.hash)} has no proper "
                "configuration or figures. Nothing was taken from it"
            )
        if plan_jobs.hash_of(entry.config) != entry.hash:
            raise LedgerError(
                f"{source} has been changed: run {shown(entry.hash)} is not what its "
                "configuration says. Nothing was taken from it"
            )
    return entries


def _is_proper(entry: Entry) -> bool:
    config, figures, versions = entry.config, entry.figures, entry.versions
    return (
        all(isinstance(each, dict) for each in (config, figures, versions))
        and all(isinstance(config.get(name), kind) for name, kind in _CONFIGURED.items())
        and isinstance(config.get("learning_rate", 0.0), (int, float))
        and all(isinstance(value, (int, float)) for value in figures.values())
        and all(isinstance(value, str) for value in versions.values())
    )


def _csv(entries: Sequence[Entry], curves: Curves) -> str:
    figures = sorted({name for entry in entries for name in entry.figures})
    drawn = sorted({name for own in curves.values() for name in own})
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    own = ["hash", *_NAMES, "cause", "seconds", "finished", *map(_cell, figures)]
    writer.writerow([*own, "config", "versions", "traceback", *(_CURVE + name for name in drawn)])
    for entry in entries:
        names = [_cell(entry.config.get(name)) for name in _NAMES]
        writer.writerow(
            [
                entry.hash,
                *names,
                _cell(entry.cause),
                _cell(round(entry.seconds, 2)),
                _cell(entry.finished),
                *(_cell(entry.figures.get(name)) for name in figures),
                json.dumps(entry.config, sort_keys=True, separators=(",", ":")),
                json.dumps(entry.versions, sort_keys=True, separators=(",", ":")),
                _cell(entry.traceback),
                *(_numbers(curves.get(entry.hash, {}).get(name, ())) for name in drawn),
            ]
        )
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if not isinstance(value, str):
        return str(value)
    return text.spreadsheet(value.replace("\r", "\\r"))  # csv would not quote it


def _numbers(curve: Iterable[float]) -> str:
    return " ".join(f"{value:.{_DIGITS_OF_CURVES}g}" for value in curve)


def _read_csv(source: Path) -> list[Entry]:
    csv.field_size_limit(2**24)
    try:
        with source.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        return [_of_cells(row) for row in rows]
    except (csv.Error, KeyError, ValueError, TypeError, UnicodeDecodeError) as error:
        raise LedgerError(f"{source} is not an export of a ledger: {error}") from error


def _of_cells(row: dict[str, str]) -> Entry:
    filled = {name: cell for name, cell in row.items() if "." in name and cell}
    curves = {n.removeprefix(_CURVE): c for n, c in filled.items() if n.startswith(_CURVE)}
    return Entry(
        row["hash"],
        json.loads(row["config"]),
        text.from_spreadsheet(row["cause"]) or None,
        text.from_spreadsheet(row["traceback"]) or None,
        {
            text.from_spreadsheet(name): float(cell)
            for name, cell in filled.items()
            if not name.startswith(_CURVE)
        },
        {name: np.array(cell.split(), np.float64) for name, cell in curves.items()},
        float(row["seconds"] or math.nan),
        text.from_spreadsheet(row["finished"]),
        json.loads(row["versions"]),
    )


def _parquet(entries: Sequence[Entry]) -> bytes:
    pyarrow = require("pyarrow", "data", "an export to Parquet")
    parquet = require("pyarrow.parquet", "data", "an export to Parquet")
    figures = sorted({name for entry in entries for name in entry.figures})
    curves = sorted({name for entry in entries for name in entry.curves})
    columns: dict[str, Any] = {
        "hash": pyarrow.array([e.hash for e in entries], pyarrow.string()),
        **{name: pyarrow.array([e.config.get(name) for e in entries]) for name in _NAMES},
        "cause": pyarrow.array([e.cause for e in entries], pyarrow.string()),
        "traceback": pyarrow.array([e.traceback for e in entries], pyarrow.string()),
        "seconds": pyarrow.array([e.seconds for e in entries], pyarrow.float64()),
        "finished": pyarrow.array([e.finished for e in entries], pyarrow.string()),
        "config": pyarrow.array([json.dumps(e.config, sort_keys=True) for e in entries]),
        "versions": pyarrow.array([json.dumps(e.versions, sort_keys=True) for e in entries]),
    }
    for name in figures:
        values = [e.figures.get(name) for e in entries]
        columns[name] = pyarrow.array(values, pyarrow.float64())
    for name in curves:
        lists = [e.curves.get(name) for e in entries]
        columns[_CURVE + name] = pyarrow.array(lists, pyarrow.list_(pyarrow.float32()))
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def _read_parquet(source: Path) -> list[Entry]:
    pyarrow = require("pyarrow", "data", "a merge of Parquet")
    parquet = require("pyarrow.parquet", "data", "a merge of Parquet")
    try:
        rows = parquet.read_table(source).to_pylist()
        return [_of_columns(row) for row in rows]
    except (pyarrow.ArrowException, KeyError, ValueError, TypeError, OSError) as error:
        raise LedgerError(f"{source} is not an export of a ledger: {error}") from error


def _of_columns(row: dict[str, Any]) -> Entry:
    curves = {n.removeprefix(_CURVE): v for n, v in row.items() if n.startswith(_CURVE)}
    figures = {n: v for n, v in row.items() if "." in n and not n.startswith(_CURVE)}
    return Entry(
        row["hash"],
        json.loads(row["config"]),
        row["cause"],
        row["traceback"],
        {name: value for name, value in figures.items() if value is not None},
        {name: value for name, value in curves.items() if value is not None},
        row["seconds"],
        row["finished"],
        json.loads(row["versions"]),
    )
