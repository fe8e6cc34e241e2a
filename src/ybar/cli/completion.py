"""The values that the shell's completion offers for arguments and options."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable
from pathlib import Path

from ..utils.extras import require
from .app import typer

_LONGEST_HEADER = 2**20


def methods(incomplete: str) -> list[str]:
    """Return the methods of ``ybar fit``."""
    from ..tables.candidates import METHODS

    return _starting_with(incomplete, METHODS)


def matrices(incomplete: str) -> list[str]:
    """Return the words for a transition matrix, and the CSV files of the folder."""
    from ..transition.reading import WORDS

    return _starting_with(incomplete, [*WORDS, "estimate:", *_csv_files(incomplete)])


def sized_matrices(incomplete: str) -> list[str]:
    """Return the words for a transition matrix with a number of classes, and CSV files."""
    from ..transition.reading import WORDS

    words = [f"{word}:" for word in WORDS]
    return _starting_with(incomplete, [*words, *_csv_files(incomplete)])


def data_sets(incomplete: str) -> list[str]:
    """Return the data sets that can be downloaded."""
    from .. import datasets

    return _starting_with(incomplete, datasets.REGISTRY)


def plans(incomplete: str) -> list[str]:
    """Return the plans that come with ybar, and the TOML files of the folder."""
    from ..experiments.plan.reading import packaged

    files = sorted(map(str, Path(incomplete or ".").parent.glob("*.toml")))
    return _starting_with(incomplete, [*packaged(), *files])


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of DATA, which must come before the option."""
    # While the option has no value yet, the arguments before it are in ctx.args.
    for argument in (ctx.params.get("data"), *reversed(ctx.args)):
        with contextlib.suppress(Exception):  # a file that cannot be read has no completion
            if argument is not None and (names := _names(Path(argument))):
                return _starting_with(incomplete, names)
    return []


def _names(path: Path) -> list[str]:
    """Return the names of the columns of a file."""
    from ..tables import files

    suffix = files.suffix_of(path)
    if suffix == ".parquet":
        parquet = require("pyarrow.parquet", "data", "completion")
        return list(parquet.read_schema(path).names)
    if path.is_dir():
        path, suffix = path / "labels.csv", ".csv"
    if suffix not in files.DELIMITED:
        return []
    with files.open_bytes(str(path)) as file:
        line = file.readline(_LONGEST_HEADER).decode("utf-8-sig")
    delimiter = files.default_delimiter(suffix)
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])


def _csv_files(incomplete: str) -> list[str]:
    return sorted(map(str, Path(incomplete or ".").parent.glob("*.csv")))


def _starting_with(incomplete: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(incomplete)]
