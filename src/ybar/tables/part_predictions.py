"""Predictions of many files: one file for each, written whole, and none twice."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..utils.checks import shown
from ..utils.errors import input_errors
from ..utils.files import target_folder, write_whole
from . import writing
from .files import DataError
from .labels import check_columns
from .model import TableClassifier, load
from .parts import chunks, naming

_SETTINGS = ".ybar-predict.json"
DIGITS = 6
"""Digits of the probabilities that are written."""


class Work(NamedTuple):
    """What is predicted, and how it is written."""

    model: str
    proba: bool
    keep: tuple[str, ...]
    delimiter: str | None
    on_cluster: bool


def targets_of(parts: Sequence[str], folder: str) -> dict[str, Path]:
    """Return the file to write for each part: the same name, in the folder."""
    with input_errors():
        place = target_folder(folder, "--output")
    targets: dict[str, Path] = {part: place / Path(part).name for part in parts}
    first: dict[Path, str] = {}
    for part, target in targets.items():
        if target in first:
            raise DataError(
                f"DATA must name files with different names, since the predictions of each have "
                f"its name; got {first[target]} and {part}. Rename one, or predict them separately"
            )
        if target.resolve() == Path(part).resolve():
            raise DataError(
                f"--output must be another folder than that of the data; got {shown(folder)}"
            )
        first[target] = part
    return targets


def start(work: Work, folder: str) -> None:
    """Create the folder, or check that what is in it comes from the same model and options."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    sha256 = hashlib.sha256(Path(work.model).read_bytes()).hexdigest()
    settings = {"model": sha256, "proba": work.proba, "keep": list(work.keep)}
    record = place / _SETTINGS
    if record.exists():
        try:
            before = json.loads(record.read_text("utf-8"))
        except ValueError:
            before = None
        if before != settings:
            raise DataError(
                f"--output must be a folder for predictions of this model with these options; "
                f"{folder} holds others. Choose another folder, or delete this one"
            )
        return
    write_whole(record, json.dumps(settings).encode())


def is_done(part: str, target: Path) -> bool:
    """Return whether the predictions of a part are there, and not older than the part."""
    return target.exists() and target.stat().st_mtime >= Path(part).stat().st_mtime


def predict_part(part: str, target: Path, work: Work) -> int:
    """Write the predictions of one file, and return their number."""
    model = cached_model(work.model, work.on_cluster)
    n_rows = 0
    with naming(part), writing.table_output(str(target), escape=True) as write:
        for frame in chunks(part, delimiter=work.delimiter, as_text=text_columns(model, work.keep)):
            write(predictions(model, frame, work.keep, work.proba))
            n_rows += len(frame)
    return n_rows


@functools.lru_cache(maxsize=2)
def cached_model(path: str, on_cluster: bool) -> TableClassifier:
    """Return the model in a file, which each worker reads once; on a cluster, for one thread."""
    model = load(path)
    classifier = model.pipeline_[-1]
    if on_cluster and "n_jobs" in classifier.get_params(deep=False):
        classifier.set_params(n_jobs=1)
    return model


def text_columns(model: TableClassifier, keep: Sequence[str]) -> list[str]:
    """Return the columns that are read as they are written."""
    return [*model.as_text, *set(keep).difference(model.columns_["numbers"])]


def predictions(model: TableClassifier, frame: Any, keep: Sequence[str], proba: bool) -> Any:
    """Return the predictions of rows as a table: kept columns, classes and probabilities."""
    check_columns(frame, keep, "--keep")
    written = {"predicted", *(f"p_{name}" for name in model.classes_ if proba)}
    clashes = [name for name in keep if name in written]
    if clashes:
        raise DataError(
            f"--keep must not be a column that predict writes; got {clashes[0]!r}. Rename it"
        )
    table = frame[list(keep)].copy()
    table["predicted"] = model.predict(frame) if len(frame) else model.classes_[:0]
    if proba:
        of_rows = model.predict_proba(frame) if len(frame) else np.empty((0, len(model.classes_)))
        for name, p in zip(model.classes_, of_rows.T, strict=True):
            table[f"p_{name}"] = [float(f"{value:.{DIGITS}g}") for value in p]
    return table
