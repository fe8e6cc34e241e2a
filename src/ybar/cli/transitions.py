"""``ybar transition``: describe, draw, compare, make and estimate transition matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .manners import console, examples, one_line, say, show_json, typer
from .models import Delimiter, Separator

Spec = Annotated[
    str,
    typer.Argument(
        metavar="T",
        help="A CSV file (- for standard input), or uniform:K, weak:K or strong:K (also "
        "strong:K:SEED).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

transitions = typer.Typer(
    help="Transition matrices: T[y, k] is the probability that class k is named of an example of "
    "class y.",
    no_args_is_help=True,
    epilog=examples(
        "ybar transition describe strong:10",
        "ybar transition draw T.csv -o T.png",
        "ybar transition make strong:3 --noise 0.1 | ybar transition compare uniform:3 -",
    ),
    rich_markup_mode=None,
)


def describe(T: Spec, json: Json = False) -> None:
    """Say what a transition matrix is like, and how many labels it takes to learn under it."""
    with one_line():
        from ..tool import matrices

        found = matrices.read(T)
        if json:
            show_json(matrices.account(found))
        else:
            console().print(matrices.describe(found), markup=False, highlight=False)


def draw(
    T: Spec,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .png, .svg or .pdf instead.")
    ] = None,
) -> None:
    """Draw a transition matrix as a heat map, here or to a file."""
    with one_line():
        from ..tool import matrices

        found = matrices.read(T)
        if output is None:
            console().print(matrices.heat_map(found))
        else:
            matrices.write_picture(found, output)
            say(f"written to {output}")


def compare(first: Spec, second: Spec, json: Json = False) -> None:
    """Say how two transition matrices differ, and what it costs to take one for the other."""
    with one_line():
        from ..tool import matrices

        found = matrices.compare(matrices.read(first), matrices.read(second))
        if json:
            show_json(found)
            return
        for name, value in found.items():
            console().print(f"{name}: {value}", markup=False, highlight=False)


def make(
    T: Spec,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Add so much uniform noise.")] = 0.0,
    classes: Annotated[str | None, typer.Option(help="Names of the classes, as a,b,c.")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="A file, or - for standard output.")
    ] = "-",
) -> None:
    """Write a transition matrix as CSV."""
    with one_line():
        from ..tool import matrices

        matrices.write(matrices.read(T), noise, classes, output)


def estimate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table with both labels.")],
    true: Annotated[str, typer.Option(help="Column of true labels, empty where unknown.")],
    label: Annotated[list[str], typer.Option(help="Column of complementary labels.")],
    classes: Annotated[
        str | None,
        typer.Option(help="All classes, as a,b,c or a file of lines.  [default: all that occur]"),
    ] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="A file, or - for standard output.")
    ] = "-",
) -> None:
    """Estimate T from rows that have a true and a complementary label."""
    with one_line():
        from ..tool import matrices

        request = matrices.Request(data, true, label, classes, separator, delimiter, output)
        say(matrices.estimate(request))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    transitions.command(
        epilog=examples("ybar transition describe T.csv", "ybar transition describe strong:10:0")
    )(describe)
    transitions.command(
        epilog=examples("ybar transition draw T.csv", "ybar transition draw weak:10 -o T.png")
    )(draw)
    transitions.command(epilog=examples("ybar transition compare T.csv uniform:10"))(compare)
    transitions.command(
        epilog=examples("ybar transition make strong:3:7 --classes cat,dog,bird -o T.csv")
    )(make)
    transitions.command(
        epilog=examples("ybar transition estimate answers.csv --true y --label not -o T.csv")
    )(estimate)
    app.add_typer(transitions, name="transition")
