"""Read a plan from a TOML file; what is wrong in it is refused with the line it stands on."""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from ... import datasets, decode, transition
from ...neural import methods as networks
from ...transition.reading import read_matrix
from ...utils.checks import shown
from ...utils.errors import InputError
from ...utils.files import as_path
from .model import (
    BOOSTING_METHODS,
    KINDS,
    METHODS,
    ONLY_METHOD,
    Base,
    Dataset,
    Method,
    Network,
    Part,
    Plan,
    Setting,
    find_function,
)

Path_ = tuple[str | int, ...]
Check = Callable[[Any], Any]
"""Returns the value that a key stands for, or raises ValueError with what is allowed."""

_DATASETS = ("digits", *datasets.REGISTRY)
_SETTINGS = ("uniform", "weak", "strong", "noise-<level>")
_MAX_BYTES = 2**20


class PlanError(InputError):
    """A plan that cannot be run; the message begins with the file and the line."""


def packaged() -> list[str]:
    """Return the names of the plans that come with ybar."""
    folder = importlib.resources.files("ybar.experiments") / "plans"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith("toml"))


def read(source: str | os.PathLike[str]) -> Plan:
    """Return the plan of a TOML file, or the one of that name that comes with ybar.

    Parameters
    ----------
    source : path, or "paper", "leaderboard", "digits"

    Examples
    --------
    >>> from ybar.experiments.plan import reading as plan_file
    >>> plan = plan_file.read("paper")
    >>> [part.base.name for part in plan.parts]
    ['knn', 'linear', 'gbdt', 'mlp']
    """
    text, name, folder = _text_of(source)
    return parse(text, name, folder)


def place(source: str | os.PathLike[str], *path: str) -> str:
    """Return where in a plan something stands, as messages about it begin.

    Parameters
    ----------
    source : path, or the name of a plan that comes with ybar
    path : str
        A key; or a kind of table, the name of one, and a key of it. Where the plan leaves it at its
        default, the place is that of what it belongs to.

    Examples
    --------
    >>> from ybar.experiments.plan import reading as plan_file
    >>> plan_file.place("digits", "base", "knn", "kind")
    'digits.toml, line 10'
    """
    text, name, _ = _text_of(source)
    reached: Path_ = ()
    content: Any = tomllib.loads(text)
    for key in path:
        if isinstance(content, list):
            names = [each.get("name") for each in content]
            step: str | int = names.index(key) if key in names else key
        else:
            step = key
        if not _reaches(content, (step,)):
            break
        reached, content = (*reached, step), content[step]
    return f"{name}, line {line_of(text, reached)}" if reached else name


def _text_of(source: str | os.PathLike[str]) -> tuple[str, str, Path | None]:
    """Return the text of a plan, its name and the folder it lies in."""
    if isinstance(source, str) and source in packaged():
        file = importlib.resources.files("ybar.experiments") / "plans" / f"{source}.toml"
        return file.read_text("utf-8"), f"{source}.toml", None
    path = as_path(source)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise PlanError(f"{path}: a plan must be smaller than a megabyte. Is it a plan at all?")
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
    return text, path.name, path.resolve().parent


