"""Data in several files: their names, one at a time, with errors that name the file."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..utils.checks import shown
from . import files
from .files import DataError, NoRowsError

_PATTERN = ("*", "?", "[")


def is_pattern(data: str) -> bool:
    """Return whether DATA names several files, as in answers/*.parquet."""
    return any(sign in data for sign in _PATTERN) and not Path(data).exists()


def parts_of(data: str) -> list[str]:
    """Return the files that a pattern names, sorted; or the one file that DATA is."""
    if not is_pattern(data):
        return [data]
    parts = sorted(name for name in glob.glob(data, recursive=True) if Path(name).is_file())
    if not parts:
        raise DataError(f"DATA must name files; no file is called {shown(data)}. Check the path")
    return parts


def read(part: str, **options: Any) -> Any:
    """Return all rows of one of several files, as `files.read` does; it may have none."""
    return next(chunks(part, rows=None, **options))


def chunks(part: str, **options: Any) -> Iterator[Any]:
    """Yield the rows of one of several files, as `files.chunks` does; it may have none."""
    try:
        yield from files.chunks(part, **options)
    except NoRowsError as error:
        yield error.table


@contextlib.contextmanager
def naming(part: str) -> Iterator[None]:
    """Let errors about the data name the file."""
    try:
        yield
    except DataError as error:
        if part in str(error):
            raise
        raise DataError(f"{part}: {error}") from error
    except ValueError as error:
        raise DataError(f"{part}: {' '.join(str(error).split())}") from error
