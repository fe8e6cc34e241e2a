"""The zip inside a model file: its members, unpacked within limits, and their arrays."""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..utils.typing import AnyArray

MOST_UNPACKED = 64 * 2**20  # limit of deflated members (of old files): this, or
MOST_EXPANSION = 16  # this many times the size of the file, if that is more
_ENCRYPTED = 1
_ARRAY_KINDS = "biufcSUV"
_SPARSE_FORMATS = ("csr", "csc", "bsr", "coo", "dia")


def unpack(archive: bytes, most_deflated: int | None = None) -> dict[str, bytes]:
    """Return the members of a zip, whose sizes are checked before anything is unpacked.

    Stored members take no more memory than the archive; `save` writes only those.
    """
    if most_deflated is None:
        most_deflated = max(MOST_UNPACKED, MOST_EXPANSION * len(archive))
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        entries = opened.infolist()
        _check_entries(entries, len(archive), most_deflated)
        return {entry.filename: opened.read(entry) for entry in entries}


def _check_entries(entries: list[zipfile.ZipInfo], most_stored: int, most_deflated: int) -> None:
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("a member occurs twice")
    stored = [entry for entry in entries if entry.compress_type == zipfile.ZIP_STORED]
    deflated = [entry for entry in entries if entry.compress_type == zipfile.ZIP_DEFLATED]
    if len(stored) + len(deflated) < len(entries) or any(e.flag_bits & _ENCRYPTED for e in entries):
        raise ValueError("a member is encrypted or compressed with an unusual method")
    limits = {"stored": (stored, most_stored), "deflated": (deflated, most_deflated)}
    for kind, (members, limit) in limits.items():
        if (total := sum(member.file_size for member in members)) > limit:
            raise ValueError(f"its {kind} members have {total} bytes, the limit is {limit}")


def store(archive: bytes) -> bytes:
    """Return a zip with all members stored, also those of an ``.npz`` inside it.

    An archive without compressed members is returned as it is.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = [entry.filename for entry in opened.infolist()]
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in opened.infolist())
    if stored and not any(name.endswith(".npz") for name in names):
        return archive
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as target:
        for name, content in unpack(archive, most_deflated=sys.maxsize).items():
            target.writestr(name, store(content) if name.endswith(".npz") else content)
    return packed.getvalue()


def read_array(content: bytes) -> AnyArray:
    """Return the array of an ``.npy`` member, which must have exactly the declared size."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    one, two = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    shape, fortran, dtype = (one if version == (1, 0) else two)(stream)
    if dtype.hasobject or dtype.kind not in _ARRAY_KINDS:
        raise ValueError(f"an array has the type {dtype}")
    count = math.prod(shape)
    declared = stream.tell() + count * dtype.itemsize
    # An array without bytes can still have a very long axis, over which code would loop.
    if declared != len(content) or math.prod(max(n, 1) for n in shape) > max(len(content), 2**16):
        raise ValueError(f"an array declares {declared} bytes and has {len(content)}")
    if count and not dtype.itemsize:
        raise ValueError("an array has items of no bytes")
    flat = np.frombuffer(content, dtype, count, stream.tell()) if count else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def read_sparse_shape(content: bytes) -> tuple[int, ...]:
    """Return the shape of a sparse ``.npz`` member, after checking that its indices are inside."""
    members = unpack(content)
    arrays = {name.removesuffix(".npy"): read_array(part) for name, part in members.items()}
    kind = np.asarray(arrays["format"]).item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(n) for n in np.asarray(arrays["shape"]).ravel())
    if kind not in _SPARSE_FORMATS or len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"a sparse matrix has the format {kind!r} and the shape {shape}")
    {"coo": _check_coo, "dia": _check_dia}.get(kind, _check_compressed)(kind, shape, arrays)
    return shape


def _check_coo(_kind: str, shape: tuple[int, ...], arrays: Mapping[str, AnyArray]) -> None:
    for axis, name in enumerate(("row", "col")):
        check_within(arrays[name], 0, shape[axis], f"{name} of a sparse matrix")
    if not arrays["row"].shape == arrays["col"].shape == arrays["data"].shape:
        raise ValueError("the parts of a sparse matrix differ in length")


def _check_dia(_kind: str, shape: tuple[int, ...], arrays: Mapping[str, AnyArray]) -> None:
    check_within(arrays["offsets"], -shape[0], shape[1] + 1, "offsets of a sparse matrix")
    if arrays["data"].ndim != 2 or arrays["offsets"].shape != arrays["data"].shape[:1]:
        raise ValueError("the parts of a sparse matrix differ in length")


def _check_compressed(kind: str, shape: tuple[int, ...], arrays: Mapping[str, AnyArray]) -> None:
    data, indices, indptr = (arrays[name] for name in ("data", "indices", "indptr"))
    block = data.shape[1:] if kind == "bsr" else (1, 1)
    if len(block) != 2 or min(block) < 1 or any(n % b for n, b in zip(shape, block, strict=True)):
        raise ValueError(f"a sparse matrix of shape {shape} has blocks of shape {block}")
    rows, columns = (n // b for n, b in zip(shape, block, strict=True))
    if kind == "csc":
        rows, columns = columns, rows
    check_within(indices, 0, columns, "indices of a sparse matrix")
    ends = indptr.astype(np.int64)
    if ends.shape != (rows + 1,) or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise ValueError("indptr of a sparse matrix does not rise from 0, one entry per row")
    if ends[-1] > len(indices) or len(indices) != len(data):
        raise ValueError("the parts of a sparse matrix differ in length")


def check_within(values: Any, low: int, high: int, name: str) -> None:
    """Raise `ValueError` if integers leave ``low <= values < high``."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers; got {values.dtype}")
    if values.size and not (low <= values.min() and values.max() < high):
        raise ValueError(
            f"{name} must be from {low} to {high - 1}; got {values.min()} to {values.max()}"
        )