def parse(text: str, name: str = "plan", folder: Path | None = None) -> Plan:
    """Return the plan that a text describes; paths in it are relative to a folder."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).rpartition(" (at ")
        line = where.removeprefix("line ").partition(",")[0]
        line = line if line.isdigit() else str(text.count("\n") + 1)
        raise PlanError(f"{name}, line {line}: this is not TOML: {what}") from error
    return _Reader(text, name, folder).plan(content)


class _Reader:
    """One plan as it is read: its text, to find lines in, and what it has defined so far."""

    def __init__(self, text: str, name: str, folder: Path | None) -> None:
        self.text, self.name = text, name
        self.folder, self.has_folder = folder or Path(), folder is not None

    def refuse(self, path: Path_, message: str) -> NoReturn:
        raise PlanError(f"{self.name}, line {line_of(self.text, path)}: {message}")

    def table(self, content: Any, path: Path_, checks: dict[str, Check]) -> dict[str, Any]:
        """Return the checked values of a table; a key that is not known is refused."""
        if not isinstance(content, dict):
            self.refuse(path, f"{_spelt(path)} must be a table; got {shown(content)}")
        found = {}
        for key, value in content.items():
            if key not in checks:
                near = difflib.get_close_matches(key, checks, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(checks)}"
                self.refuse((*path, key), f"unknown key {shown(key)} in {_spelt(path)}; {hint}")
            try:
                found[key] = checks[key](value)
            except _ElementError as error:
                self.refuse((*path, key, error.at), f"{key} must hold {error}")
            except ValueError as error:
                self.refuse((*path, key), f"{key} must be {error}")
        return found

    def tables(
        self, content: dict[str, Any], key: str, read: Callable[[Any, Path_], Any]
    ) -> dict[str, Any]:
        """Return what an array of tables defines, by name."""
        listed = content.get(key, [])
        if not isinstance(listed, list):
            self.refuse((key,), f"[[{key}]] must be an array of tables; got {shown(listed)}")
        found: dict[str, Any] = {}
        for i, each in enumerate(listed):
            if isinstance(each, dict) and "name" not in each:
                self.refuse((key, i), f"[[{key}]] must have a name")
            one = read(each, (key, i))
            if each["name"] in found:
                self.refuse((key, i, "name"), f"name must be used once; {shown(each['name'])} is "
                                              "defined above")  # fmt: skip
            found[each["name"]] = one
        return found

    def plan(self, content: dict[str, Any]) -> Plan:
        own_datasets = self.tables(content, "dataset", self.dataset)
        own_settings = self.tables(content, "setting", self.setting)
        own_methods = self.tables(content, "method", self.method)
        one_of = functools.partial(_list_of, what="name")
        grid: dict[str, Check] = {
            "trials": _whole(1),
            "datasets": one_of(functools.partial(_find_dataset, own=own_datasets)),
            "settings": one_of(functools.partial(_find_setting, own=own_settings)),
        }
        top = self.table(
            content,
            (),
            {
                "name": _text,
                "validation_fraction": _between(0, 1),
                **grid,
                **dict.fromkeys(("dataset", "setting", "method", "base"), lambda given: given),
            },
        )
        defaults = {
            "trials": 5,
            "datasets": list(own_datasets.values()),
            "settings": list(own_settings.values()),
        }
        methods = one_of(functools.partial(_find_method, own=own_methods))
        parts = self.tables(
            content,
            "base",
            lambda each, path: self.part(each, path, grid, methods, defaults | top),
        )
        if not parts:
            self.refuse((), "a plan must have a [[base]]: what to train")
        return Plan(
            top.get("name", self.name.removesuffix(".toml")),
            tuple(parts.values()),
            top.get("validation_fraction", 0.1),
        )

    def part(
        self,
        content: Any,
        path: Path_,
        grid: dict[str, Check],
        methods: Check,
        defaults: dict[str, Any],
    ) -> Part:
        kind = content.get("kind") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            where = (*path, "kind") if kind is not None else path
            allowed = ", ".join(map(repr, KINDS))
            self.refuse(where, f"kind must be one of {allowed}; got {shown(kind)}")
        cls = KINDS[kind]
        known = {**_FIELDS, "module": self.function}
        checks = {field.name: known[field.name] for field in fields(cls)}
        network = cls is Network
        if network:
            checks |= {
                "methods": methods,
                "learning_rates": _list_of(_positive),
                "uniform_risk": _flag,
            }
        found = self.table(content, path, {"kind": _text, **checks, **grid})
        for key in ("methods", "learning_rates") if network else ():
            if not found.get(key):
                self.refuse(path, f"[[base]] must have {key}")
        for i, method in enumerate(found["methods"] if found.get("true_labels") else ()):
            if method.loss is None and method.name not in _LEARN_TRUE_LABELS:
                self.refuse(
                    (*path, "methods", i),
                    f"methods must be of {', '.join(_LEARN_TRUE_LABELS)} or your own where "
                    f"true_labels is true; got {method.name!r}, which takes a label for what is "
                    "not the class whatever T says",
                )
        for key in found.keys() & _OF_LAYERS if "module" in found else ():
            self.refuse((*path, key), f"{key} must be left out: a module has its own layers")
        for key in ("datasets", "settings"):
            if not found.get(key, defaults[key]):
                self.refuse(path, f"{key} must name at least one; got none here or at the top")
        own = {key: value for key, value in found.items() if key in {f.name for f in fields(cls)}}
        base: Base = cls(**own)
        label = f"CPE-{found['name'].upper()}"
        return Part(
            base,
            tuple(found.get("datasets", defaults["datasets"])),
            tuple(found.get("settings", defaults["settings"])),
            found.get("trials", defaults["trials"]),
            tuple(found["methods"]) if network else (Method(ONLY_METHOD, label, "l1"),),
            tuple(found["learning_rates"]) if network else (None,),
            found.get("uniform_risk", True),
        )

    def dataset(self, content: Any, path: Path_) -> Dataset:
        found = self.table(content, path, {"name": _text, "path": _text, "target": _text})
        if "path" not in found:
            self.refuse(path, "[[dataset]] must have a path: a folder of idx files, an .npz, a "
                              ".csv or a .parquet")  # fmt: skip
        file = self.folder / found["path"]
        if not file.exists():
            self.refuse(
                (*path, "path"), f"path must be a file or folder that exists; {file} is not there"
            )
        if file.suffix.lower() in (".csv", ".parquet") and "target" not in found:
            self.refuse(
                path,
                f"[[dataset]] must have a target: the column of {found['path']} with the classes",
            )
        return Dataset(found["name"], str(file), found.get("target"))

    def setting(self, content: Any, path: Path_) -> Setting:
        found = self.table(
            content,
            path,
            {"name": _text, "transition": self.transition, "noise": _between(0, 1, ends=True)},
        )
        if "transition" not in found:
            self.refuse(path, "[[setting]] must have a transition")
        transition, classes = found["transition"]
        return Setting(found["name"], transition, found.get("noise", 0.0), classes)

    def transition(
        self, given: Any
    ) -> tuple[str | tuple[tuple[float, ...], ...], tuple[str, ...] | None]:
        if given in ("uniform", "weak", "strong"):
            return str(given), None
        rows, classes = given, None
        if isinstance(given, str):
            try:
                rows, classes = read_matrix(self.folder / given)
            except ValueError as error:
                raise ValueError(
                    "'uniform', 'weak', 'strong', rows of numbers, or the path of a CSV file; "
                    f"{error}"
                ) from error
        try:
            T = transition.check(rows)
        except (ValueError, TypeError) as error:
            raise ValueError(f"a transition matrix: {error}") from error
        return tuple(tuple(row) for row in T.tolist()), None if classes is None else tuple(classes)

    def method(self, content: Any, path: Path_) -> Method:
        found = self.table(
            content,
            path,
            {
                "name": _text,
                "label": _text,
                "loss": self.function,
                "estimates": _one_of("p", "q"),
                "decoder": _decoder,
                "criterion": _one_of("scel", "ure"),
            },
        )
        name = found["name"]
        if name in METHODS:
            self.refuse((*path, "name"), f"name must not be that of a method of ybar; got {name!r}")
        if "loss" not in found:
            self.refuse(path, "[[method]] must have a loss: 'module:function'")
        return Method(**{"label": name, **found})

    def function(self, given: Any) -> str:
        allowed = "'module:function' that Python can import, beside the plan or installed"
        reference = _text(given)
        # Found beside the plan, by this process and by those that it starts.
        if self.has_folder and str(self.folder) not in sys.path:
            sys.path.append(str(self.folder))  # last: a random.py there must not be everyone's
        try:
            found = find_function(reference)
        except Exception as error:  # a module of the user may raise anything
            raise ValueError(f"{allowed}; got {shown(given)} ({error})") from error
        if not callable(found):
            raise ValueError(f"{allowed}; {shown(given)} cannot be called")
        return reference


class _ElementError(ValueError):
    """What is wrong with one element of a list."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def line_of(text: str, path: Path_) -> int:
    """Return the line on which a key, or an element of its list, stands in a TOML text.

    The parser does not tell. So: the first lines that parse and have the key end with it.
    """
    lines = text.splitlines(keepends=True)
    start = end = 0
    for end in range(1, len(lines) + 1):
        try:
            content = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _reaches(content, path):
            break
        start = end
    statement = range(start, end)
    if len(path) > 1 and isinstance(path[-1], int) and isinstance(path[-2], str):
        places = _elements("".join(lines[i] for i in statement))
        if path[-1] < len(places):
            return start + places[path[-1]] + 1
    written = [i for i in statement if lines[i].strip() and not lines[i].lstrip().startswith("#")]
    return (written or [start])[0] + 1


