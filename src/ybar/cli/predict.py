"""``ybar predict``: the classes of new rows, and their probabilities."""

from __future__ import annotations

import contextlib
import json as json_module
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from . import completion, partitioned
from .app import app, examples, typer
from .options import Data, Delimiter, Model, ModelImageSize, Output
from .output import progress, say
from .partitioned import Dask

if TYPE_CHECKING:
    from ..tables.model import TableClassifier


@app.command(
    epilog=examples(
        "ybar predict model.ybar new.csv -o predicted.csv",
        "ybar predict model.ybar new.csv --proba --keep id",
        "cat new.csv | ybar predict model.ybar - --json",
        "ybar predict model.ybar 'new/*.parquet' -o predicted/",
    )
)
def predict(
    model: Model,
    data: Data,
    output: Output = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the data to copy to the output, such as an id. Repeat the option for "
            "several columns.",
            autocompletion=completion.columns,
        ),
    ] = None,
    delimiter: Delimiter = None,
    image_size: ModelImageSize = None,
    dask: Dask = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Predict the classes of the rows of a table.

    If DATA is a pattern such as 'new/*.parquet', the output is a folder with a file for each file
    of the data. Files that are there already are skipped.
    """
    from ..tables import files, part_predictions
    from ..tables.model import load
    from ..tables.parts import is_pattern

    if is_pattern(data) or dask is not None:
        partitioned.predict(model, data, output, proba, keep or (), delimiter, dask, json)
        return
    classifier = load(model)
    kept = list(keep or ())
    n_rows = 0
    with progress("predicted rows", None) as update, _output(output, json) as write:
        for frame in files.chunks(
            data,
            delimiter=delimiter,
            image_size=classifier.image_size(image_size),
            as_text=part_predictions.text_columns(classifier, kept),
        ):
            table = part_predictions.predictions(classifier, frame, kept, proba)
            write(_json_lines(table, classifier, kept, proba) if json else table)
            n_rows += len(frame)
            update(n_rows)
    if output != "-":
        say(f"{n_rows} rows written to {output}")


@contextlib.contextmanager
def _output(target: str, json: bool) -> Iterator[Callable[[Any], object]]:
    """Open ``--output`` for lines of JSON, or for the rows of a table."""
    from ..tables import writing

    if json:
        with writing.text_output(target, writing.JSON_LINES, " with --json") as out:
            yield out.writelines
    else:
        with writing.table_output(target, escape=True) as write:
            yield write


def _json_lines(table: Any, model: TableClassifier, keep: Sequence[str], proba: bool) -> list[str]:
    from ..tables.part_predictions import DIGITS

    lines = []
    names = [str(name) for name in model.classes_]
    for row in table.to_dict("records"):
        record: dict[str, Any] = {name: _json_value(row[name]) for name in keep}
        record["predicted"] = str(row["predicted"])
        if proba:
            record["p"] = {name: round(float(row[f"p_{name}"]), DIGITS) for name in names}
        lines.append(json_module.dumps(record, ensure_ascii=False) + "\n")
    return lines


def _json_value(value: Any) -> Any:
    """Return a cell as a value that JSON has."""
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if isinstance(value, list):
        return [_json_value(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _json_value(each) for name, each in value.items()}
    if value is None or value != value:
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)
