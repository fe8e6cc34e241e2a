"""Move runs between ledgers: export to CSV and Parquet, merge back.

A Parquet file holds all curves. A CSV holds only the curves that its caller selects, such as those
of the figures; all else is complete, so tables can be built from it, and it can be merged.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...utils import text
from ...utils.checks import shown
from ...utils.errors import InputError, input_errors
from ...utils.extras import require
from ...utils.files import as_path, target_file, write_whole
from ...utils.typing import AnyArray, FloatArray
from ..plan import jobs as plan_jobs
from .entry import Entry
from .ledger import Ledger, LedgerError

_NAMES = ("dataset", "setting", "trial", "base", "method", "learning_rate")
# Keys of every configuration; see `plan.jobs.config`.
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
"""Some curves of runs, by hash and name."""


class Merged(NamedTuple):
    """How many runs a merge added, and how many were in the ledger before."""

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
        The curves that a CSV has, such as `plots.drawn_from`.
    """
    target = check_target(path)
    if target.suffix == ".csv":
        content = _csv(_columns(entries, curves or {}))
    else:
        content = _parquet(_columns(entries, {entry.hash: entry.curves for entry in entries}))
    write_whole(target, content)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of an export, or raise an error before anything is run."""
    with input_errors():
        target = target_file(path, "export")
    if target.suffix not in (".csv", ".parquet"):
        raise InputError(f"export must end in .csv or .parquet; got {shown(target.name)}")
    if target.suffix == ".parquet":
        require("pyarrow", "data", "an export to Parquet")
    return target


def merge(ledger: Ledger, path: str | os.PathLike[str]) -> Merged:
    """Add the runs of another ledger, or of an export, to this one.

    Existing runs stay. The exception is an existing run that failed or has fewer curves: a merged
    run that did not fail replaces it.
    """
    entries = read(path)
    new = ledger.record(entries, replace=True)
    return Merged(new, len(entries) - new)


def read(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the runs of a ledger, or of an export of one, each with its hash checked."""
    source = as_path(path)
    if not source.is_file():
        raise InputError(f"ledger must be a file that exists; {source} does not")
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
                "configuration or scores. Nothing was merged"
            )
        if plan_jobs.hash_of(entry.config) != entry.hash:
            raise LedgerError(
                f"{source} has been changed: run {shown(entry.hash)} is not what its "
                "configuration says. Nothing was merged"
            )
    return entries


def _is_proper(entry: Entry) -> bool:
    config, scores, versions = entry.config, entry.scores, entry.versions
    return (
        all(isinstance(each, dict) for each in (config, scores, versions))
        and all(isinstance(config.get(name), kind) for name, kind in _CONFIGURED.items())
        and isinstance(config.get("learning_rate", 0.0), (int, float))
        and all(isinstance(value, (int, float)) for value in scores.values())
        and all(isinstance(value, str) for value in versions.values())
    )


def _columns(entries: Sequence[Entry], curves: Curves) -> dict[str, list[Any]]:
    """Return the columns of an export: one value per run, None if it is missing."""
    scores = sorted({name for entry in entries for name in entry.scores})
    drawn = sorted({name for of_run in curves.values() for name in of_run})
    return {
        "hash": [e.hash for e in entries],
        **{name: [e.config.get(name) for e in entries] for name in _NAMES},
        "cause": [e.cause for e in entries],
        "seconds": [e.seconds for e in entries],
        "finished": [e.finished for e in entries],
        **{name: [e.scores.get(name) for e in entries] for name in scores},
        "config": [_json(e.config) for e in entries],
        "versions": [_json(e.versions) for e in entries],
        "traceback": [e.traceback for e in entries],
        **{_CURVE + name: [curves.get(e.hash, {}).get(name) for e in entries] for name in drawn},
    }


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _entry(row: Mapping[str, Any]) -> Entry:
    """Return the run of a row; None is a missing value."""
    numbers = {n: v for n, v in row.items() if "." in n and v is not None}
    return Entry(
        row["hash"],
        json.loads(row["config"]),
        row["cause"],
        row["traceback"],
        {name: value for name, value in numbers.items() if not name.startswith(_CURVE)},
        {n.removeprefix(_CURVE): v for n, v in numbers.items() if n.startswith(_CURVE)},
        row["seconds"],
        row["finished"] or "",
        json.loads(row["versions"]),
    )


def _csv(columns: dict[str, list[Any]]) -> bytes:
    seconds = [round(value, 2) for value in columns["seconds"]]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    for row in zip(*(columns | {"seconds": seconds}).values(), strict=True):
        writer.writerow(map(_cell, row))
    return buffer.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, str):
        return text.spreadsheet(value.replace("\r", "\\r"))  # csv would not quote it
    if isinstance(value, int):
        return str(value)
    return " ".join(f"{each:.{_DIGITS_OF_CURVES}g}" for each in value)


def rounded(curve: AnyArray) -> FloatArray:
    """Return a curve with the digits of a CSV: figures of a ledger and its export are the same."""
    return np.array(_cell(curve).split(), np.float64)


def _read_csv(source: Path) -> list[Entry]:
    csv.field_size_limit(2**24)
    try:
        with source.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        return [_entry(_of_cells(row)) for row in rows]
    except (csv.Error, KeyError, ValueError, TypeError, UnicodeDecodeError) as error:
        raise LedgerError(f"{source} is not an export of a ledger: {error}") from error


def _of_cells(row: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for cell_name, cell in row.items():
        name = text.from_spreadsheet(cell_name)
        if name.startswith(_CURVE):
            values[name] = np.array(cell.split(), np.float64) if cell else None
        elif "." in name:
            values[name] = float(cell) if cell else None
        else:
            values[name] = text.from_spreadsheet(cell) or None
    return values | {"seconds": float(row["seconds"] or math.nan)}


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    pyarrow = require("pyarrow", "data", "an export to Parquet")
    parquet = require("pyarrow.parquet", "data", "an export to Parquet")
    types = {
        **dict.fromkeys(("cause", "traceback"), pyarrow.string()),
        **{name: pyarrow.float64() for name in columns if "." in name},
        **{n: pyarrow.list_(pyarrow.float32()) for n in columns if n.startswith(_CURVE)},
    }
    arrays = {name: pyarrow.array(v, types.get(name)) for name, v in columns.items()}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), buffer, compression="zstd")
    return buffer.getvalue()


def _read_parquet(source: Path) -> list[Entry]:
    pyarrow = require("pyarrow", "data", "a merge of Parquet")
    parquet = require("pyarrow.parquet", "data", "a merge of Parquet")
    try:
        return [_entry(row) for row in parquet.read_table(source).to_pylist()]
    except (pyarrow.ArrowException, KeyError, ValueError, TypeError, OSError) as error:
        raise LedgerError(f"{source} is not an export of a ledger: {error}") from error