# Comments, strings, brackets and the like, anything else.
_TOKENS = re.compile(
    r"""\#[^\n]* | "(?:[^"\\\n]|\\.)*" | '[^'\n]*' | [][,\n=] | [^][\s,="'#]+""", re.VERBOSE
)


def _elements(statement: str) -> list[int]:
    """Return the line, from 0, of each element of the list that a statement sets."""
    found: list[int] = []
    line, depth, expected = 0, 0, False
    for part in _TOKENS.findall(statement):
        match part[0]:
            case "\n":
                line += 1
            case "#" | "=":
                continue
            case "]":
                depth -= 1
            case ",":
                expected = depth == 1
            case first:
                if depth == 1 and expected:
                    found.append(line)
                    expected = False
                if first == "[":
                    depth += 1
                    expected = depth == 1
    return found


def _reaches(content: Any, path: Path_) -> bool:
    for key in path:
        try:
            content = content[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _spelt(path: Path_) -> str:
    names = [str(key) for key in path if isinstance(key, str)]
    return f"[[{'.'.join(names)}]]" if names else "the plan"


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"some text; got {shown(given)}")
    return given


def _flag(given: Any) -> bool:
    if not isinstance(given, bool):
        raise ValueError(f"true or false; got {shown(given)}")
    return given


