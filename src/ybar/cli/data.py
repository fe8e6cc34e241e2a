"""``ybar data``: list, fetch and verify the data sets that ybar knows."""

from __future__ import annotations

from typing import Annotated, Any

from .manners import console, examples, one_line, say, show_json, typer

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets.  [default: all]")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

sets = typer.Typer(
    help="The data sets that ybar knows: MNIST, Fashion-MNIST, KMNIST; digits come with it.",
    no_args_is_help=True,
    epilog=examples("ybar data list", "ybar data fetch kmnist", "ybar data verify"),
    rich_markup_mode=None,
)


def list_(json: Json = False) -> None:
    """List the data sets, and where each lies on this machine."""
    with one_line():
        from ..tool import shelf

        found = shelf.listing()
        if json:
            show_json(found)
            return
        from rich.table import Table

        table = Table("name", "classes", "size", "where")
        for row in found:
            table.add_row(*(str(row[name]) for name in ("name", "classes", "size", "where")))
        console().print(table)


def fetch(
    names: Names = None,
    mirror: Annotated[str | None, typer.Option(help="Base URL to download from.")] = None,
) -> None:
    """Download data sets to the cache, checked by sha256."""
    with one_line():
        from ..tool import shelf

        for name in shelf.known(names):
            say(f"{name}: {shelf.fetch(name, mirror)}")


def verify(names: Names = None, json: Json = False) -> None:
    """Check the files of data sets against their published sha256."""
    with one_line():
        from ..tool import shelf

        found: dict[str, Any] = {name: shelf.verify(name) for name in shelf.known(names)}
        if json:
            show_json(found)
        else:
            for name, said in found.items():
                console().print(f"{name}: {said}", markup=False, highlight=False)
        if any(said != "verified" for said in found.values()):
            raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    sets.command(name="list", epilog=examples("ybar data list"))(list_)
    sets.command(epilog=examples("ybar data fetch kmnist"))(fetch)
    sets.command(epilog=examples("ybar data verify"))(verify)
    app.add_typer(sets, name="data")
