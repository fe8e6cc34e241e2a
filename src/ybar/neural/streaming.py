"""Rows in Parquet and Arrow files that are read in blocks, never all at once."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..utils import checks
from ..utils.extras import require
from ..utils.files import reading
from ..utils.typing import AnyArray, IntArray

_SUFFIXES = (".parquet", ".arrow", ".feather")
_BLOCK = 2**14  # rows read at once from a group
_EVALUATED_AT_ONCE = 2**16  # rows of a block of predictions
_MOST_OPEN = 8  # groups that are read in turns
_FILE_BUFFER = 2**16
_READER = 2.2 * 2**20  # bytes of a reader's column: a page, a dictionary, the file's buffer
# What the memory is for: rows to shuffle, readers, held-out rows.
_SHUFFLED, _READ, _HELD_OUT = 0.6, 0.3, 0.1
_FLOAT = 4  # bytes


class Group(NamedTuple):
    """Rows that are read in their order: a row group of Parquet, or a record batch of Arrow."""

    file: int
    number: int
    first: int
    n_rows: int
    n_bytes: int


@dataclass(frozen=True)
class HeldOut:
    """A stream to train on, and the rows of it that are held out, with their sorted numbers."""

    stream: Stream
    numbers: IntArray
    rows: AnyArray

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, repr=False)
class Stream:
    """Rows of Parquet or Arrow files, as X of the network classifiers; see `stream`.

    Attributes
    ----------
    files : tuple of str
    filesystem : pyarrow.fs.FileSystem or None
    columns : dict
        The type of each column, in order.
    groups : tuple of Group
    max_bytes : int
    features : tuple of str
        The columns that the user chose; empty for all but the labels.
    """

    files: tuple[str, ...]
    filesystem: Any
    columns: dict[str, Any]
    groups: tuple[Group, ...]
    max_bytes: int
    features: tuple[str, ...] = ()

    def __repr__(self) -> str:
        size = f"{len(self):,} rows × {len(self.columns)} columns"
        return f"<Stream of {size} in {len(self.files)} files>"

    def __len__(self) -> int:
        return self.groups[-1].first + self.groups[-1].n_rows

    @property
    def dtype(self) -> np.dtype[Any]:
        """The common type of the columns."""
        return np.result_type(*(kind.to_pandas_dtype() for kind in self.columns.values()))

    @property
    def row_bytes(self) -> int:
        """The bytes of a row of 32-bit numbers."""
        return _FLOAT * len(self.columns)

    def select(self, names: Sequence[str]) -> Self:
        """Return the stream of some columns, which must hold numbers."""
        types = require("pyarrow.types", "data", "a stream")
        for name in names:
            kind = self._column(name, "X")
            number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            if not number:
                raise ValueError(
                    f"X must have columns of numbers; {self.files[0]} has {kind} in its column "
                    f"{name!r}. Encode it, or name the columns to use with columns="
                )
        return replace(self, columns={name: self.columns[name] for name in names})

    def features_beside(self, label: object) -> Self:
        """Return the stream of the features: those that the user chose, or all but the labels."""
        return self.select(self.features or [name for name in self.columns if name != label])

    def _column(self, name: str, argument: str) -> Any:
        if name not in self.columns:
            raise ValueError(
                f"{argument} must name columns of {self.files[0]}; got {checks.shown(name)}. It "
                f"has {checks.shown(list(self.columns))}"
            )
        return self.columns[name]

    def labels(self, name: str, classes: ArrayLike | None) -> tuple[AnyArray, AnyArray]:
        """Return the codes of the labels in a column, in the smallest type, and the classes.

        Parameters
        ----------
        name : str
        classes : array-like of shape (K,), optional
            All classes; by default the sorted labels that occur.
        """
        self._column(name, "y")
        known = None if classes is None else np.asarray(classes).tolist()
        code_of = {value: code for code, value in enumerate(known or [])}
        parts = []
        for group in self.groups:
            with reading(self.files[group.file]):
                parts.append(self._codes(group, name, code_of, known))
        names = np.array(list(code_of)) if known is None else np.asarray(classes)
        codes = np.concatenate(parts)
        del parts
        if known is None:
            order = np.argsort(names)
            rank = np.empty(len(order), codes.dtype)
            rank[order] = np.arange(len(order))
            names, codes = names[order], rank[codes]
        return codes, names

    def _codes(
        self, group: Group, name: str, code_of: dict[Any, int], known: list[Any] | None
    ) -> AnyArray:
        """Return the codes of a group's labels, adding labels that are new to `code_of`."""
        compute = require("pyarrow.compute", "data", "a stream")
        codes = []
        for batch in self._batches(group, [name]):
            column = batch.column(0)
            if column.null_count:
                raise ValueError(f"its column {name!r} has {column.null_count} missing labels")
            encoded = column if hasattr(column, "dictionary") else compute.dictionary_encode(column)
            values = encoded.dictionary.to_pylist()
            used = np.unique(encoded.indices.to_numpy())
            for value in (values[i] for i in used):
                if checks.is_missing(value):
                    raise ValueError(f"its column {name!r} has missing labels, such as {value}")
                if value not in code_of and known is not None:
                    raise ValueError(
                        f"y must hold the classes {checks.shown(known)}; its column {name!r} has "
                        f"{checks.shown(value)}"
                    )
                code_of.setdefault(value, len(code_of))
            table = np.zeros(len(values), np.min_scalar_type(-len(code_of)))
            table[used] = [code_of[values[i]] for i in used]
            codes.append(table[encoded.indices.to_numpy()])
        return np.concatenate(codes) if codes else np.empty(0, np.int8)

    def blocks(self, at_once: int = _EVALUATED_AT_ONCE) -> Iterator[tuple[int, AnyArray]]:
        """Yield the rows in order, in blocks, each with the number of its first row."""
        for group in self.groups:
            yield from self._read(group, at_once)

    def shuffled(self, generator: np.random.Generator) -> Iterator[tuple[int, AnyArray]]:
        """Yield blocks at random from a few groups at a time, the groups in random order."""
        waiting = [self.groups[i] for i in generator.permutation(len(self.groups))]
        largest = max(group.n_bytes for group in self.groups)
        reader = max(1, min(largest, _READER * len(self.columns)))
        n_open = int(np.clip(_READ * self.max_bytes / reader, 1, _MOST_OPEN))
        opened = [self._read(group) for group in waiting[:n_open]]
        waiting = waiting[n_open:]
        while opened:
            i = int(generator.integers(len(opened)))
            block = next(opened[i], None)
            if block is not None:
                yield block
            elif waiting:
                opened[i] = self._read(waiting.pop())
            else:
                opened.pop(i)

    def buffer_rows(self) -> int:
        """Return how many rows of 32-bit numbers the memory holds to shuffle them."""
        return max(_BLOCK, int(_SHUFFLED * self.max_bytes / self.row_bytes))

    def held_out_rows(self, fraction: float, generator: np.random.Generator) -> IntArray:
        """Return the numbers of the rows to hold out, at most as many as a tenth of the memory.

        Only their number depends on the files, so that nothing is read to choose them.
        """
        most = max(2, int(_HELD_OUT * self.max_bytes / self.row_bytes))
        n = min(int(np.ceil(fraction * len(self))), most)
        return np.sort(generator.choice(len(self), n, replace=False, shuffle=False))

    def rows(self, numbers: IntArray) -> AnyArray:
        """Return the rows of those sorted numbers; groups without any are not read."""
        out = np.empty((len(numbers), len(self.columns)), np.float32)
        for group in self.groups:
            if np.diff(np.searchsorted(numbers, [group.first, group.first + group.n_rows])) == 0:
                continue
            for first, block in self._read(group):
                start, stop = np.searchsorted(numbers, [first, first + len(block)])
                out[start:stop] = block[numbers[start:stop] - first]
        return out

    def _read(self, group: Group, at_once: int = 0) -> Iterator[tuple[int, AnyArray]]:
        """Yield the rows of a group as 32-bit floats, uint8 scaled, with the first row's number."""
        first, names, as_pixels = group.first, list(self.columns), self.dtype == np.uint8
        with reading(self.files[group.file]):
            for batch in self._batches(group, names, at_once):
                block = np.empty((batch.num_rows, len(names)), np.float32)
                for j, name in enumerate(names):
                    column = batch.column(name)
                    if column.null_count:
                        raise ValueError(f"its column {name!r} has missing values. Fill them in")
                    with np.errstate(over="ignore"):  # infinities are an error below
                        block[:, j] = column.to_numpy(zero_copy_only=False)
                finite = np.isfinite(block).all(axis=0)
                if not finite.all():
                    name = names[int(np.argmin(finite))]
                    raise ValueError(f"its column {name!r} has NaN, infinite or too large values")
                if as_pixels:
                    block *= np.float32(1 / 255)
                yield first, block
                first += len(block)

    def _batches(self, group: Group, names: list[str], at_once: int = 0) -> Iterator[Any]:
        """Yield the record batches of a group, with at most `at_once` rows each."""
        path, at_once = self.files[group.file], at_once or _BLOCK
        if not path.endswith(_SUFFIXES[1:]):
            with _parquet(path, self.filesystem) as file:
                yield from file.iter_batches(
                    at_once, row_groups=[group.number], columns=names, use_threads=False
                )
            return
        with _arrow(path, self.filesystem) as file:
            batch = file.get_batch(group.number).select(names)
        for first in range(0, len(batch), at_once):
            yield batch.slice(first, at_once)


