"""``ybar demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from .manners import console, examples, one_line, progress, say, show_json, typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the page.")] = Path(
        "demo"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Learn handwritten digits from what they are not, by several methods side by side."""
    with one_line():
        from dataclasses import asdict

        from ..tool import demo as showing

        showing.check(output)
        rows, kept = [], {}

        def keep(labels: str, model: str, clf: Any) -> None:
            kept[labels, model] = clf

        total = showing.n_models()
        with progress("fitting", total) as tell:
            for row in showing.run(keep):
                rows.append(row)
                tell(len(rows), f"fitted {row.model}")
        page = showing.write(rows, kept["strong T", "network, CPE-F"], output)
        if json:
            show_json([asdict(row) for row in rows])
        else:
            console().print(_table(rows, showing.HEADER))
        say(f"page written to {page}")


def _table(rows: list[Any], header: tuple[str, ...]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table("model", title="Digits learned from what they are not", box=box.SIMPLE_HEAD)
    for name in header:
        table.add_column(name, justify="right")
    for labels in dict.fromkeys(row.labels for row in rows):
        table.add_row(f"[bold]{labels}[/bold]")
        for row in rows:
            if row.labels == labels:
                table.add_row(f"  {row.model}", *row.cells())
    return table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("ybar demo", "ybar demo --output /tmp/demo --json"))(demo)
