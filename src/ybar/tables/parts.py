"""Data in several files: their names, one at a time, with errors that name the file."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from pathlib import Path

from ..utils.checks import shown
from .files import DataError

_PATTERN = ("*", "?", "[")


def is_pattern(data: str) -> bool:
    """Return whether DATA names several files, as in answers/*.parquet."""
    return any(sign in data for sign in _PATTERN) and not Path(data).exists()


def parts_of(data: str) -> list[str]:
    """Return the files that a pattern names, sorted; or the one file that DATA is."""
    if not is_pattern(data):
        return [data]
    files = sorted(name for name in glob.glob(data, recursive=True) if Path(name).is_file())
    if not files:
        raise DataError(f"DATA must name files; no file is called {shown(data)}. Check the path")
    return files


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