def stream(
    source: Any, *, columns: Sequence[str] | None = None, max_bytes: int = 500_000_000
) -> Stream:
    """Read rows from Parquet or Arrow files block by block, to train and predict with networks.

    Pass the result as X to `ComplementaryNetClassifier` or `ComplementaryNetClassifierCV`, and the
    name of the column of labels as y: ``clf.fit(stream("answers/*.parquet"), "not_label")``.
    Training reads the row groups in random order, a few at a time, into a buffer that is shuffled.

    Parameters
    ----------
    source : path, glob, list of paths, or pyarrow.dataset.Dataset
        Parquet files, or Arrow files (``.arrow``, ``.feather``); a folder stands for all of them in
        it. All files must have the same columns. Values that
        only the names of folders hold (Hive partitions) are not read.
    columns : list of str, optional
        The features; by default all columns but the labels. They must hold numbers, none missing.
    max_bytes : int
        Memory for the rows: the buffer, the readers of files and the held-out rows. Labels need
        another byte per row (two above 128 classes).

    Returns
    -------
    Stream

    Examples
    --------
    >>> import numpy as np, pandas as pd, tempfile
    >>> from ybar import ComplementaryNetClassifier, datasets
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2)).round(3)
    >>> frame = pd.DataFrame(X, columns=["a", "b"])
    >>> frame["not_label"] = np.where(X[:, 0] > 0, "left", "right")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/answers.parquet")
    ...     rows = datasets.stream(f"{folder}/*.parquet")
    ...     clf = ComplementaryNetClassifier(
    ...         hidden_layer_sizes=(), learning_rate=0.1, max_epochs=20, random_state=0
    ...     )
    ...     predicted = clf.fit(rows, "not_label").predict(rows)
    >>> bool((predicted != frame["not_label"]).mean() > 0.9)
    True
    """
    max_bytes = checks.whole_number(max_bytes, "max_bytes", 1)
    filesystem, files = None, getattr(source, "files", None)
    if files is None:
        files = _files(source)
    else:
        filesystem = source.filesystem
    kinds: dict[str, Any] = {}
    groups: list[Group] = []
    n_rows = 0
    for number, path in enumerate(files):
        with reading(path):
            schema, sizes = _describe(path, filesystem)
            types = {field.name: _value_type(field.type) for field in schema}
            kinds = kinds or types
            _check_same_columns(kinds, types, files[0])
        for index, (size, n_bytes) in enumerate(sizes):
            if size:
                groups.append(Group(number, index, n_rows, size, n_bytes))
            n_rows += size
    if not groups:
        raise ValueError(f"source must hold at least one row; got {checks.shown(files, 200)}")
    rows = Stream(tuple(files), filesystem, kinds, tuple(groups), max_bytes)
    for name in columns or ():
        rows._column(name, "columns")
    return replace(rows, features=tuple(columns or ()))


