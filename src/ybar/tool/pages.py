"""``ybar report``: a page about a model, or about the runs of a ledger."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..report import Column, Definitions, Grid, KeyFigures, Page, Section, Text, picture, write
from ..tables.model import TableClassifier
from ..utils.files import target_file
from . import evaluate, predict
from .pictures import square

_LEDGERS = (".sqlite", ".csv", ".parquet")
_SQLITE = b"SQLite format 3\0"


def is_ledger(source: str) -> bool:
    """Tell whether a file is a ledger, by whatever name, or is called like an export of one."""
    path = Path(source)
    if path.suffix in _LEDGERS:
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def of_model(request: evaluate.Request, data: str | None, output: Path) -> None:
    """Write the page of a model, with what the labels of a table say of it."""
    target = target_file(output, "--output")
    model = predict.load(request.model)
    found = None if data is None else evaluate.evaluate(request)
    write(model_page(model, found), target)


def of_ledger(source: str, plan_source: str, output: Path) -> None:
    """Write the page of the runs of a ledger, or of an export of one."""
    from ..experiments.plan import reading as plan_file
    from ..experiments.results import outputs
    from ..experiments.runs import transfer

    target = target_file(output, "--output")
    plan = plan_file.read(plan_source)
    entries = transfer.read(source)
    write(outputs.page(entries, plan), target)


def model_page(model: TableClassifier, found: dict[str, Any] | None) -> Page:
    """Return the page of a model; `found` is what `evaluate` gave, if anything."""
    account = model.account_
    sections = [
        _summary(account),
        Section("What was tried", [_tried(account)]),
        Section(
            "How labels come about",
            [
                Text([f"The transition matrix is {account['transition']['source']}."]),
                _heat_map(model),
            ],
        ),
    ]
    if found is not None:
        sections.append(_evaluated(found))
    kinds = {"numbers": "numbers", "categories": "categories", "texts": "texts"}
    columns = [
        (kind, ", ".join(account["columns"][name]) or "none") for name, kind in kinds.items()
    ]
    columns += [(name, f"left out: {why}") for name, why in account["left_out"].items()]
    sections.append(Section("Columns", [Definitions(columns)]))
    now = datetime.datetime.now(datetime.UTC)
    return Page(
        "A model that learned from what things are not",
        f"{account['method']}, fitted to {account['rows']} rows with {account['labels']} "
        f"complementary labels of {len(account['classes'])} classes.",
        sections,
        f"Made by ybar, {now:%Y-%m-%d %H:%M} UTC.",
    )


def _summary(account: dict[str, Any]) -> Section:
    figures = [(account["method"], "chosen by SCEL")]
    expected, error = account["expected_accuracy"], account["expected_accuracy_std_error"]
    if expected is not None:
        shown = min(1.0, max(0.0, expected))
        figures.append((f"{100 * shown:.0f}%", f"expected accuracy (± {200 * error:.0f} points)"))
    constant = account["scel_of_the_best_constant_guess"]
    figures.append((f"{account['scel']:.3f}", f"SCEL; a constant guess has {constant:.3f}"))
    words = (
        "No true label was needed for any of this. The expected accuracy is right if the "
        "transition matrix is."
    )
    if not account["informative"]:
        words = (
            "These labels carry too little information to learn from: no model told them surely "
            "better than a guess that does not look at the data."
        )
    return Section("Summary", [KeyFigures(figures), Text([words])])


def _tried(account: dict[str, Any]) -> Grid:
    rows = []
    for tried in account["tried"]:
        if tried["failed"] is not None:
            rows.append([tried["method"], "–", "–", tried["failed"]])
            continue
        error = "–"
        if tried["error_rate"] is not None:
            error = f"{tried['error_rate']:.3f} ± {tried['error_rate_std_error']:.3f}"
        scel = f"{tried['scel']:.4f} ± {tried['scel_std_error'] or 0:.4f}"
        rows.append([tried["method"], scel, error, f"{tried['seconds']:.1f}"])
    names = [Column("model", words=True), *map(Column, ("SCEL", "URE of the error", "seconds"))]
    note = "On complementary labels that were held out; ± is a standard error."
    return Grid(names, rows, notes=[note])


def _heat_map(model: TableClassifier) -> Any:
    from ..displays import TransitionDisplay

    display = TransitionDisplay(model.transition_, classes=model.classes_)
    return picture(
        square(display.plot, len(model.classes_)),
        "Heat map of the transition matrix",
        caption="The chance that each class (row) is said not to be each other (column).",
    )


def _evaluated(found: dict[str, Any]) -> Section:
    from ..displays import ConfusionDisplay

    figures, blocks = [], []
    if "accuracy" in found:
        figures.append(
            (
                f"{100 * found['accuracy']:.1f}%",
                f"accuracy on {found['rows_with_a_true_label']} rows with a true label",
            )
        )
    if "expected_accuracy" in found:
        shown = min(1.0, max(0.0, found["expected_accuracy"]))
        figures.append(
            (
                f"{100 * shown:.1f}%",
                f"accuracy by {found['complementary_labels']} complementary labels "
                f"(± {200 * found['expected_accuracy_std_error']:.1f})",
            )
        )
    if "scel" in found:
        constant = found["scel_of_the_best_constant_guess"]
        figures.append((f"{found['scel']:.3f}", f"SCEL; a constant guess has {constant:.3f}"))
    if "confusion" in found:
        counts = np.array(found["confusion"])
        display = ConfusionDisplay(counts / counts.sum(), classes=found["classes"])
        blocks.append(
            picture(
                square(display.plot, len(counts)),
                "Rows by true and predicted class",
            )
        )
    return Section("On new data", [KeyFigures(figures), *blocks])
