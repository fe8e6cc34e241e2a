"""Files are written whole or not at all; failures to read one name the file in one line."""

import errno
import os
import stat
import subprocess
import sys
import threading

import pytest

from ybar.utils import files
from ybar.utils.files import first_line, reading, target_file, target_folder, whole_file


class FormatError(ValueError):
    pass


def write(target, *parts):
    """Write parts one after the other; an exception among them is raised."""
    with whole_file(target) as file:
        for part in parts:
            if isinstance(part, Exception):
                raise part
            file.write(part)


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path):
    target = tmp_path / "a.csv"
    target.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError):
        write(target, b"half", ZeroDivisionError())
    assert target.read_bytes() == b"before"
    write(target, b"af", b"ter")
    assert target.read_bytes() == b"after"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


KILLED = """
import os, signal, sys
from pathlib import Path
from ybar.utils.files import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_temporary_file_of_a_killed_process_goes_with_the_next_write(tmp_path):
    target = tmp_path / "a.csv"
    subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    (left,) = tmp_path.iterdir()
    assert left.read_bytes() == b"half"
    write(target, b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_the_temporary_file_of_a_process_at_work_stays(tmp_path):
    target = tmp_path / "a.csv"
    with whole_file(target) as first:
        first.write(b"first")
        write(target, b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_the_folder_is_synced_after_the_file_is_in_place(tmp_path, monkeypatch):
    target, synced = tmp_path / "a.csv", []
    original = os.fsync

    def fsync(handle):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        synced.append((is_folder, target.exists()))
        original(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write(target, b"rows")
    assert synced == [(False, False), (True, True)]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failed_call_leaves_the_old_file_or_the_new_one_and_nothing_else(
    number, code, tmp_path, monkeypatch
):
    target = tmp_path / "a.csv"
    target.write_bytes(b"before")
    calls = []

    def failing(original):
        def call(*args, **kwargs):
            calls.append(original.__name__)
            if len(calls) - 1 == number:
                raise OSError(code, os.strerror(code))
            return original(*args, **kwargs)

        return call

    monkeypatch.setattr(files, "open", failing(open), raising=False)
    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    with pytest.raises(OSError, match=os.strerror(code)):
        write(target, b"after")
    assert target.read_bytes() == (b"after" if number == 3 else b"before")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with whole_file(tmp_path / "whole") as file:
        file.write(b"")
    plain, whole = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "whole"))
    assert whole == plain


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "link").symlink_to("real")
    assert target_file(tmp_path / "link") == (tmp_path / "real").resolve()


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    with whole_file(target_file(pipe)) as file:
        file.write(b"rows")
    reader.join()
    assert received == [b"rows"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("path", "error"),
    [("", IsADirectoryError), ("none/a", FileNotFoundError), ("file/a", FileNotFoundError)],
)
def test_a_path_that_cannot_be_a_file_names_the_argument(path, error, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(error, match="--output"):
        target_file(tmp_path / path, "--output")


def test_a_folder_may_be_new_but_not_inside_a_file(tmp_path):
    assert target_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="--output"):
        target_folder(tmp_path / "file" / "b", "--output")


@pytest.mark.parametrize("path", [None, 3, b"bytes"])
def test_what_is_no_path_is_shown(path):
    with pytest.raises(TypeError, match="path"):
        target_file(path)


def test_failures_to_read_name_the_file_and_keep_to_one_line():
    with pytest.raises(ValueError, match=r"^a\.csv .*first") as caught, reading("a.csv"):
        raise RuntimeError("first\nsecond")
    assert "second" not in str(caught.value)


def test_errors_that_already_name_the_file_pass_through():
    error = FormatError("a.csv must have columns")
    with pytest.raises(FormatError) as caught, reading("a.csv", FormatError):
        raise error
    assert caught.value is error


def test_other_errors_become_the_kind_that_the_caller_asks_for():
    match = r"^a\.csv .*no such column"
    with pytest.raises(FormatError, match=match), reading("a.csv", FormatError):
        raise ValueError("no such column")


@pytest.mark.parametrize("error", [MemoryError, ImportError, BrokenPipeError])
def test_errors_that_are_not_the_files_fault_pass_through(error):
    with pytest.raises(error), reading("a.csv"):
        raise error


def test_a_file_without_permission_is_named():
    with pytest.raises(PermissionError, match=r"a\.csv"), reading("a.csv"):
        raise PermissionError


def test_an_error_without_a_message_is_named_by_its_type():
    assert first_line(ZeroDivisionError()) == "ZeroDivisionError"
