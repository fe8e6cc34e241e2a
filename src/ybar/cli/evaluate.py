"""``ybar evaluate``: how good a model is on new rows."""

from __future__ import annotations

from typing import Annotated, Any

from . import completion, partitioned
from .app import app, examples, typer
from .options import Data, Delimiter, Json, Model, ModelImageSize, OptionalLabels, Separator
from .output import console, note, show_json, show_lines
from .partitioned import Dask

_MOST_CLASSES = 20


@app.command(
    epilog=examples(
        "ybar evaluate model.ybar test.csv --true label",
        "ybar evaluate model.ybar more_answers.csv --label not_label",
        "ybar evaluate model.ybar 'new/*.parquet' --true label",
    )
)
def evaluate(
    model: Model,
    data: Data,
    true: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of true labels.", autocompletion=completion.columns
        ),
    ] = None,
    label: OptionalLabels = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: ModelImageSize = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Evaluate a model on new rows: by true labels, by complementary labels, or by both."""
    from ..tables import evaluation
    from ..tables.model import load
    from ..tables.parts import is_pattern

    label = label or []
    if is_pattern(data) or dask is not None:
        scores, account = partitioned.evaluate(model, data, true, label, separator, delimiter, dask)
    else:
        fitted = load(model)
        account = fitted.account_
        rows = evaluation.read(
            fitted, data, true=true, label=label, delimiter=delimiter, image_size=image_size
        )
        scores = evaluation.evaluate(fitted, rows, true=true, label=label, separator=separator)
    if label and (warning := account["transition"]["note"]):
        note(warning)
    if json:
        show_json(scores)
        return
    show_lines(_lines(scores, account))
    if "confusion" in scores:
        console().print(_confusion(scores["classes"], scores["confusion"]))


def _lines(scores: dict[str, Any], account: dict[str, Any]) -> list[str]:
    from ..tables import evaluation

    lines = []
    if "accuracy" in scores:
        lines.append(
            f"Accuracy {100 * scores['accuracy']:.1f}% ± {100 * scores['accuracy_std_error']:.1f} "
            f"(one standard error; mean over classes {100 * scores['balanced_accuracy']:.1f}%), on "
            f"{scores['rows_with_a_true_label']} rows with a true label"
        )
    if scores.get("scel") is not None:
        lines.append(
            f"SCEL {scores['scel']:.4f} ± {scores['scel_std_error']:.4f} (the best constant guess: "
            f"{scores['scel_of_the_best_constant_guess']:.4f}), on "
            f"{scores['complementary_labels']} complementary labels"
        )
    return lines + evaluation.explain(scores, account)


def _confusion(classes: list[str], counts: list[list[int]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from ..utils.text import plain

    names = [Text(plain(name)) for name in classes[:_MOST_CLASSES]]
    table = Table("true \\ predicted", title="Rows by true and predicted class")
    for name in names:
        table.add_column(name, justify="right")
    for name, row in zip(names, counts, strict=False):
        table.add_row(name, *(str(count) if count else "·" for count in row[:_MOST_CLASSES]))
    return table
