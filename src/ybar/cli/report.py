"""``ybar report``: a page about a model, or about the runs of experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from . import completion
from .app import app, examples, typer
from .options import Delimiter, ModelImageSize, OptionalLabels, Separator
from .output import say

if TYPE_CHECKING:
    from ..report import Page

_LEDGERS = (".sqlite", ".csv", ".parquet")
_SQLITE = b"SQLite format 3\0"


@app.command(
    epilog=examples(
        "ybar report model.ybar",
        "ybar report model.ybar test.csv --true label -o model.html",
        "ybar report paper.sqlite --plan paper",
    )
)
def report(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A model file, as written by ybar fit; or the ledger of ybar reproduce, or an "
            "export of it.",
        ),
    ],
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="Rows to evaluate the model on.")
    ] = None,
    true: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of true labels in DATA.",
            autocompletion=completion.columns,
        ),
    ] = None,
    label: OptionalLabels = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: ModelImageSize = None,
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="The plan of the runs in a ledger.")
    ] = "paper",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")
    ] = Path("report.html"),
) -> None:
    """Write a self-contained HTML page about a model or about experiments."""
    from ..report import write
    from ..tables import evaluation, page
    from ..tables.files import DataError
    from ..tables.model import load
    from ..tables.writing import output_file

    target = output_file(output, "--output")
    if _is_ledger(source):
        write(_ledger_page(source, plan), target)
    elif data is None and (true or label):
        raise DataError("--true and --label are columns of DATA; got no DATA. Add the file")
    else:
        model = load(source)
        evaluated = None
        if data is not None:
            label = label or []
            rows = evaluation.read(
                model, data, true=true, label=label, delimiter=delimiter, image_size=image_size
            )
            scores = evaluation.evaluate(model, rows, true=true, label=label, separator=separator)
            named = [*label, *([] if true is None else [true])]
            evaluated = page.Evaluated(scores, rows, named)
        write(page.build(model, evaluated), target)
    say(f"page written to {output}")


def _is_ledger(source: str) -> bool:
    """Return whether a file is a ledger, whatever its name, or is named like an export of one."""
    path = Path(source)
    if path.suffix in _LEDGERS:
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _ledger_page(source: str, plan: str) -> Page:
    from ..experiments.plan import reading
    from ..experiments.results import outputs
    from ..experiments.runs import transfer
    from ..utils.errors import input_errors

    with input_errors():
        planned = reading.read(plan)
        entries = transfer.read(source)
    return outputs.page(entries, planned)
