"""The zip inside a model file: its members, unpacked within limits, and their arrays."""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np

from ..utils.typing import AnyArray

_ARRAY_KINDS = "biufcSUV"
_SPARSE_FORMATS = (b"csr", b"csc", "csr", "csc")  # scikit-learn stores no others


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the members of a zip, which must be stored and together no larger than the zip."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        entries = opened.infolist()
        if len({entry.filename for entry in entries}) < len(entries):
            raise ValueError("a member occurs twice")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("a member is compressed")
        if (total := sum(entry.file_size for entry in entries)) > len(archive):
            raise ValueError(f"its members have {total} bytes, more than the {len(archive)} here")
        return {entry.filename: opened.read(entry) for entry in entries}


def store(archive: bytes) -> bytes:
    """Return a zip with all members stored, also those of an ``.npz`` inside it."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as opened,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as target,
    ):
        for name in opened.namelist():
            content = opened.read(name)
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
    """Return the shape of a sparse ``.npz`` member, after checking that its indices stay inside."""
    members = unpack(content)
    arrays = {name.removesuffix(".npy"): read_array(part) for name, part in members.items()}
    kind = np.asarray(arrays["format"]).item()
    shape = tuple(int(n) for n in np.asarray(arrays["shape"]).ravel())
    if kind not in _SPARSE_FORMATS or len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"a sparse matrix has the format {kind!r:.20} and the shape {shape}")
    rows, columns = shape if kind in (b"csr", "csr") else shape[::-1]
    data, indices, ends = (arrays[name] for name in ("data", "indices", "indptr"))
    check_within(indices, 0, columns, "indices of a sparse matrix")
    check_within(ends, 0, len(indices) + 1, "indptr of a sparse matrix")
    if ends.shape != (rows + 1,) or ends[0] != 0 or (np.diff(ends.astype(np.int64)) < 0).any():
        raise ValueError("indptr of a sparse matrix does not rise from 0, one entry per row")
    if not data.shape == indices.shape == (len(data),):
        raise ValueError("the parts of a sparse matrix differ in length")
    return shape


def check_within(values: Any, low: int, high: int, name: str) -> None:
    """Raise `ValueError` if integers leave ``low <= values < high``."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers; got {values.dtype}")
    if values.size and not (low <= values.min() and values.max() < high):
        raise ValueError(
            f"{name} must be from {low} to {high - 1}; got {values.min()} to {values.max()}"
        )
