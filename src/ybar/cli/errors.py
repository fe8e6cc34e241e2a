"""Exit codes and error messages: mistakes of the user, failures, interruptions and bugs.

| exit code | cause |
|---|---|
| 1 | a failure outside ybar (a full disk, a missing package), or a bug in ybar |
| 2 | a mistake of the user: an unknown option, a file that cannot be used |
| 130 | interrupted with Ctrl-C |
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..utils.errors import FailureError, InputError, UnexplainedFailureError
from ..utils.extras import MissingExtraError, require
from .output import note, say

if TYPE_CHECKING:
    import typer
else:
    typer = require("typer", "cli", "the command line")

FAILED, USAGE, INTERRUPTED = 1, 2, 130

# Through typer, because it brings its own copy of click since version 0.20.
_UsageError: Any = typer.BadParameter.__base__


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Report every exception in one line on standard error, with the exit code of its cause."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _drop_output()  # its reader has closed it
            raise typer.Exit(FAILED) from None
        except Exception as error:
            try:
                sys.stdout.flush()
            except OSError:
                _drop_output()
            raise typer.Exit(_report(error)) from None


def _drop_output() -> None:
    """Let nothing more be flushed to a standard output that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception) -> int:
    """Print one line about an exception and return the exit code."""
    match error:
        case _UsageError():
            return _report_usage(error)
        case InputError():
            say(str(error))
            return USAGE
        case UnexplainedFailureError():
            say(f"{error}. {_write_traceback(error)}")
            return FAILED
        case OSError(errno=errno.ENOSPC, filename=None):
            say(f"standard output or a temporary file cannot be written: {error.strerror}")
            return FAILED
        case OSError() | MissingExtraError() | FailureError():
            say(str(error))
            return FAILED
        case MemoryError():
            say(f"out of memory ({error})" if str(error) else "out of memory")
            return FAILED
    summary = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    say(f"this is a bug in ybar ({summary}). {_write_traceback(error)}. Please report it")
    return FAILED


def _report_usage(error: Any) -> int:
    """Print what is wrong with the command line; without arguments, the help."""
    if error.ctx is None:
        say(error.format_message())
    elif error.message == error.ctx.get_help():  # a command without arguments
        print(error.message, file=sys.stderr)
    else:
        say(f"{error.format_message().rstrip('.')}. See {error.ctx.command_path} --help")
    return USAGE


def _write_traceback(error: Exception) -> str:
    """Write the traceback to a file and return where it is."""
    from .. import __version__

    lines = [
        f"ybar {__version__}, Python {platform.python_version()}, {platform.system()} "
        f"{platform.release()} {platform.machine()}\n",
        f"{sys.argv}\n\n",
        *traceback.format_exception(error),
    ]
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="ybar-bug-", suffix=".txt", delete=False
        ) as file:
            file.writelines(lines)
    except OSError:
        sys.stderr.writelines(lines)
        return "The traceback is above"
    return f"The traceback is in {file.name}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    note(str(message))
