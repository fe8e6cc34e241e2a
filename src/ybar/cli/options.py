"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

from . import completion
from .app import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv or .txt file (also compressed), a .parquet or .npz file, a folder of "
        "images, or - for CSV from standard input. A labels.csv in the folder of images, with a "
        "column 'file', adds columns to the images.",
    ),
]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file, as written by ybar fit.")
]
_LABEL = typer.Option(
    "--label",
    metavar="COLUMN",
    help="Column of complementary labels. Repeat the option for several columns.",
    autocompletion=completion.columns,
)
Labels = Annotated[list[str], _LABEL]
OptionalLabels = Annotated[list[str] | None, _LABEL]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="CLASSES",
        help="All classes: a,b,c, or a file with one class per line.  [default: all classes that "
        "occur]",
    ),
]
Separator = Annotated[
    str, typer.Option(metavar="TEXT", help="Separates several classes in one cell.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Separates the cells of a line.  [default: a comma; a tab for .tsv]",
    ),
]
ImageSize = Annotated[
    int, typer.Option(min=1, max=512, help="Images are scaled to squares of this many pixels.")
]
ModelImageSize = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=512,
        help="Images are scaled to squares of this many pixels.  [default: the model's size]",
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The file to write, or - for standard output."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
