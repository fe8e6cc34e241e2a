"""Functions that a plan names as ``module:function``, and what identifies their code."""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any, NamedTuple


class Code(NamedTuple):
    """What identifies the code of a function in the names of runs.

    This is the attribute ``version`` of the function, which its author raises when the function
    computes something else, or the hash of the file that defines it.
    """

    version: int | None = None
    sha256: str | None = None


NO_CODE = Code()
# The hash of each module's file when it was imported.
_IMPORTED: dict[str, str] = {}


def find_function(reference: str, expected: Code = NO_CODE) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, as its file is now.

    A module whose file has changed since its import is imported again. Code other than `expected`,
    with which the run was planned, raises ImportError: another worker may have it.
    """
    module_name, _, name = reference.partition(":")
    module = importlib.import_module(module_name)
    sha256 = _sha256_of_file(module.__file__)
    if _IMPORTED.setdefault(module_name, sha256) != sha256:
        module, _IMPORTED[module_name] = importlib.reload(module), sha256
    function = getattr(module, name)
    if expected != NO_CODE and expected != (
        actual := _code(getattr(function, "version", None), sha256)
    ):
        raise ImportError(
            f"{reference!r} must have the code of the plan, {_described(expected)}; this worker "
            f"has {_described(actual)}. Install the same module on every worker"
        )
    return function  # type: ignore[no-any-return]


def identify(reference: str) -> Code:
    """Return what identifies the code that ``module:function`` names, as its file is now.

    A module that is not imported yet, as in a dry run, is read but not imported.
    """
    module_name, _, name = reference.partition(":")
    if module_name in sys.modules or module_name.partition(".")[0] == __name__.partition(".")[0]:
        function = find_function(reference)
        return _code(
            getattr(function, "version", None), _sha256_of_file(sys.modules[module_name].__file__)
        )
    file = find_file(module_name)
    return _code(_written_version(file, name), _sha256_of_file(file))


def find_file(module_name: str) -> str:
    """Return the file of a module without importing it, or raise ImportError."""
    path, file, names = None, None, module_name.split(".")
    for n in range(1, len(names) + 1):
        spec = PathFinder.find_spec(".".join(names[:n]), path)
        if spec is None:
            raise ImportError(f"No module named {module_name!r}")
        path, file = spec.submodule_search_locations, spec.origin
    if file is None:
        raise ImportError(f"{module_name!r} has no file")
    return file


def _written_version(file: str, name: str) -> Any:
    """Return the number of a statement ``name.version = number`` of a file, if there is one."""
    try:
        with open(file, "rb") as opened:
            tree = ast.parse(opened.read(), file)
    except (SyntaxError, ValueError) as error:
        raise ImportError(f"{file} is not Python ({error})") from error
    targets = {
        ast.unparse(target): statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    }
    version = targets.get(f"{name}.version")
    return version.value if isinstance(version, ast.Constant) else None


def _code(version: Any, sha256: str) -> Code:
    if isinstance(version, int) and not isinstance(version, bool):
        return Code(version=version)
    return Code(sha256=sha256)


def _described(code: Code) -> str:
    if code.version is not None:
        return f"version {code.version}"
    return f"a file with the sha256 {code.sha256}" if code.sha256 else "a module without a file"


def _sha256_of_file(file: str | None) -> str:
    if file is None:
        return ""
    with open(file, "rb") as opened:
        return hashlib.sha256(opened.read()).hexdigest()
