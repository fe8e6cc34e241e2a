"""Write tables: the name of a file decides its format and its compression."""

from __future__ import annotations

import bz2
import contextlib
import csv
import errno
import gzip
import io
import lzma
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ..utils.checks import shown
from ..utils.errors import input_errors
from ..utils.extras import require
from ..utils.files import target_file, whole_file
from ..utils.text import spreadsheet
from .files import COMPRESSED, DataError, suffix_of

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": ","}
JSON_LINES = (".jsonl", ".ndjson", ".json")
_PARQUET = ".parquet"
_FULL = (errno.ENOSPC, errno.EDQUOT)

WriteTable = Callable[[Any], None]
"""Writes the next rows of a table, a data frame."""


def output_file(path: str | Path, option: str) -> Path:
    """Return the path of a file to write, or raise an error that names the option."""
    with input_errors():
        return target_file(path, option)


@contextlib.contextmanager
def table_output(target: str, *, escape: bool = False) -> Iterator[WriteTable]:
    """Open the table of ``--output``, which is written completely or not at all.

    Parameters
    ----------
    target : str
        A name that ends in ``.csv``, ``.txt`` (with commas), ``.tsv`` (with tabs), each also with
        ``.gz``, ``.bz2`` or ``.xz``, or in ``.parquet``; ``-`` for CSV to standard output.
    escape : bool
        Whether texts that a spreadsheet would interpret as formulas are written with a ' in front,
        unless the format is Parquet, which has none.
    """
    suffix = _checked_suffix(target, (*_DELIMITERS, _PARQUET), "--output")
    if suffix == _PARQUET:
        with _parquet_output(target) as write:
            yield write
        return
    with text_output(target, tuple(_DELIMITERS)) as text:
        yield _text_writer(text, _DELIMITERS.get(suffix, ","), escape)


def _text_writer(text: io.TextIOBase, delimiter: str, escape: bool) -> WriteTable:
    header = True

    def write(frame: Any) -> None:
        nonlocal header
        if escape:
            texts = {name: frame[name].map(_without_formula) for name in _texts(frame)}
            frame = frame.assign(**texts).rename(columns=_without_formula)
        # The csv module leaves a lone carriage return unquoted, which then ends the row.
        returns = any(frame[name].astype(str).str.contains("\r").any() for name in _texts(frame))
        quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        frame.to_csv(text, index=False, header=header, sep=delimiter, quoting=quoting)
        header = False

    return write


def _texts(frame: Any) -> list[str]:
    return [name for name in frame.columns if frame[name].dtype.kind not in "biufmM"]


def _without_formula(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    try:
        float(cell)
    except ValueError:
        return spreadsheet(cell)
    return cell  # a negative number is no formula


@contextlib.contextmanager
def _parquet_output(target: str) -> Iterator[WriteTable]:
    """Open a Parquet file; types are known at the end only, when later rows had missing values."""
    pyarrow = require("pyarrow", "data", "writing Parquet")
    parquet = require("pyarrow.parquet", "data", "writing Parquet")
    path, parts = output_file(target, "--output"), []
    yield lambda frame: parts.append(pyarrow.Table.from_pandas(frame, preserve_index=False))
    with writing(target), whole_file(path) as file:
        parquet.write_table(pyarrow.concat_tables(parts, promote_options="permissive"), file)


@contextlib.contextmanager
def text_output(
    target: str, suffixes: Sequence[str], when: str = "", option: str = "--output"
) -> Iterator[io.TextIOBase]:
    """Open a file of text, compressed if its name says so; it is written whole or not at all.

    ``-`` is standard output.

    Parameters
    ----------
    suffixes : sequence of str
        The endings that the name may have, besides those of a compression.
    when : str
        When this is so, for the error.
    """
    if target == "-":
        with writing("standard output"):
            yield sys.stdout  # type: ignore[misc]
            sys.stdout.flush()
        return
    _checked_suffix(target, suffixes, option, when)
    path = output_file(target, option)
    with writing(target), whole_file(path) as file, _compressed(target, file) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def _compressed(target: str, file: IO[bytes]) -> contextlib.AbstractContextManager[Any]:
    match Path(target).suffix.lower():
        case ".gz":
            return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
        case ".bz2":
            return bz2.BZ2File(file, "wb")
        case ".xz":
            return lzma.LZMAFile(file, "wb")
    return contextlib.nullcontext(file)


def _checked_suffix(target: str, suffixes: Sequence[str], option: str, when: str = "") -> str:
    """Return the ending of a name without that of a compression; "" for pipes and devices."""
    path = Path(target)
    if target == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        return ""
    suffix = suffix_of(path)
    packed = path.suffix.lower() in COMPRESSED
    if suffix not in suffixes or (packed and suffix == _PARQUET):
        text = [name for name in suffixes if name != _PARQUET]
        also = f" (also with {', '.join(COMPRESSED)})"
        parquet = f", or in {_PARQUET}" if _PARQUET in suffixes else ""
        raise DataError(
            f"{option}{when} must be a name that ends in {', '.join(text)}{also}{parquet}, or - "
            f"for standard output; got {shown(path.name)}"
        )
    return suffix


@contextlib.contextmanager
def writing(target: str) -> Iterator[None]:
    """Name the file and the reason if it cannot be written, such as a full disk."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:  # it has a message of ours
            raise
        reason = f"the disk is full ({error.strerror})" if error.errno in _FULL else error.strerror
        raise OSError(
            f"{target} cannot be written: {reason}. Free some space, or choose another folder"
        ) from error
