"""Read idx, npz and Parquet files whose headers are not trusted.

The declared size of an array is checked before memory is allocated, and nothing is unpickled.
"""

import gzip
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from ..utils.extras import require
from ..utils.files import reading
from ..utils.memory import byte_limit, check_size
from ..utils.typing import AnyArray

_CHUNK = 2**20
_MOST_LISTED = 20
_FEWEST_ROWS, _MOST_ROWS = 4, 1024  # of a batch of a Parquet file


def read_idx(
    path: str | os.PathLike[str], *, max_bytes: int | None = None
) -> npt.NDArray[np.uint8]:
    """Read an idx file of bytes, the format of MNIST, gzipped or not.

    Parameters
    ----------
    path : path
        An idx1 file (labels) or an idx3 file (images).
    max_bytes : int, optional
        A file that declares more bytes raises `ValueError`. By default the environment variable
        ``YBAR_MAX_BYTES``, or else an eighth of the memory.

    Returns
    -------
    array : ndarray of uint8
        Of shape (N,) or (N, height, width).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ybar import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     datasets.read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    path = Path(path)
    with path.open("rb") as raw, reading(path):
        gzipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if gzipped else raw
        shape = _read_idx_shape(stream)
        declared = math.prod(shape)
        check_size(declared, byte_limit(max_bytes))
        payload = _read_at_most(stream, declared + 1)
        if len(payload) < declared:
            raise ValueError(f"it is cut short: {len(payload)} of the {declared} bytes declared")
        if len(payload) > declared:
            raise ValueError(f"it is oversized: more than the {declared} bytes its header declares")
    return np.frombuffer(payload, np.uint8).reshape(shape)


def _read_idx_shape(stream: IO[bytes]) -> tuple[int, ...]:
    magic = stream.read(4)
    if magic not in (b"\0\0\x08\x01", b"\0\0\x08\x03"):
        raise ValueError(
            f"an idx file starts with 00000801 (labels) or 00000803 (images); got {magic.hex()!r}"
        )
    sizes = stream.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise ValueError("it is cut short inside its header")
    return tuple(int(size) for size in np.frombuffer(sizes, ">u4"))


def _read_at_most(stream: IO[bytes], limit: int) -> bytearray:
    """Read in pieces, so that memory is allocated for actual content, not for the declared size."""
    payload = bytearray()
    while len(payload) < limit and (piece := stream.read(min(_CHUNK, limit - len(payload)))):
        payload += piece
    return payload


def read_npz_arrays(
    path: Path, alternatives: Iterable[tuple[str, ...]] = (), max_bytes: int | None = None
) -> dict[str, AnyArray]:
    """Read the arrays of an npz file, after a check of their types and of their total size.

    Parameters
    ----------
    path : Path
    alternatives : iterable of tuples of names, optional
        The first of these groups of arrays that the file has is read; without it all arrays are.
    max_bytes : int, optional
        The limit of `byte_limit`.
    """
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        complete = [keys for keys in alternatives if entries.keys() >= set(keys)]
        if alternatives and not complete:
            needed = " or ".join(map(str, alternatives))
            raise ValueError(f"an .npz needs {needed}; got {listed(entries)}")
        keys = complete[0] if complete else entries
        sizes = (_declared_size(archive, entries[key], key) for key in keys)
        check_size(sum(sizes), byte_limit(max_bytes))
        return {key: _read_npy(archive, entries[key], key) for key in keys}


def _declared_size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, key: str) -> int:
    """Return the size of an array, as the archive or the array's own header declares it."""
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        one, two = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, dtype = (one if version == (1, 0) else two)(stream)
    if dtype.hasobject:
        raise ValueError(f"{key} holds Python objects, and nothing is unpickled here")
    if dtype.kind == "V":
        raise ValueError(f"{key} must hold numbers or text; got items of the type {dtype.str}")
    # Items of no bytes, and axes beside one of length 0, can be very many all the same.
    return max(entry.file_size, math.prod(max(n, 1) for n in shape) * max(dtype.itemsize, 1))


def _read_npy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, key: str) -> AnyArray:
    with archive.open(entry) as stream:
        array: AnyArray = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # reading to the end also has zipfile check the CRC
            raise ValueError(f"{key} is oversized: more bytes than its header declares")
    return array


def read_parquet(path: Path, max_bytes: int | None = None) -> Any:
    """Return a data frame, read in batches whose size is checked.

    Repeated values take hardly any space in the file, so its size says little. But no value is
    larger than its column in a row group, which limits the size of a batch.
    """
    limit = byte_limit(max_bytes)
    file = require("pyarrow.parquet", "data", "datasets.load").ParquetFile(path)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    chunks = [[group.column(i) for i in range(group.num_columns)] for group in groups]
    check_size(
        sum(max(8 * c.num_values, c.total_uncompressed_size) for row in chunks for c in row), limit
    )
    largest_row = max((sum(c.total_uncompressed_size for c in row) for row in chunks), default=0)
    n_rows = min(_MOST_ROWS, max(_FEWEST_ROWS, limit // max(1, largest_row)))
    size, batches = 0, []
    for batch in file.iter_batches(batch_size=n_rows):
        size += batch.nbytes
        check_size(size, limit)
        batches.append(batch)
    pyarrow = require("pyarrow", "data", "datasets.load")
    return pyarrow.Table.from_batches(batches, schema=file.schema_arrow).to_pandas()


def listed(names: Iterable[object]) -> str:
    """Return names as text, at most 20 of them."""
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"{names[:_MOST_LISTED]}{more}"
