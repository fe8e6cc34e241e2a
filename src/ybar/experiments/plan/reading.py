"""Read a plan from a TOML file; an error names the key, what it must be, and what came."""

from __future__ import annotations

import difflib
import importlib.resources
import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...utils.checks import shown
from ...utils.errors import InputError
from ...utils.extras import require
from ...utils.files import as_path
from .model import KINDS, Plan
from .schema import TABLES, Definitions, PlanTable

if TYPE_CHECKING:
    import pydantic
else:
    pydantic = require("pydantic", "cli", "a plan of experiments")

_MAX_BYTES = 2**20
_MOST_RUNS = 200_000  # runs that can be named in ten seconds
_PLAN = pydantic.TypeAdapter(PlanTable)
_SHOULD = re.compile(r"^\w+ should ")


class PlanError(InputError):
    """A plan that cannot be run; the message begins with the file."""


def packaged() -> list[str]:
    """Return the names of the plans that come with ybar."""
    folder = importlib.resources.files("ybar.experiments") / "plans"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith("toml"))


def read(source: str | os.PathLike[str], *, imports: bool = True) -> Plan:
    """Return the plan of a TOML file, or the packaged plan of that name.

    Parameters
    ----------
    source : path, or "paper", "leaderboard", "field", "digits"
    imports : bool
        Whether to import the modules that the plan names; otherwise they only have to exist.

    Examples
    --------
    >>> from ybar.experiments.plan import reading
    >>> plan = reading.read("paper")
    >>> [part.base.name for part in plan.parts]
    ['knn', 'linear', 'gbdt', 'mlp']
    """
    if isinstance(source, str) and source in packaged():
        file = importlib.resources.files("ybar.experiments") / "plans" / f"{source}.toml"
        return parse(file.read_text("utf-8"), f"{source}.toml", imports=imports)
    path = as_path(source)
    try:
        if path.exists() and not path.is_file():
            raise PlanError(f"{path}: the plan cannot be read (it is not a regular file)")
        if path.stat().st_size > _MAX_BYTES:
            raise PlanError(f"{path}: a plan must be smaller than a megabyte. Check the path")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: a plan must be text in UTF-8; got other bytes") from error
    except FileNotFoundError as error:
        raise PlanError(
            f"plan must be a TOML file or one of {', '.join(packaged())}; got {shown(str(path))}, "
            "which does not exist"
        ) from error
    except OSError as error:
        raise PlanError(f"{path}: the plan cannot be read ({error.strerror})") from error
    return parse(text, path.name, path.resolve().parent, imports=imports)


def parse(
    text: str, name: str = "plan", folder: Path | None = None, *, imports: bool = True
) -> Plan:
    """Return the plan that a text describes; paths in it are relative to a folder."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{name}: this is not TOML: {error}") from error
    try:
        table = _PLAN.validate_python(content, context=Definitions(folder, imports))
    except pydantic.ValidationError as error:
        raise PlanError(f"{name}: {_described(error)}") from error
    plan = table.plan(name.removesuffix(".toml"))
    if plan.n_runs > _MOST_RUNS:
        raise PlanError(
            f"{name}: trials, datasets, settings, methods and learning_rates must come to at most "
            f"{_MOST_RUNS:,} runs; got {plan.n_runs:,}. Split the plan"
        )
    return plan


def _described(error: pydantic.ValidationError) -> str:
    """Return the first error: which key, what is allowed, what came.

    Unknown keys come first: one may be the misspelt name of a missing key.
    """
    errors = error.errors(include_url=False)
    unknown = [each for each in errors if each["type"] == "unexpected_keyword_argument"]
    first = (unknown or errors)[0]
    kind, loc, value = first["type"], first["loc"], first["input"]
    table = next((TABLES[key] for key in reversed(loc) if key in TABLES), PlanTable)
    if loc[:1] == ("base",):
        loc = (*loc[:2], *loc[3:])  # without the tag of the union
    where, parent = _key(loc), _key(loc[:-1])
    if kind == "unexpected_keyword_argument":
        known = [field.name for field in fields(table)]
        return f"{parent} must have known keys only; got {shown(loc[-1])}. {_near(loc[-1], known)}"
    if kind == "missing":
        return f"{parent} must have {loc[-1]}; got none"
    if kind == "union_tag_not_found":
        return f"{where} must have kind, one of {', '.join(map(repr, KINDS))}; got none"
    if kind == "union_tag_invalid":
        ctx = first["ctx"]
        return f"{where}.kind must be one of {ctx['expected_tags']}; got {shown(ctx['tag'])}"
    if kind in ("dataclass_type", "model_attributes_type"):
        return f"{where} must be a table; got {shown(value)}"
    if kind == "value_error":
        message = " ".join(str(first["ctx"]["error"]).split())
    else:
        message = _SHOULD.sub("", first["msg"]).replace("tuple", "list")
        message = message.partition(" after validation")[0]
    # A whole table would be too long to show; the message names the problem in it.
    return f"{where} must {message}" + ("" if isinstance(value, dict) else f"; got {shown(value)}")


def _key(loc: tuple[int | str, ...]) -> str:
    """Return a place in the plan as a key, such as ``base[2].learning_rates[0]``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in loc)
    return text.removeprefix(".") or "the plan"


def _near(key: Any, known: list[str]) -> str:
    near = difflib.get_close_matches(str(key), known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(known)}"
