"""``ybar data``: list, download and verify the data sets of ybar."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Annotated, Any

from . import completion
from .app import app, examples, typer
from .options import Json
from .output import console, say, show_json, show_lines

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        help="Data sets.  [default: all]",
        autocompletion=completion.data_sets,
    ),
]

_VERIFIED = "verified"

sets = typer.Typer(
    help="List, download and verify data sets: MNIST, Fashion-MNIST, KMNIST, CIFAR, and CIFAR with "
    "real complementary labels. The data set digits needs no download.",
    no_args_is_help=True,
    epilog=examples("ybar data list", "ybar data fetch kmnist", "ybar data verify"),
    rich_markup_mode=None,
)
app.add_typer(sets, name="data")


@sets.command(name="list", epilog=examples("ybar data list"))
def list_(json: Json = False) -> None:
    """List the data sets and where they are on this machine."""
    rows = _rows()
    if json:
        show_json(rows)
        return
    from rich.table import Table

    table = Table("name", "classes", "size", "where")
    for row in rows:
        table.add_row(*map(str, row.values()))
    console().print(table)


@sets.command(epilog=examples("ybar data fetch kmnist"))
def fetch(
    names: Names = None,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL to download from.")
    ] = None,
) -> None:
    """Download data sets to the cache and check their sha256."""
    from .. import datasets
    from ..utils.errors import input_errors

    for name in _checked(names):
        with input_errors():  # a file of another content, or a mirror that is not a URL
            folder = datasets.fetch(name, mirror=mirror)
        say(f"{name}: {folder}")


@sets.command(epilog=examples("ybar data verify"))
def verify(names: Names = None, json: Json = False) -> None:
    """Check the files of data sets against their published sha256."""
    results = {name: _verify(name) for name in _checked(names)}
    if json:
        show_json(results)
    else:
        show_lines(f"{name}: {result}" for name, result in results.items())
    if set(results.values()) != {_VERIFIED}:
        raise typer.Exit(1)


def _checked(names: Sequence[str] | None) -> list[str]:
    """Return the names, or all data sets that can be downloaded if there are none."""
    from .. import datasets
    from ..utils.checks import shown
    from ..utils.errors import InputError

    known = [*datasets.REGISTRY, *datasets.UNVERIFIED]
    for name in names or []:
        if name not in known:
            similar = difflib.get_close_matches(name, known, 1)
            raise InputError(
                f"NAME must be one of {', '.join(known)}; got {shown(name)}"
                + (f". Did you mean {similar[0]}?" if similar else "")
            )
    return list(names or datasets.REGISTRY)


def _rows() -> list[dict[str, Any]]:
    from .. import datasets
    from ..transition.counting import annotated_classes

    rows = [{"name": "digits", "classes": 10, "size": "–", "where": "part of scikit-learn"}]
    for name, source in datasets.REGISTRY.items():
        size = sum(file.size for file in source.files.values()) / 1e6
        where = str(_find(name) or _missing(name))
        rows.append(
            {"name": name, "classes": len(source.classes), "size": f"{size:.0f} MB", "where": where}
        )
    for name in datasets.UNVERIFIED:
        where = str(_find(name) or _missing(name))
        rows.append(
            {"name": name, "classes": len(annotated_classes(name)), "size": "–", "where": where}
        )
    return rows


def _verify(name: str) -> str:
    """Return "verified", or what is wrong with the files of a data set."""
    from .. import datasets

    if _find(name) is None:
        return _missing(name)
    return datasets.damage(name) or _VERIFIED


def _find(name: str) -> Any:
    from .. import datasets
    from ..utils.errors import input_errors

    with input_errors():  # the folder YBAR_DATA may hold other files
        return datasets.find(name)


def _missing(name: str) -> str:
    from .. import datasets

    if name in datasets.UNVERIFIED:
        return f"not on this machine; no sha256 is known: download {datasets.UNVERIFIED[name]}"
    return f"not on this machine; to download it, run: ybar data fetch {name}"
