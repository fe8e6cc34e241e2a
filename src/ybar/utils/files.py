"""Check paths, read files with errors that name them, and write files whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .checks import shown

try:
    import fcntl
except ImportError:  # not a POSIX system: temporary files of killed processes stay
    fcntl = None  # type: ignore[assignment]

_TEMPORARY = ".ybar-tmp"


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path, or raise `TypeError`."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a file's path; got {shown(path)}")
    return Path(path)


def target_file(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return the path of a file to write, after checking that its folder exists and is writable.

    For a symbolic link the path is that of its target, so the link stays. `name` is the argument or
    option that the user set.
    """
    target = as_path(path)
    if target.is_symlink():
        target = target.resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{name} must be a file; {target} is a folder. Add a file name")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{name} must lie in a folder that exists; {target.parent} does not. Make it first"
        )
    if not _is_special(target):
        check_writable(target.parent)
    return target


def _is_special(target: Path) -> bool:
    """Return whether a path is a pipe or a device, which must not be replaced by a file."""
    return target.exists() and not target.is_file()


def target_folder(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return the path of a folder to write to, which need not exist yet."""
    folder = as_path(path)
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"{name} must be a folder; {existing} is a file. Choose another")
    check_writable(existing)
    return folder


def check_writable(folder: Path) -> None:
    """Raise `OSError` if no file can be created in a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"{folder} must be a folder that can be written to ({error.strerror}). Choose another"
        ) from error


def write_whole(target: Path, *parts: bytes) -> None:
    """Write a file completely, or leave the old file unchanged."""
    with whole_file(target) as file:
        for part in parts:
            file.write(part)


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside the target, and move it into place when it is complete.

    A pipe or a device is written to directly.
    """
    if _is_special(target):
        with target.open("wb") as file:
            yield file
        return
    handle, temporary = _temporary(target)
    lock = os.dup(handle) if fcntl else None  # holds the lock until the file is in place
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _temporary(target: Path) -> tuple[int, str]:
    """Create a locked temporary file beside the target, after deleting those of killed processes.

    The system releases a lock when its process ends. Several processes may write to one target.
    """
    prefix = f".{target.name}."
    for name in os.listdir(target.parent):
        if name.startswith(prefix) and name.endswith(_TEMPORARY):
            _delete_if_unlocked(target.parent / name)
    while True:
        handle, temporary = tempfile.mkstemp(_TEMPORARY, prefix, target.parent)
        if fcntl:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, temporary
        os.close(handle)  # another process took the file for a dead one before it was locked


def _delete_if_unlocked(path: Path) -> None:
    if fcntl:
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk, so that a renamed file survives a power failure."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@contextlib.contextmanager
def reading(source: object, as_error: type[ValueError] = ValueError) -> Iterator[None]:
    """Turn any error while reading a file into one line that names the file.

    Parameters
    ----------
    source : path or str
        What the file is called in the message.
    as_error : type
        The exception to raise. A subclass of `ValueError` that is raised inside passes through.
    """
    try:
        yield
    except (MemoryError, ImportError, BrokenPipeError):
        raise
    except PermissionError as error:
        raise PermissionError(f"{source} cannot be read: permission denied") from error
    except Exception as error:
        if as_error is not ValueError and isinstance(error, as_error):
            raise
        raise as_error(
            f"{source} cannot be read: {first_line(error)}. Correct or replace the file"
        ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
