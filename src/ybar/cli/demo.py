"""``ybar demo``: several methods on handwritten digits, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .app import app, examples, typer
from .options import Json
from .output import console, progress, say, show_json

if TYPE_CHECKING:
    from .demo_models import Row


@app.command(
    epilog=examples(
        "ybar demo",
        "ybar demo --output /tmp/demo --json",
    )
)
def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write the page to."),
    ] = Path("demo"),
    json: Json = False,
) -> None:
    """Compare several methods that learn handwritten digits from complementary labels."""
    from .. import report
    from ..utils.errors import input_errors
    from ..utils.files import target_folder
    from . import demo_models, demo_page

    with input_errors():
        folder = target_folder(output, "--output")
    rows = []
    with progress("fitting", demo_models.n_models()) as update:
        for row in demo_models.run():
            rows.append(row)
            update(len(rows), f"fitted {row.model}")
    page = folder / "index.html"
    folder.mkdir(parents=True, exist_ok=True)
    report.write(demo_page.build(rows), page)
    if json:
        show_json([row.as_dict() for row in rows])
    else:
        console().print(_table(rows, demo_models.HEADER))
    say(f"page written to {page}")


def _table(rows: Sequence[Row], header: Sequence[str]) -> Any:
    from rich import box
    from rich.table import Table

    title = "Handwritten digits, learned from complementary labels"
    table = Table("model", title=title, box=box.SIMPLE_HEAD)
    for name in header:
        table.add_column(name, justify="right")
    for labels in dict.fromkeys(row.labels for row in rows):
        table.add_row(f"[bold]{labels}[/bold]")
        for row in rows:
            if row.labels == labels:
                table.add_row(f"  {row.model}", *row.cells())
    return table
