"""``ybar fit``: from a table with complementary labels to a model file."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from ..utils.extras import require
from . import completion
from .app import app, examples, typer
from .options import Classes, Data, Delimiter, ImageSize, Json, OptionalLabels, Seed, Separator
from .output import console, note, progress, show_json, show_lines
from .partitioned import Dask

if TYPE_CHECKING:
    from ..tables.candidates import CandidateResult
    from ..tables.fitting import Selection

_FITTING = 0.9  # the share of --time-limit after which only scores are computed, and files written


class Decoder(StrEnum):
    """How a class is decoded from complementary probabilities."""

    l1 = "l1"
    l2 = "l2"
    max = "max"
    likelihood = "likelihood"


@app.command(
    epilog=examples(
        "ybar fit answers.csv --label not_label",
        "ybar fit answers.csv --label not_1 --label not_2 --classes cat,dog,bird",
        "ybar fit answers.csv --label not --transition T.csv --method boosting",
        "ybar fit clicks.csv --asked suggestion --answer accepted",
        "ybar fit photos/ --label not --transition estimate:true_label --model photos.ybar",
        "cat answers.csv | ybar fit - --label not --json",
        "ybar fit 'answers/*.parquet' --label not --dask local",
    )
)
def fit(
    data: Data,
    label: OptionalLabels = None,
    asked: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the class that a yes-or-no question named, such as a class that a "
            "model suggested. Needs --answer, and no --label.",
            autocompletion=completion.columns,
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the answers: yes or no, true or false, 1 or 0.",
            autocompletion=completion.columns,
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="FILE", help="The model file to write.")
    ] = "model.ybar",
    classes: Classes = None,
    transition: Annotated[
        str,
        typer.Option(
            metavar="T",
            help="The transition matrix T, the probabilities of each complementary label given "
            "the class: uniform (each wrong class is equally likely), a CSV file, or "
            "estimate:COLUMN, where the column holds a true label in a few rows.",
            autocompletion=completion.matrices,
        ),
    ] = "uniform",
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto compares seven models and keeps the one with the lowest SCEL, the log loss "
            "on held-out complementary labels. Others: logistic, kmeans, knn, forest, boosting, "
            "or the method of a neural network: cpe-f, cpe-n, cpe-t, cpe-i, fwd, scl-nl, dm, "
            "ure-ga, ...",
            autocompletion=completion.methods,
        ),
    ] = "auto",
    decoder: Annotated[
        Decoder | None,
        typer.Option(
            help="How a class is decoded from probabilities of complementary labels.  [default: "
            "the default of the method]"
        ),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that is not a feature. Repeat the option for several columns.",
            autocompletion=completion.columns,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time limit of the whole command. A model that does not finish in its share of "
            "the time is dropped; networks and boosting stop early instead.",
        ),
    ] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: ImageSize = 28,
    dask: Dask = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Fit a classifier to complementary labels ("not this class") or yes-or-no answers.

    Columns may hold numbers, categories, texts and missing values. The command estimates the
    accuracy of the model without true labels.
    """
    started = time.monotonic()  # importing takes seconds

    require("skops.io", "persistence", "ybar fit")  # not after the time limit, to save the model
    from .. import persistence
    from ..tables import candidates, fitting, training, writing
    from ..tables.files import DataError
    from ..tables.parts import is_pattern
    from . import partitioned

    if method not in candidates.METHODS:
        raise DataError(f"--method must be one of {', '.join(candidates.METHODS)}; got {method!r}")
    if time_limit is not None and not time_limit > 0:
        raise DataError(f"--time-limit must be more than 0 seconds; got {time_limit:g}")
    if model == "-":
        raise DataError("--model must be a file; got -, but a model is not written to a terminal")
    target = writing.output_file(model, "--model")
    if dask is not None or is_pattern(data):
        unsuitable = {
            "--asked": asked is not None,
            "--answer": answer is not None,
            "--time-limit": time_limit is not None,
            "--transition estimate": transition.startswith("estimate"),
            "--method": method not in ("auto", "boosting"),
        }
        partitioned.fit(
            data,
            dask,
            target,
            model,
            json,
            unsuitable,
            label=label or (),
            classes=classes,
            transition=transition,
            decoder=decoder,
            leave_out=leave_out or (),
            separator=separator,
            delimiter=delimiter,
            seed=seed,
        )
        return
    table = training.read(
        data,
        label=label or (),
        asked=asked,
        answer=answer,
        classes=classes,
        transition=transition,
        leave_out=leave_out or (),
        separator=separator,
        delimiter=delimiter,
        image_size=image_size,
    )
    methods = candidates.methods_to_try(method, table)
    with progress("comparing models", len(methods)) as update:

        def show_progress(result: CandidateResult) -> None:
            update(methods.index(result.method) + 1, f"compared {result.method}")

        selection = fitting.fit(
            table,
            methods,
            decoder=decoder,
            seed=seed,
            end=math.inf if time_limit is None else started + _FITTING * time_limit,
            on_result=show_progress,
        )
    with writing.writing(model):
        persistence.save(selection.model, target)
    for remark in filter(None, (table.T_note, *table.y_comp.notes)):
        note(remark)
    if json:
        show_json(selection.summary() | {"model": model})
        return
    console().print(_comparison(selection))
    for line in table.columns.explain_left_out():
        note(line)
    show_lines([*fitting.explain(selection), f"Model: {model}"])


def _comparison(selection: Selection) -> Any:
    """Return the table of all candidates."""
    from rich.table import Table
    from rich.text import Text

    from ..tables import fitting

    table = Table(title="Scores on held-out complementary labels, ± one standard error")
    for i, name in enumerate(fitting.COMPARISON):
        table.add_column(name, justify="right" if i else "left")
    *tried, constant = fitting.comparison(selection.summary())
    for name, *cells in tried:
        best = name.startswith(f"{selection.best.method} ")
        table.add_row(name, *map(Text, cells), style="bold" if best else "")
    table.add_row(*constant, style="dim")
    return table
