"""``ybar simulate``: a table with complementary labels from one with true classes."""

from __future__ import annotations

from typing import Annotated

from . import completion
from .app import app, examples, typer
from .options import Data, Delimiter, ImageSize, Json, Output, Seed, Separator
from .output import note, say, show_json


@app.command(
    epilog=examples(
        "ybar simulate iris.csv --target species -o answers.csv",
        "ybar simulate iris.csv --target species --transition strong --write-transition T.csv",
        "ybar simulate iris.csv --target species --labels 2 --noise 0.1 > answers.csv",
    )
)
def simulate(
    data: Data,
    target: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Column of true classes.", autocompletion=completion.columns
        ),
    ],
    output: Output = "-",
    transition: Annotated[
        str,
        typer.Option(
            metavar="T",
            help="The transition matrix T: uniform, weak, strong, or a CSV file.",
            autocompletion=completion.matrices,
        ),
    ] = "uniform",
    noise: Annotated[
        float,
        typer.Option(min=0, max=1, help="Fraction of labels drawn uniformly from all K classes."),
    ] = 0.0,
    labels: Annotated[int, typer.Option(min=1, help="Labels drawn per row.")] = 1,
    column: Annotated[
        str, typer.Option(metavar="COLUMN", help="Name of the new column.")
    ] = "not_label",
    keep_true: Annotated[
        bool, typer.Option("--keep-true", help="Keep the column of true classes.")
    ] = False,
    write_transition: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write T to this CSV file.")
    ] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: ImageSize = 28,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Replace the true classes of a table by random complementary labels."""
    from ..tables import files, matrices, simulation, writing

    with writing.table_output(output) as write:
        table = simulation.simulate(
            files.read(data, delimiter=delimiter, image_size=image_size, as_text=None),
            target=target,
            transition=transition,
            noise=noise,
            labels=labels,
            column=column,
            keep_true=keep_true,
            separator=separator,
            seed=seed,
        )
        for remark in table.notes:
            note(remark)
        if write_transition is not None:
            matrices.write(table.T, table.classes, write_transition, "--write-transition")
        write(table.frame)
    if json and output != "-":
        summary = {
            "rows": len(table.frame),
            "classes": table.classes,
            "labels_drawn": table.n_labels,
            "wrong": table.wrong,
            "T": table.T.tolist(),
        }
        show_json(summary)
    else:
        say(
            f"{len(table.frame)} rows of {len(table.classes)} classes, {table.n_labels} labels "
            f"drawn, {100 * table.wrong:.1f}% of them wrong"
        )
