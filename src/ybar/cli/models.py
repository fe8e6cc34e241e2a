"""``ybar fit``, ``predict``, ``evaluate`` and ``simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from .manners import console, examples, one_line, progress, say, show_json, typer

if TYPE_CHECKING:
    from ..tool import fit as fitting

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .txt (also gzipped), .parquet or .npz file, a folder of images "
        "(labels.csv in it: a column file, and those of the labels), or - for CSV from standard "
        "input.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Separator = Annotated[str, typer.Option(help="Between several classes in one cell.")]
Delimiter = Annotated[
    str | None, typer.Option(help="Between the cells of a line.  [default: a comma; tab for .tsv]")
]
ImageSize = Annotated[int, typer.Option(min=1, max=512, help="Images become squares of this.")]
OwnImageSize = Annotated[
    int | None,
    typer.Option(min=1, max=512, help="Images become squares of this.  [default: the model's]"),
]
Seed = Annotated[int, typer.Option(min=0, help="For all that is drawn at random.")]


def fit(
    data: Data,
    label: Annotated[
        list[str],
        typer.Option(help="Column of complementary labels: what the row is not. May be repeated."),
    ],
    model: Annotated[str, typer.Option(help="Where to write the model.")] = "model.ybar",
    classes: Annotated[
        str | None,
        typer.Option(help="All classes, as a,b,c or a file of lines.  [default: all that occur]"),
    ] = None,
    transition: Annotated[
        str,
        typer.Option(
            help="How labels come about: uniform, a CSV file with T, or estimate:COLUMN with a "
            "few true labels."
        ),
    ] = "uniform",
    method: Annotated[
        str,
        typer.Option(
            help="auto tries several and chooses by SCEL; or logistic, knn, boosting, or a network "
            "by cpe-f, cpe-n, cpe-t, cpe-i, fwd, scl-nl, dm, ure-ga, …"
        ),
    ] = "auto",
    decoder: Annotated[
        str | None, typer.Option(help="l1, l2, max or likelihood.  [default: the method's]")
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option(help="Columns that are no features.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which no candidate begins.")
    ] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: ImageSize = 28,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn a classifier from a table with "not this" answers.

    Numeric, categorical, missing and text columns are handled. Prints how good the model is
    expected to be, which needs no true label.
    """
    with one_line():
        from ..tables import candidates
        from ..tool import fit as fitting

        if method not in candidates.METHODS:
            raise ValueError(
                f"--method must be one of {', '.join(candidates.METHODS)}; got {method!r}"
            )
        if decoder not in (None, "l1", "l2", "max", "likelihood"):
            raise ValueError(f"--decoder must be l1, l2, max or likelihood; got {decoder!r}")
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"--time-limit must be seconds, more than 0; got {time_limit:g}")
        request = fitting.Request(
            data,
            label,
            model,
            classes,
            transition,
            method,
            decoder,
            tuple(leave_out or ()),
            separator,
            delimiter,
            image_size,
            time_limit,
            seed,
        )
        with progress("trying models", len(candidates.AUTO) if method == "auto" else 1) as tell:
            done = 0

            def told(tried: Any) -> None:
                nonlocal done
                done += 1
                tell(done, f"tried {tried.method}")

            account = fitting.fit(request, told)
        if json:
            show_json(account.plain() | {"model": model})
            return
        out = console()
        out.print(_tried(account))
        for line in account.told.columns.explain_left_out():
            say(f"note: {line}")
        for line in [*fitting.explain(account), f"Model: {model}"]:
            out.print(line, markup=False, highlight=False, soft_wrap=True)


def _tried(account: fitting.Account) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("model", title="Judged by complementary labels that were held out")
    for name in ("SCEL", "URE of the error rate", "seconds"):
        table.add_column(name, justify="right")
    for tried in account.tried:
        if tried.failed is not None:
            table.add_row(tried.method, Text(f"– ({tried.failed})", style="dim"))
            continue
        style = "bold" if tried is account.chosen else ""
        table.add_row(
            tried.method + (" ←" if tried is account.chosen else ""),
            _with_error(tried.scel, tried.scel_std_error, 4),
            _with_error(tried.error, tried.error_std_error, 3),
            f"{tried.seconds:.1f}",
            style=style,
        )
    table.add_row("the best constant guess", f"{account.constant:.4f}", style="dim")
    return table


