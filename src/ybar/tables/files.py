"""Read a user's data from a file, a folder of images or standard input, as a data frame."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import lzma
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.reading import read_npz_arrays, read_parquet
from ..utils.extras import require
from ..utils.files import reading, target_file, whole_file

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
DELIMITED = (".csv", ".tsv", ".txt")
ROWS_AT_ONCE = 100_000
IMAGE_SIZE = 28

_MOST_IMAGE_PIXELS = 50_000_000
_SNIFFED = 64 * 1024
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class DataError(ValueError):
    """A file that cannot be used; the message names it, what is allowed and what to do."""


def read(
    source: str,
    *,
    delimiter: str | None = None,
    image_size: int = IMAGE_SIZE,
    as_text: Iterable[str] | None = (),
) -> Any:
    """Return the rows of a source as a data frame.

    Parameters
    ----------
    source : str
        A ``.csv``, ``.tsv`` or ``.txt`` (also gzipped), a ``.parquet``, an ``.npz`` whose arrays
        have as many rows, a folder of images, or ``-`` for CSV from standard input.
    delimiter : str, optional
        Between the cells of a line; by default a tab for .tsv, else a comma.
    image_size : int
        Images become squares of so many pixels, grey, each pixel a column; the folder an image
        lies in is its column ``folder``, and the columns of a ``labels.csv`` beside are joined by
        its column ``file``.
    as_text : iterable of str, optional
        Columns of a delimited file that are kept as they are written: 007 is not 7. None is all.
    """
    found = chunks(source, delimiter=delimiter, image_size=image_size, as_text=as_text, rows=None)
    return next(found)


def chunks(
    source: str,
    *,
    delimiter: str | None = None,
    image_size: int = IMAGE_SIZE,
    as_text: Iterable[str] | None = (),
    rows: int | None = ROWS_AT_ONCE,
) -> Iterator[Any]:
    """Yield the rows of a source, so many at a time where the source allows it; see `read`."""
    path = Path(source)
    if source != "-" and not path.exists():
        raise DataError(f"{source} does not exist. Check the path")
    if source != "-" and path.is_dir():
        yield _read_images(path, image_size)
        return
    suffix = _suffix(path)
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise DataError(f"--delimiter must be one character, or tab; got {delimiter!r}")
    if source == "-" or suffix in DELIMITED:
        yield from _read_delimited(source, delimiter or _usual(suffix), rows, as_text)
    elif suffix == ".parquet":
        with reading(source, DataError):
            yield _checked(read_parquet(path), source)
    elif suffix == ".npz":
        yield _read_npz(path)
    else:
        raise DataError(
            f"{source} must be a .csv, .tsv, .txt, .parquet or .npz file, or a folder of images; "
            f"its name ends in {suffix or 'nothing'!r}"
        )


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _usual(suffix: str) -> str:
    return "\t" if suffix == ".tsv" else ","


def _read_delimited(
    source: str, delimiter: str, rows: int | None, as_text: Iterable[str] | None = ()
) -> Iterator[Any]:
    pandas = require("pandas", "data", "reading a table")
    name = "standard input" if source == "-" else source
    with reading(name, DataError), _opened(source) as given:
        _look(given, name, delimiter)
        # Classes named NA or None are classes; only what is empty is missing.
        settings: dict[str, Any] = {
            "sep": delimiter,
            "keep_default_na": False,
            "na_values": [""],
            "skipinitialspace": True,
            "encoding": "utf-8-sig",
            "index_col": False,
            "dtype": object if as_text is None else dict.fromkeys(as_text, object),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            if rows is None:
                yield _checked(pandas.read_csv(given, low_memory=False, **settings), name)
                return
            with pandas.read_csv(given, chunksize=rows, low_memory=False, **settings) as reader:
                for frame in reader:
                    yield _checked(frame, name)


@contextlib.contextmanager
def _opened(source: str) -> Iterator[Any]:
    """Open a file, compressed or not, or standard input, so that its start can be looked at."""
    if source == "-":
        given: Any = sys.stdin.buffer
        file = io.BufferedReader(given, _SNIFFED)
        try:
            yield file
        finally:
            file.detach()  # standard input stays open
        return
    opener: Any = _OPENERS.get(Path(source).suffix.lower(), open)
    with opener(source, "rb") as raw, io.BufferedReader(raw, _SNIFFED) as file:
        yield file


def _look(file: Any, name: str, delimiter: str) -> None:
    """Refuse what is no text, or is delimited by something else, before all of it is read."""
    start = file.peek(_SNIFFED)
    if b"\0" in start:
        raise DataError(f"{name} is not text: it has bytes of 0. Is it another kind of file?")
    lines = start.decode("utf-8-sig", "replace").splitlines(keepends=True)
    if not lines:
        raise DataError(f"{name} is empty. It must have a line of column names, then rows")
    first = lines[0]
    names = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True), [])
    if not first.endswith(("\n", "\r")):
        names = names[:-1]  # the last one may go on
    twice = [each for each, times in Counter(names).items() if each and times > 1]
    if twice:  # pandas would number them
        raise DataError(f"{name} must name each column once; {twice[0]!r} is there twice")
    if delimiter not in first:
        others = [other for other in (";", "\t", "|", ",") if other in first]
        if others:
            raise DataError(
                f"{name} has no {delimiter!r} in its first line, but {others[0]!r}. If that is "
                f"what is between its cells, say so: --delimiter {others[0]!r}"
            )


def _checked(frame: Any, source: str) -> Any:
    frame.columns = [str(name) for name in frame.columns]
    twice = [name for name, times in Counter(frame.columns).items() if times > 1]
    if twice:
        raise DataError(f"{source} must name each column once; {twice[0]!r} is there twice")
    if not len(frame):
        raise DataError(f"{source} has no rows")
    return frame


def _read_npz(path: Path) -> Any:
    """Return the arrays of an npz side by side: a matrix gives a column for each of its own."""
    pandas = require("pandas", "data", "reading a table")
    with reading(str(path), DataError):
        try:
            arrays = read_npz_arrays(path)
        except zipfile.BadZipFile as error:
            raise DataError(f"{path} is no npz file ({error})") from error
        lengths = {name: len(array) for name, array in arrays.items() if array.ndim}
        if len(set(lengths.values())) != 1:
            raise DataError(
                f"{path} must hold arrays with as many rows each; got "
                f"{', '.join(f'{name}: {n}' for name, n in lengths.items()) or 'none'}"
            )
        parts = []
        for name, array in arrays.items():
            if not array.ndim:
                continue
            if array.dtype.kind == "S":
                array = np.char.decode(array, "utf-8", "replace")
            flat = array.reshape(len(array), -1)
            names = [name] if array.ndim == 1 else [f"{name}{i}" for i in range(flat.shape[1])]
            parts.append(pandas.DataFrame(flat, columns=names))
        return _checked(pandas.concat(parts, axis=1), str(path))


def _read_images(folder: Path, size: int) -> Any:
    pandas = require("pandas", "data", "reading a table")
    image = require("PIL.Image", "data", "reading images")
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in IMAGES and p.is_file())
    if not files:
        raise DataError(f"{folder} has no images ({', '.join(IMAGES)})")
    pixels = np.empty((len(files), size * size), np.uint8)
    for i, file in enumerate(files):
        with reading(str(file), DataError), image.open(file) as opened:
            if opened.width * opened.height > _MOST_IMAGE_PIXELS:
                raise DataError(f"{file} has more than {_MOST_IMAGE_PIXELS:,} pixels")
            pixels[i] = np.asarray(opened.convert("L").resize((size, size))).ravel()
    frame = pandas.DataFrame(pixels, columns=[f"pixel{i}" for i in range(size * size)])
    names = [file.relative_to(folder).as_posix() for file in files]
    frame.insert(0, "file", names)
    frame.insert(1, "folder", [file.parent.name for file in files])
    table = folder / "labels.csv"
    if table.exists():
        labels = next(_read_delimited(str(table), ",", None, None))
        if "file" not in labels:
            raise DataError(f"{table} must have a column 'file'; it has {list(labels.columns)}")
        unknown = sorted(set(labels["file"]) - set(names))
        if unknown:
            raise DataError(f"{table} names {unknown[0]!r}, which is no image in {folder}")
        both = sorted(set(labels.columns) & set(frame.columns) - {"file"})
        frame = frame.drop(columns=both).merge(labels, on="file", how="left")
    return frame


@contextlib.contextmanager
def output(target: str) -> Iterator[io.TextIOBase]:
    """Open a file to write a table to, which is whole or not there; ``-`` is standard output."""
    if target == "-":
        yield sys.stdout  # type: ignore[misc]
        sys.stdout.flush()
        return
    with whole_file(target_file(target, "--output")) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()
