"""``ybar report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .manners import examples, one_line, say, typer
from .models import Delimiter, OwnImageSize, Separator


def report(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A model that fit wrote, or the ledger (or export) of runs."
        ),
    ],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Rows to judge the model by.")
    ] = None,
    true: Annotated[str | None, typer.Option(help="Column of true labels in DATA.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Column of complementary labels in DATA.")
    ] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: OwnImageSize = None,
    plan: Annotated[str, typer.Option(help="The plan that the runs of a ledger are of.")] = "paper",
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
) -> None:
    """Write a page, in one file, about a model or about experiments."""
    with one_line():
        from ..tool import evaluate, pages

        if pages.is_ledger(source):
            pages.of_ledger(source, plan, output)
        else:
            if data is None and (true or label):
                raise ValueError("--true and --label are columns of DATA; name the file too")
            request = evaluate.Request(
                source, data or "", tuple(label or ()), true, separator, delimiter, image_size
            )
            pages.of_model(request, data, output)
        say(f"page written to {output}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    epilog = examples(
        "ybar report model.ybar",
        "ybar report model.ybar test.csv --true label -o model.html",
        "ybar report paper.sqlite --plan paper",
    )
    app.command(epilog=epilog)(report)
