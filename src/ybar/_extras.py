"""Import an optional dependency, or say which pip line brings it."""

import importlib
from types import ModuleType

__all__ = ["require"]


def require(module: str, extra: str, what: str) -> ModuleType:
    """Import ``module`` for ``what``, or name the extra of ybar that installs it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"pooch"``.
    extra : str
        The extra of ybar that brings it, such as ``"data"``.
    what : str
        The caller that needs it, such as ``"datasets.fetch"``; it opens the message.

    Returns
    -------
    module : types.ModuleType
        The imported module.

    Examples
    --------
    >>> from ybar._extras import require
    >>> require("json", "data", "this example").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f'{what} needs {package}, which is not installed: pip install "ybar[{extra}]"',
            name=package,
        ) from error