def _files(source: Any) -> list[str]:
    """Return the files that a path, a glob, a folder or a list of them stands for."""
    if isinstance(source, (list, tuple)):
        return [file for each in source for file in _files(each)]
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            "source must be a path, a glob, a list of paths or a pyarrow dataset of files; got "
            f"{checks.shown(source)}"
        )
    path = Path(source)
    if path.is_dir():
        files = sorted(str(file) for file in path.rglob("*") if file.suffix in _SUFFIXES)
    else:
        files = [str(path)] if path.is_file() else sorted(glob.glob(str(source), recursive=True))
    if not files:
        raise FileNotFoundError(
            f"source must be Parquet or Arrow files that exist; got {str(source)!r}"
        )
    return files


def _parquet(path: str, filesystem: Any) -> Any:
    # Without the two options a reader holds all columns of the row group, compressed.
    return require("pyarrow.parquet", "data", "a stream").ParquetFile(
        path, filesystem=filesystem, buffer_size=_FILE_BUFFER, pre_buffer=False
    )


def _arrow(path: str, filesystem: Any) -> Any:
    pyarrow = require("pyarrow", "data", "a stream")
    file = pyarrow.memory_map(path) if filesystem is None else filesystem.open_input_file(path)
    return require("pyarrow.ipc", "data", "a stream").open_file(file)


def _describe(path: str, filesystem: Any) -> tuple[Any, list[tuple[int, int]]]:
    """Return the schema of a file, and the number of rows and of bytes of each of its groups."""
    if path.endswith(_SUFFIXES[1:]):
        with _arrow(path, filesystem) as file:
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            return file.schema, [(len(batch), batch.nbytes) for batch in batches]
    with _parquet(path, filesystem) as file:
        groups = (file.metadata.row_group(i) for i in range(file.num_row_groups))
        return file.schema_arrow, [(group.num_rows, group.total_byte_size) for group in groups]


def _value_type(kind: Any) -> Any:
    """Return the type of a column's values, whether they are stored with a dictionary or not."""
    return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind


def _check_same_columns(expected: dict[str, Any], types: dict[str, Any], first: str) -> None:
    for name in [*expected, *types]:
        if types.get(name) != expected.get(name):
            here, there = (str(kinds.get(name, "no such column")) for kinds in (types, expected))
            raise ValueError(
                f"all files must have the same columns; for {name!r} it has {here}, and {first} "
                f"has {there}"
            )
