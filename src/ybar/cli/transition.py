"""``ybar transition``: describe, draw, compare, make and estimate transition matrices."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .app import examples, typer
from .options import Classes, Delimiter, Json, Labels, Output, Separator
from .output import console, say, show_json, show_lines

if TYPE_CHECKING:
    from ..transition.reading import Matrix

Spec = Annotated[
    str,
    typer.Argument(
        metavar="T",
        help="A CSV file, - for CSV from standard input, uniform:K, weak:K[:SEED] or "
        "strong:K[:SEED], where K is the number of classes.",
    ),
]

_ALSO = ", -, or uniform:K, weak:K or strong:K with a number of classes K"
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


def describe(T: Spec, json: Json = False) -> None:
    """Describe a transition matrix, and how hard it is to learn from its labels."""
    from .. import transition
    from ..utils.text import plain

    matrix = _read(T)
    if json:
        show_json(_summary(matrix))
        return
    classes = [f"classes: {', '.join(map(plain, matrix.classes))}"] if matrix.classes else []
    show_lines([transition.describe(matrix.T), *classes])


def draw(
    T: Spec,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .png, .svg or .pdf file.  [default: the terminal]"),
    ] = None,
) -> None:
    """Draw a transition matrix as a heat map, in the terminal or to a file."""
    matrix = _read(T)
    if output is None:
        console().print(_heat_map(matrix))
    else:
        _write_image(matrix, output)
        say(f"written to {output}")


def compare(first: Spec, second: Spec, json: Json = False) -> None:
    """Compare a matrix with the true one, and bound the cost of using it in its place."""
    differences = _compare(_read(first), _read(second))
    if json:
        show_json(differences)
    else:
        show_lines(f"{name}: {value}" for name, value in differences.items())


def make(
    T: Spec,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Fraction of uniform noise to mix in.")
    ] = 0.0,
    classes: Annotated[str | None, typer.Option(help="Names of the classes, as a,b,c.")] = None,
    output: Output = "-",
) -> None:
    """Write a transition matrix as CSV."""
    from .. import transition
    from ..tables.files import DataError
    from ..tables.labels import parse_classes
    from ..tables.matrices import names_of

    matrix = _read(T)
    names = parse_classes(classes) or names_of(matrix)
    if len(names) != len(matrix.T):
        raise DataError(
            f"--classes must name {len(matrix.T)} classes, one per row of T; got {len(names)}"
        )
    _write(transition.with_uniform_noise(matrix.T, noise), names, output)


def estimate(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A table with true and complementary labels.")
    ],
    true: Annotated[str, typer.Option(help="Column of true labels; empty where they are unknown.")],
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
    y_comp = read_labels(
        frame, label, parse_classes(classes), separator, other_classes=as_names(frame[true])
    )
    T, source = matrices.estimate(frame, true, y_comp, "--true")
    _write(T, y_comp.classes, output)
    say(source)


def _read(spec: str) -> Matrix:
    """Return the matrix of a CSV file, of standard input, or of ``strong:10`` and the like."""
    from ..tables.files import DataError
    from ..transition.reading import WORDS, read_matrix
    from ..utils.checks import shown
    from ..utils.errors import input_errors

    if spec == "-":
        return read_matrix(sys.stdin, name="standard input")
    word, *numbers = spec.split(":")
    if word not in WORDS or Path(spec).is_file():
        return read_matrix(spec, name="T", words=(), also=_ALSO)
    n_seeds = 0 if word == "uniform" else 1
    if not all(number.isdecimal() for number in numbers) or not 1 <= len(numbers) <= 1 + n_seeds:
        form = "uniform:K" if word == "uniform" else f"{word}:K or {word}:K:SEED"
        raise DataError(f"T must be {form} with a number of classes K; got {shown(spec)}")
    n_classes, *seed = map(int, numbers)
    with input_errors():
        return read_matrix(word, n_classes, random_state=seed[0] if seed else 0)


def _summary(matrix: Matrix) -> dict[str, Any]:
    from .. import transition
    from ..tables.matrices import names_of

    T = matrix.T
    singular = transition.is_singular(T)
    return {
        "classes": names_of(matrix),
        "gamma": transition.gamma(T),
        "condition_number": None if singular else transition.condition_number(T),
        "uniform": transition.is_uniform(T),
        "singular": singular,
        "wrong_labels": float(T.diagonal().mean()),
        "T": T.tolist(),
    }


def _compare(assumed: Matrix, true: Matrix) -> dict[str, Any]:
    """Return how far a matrix is from the true one, in the order of its classes."""
    from .. import transition
    from ..tables.files import DataError
    from ..tables.matrices import names_of
    from ..transition.reading import read_matrix

    if len(assumed.T) != len(true.T):
        raise DataError(
            "both matrices must have the same number of classes; got "
            f"{len(assumed.T)} and {len(true.T)}"
        )
    T = true.T
    if assumed.classes and true.classes:
        T = read_matrix(true, assumed.classes, name="the second matrix").T
    entries = abs(assumed.T - T)
    rows = entries.sum(axis=1)
    epsilon, gamma = float(rows.max()), transition.gamma(T)
    return {
        "largest difference of a row (epsilon, L1)": round(epsilon, 6),
        "class of that row": names_of(assumed)[int(rows.argmax())],
        "mean difference of a row": round(float(rows.mean()), 6),
        "largest difference of an entry": round(float(entries.max()), 6),
        "gamma of the second": round(gamma, 6),
        "2 epsilon / gamma, added to the bound of the error rate": (
            round(2 * epsilon / gamma, 6) if gamma else None
        ),
    }


def _heat_map(matrix: Matrix) -> Any:
    """Return a table for the terminal, with a shade per entry."""
    from rich.table import Table
    from rich.text import Text

    from ..tables.matrices import names_of
    from ..utils.text import plain

    table = Table("true \\ not")
    names = [Text(plain(name)) for name in names_of(matrix)]
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
    from ..tables.files import DataError, output_file
    from ..tables.matrices import names_of
    from ..utils.files import write_whole

    target = output_file(path, "--output")
    if target.suffix not in _IMAGES:
        raise DataError(f"--output must end in {', '.join(_IMAGES)}; got {target.name!r}")
    display = TransitionDisplay(matrix.T, classes=names_of(matrix))
    buffer = io.BytesIO()
    matrix_figure(display.plot, len(matrix.T)).savefig(buffer, format=target.suffix[1:], dpi=150)
    write_whole(target, buffer.getvalue())


def _write(T: Any, names: list[str], output: str) -> None:
    from ..tables import files
    from ..transition.reading import as_csv

    with files.output(output) as out:
        out.write(as_csv(T, names))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    transitions.command(
        epilog=examples("ybar transition describe T.csv", "ybar transition describe strong:10:0")
    )(describe)
    transitions.command(
        epilog=examples("ybar transition draw T.csv", "ybar transition draw weak:10 -o T.png")
    )(draw)
    transitions.command(epilog=examples("ybar transition compare assumed.csv true.csv"))(compare)
    transitions.command(
        epilog=examples("ybar transition make strong:3:7 --classes cat,dog,bird -o T.csv")
    )(make)
    transitions.command(
        epilog=examples("ybar transition estimate answers.csv --true y --label not -o T.csv")
    )(estimate)
    app.add_typer(transitions, name="transition")