def _whole(low: int) -> Check:
    def check(given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or given < low:
            raise ValueError(f"a whole number of at least {low}; got {shown(given)}")
        return given

    return check


def _positive(given: Any) -> float:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not number or not 0 < given <= sys.float_info.max:
        raise ValueError(f"a number above 0; got {shown(given)}")
    return float(given)


def _between(low: float, high: float, *, ends: bool = False) -> Check:
    def check(given: Any) -> float:
        number = isinstance(given, (int, float)) and not isinstance(given, bool)
        inside = number and (low <= given <= high if ends else low < given < high)
        if not inside:
            without = "" if ends else ", both excluded"
            raise ValueError(f"a number from {low} to {high}{without}; got {shown(given)}")
        return float(given)

    return check


def _one_of(*allowed: str) -> Check:
    def check(given: Any) -> str:
        if given not in allowed:
            raise ValueError(f"{' or '.join(map(repr, allowed))}; got {shown(given)}")
        return str(given)

    return check


def _decoder(given: Any) -> str:
    try:
        decode.check_method(given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"a decoder: {error}") from error
    return str(given)


def _share(given: Any) -> float:
    value = _between(0, 1, ends=True)(given)
    if value == 1:
        raise ValueError("a number from 0 to below 1; got 1")
    return float(value)


def _some_share(given: Any) -> float:
    value = _between(0, 1, ends=True)(given)
    if value == 0:
        raise ValueError("a number above 0, to 1; got 0")
    return float(value)


def _list_of(check: Check, what: str = "value", least: int = 1, *, once: bool = True) -> Check:
    def check_all(given: Any) -> tuple[Any, ...]:
        if not isinstance(given, list) or len(given) < least:
            raise ValueError(f"a list of at least {least} {what}; got {shown(given)}")
        found = []
        for i, each in enumerate(given):
            try:
                found.append(check(each))
            except ValueError as error:
                raise _ElementError(i, str(error)) from error
            if once and given.index(each) < i:
                raise _ElementError(i, f"each {what} once; got {shown(each)} again")
        return tuple(found)

    return check_all


def _unknown(kind: str, given: Any, known: Iterable[str]) -> ValueError:
    known = list(known)
    near = difflib.get_close_matches(str(given), known, 1)
    hint = f". Did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{kind}: {', '.join(known)}; got {shown(given)}{hint}")


def _find_dataset(given: Any, own: dict[str, Dataset]) -> Dataset:
    if isinstance(given, str):
        if given in own:
            return own[given]
        if given in _DATASETS:
            return Dataset(given)
    raise _unknown("data sets", given, [*_DATASETS, *own])


def _find_setting(given: Any, own: dict[str, Setting]) -> Setting:
    if isinstance(given, str):
        if given in own:
            return own[given]
        if given in ("uniform", "weak", "strong"):
            return Setting(given, given)
        if given.startswith("noise-"):
            try:
                return Setting(
                    given, "strong", _between(0, 1, ends=True)(float(given.removeprefix("noise-")))
                )
            except ValueError as error:
                raise ValueError(f"settings such as noise-0.1; got {shown(given)}") from error
    raise _unknown("settings", given, [*_SETTINGS, *own])


def _find_method(given: Any, own: dict[str, Method]) -> Method:
    if isinstance(given, str) and given in own | METHODS:
        return (own | METHODS)[given]
    raise _unknown("methods", given, [*METHODS, *own])


_LEARN_TRUE_LABELS = [name for name, m in networks.METHODS.items() if m.learns_true_labels]
_OF_LAYERS = {"hidden_layer_sizes", "dropout", "input_dropout"}
_FIELDS: dict[str, Check] = {
    "name": _text,
    "hidden_layer_sizes": _list_of(_whole(1), least=0, once=False),
    "epochs": _whole(1),
    "batch_size": _whole(1),
    "weight_decay": _between(0, 1, ends=True),
    "dropout": _share,
    "input_dropout": _share,
    "weight_averaging": _share,
    "true_labels": _flag,
    "told_noise": _flag,
    "n_neighbors": _list_of(_whole(1)),
    "n_components": _whole(0),
    "learning_rates": _list_of(_positive),
    "n_estimators": _list_of(_whole(1)),
    "max_bin": _whole(2),
    "early_stopping": _flag,
    "method": _one_of(*BOOSTING_METHODS),
    "min_data_in_leaf": _whole(1),
    "feature_fraction": _some_share,
    "bagging_fraction": _some_share,
}
