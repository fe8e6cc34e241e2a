"""Import an optional dependency, or name the pip line that installs it."""

import importlib
import importlib.util
from types import ModuleType

__all__ = ["MissingExtraError", "expect", "require"]


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message names the pip line that installs it."""


def require(module: str, extra: str, what: str) -> ModuleType:
    """Import a module, or raise an error that says which extra of ybar installs it.

    The error starts with `what`, the caller that needs the module.

    Examples
    --------
    >>> from ybar.utils import extras
    >>> extras.require("math", "plot", "a figure").pi > 3
    True
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(module, extra, what) from error


def expect(module: str, extra: str, what: str) -> None:
    """Raise `ImportError` as `require` does if a module is missing, without importing it."""
    if importlib.util.find_spec(module) is None:
        raise _missing(module, extra, what)


def _missing(module: str, extra: str, what: str) -> MissingExtraError:
    package = module.partition(".")[0]
    return MissingExtraError(
        f'{what} needs {package}, which is not installed: pip install "ybar[{extra}]"',
        name=package,
    )