def _with_error(value: float, std_error: float, digits: int) -> str:
    if value != value:
        return "–"
    shown = f"{value:.{digits}f}"
    return shown if std_error != std_error else f"{shown} ± {std_error:.{digits}f}"


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit wrote.")],
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", help="A file, or - for standard output.")
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Column of the data to keep beside, such as an id.")
    ] = None,
    delimiter: Delimiter = None,
    image_size: OwnImageSize = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON object on each line.")] = False,
) -> None:
    """Predict ordinary classes for the rows of a table."""
    with one_line():
        from ..tool import predict as predicting

        request = predicting.Request(
            model, data, output, proba, tuple(keep or ()), json, delimiter, image_size
        )
        with progress("rows", None) as tell:
            n_rows = predicting.predict(request, tell)
        if output != "-":
            say(f"{n_rows} rows written to {output}")


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit wrote.")],
    data: Data,
    true: Annotated[str | None, typer.Option(help="Column of true labels.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Column of complementary labels. May be repeated.")
    ] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: OwnImageSize = None,
    json: Json = False,
) -> None:
    """Say how good a model is: by true labels, by complementary ones, or by both."""
    with one_line():
        from ..tool import evaluate as evaluating

        found = evaluating.evaluate(
            evaluating.Request(
                model, data, tuple(label or ()), true, separator, delimiter, image_size
            )
        )
        if json:
            show_json(found)
            return
        out = console()
        for line in _evaluated(found):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
        if "confusion" in found:
            out.print(_confusion(found["classes"], found["confusion"]))


def _evaluated(found: dict[str, Any]) -> list[str]:
    lines = []
    if "accuracy" in found:
        lines.append(
            f"Accuracy {100 * found['accuracy']:.1f}% ± {100 * found['accuracy_std_error']:.1f} "
            f"(mean over classes {100 * found['balanced_accuracy']:.1f}%), "
            f"{found['rows_with_a_true_label']} rows with a true label"
        )
    if "scel" in found:
        lines.append(
            f"SCEL {found['scel']:.4f} ± {found['scel_std_error']:.4f} (the best constant guess: "
            f"{found['scel_of_the_best_constant_guess']:.4f}), "
            f"{found['complementary_labels']} complementary labels"
        )
        if "expected_accuracy" in found:
            lines.append(
                f"Accuracy by URE, without true labels: {100 * found['expected_accuracy']:.1f}% ± "
                f"{100 * found['expected_accuracy_std_error']:.1f}"
            )
        else:
            lines.append("No accuracy without true labels: the transition matrix is singular")
    return lines


def _confusion(classes: list[str], counts: list[list[int]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from ..utils.text import plain

    most = 20
    table = Table("true \\ predicted", title="Rows by true and predicted class")
    for name in classes[:most]:
        table.add_column(Text(plain(name)), justify="right")
    for name, row in list(zip(classes, counts, strict=True))[:most]:
        table.add_row(Text(plain(name)), *(str(count) if count else "·" for count in row[:most]))
    return table


def simulate(
    data: Data,
    target: Annotated[str, typer.Option(help="Column of true classes.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="A file, or - for standard output.")
    ] = "-",
    transition: Annotated[
        str, typer.Option(help="uniform, weak, strong, or a CSV file with T.")
    ] = "uniform",
    noise: Annotated[
        float, typer.Option(help="Share of labels drawn regardless of the class.")
    ] = 0.0,
    labels: Annotated[int, typer.Option(help="Labels drawn for each row.")] = 1,
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "not_label",
    keep_true: Annotated[
        bool, typer.Option("--keep-true", help="Keep the true classes too.")
    ] = False,
    write_transition: Annotated[str | None, typer.Option(help="Write T to this CSV file.")] = None,
    separator: Separator = "|",
    delimiter: Delimiter = None,
    image_size: ImageSize = 28,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Turn a table with true classes into one with complementary labels."""
    with one_line():
        from ..tool import simulate as simulating

        found = simulating.simulate(
            simulating.Request(
                data,
                target,
                output,
                transition,
                noise,
                labels,
                column,
                keep_true,
                write_transition,
                separator,
                delimiter,
                image_size,
                seed,
            )
        )
        if json and output != "-":
            show_json(found)
        else:
            say(
                f"{found['rows']} rows of {len(found['classes'])} classes, "
                f"{found['labels_drawn']} labels drawn, {100 * found['wrong']:.1f}% of them wrong"
            )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        epilog=examples(
            "ybar fit answers.csv --label not_label",
            "ybar fit answers.csv --label not_1 --label not_2 --classes cat,dog,bird",
            "ybar fit answers.csv --label not --transition T.csv --method boosting",
            "ybar fit photos/ --label not --transition estimate:true_label --model photos.ybar",
            "cat answers.csv | ybar fit - --label not --json",
        )
    )(fit)
    app.command(
        epilog=examples(
            "ybar predict model.ybar new.csv -o predicted.csv",
            "ybar predict model.ybar new.csv --proba --keep id",
            "cat new.csv | ybar predict model.ybar - --json",
        )
    )(predict)
    app.command(
        epilog=examples(
            "ybar evaluate model.ybar test.csv --true label",
            "ybar evaluate model.ybar more_answers.csv --label not_label",
        )
    )(evaluate)
    app.command(
        epilog=examples(
            "ybar simulate iris.csv --target species -o answers.csv",
            "ybar simulate iris.csv --target species --transition strong --write-transition T.csv",
            "ybar simulate iris.csv --target species --labels 2 --noise 0.1 > answers.csv",
        )
    )(simulate)
