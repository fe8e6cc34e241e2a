"""Errors that the command line expects; every other exception is a bug in ybar."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["FailureError", "InputError", "UnexplainedFailureError", "input_errors"]

_USER_ERRORS = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


class InputError(ValueError):
    """Input that cannot be used: the argument, what is allowed, what came, and what to do."""


class FailureError(RuntimeError):
    """An operation that failed for a reason outside ybar, such as a worker that was killed."""


class UnexplainedFailureError(FailureError):
    """A failure that may be a bug in ybar; the command line writes its traceback to a file."""


@contextlib.contextmanager
def input_errors() -> Iterator[None]:
    """Raise errors about a user's value or path as `InputError`.

    Wrap single calls that read or check user input, never computations of ybar: their `ValueError`
    is a bug, and the command line reports it as one.

    Examples
    --------
    >>> from ybar.utils.errors import InputError, input_errors
    >>> try:
    ...     with input_errors():
    ...         float("ten")
    ... except InputError as error:
    ...     print(error)
    could not convert string to float: 'ten'
    """
    try:
        yield
    except InputError:
        raise
    except (*_USER_ERRORS, ValueError, TypeError) as error:
        raise InputError(str(error)) from error
