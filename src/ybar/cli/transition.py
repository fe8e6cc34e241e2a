"""``ybar transition``: describe, draw, compare, make and estimate transition matrices."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from . import completion
from .app import app, examples, typer
from .options import Classes, Delimiter, Json, Labels, Output, Separator
from .output import console, note, say, show_json, show_lines

if TYPE_CHECKING:
    from ..transition.reading import Matrix

Spec = Annotated[
    str,
    typer.Argument(
        metavar="T",
        help="A CSV file, - for CSV from standard input, uniform:K, weak:K[:SEED] or "
        "strong:K[:SEED], where K is the number of classes.",
        autocompletion=completion.sized_matrices,
    ),
]

_IMAGES = (".png", ".svg", ".pdf")
_SHADES = " ░▒▓█"

transitions = typer.Typer(
    help="Work with transition matrices: T[y, k] is the probability that an example of class y "
    "gets the complementary label k.",
    no_args_is_help=True,
    epilog=examples(
        "ybar transition describe strong:10",
        "ybar transition draw T.csv -o T.png",
        "ybar transition make strong:3 --noise 0.1 | ybar transition compare uniform:3 -",
    ),
    rich_markup_mode=None,
)
app.add_typer(transitions, name="transition")


@transitions.command(
    epilog=examples("ybar transition describe T.csv", "ybar transition describe strong:10:0")
)
def describe(T: Spec, json: Json = False) -> None:
    """Describe a transition matrix, and how hard it is to learn from its labels."""
    from .. import transition
    from ..tables import matrices
    from ..utils.text import plain

    matrix = matrices.parse(T)
    if json:
        show_json(matrices.summary(matrix))
        return
    classes = [f"classes: {', '.join(map(plain, matrix.classes))}"] if matrix.classes else []
    show_lines([transition.describe(matrix.T), *classes])


@transitions.command(
    epilog=examples("ybar transition draw T.csv", "ybar transition draw weak:10 -o T.png")
)
def draw(
    T: Spec,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A .png, .svg or .pdf file.  [default: the terminal]",
        ),
    ] = None,
) -> None:
    """Draw a transition matrix as a heat map, in the terminal or to a file."""
    from ..tables import matrices

    matrix = matrices.parse(T)
    if output is None:
        console().print(_heat_map(matrix))
    else:
        _write_image(matrix, output)
        say(f"written to {output}")


@transitions.command(epilog=examples("ybar transition compare assumed.csv true.csv"))
def compare(first: Spec, second: Spec, json: Json = False) -> None:
    """Compare a matrix with the true one, and bound the cost of using it in its place."""
    from ..tables import matrices

    differences = matrices.compare(matrices.parse(first), matrices.parse(second))
    if json:
        show_json(differences)
    else:
        show_lines(f"{name}: {value}" for name, value in differences.items())


@transitions.command(
    epilog=examples("ybar transition make strong:3:7 --classes cat,dog,bird -o T.csv")
)
def make(
    T: Spec,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Fraction of uniform noise to mix in.")
    ] = 0.0,
    classes: Annotated[
        str | None, typer.Option(metavar="CLASSES", help="Names of the classes, as a,b,c.")
    ] = None,
    output: Output = "-",
) -> None:
    """Write a transition matrix as CSV."""
    from .. import transition
    from ..tables import matrices
    from ..tables.files import DataError
    from ..tables.labels import parse_classes

    matrix = matrices.parse(T)
    names = parse_classes(classes) or matrices.names_of(matrix)
    if len(names) != len(matrix.T):
        raise DataError(
            f"--classes must name {len(matrix.T)} classes, one per row of T; got {len(names)}"
        )
    matrices.write(transition.with_uniform_noise(matrix.T, noise), names, output)


@transitions.command(
    epilog=examples("ybar transition estimate answers.csv --true y --label not -o T.csv")
)
def estimate(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A table with true and complementary labels.")
    ],
    true: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Column of true labels; empty where they are unknown.",
            autocompletion=completion.columns,
        ),
    ],
    label: Labels,
    classes: Classes = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    output: Output = "-",
) -> None:
    """Estimate T from rows that have a true and a complementary label."""
    from ..tables import files, matrices
    from ..tables.labels import as_names, check_columns, parse_classes, read_labels

    frame = files.read(data, delimiter=delimiter, as_text=[true, *label])
    check_columns(frame, [true], "--true")
    names = parse_classes(classes)
    true_classes = as_names(frame[true], frozenset(names or ()))
    y_comp = read_labels(frame, label, names, separator, other_classes=true_classes)
    for remark in y_comp.notes:
        note(remark)
    T, source = matrices.estimate(frame, true, y_comp, "--true")
    matrices.write(T, y_comp.classes, output)
    say(source)


def _heat_map(matrix: Matrix) -> Any:
    """Return a table for the terminal, with a shade per entry."""
    from rich.table import Table
    from rich.text import Text

    from ..tables import matrices
    from ..utils.text import plain

    table = Table("true \\ not", padding=0)
    names = [Text(plain(name)) for name in matrices.names_of(matrix)]
    for name in names:
        table.add_column(name, justify="right")
    largest = float(matrix.T.max())
    for name, row in zip(names, matrix.T, strict=True):
        shades = [_SHADES[min(len(_SHADES) - 1, round(4 * value / largest))] for value in row]
        table.add_row(
            name, *(f"{value:.2f}{shade}" for value, shade in zip(row, shades, strict=True))
        )
    return table


def _write_image(matrix: Matrix, path: Path) -> None:
    from ..displays import TransitionDisplay
    from ..report import matrix_figure
    from ..tables import matrices
    from ..tables.files import DataError
    from ..tables.writing import output_file, writing
    from ..utils.files import write_whole

    target = output_file(path, "--output")
    if target.suffix not in _IMAGES:
        raise DataError(f"--output must end in {', '.join(_IMAGES)}; got {target.name!r}")
    display = TransitionDisplay(matrix.T, classes=matrices.names_of(matrix))
    buffer = io.BytesIO()
    matrix_figure(display.plot, len(matrix.T)).savefig(buffer, format=target.suffix[1:], dpi=150)
    with writing(str(path)):
        write_whole(target, buffer.getvalue())
