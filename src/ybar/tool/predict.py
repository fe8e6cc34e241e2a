"""``ybar predict``: classes, and their probabilities, for the rows of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import persistence
from ..tables import files
from ..tables import labels as complementary
from ..tables.files import DataError
from ..tables.model import TableClassifier

_DIGITS = 6


@dataclass(frozen=True)
class Request:
    """What ``ybar predict`` was asked for."""

    model: str
    data: str
    output: str = "-"
    proba: bool = False
    keep: tuple[str, ...] = ()
    json: bool = False
    delimiter: str | None = None
    image_size: int | None = None


def load(path: str) -> TableClassifier:
    """Return a model that ``ybar fit`` wrote."""
    source = Path(path)
    if not source.is_file():
        what = "is a folder" if source.is_dir() else "does not exist"
        raise DataError(f"MODEL must be a file that ybar fit wrote; {path} {what}. Check the path")
    model = persistence.load(source)
    if not isinstance(model, TableClassifier):
        raise DataError(
            f"{path} must be a model that ybar fit wrote; it holds a {type(model).__name__}. Load "
            "it in Python with ybar.load"
        )
    return model


def predict(request: Request, tell: Callable[[int], Any] = lambda _: None) -> int:
    """Write a line for each row, some rows at a time, and return how many there were."""
    model = load(request.model)
    total = 0
    with files.output(request.output) as out:
        for frame in files.chunks(
            request.data,
            delimiter=request.delimiter,
            image_size=model.image_size(request.image_size),
            as_text=[*model.as_text, *set(request.keep).difference(model.columns_["numbers"])],
        ):
            table = _of_rows(model, frame, request)
            if request.json:
                out.writelines(_lines(table, model, request))
            else:
                header = total == 0
                table.to_csv(out, index=False, header=header)
            total += len(frame)
            tell(total)
    return total


def _of_rows(model: TableClassifier, frame: Any, request: Request) -> Any:
    complementary.need(frame, request.keep, "--keep")
    taken = {"predicted", *(f"p_{name}" for name in model.classes_ if request.proba)}
    for name in request.keep:
        if name in taken:
            raise DataError(
                f"--keep must not be a column that predict writes itself; got {name!r}. Rename it"
            )
    table = frame[list(request.keep)].copy()
    table["predicted"] = model.predict(frame)
    if request.proba:
        p = model.predict_proba(frame)
        for i, name in enumerate(model.classes_):
            table[f"p_{name}"] = [float(f"{value:.{_DIGITS}g}") for value in p[:, i]]
    return table


def _lines(table: Any, model: TableClassifier, request: Request) -> list[str]:
    lines = []
    names = [str(name) for name in model.classes_]
    for row in table.to_dict("records"):
        found: dict[str, Any] = {name: _plain(row[name]) for name in request.keep}
        found["predicted"] = str(row["predicted"])
        if request.proba:
            found["p"] = {name: round(float(row[f"p_{name}"]), _DIGITS) for name in names}
        lines.append(json.dumps(found, ensure_ascii=False) + "\n")
    return lines


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value != value:
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)
