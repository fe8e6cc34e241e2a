"""Read a user's data from a file, a folder of images or standard input."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.images import read_grey
from ..datasets.reading import read_npz_arrays, read_parquet
from ..utils.errors import InputError, input_errors
from ..utils.extras import require
from ..utils.files import reading
from ..utils.memory import VARIABLE, byte_limit

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
DELIMITED = (".csv", ".tsv", ".txt")
ROWS_AT_ONCE = 100_000
IMAGE_SIZE = 28

_SNIFFED = 4 * 2**20
_MOST_COLUMNS = 200_000
_BYTES_PER_CHARACTER = 4  # of memory, while a table of text is read
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSED = tuple(_OPENERS)


class DataError(InputError):
    """A user's table that cannot be used; the message says why, and what to do."""


class NoRowsError(DataError):
    """A table that has column names only; `table` has them."""

    def __init__(self, message: str, table: Any) -> None:
        super().__init__(message)
        self.table = table


def read(source: str, **options: Any) -> Any:
    """Return all rows of a source as one data frame; the options are those of `chunks`."""
    return next(chunks(source, rows=None, **options))


def chunks(
    source: str,
    *,
    delimiter: str | None = None,
    image_size: int = IMAGE_SIZE,
    as_text: Iterable[str] | None = (),
    rows: int | None = ROWS_AT_ONCE,
    max_bytes: int | None = None,
) -> Iterator[Any]:
    """Yield the rows of a source as data frames, several if its format allows it.

    Parameters
    ----------
    source : str
        A ``.csv``, ``.tsv`` or ``.txt`` file (also compressed), a ``.parquet`` file, an ``.npz``
        file whose arrays have the same number of rows, a folder of images, or ``-`` for CSV from
        standard input.
    delimiter : str, optional
        Separates the cells of a line; by default a tab for .tsv, a comma for all others.
    image_size : int
        Images are scaled to grey squares of this many pixels, with one column per pixel. The
        column ``folder`` is the name of the folder that the image is in. If there is a
        ``labels.csv``, its columns are joined by its column ``file``.
    as_text : iterable of str, optional
        Columns of a delimited file that are kept as they are written, so that 007 does not become
        7. None means all columns.
    rows : int or None
        Rows of a data frame; None means all.
    max_bytes : int, optional
        The bytes of memory that each part may take when it is unpacked; see `memory.byte_limit`.
    """
    path = Path(source)
    with input_errors():
        limit = byte_limit(max_bytes)
    if source != "-" and not path.exists():
        raise DataError(f"{source} does not exist. Check the path")
    if source != "-" and path.is_dir():
        yield _read_images(path, image_size, limit)
        return
    suffix = suffix_of(path)
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise DataError(f"--delimiter must be one character, or tab; got {delimiter!r}")
    if source == "-" or suffix in DELIMITED:
        delimiter = delimiter or default_delimiter(suffix)
        yield from _read_delimited(source, delimiter, limit, rows, as_text)
    elif suffix == ".parquet":
        with reading(source, DataError):
            frame = read_parquet(path, limit)
        yield _checked(frame, source)
    elif suffix == ".npz":
        yield _read_npz(path, limit)
    else:
        raise DataError(
            f"{source} must be a .csv, .tsv, .txt, .parquet or .npz file, or a folder of images; "
            f"its name ends in {suffix or 'nothing'!r}"
        )


def suffix_of(path: Path) -> str:
    """Return the ending of a file's name without that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def default_delimiter(suffix: str) -> str:
    """Return the delimiter of a file whose name ends in this."""
    return "\t" if suffix == ".tsv" else ","


def _read_delimited(
    source: str,
    delimiter: str,
    limit: int,
    rows: int | None,
    as_text: Iterable[str] | None = (),
) -> Iterator[Any]:
    pandas = require("pandas", "data", "reading a table")
    name = "standard input" if source == "-" else source
    limit //= _BYTES_PER_CHARACTER
    if rows is None:
        _check_unpacked(source, limit)
    with open_bytes(source) as raw:
        stream = CheckedText(raw, name, limit)
        file = io.BufferedReader(stream, max(1, min(_SNIFFED, limit // 8)))
        with reading(name, DataError):
            start = file.peek()
        _check_start(start, name, delimiter)
        # Words such as NA may be categories; `columns` and `labels` know where they are missing.
        settings: dict[str, Any] = {
            "sep": delimiter,
            "keep_default_na": False,
            "na_values": [""],
            "skipinitialspace": True,
            "encoding": "utf-8-sig",
            "index_col": False,
            "dtype": object if as_text is None else dict.fromkeys(as_text, object),
        }

        def parse(read: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            with reading(name, DataError), warnings.catch_warnings():
                warnings.simplefilter("error", pandas.errors.ParserWarning)
                try:
                    return read(*args, **kwargs)
                finally:
                    stream.check()  # the parser hides why the stream ended

        table = parse(pandas.read_csv, file, chunksize=rows, low_memory=False, **settings)
        if rows is None:
            yield _checked(table, name)
            return
        with table:
            while (frame := parse(next, table, None)) is not None:
                yield _checked(frame, name)
                stream.held = 0


class CheckedText(io.RawIOBase):
    """A stream of text that ends with an error at a null byte, or after too many bytes.

    Attributes
    ----------
    held : int
        The bytes that were read since it was last set to 0.
    """

    def __init__(self, raw: Any, name: str, limit: int) -> None:
        super().__init__()
        self.raw, self.name, self.limit = raw, name, limit
        self.held = 0
        self.error: DataError | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer and return their number."""
        self.check()
        content = self.raw.read(len(buffer))
        self.held += len(content)
        if b"\0" in content:
            self.error = DataError(
                f"{self.name} must be a text file; it contains null bytes. Check its type"
            )
        elif self.held > self.limit:
            self.error = _too_large(self.name, self.limit)
        self.check()
        buffer[: len(content)] = content
        return len(content)

    def check(self) -> None:
        """Raise the error of the stream, if there was one."""
        if self.error is not None:
            raise self.error


