"""How much memory a file may take when it is unpacked."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .checks import shown

VARIABLE = "YBAR_MAX_BYTES"

_SHARE = 8  # models copy the data several times, so the data may fill an eighth of the memory
_UNKNOWN = 8 * 2**30  # for systems that do not report their memory
_CGROUP = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def byte_limit(max_bytes: int | None = None) -> int:
    """Return how many bytes a file may unpack to.

    Parameters
    ----------
    max_bytes : int, optional
        By default the environment variable ``YBAR_MAX_BYTES``, or else an eighth of the memory.
    """
    if max_bytes is None:
        value = os.environ.get(VARIABLE)
        if value is None:
            return _memory() // _SHARE
        try:
            max_bytes = int(float(value))
        except (ValueError, OverflowError):
            raise ValueError(f"{VARIABLE} must be a number of bytes; got {shown(value)}") from None
    if max_bytes < 1:
        raise ValueError(f"the number of bytes must be at least 1; got {max_bytes}")
    return max_bytes


def check_size(size: int, limit: int) -> None:
    """Raise `ValueError` for more bytes than may be unpacked."""
    if size > limit:
        raise ValueError(
            f"it is oversized: {size} bytes or more when unpacked, the limit is {limit}. To read "
            f"it all the same, set the environment variable {VARIABLE} to a larger number"
        )


def _memory() -> int:
    """Return the memory of the machine, or of the container, in bytes."""
    sizes = []
    with contextlib.suppress(AttributeError, ValueError, OSError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _CGROUP:
        with contextlib.suppress(OSError, ValueError):  # "max" is no limit
            sizes.append(int(Path(path).read_text("ascii")))
    return min(sizes, default=_UNKNOWN)