def _too_large(name: str, limit: int) -> DataError:
    return DataError(
        f"{name} must hold at most {limit:,} bytes of text at once; it holds more, which would "
        "need too much memory. Split it, or set the environment variable "
        f"{VARIABLE} to more than {_BYTES_PER_CHARACTER * limit:,}"
    )


def _check_unpacked(source: str, limit: int) -> None:
    """Raise an error for a compressed file of too much text, before any of it is kept."""
    if Path(source).suffix.lower() not in _OPENERS:
        return
    size = 0
    with open_bytes(source) as file, reading(source, DataError):
        while block := file.read(2**20):
            size += len(block)
            if size > limit:
                raise _too_large(source, limit)


@contextlib.contextmanager
def open_bytes(source: str) -> Iterator[Any]:
    """Open a file, compressed or not, or standard input, for bytes."""
    if source == "-":
        yield sys.stdin.buffer
        return
    opener: Any = _OPENERS.get(Path(source).suffix.lower(), open)
    with contextlib.ExitStack() as stack:
        with reading(source, DataError):
            file = stack.enter_context(opener(source, "rb"))
        yield file


def _check_start(start: bytes, name: str, delimiter: str) -> None:
    """Raise an error, before the whole file is read, if it is not text with this delimiter."""
    if b"\0" in start:
        raise DataError(f"{name} must be a text file; it contains null bytes. Check its type")
    lines = start.decode("utf-8-sig", "replace").splitlines(keepends=True)
    if not lines:
        raise DataError(f"{name} must have a line of column names, then rows; it is empty")
    first = lines[0]
    with reading(name, DataError):
        names = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True), [])
    if len(names) > _MOST_COLUMNS:
        raise DataError(
            f"{name} must have at most {_MOST_COLUMNS:,} columns; got {len(names):,} or more. Save "
            "numbers as a matrix in an .npz file, which may have more"
        )
    if not first.endswith(("\n", "\r")):
        names = names[:-1]  # the last name may be incomplete
    _check_unique([each for each in names if each], name)  # pandas would number them
    if delimiter not in first:
        others = [other for other in (";", "\t", "|", ",") if other in first]
        if others:
            raise DataError(
                f"{name} must have {delimiter!r} between its cells; its first line has "
                f"{others[0]!r} instead. Add --delimiter {others[0]!r}"
            )


def _check_unique(names: list[str], source: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{source} must name each column once; {repeated[0]!r} occurs twice")


def _checked(frame: Any, source: str) -> Any:
    frame.columns = [str(name) for name in frame.columns]
    _check_unique(list(frame.columns), source)
    if not len(frame):
        raise NoRowsError(f"{source} must have rows; it has column names only", frame)
    return frame


def _read_npz(path: Path, limit: int) -> Any:
    """Return the arrays of an npz file side by side, with one column per column of a matrix."""
    pandas = require("pandas", "data", "reading a table")
    with reading(str(path), DataError):
        arrays = read_npz_arrays(path, max_bytes=limit)
    arrays = {name: array for name, array in arrays.items() if array.ndim}
    if len({len(array) for array in arrays.values()}) != 1:
        lengths = ", ".join(f"{name}: {len(array)}" for name, array in arrays.items())
        raise DataError(
            f"{path} must hold arrays with the same number of rows; got {lengths or 'none'}"
        )
    parts = []
    for name, array in arrays.items():
        if array.dtype.kind == "S":
            array = np.char.decode(array, "utf-8", "replace")
        flat = array.reshape(len(array), -1)
        names = [name] if array.ndim == 1 else [f"{name}{i}" for i in range(flat.shape[1])]
        parts.append(pandas.DataFrame(flat, columns=names))
    return _checked(pandas.concat(parts, axis=1), str(path))


def _read_images(folder: Path, size: int, limit: int) -> Any:
    pandas = require("pandas", "data", "reading a table")
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in IMAGES and p.is_file())
    if not files:
        raise DataError(f"{folder} must contain images ({', '.join(IMAGES)}); it has no images")
    pixels = np.empty((len(files), size * size), np.uint8)
    for i, file in enumerate(files):
        pixels[i] = read_grey(file, size, DataError).ravel()
    frame = pandas.DataFrame(pixels, columns=[f"pixel{i}" for i in range(size * size)])
    frame.insert(0, "file", [_as_text(file.relative_to(folder).as_posix()) for file in files])
    frame.insert(1, "folder", [_as_text(file.parent.name) for file in files])
    table = folder / "labels.csv"
    return _join_labels(frame, table, limit) if table.exists() else frame


def _as_text(name: str) -> str:
    r"""Return a file's name as text that can be written, with \xff for a byte that is no UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _join_labels(frame: Any, table: Path, limit: int) -> Any:
    """Return the images with the columns of ``labels.csv``, joined by the column ``file``."""
    labels = next(_read_delimited(str(table), ",", limit, None, None))
    if "file" not in labels:
        raise DataError(f"{table} must have a column 'file'; it has {list(labels.columns)}")
    unknown = sorted(set(labels["file"]) - set(frame["file"]))
    if unknown:
        raise DataError(f"{table} must name images in its folder; got {unknown[0]!r}")
    replaced = sorted(set(labels.columns) & set(frame.columns) - {"file"})
    return frame.drop(columns=replaced).merge(labels, on="file", how="left")
