"""Fit a model to many files on a Dask cluster, and estimate its accuracy on held-out rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from ..distributed import DaskCPEBoostingClassifierCV
from ..distributed.blocks import as_collection
from ..transition import uniform
from ..transition.reading import Matrix, read_matrix
from ..utils.checks import shown
from ..utils.errors import input_errors
from ..utils.extras import require
from ..utils.typing import BoolArray, FloatArray, IntArray
from . import accuracy, candidates, columns, fitting, training
from .candidates import CandidateResult
from .columns import Columns, as_features
from .files import DataError
from .labels import (
    NAME_CLASSES,
    check_columns,
    is_missing_word,
    listed,
    natural_order,
    parse_classes,
    read_labels,
)
from .model import TableClassifier
from .parts import label_mask, names_in, naming, read
from .training import TrainingTable

_MOST_HELD_OUT = 50_000
_SHARE_HELD_OUT = 0.1
_RATES, _COUNTS = [0.1], list(range(10, 301, 10))
_WHAT = "ybar fit --dask"


class Reading(NamedTuple):
    """How all files are read."""

    label: tuple[str, ...]
    leave_out: tuple[str, ...]
    separator: str
    delimiter: str | None
    seed: int
    n_held_out: int
    """The most rows of a file that are held out."""

    def held_out(self, n_rows: int, number: int) -> IntArray:
        """Return the rows of a file that are held out; always the same ones."""
        n = min(self.n_held_out, round(_SHARE_HELD_OUT * n_rows))
        generator = np.random.default_rng([self.seed, number])
        return np.sort(generator.choice(n_rows, n, replace=False))


class Steps(NamedTuple):
    """How the rows of a file become numbers."""

    reading: Reading
    columns: Columns
    numbers: Any
    classes: list[str]


class Look(NamedTuple):
    """What one file holds, and the rows of it that are held out."""

    n_rows: int
    names: Counter[str]
    kinds: dict[str, str]
    held_out: Any


class Partitioned(NamedTuple):
    """A fitted model, and the summary that `ybar fit` prints."""

    model: TableClassifier
    summary: dict[str, Any]

    def explain(self) -> list[str]:
        """Return sentences on the rows, on the model and on its accuracy."""
        known = self.summary
        return [
            f"{known['labels']} complementary labels in {known['rows']} rows of "
            f"{known['partitions']} files.",
            fitting.explain_rows(known),
            f"Selected: {known['settings']['n_estimators']} rounds of boosting. SCEL on held-out "
            f"labels: {known['scel']:.4f} (the best constant guess: "
            f"{known['scel_of_the_best_constant_guess']:.4f}).",
            *fitting.explain_verdict(known),
            *accuracy.explain(known, known),
        ]


def fit(
    parts: Sequence[str],
    *,
    label: Sequence[str],
    classes: str | None = None,
    transition: str = "uniform",
    decoder: str | None = None,
    leave_out: Sequence[str] = (),
    separator: str = "|",
    delimiter: str | None = None,
    seed: int = 0,
) -> Partitioned:
    """Fit boosted trees to the rows of all files; the parameters are the options of ``ybar fit``.

    The workers of the active Dask client read the files, which must have the same names there. All
    files are read three times: for the kinds of columns, for the edges of bins, and for the bins.
    """
    dask: Any = require("dask", "dask", _WHAT)
    n_held_out = max(1, _MOST_HELD_OUT // len(parts))
    reading = Reading(tuple(label), tuple(leave_out), separator, delimiter, seed, n_held_out)
    looks = list(dask.compute(*(dask.delayed(_look)(p, reading, i) for i, p in enumerate(parts))))
    _check_same_columns(parts, looks, {*label, *leave_out})
    matrix, _ = training.parse_transition(transition)
    names = _classes(classes, matrix, looks)
    _check_names(parts, looks, names)
    table = _held_out(looks, reading, names, matrix, transition)
    numbers = columns.transformer(table.columns, "trees", table.frame)
    with input_errors():
        numbers.fit(as_features(table.frame, table.columns))
    steps = dask.delayed(Steps(reading, table.columns, numbers, names), traverse=False)
    numbers_of = dask.delayed(_numbers, nout=2)
    pairs = [numbers_of(part, i, steps) for i, part in enumerate(parts) if looks[i].n_rows]
    lengths = [look.n_rows for look in looks if look.n_rows]
    width = len(numbers.transform(as_features(table.frame[:1], table.columns))[0])
    X = as_collection([pair[0] for pair in pairs], lengths, np.empty((0, width)))
    y = as_collection([pair[1] for pair in pairs], lengths, np.empty((0, len(names)), bool))
    search = DaskCPEBoostingClassifierCV(
        _RATES,
        _COUNTS,
        method="cpe-f",
        transition=table.T,
        decoder=decoder,
        classes=table.y_comp.names,
        random_state=seed,
    )
    with input_errors():
        search.fit(X, y)
    model = _model(search.to_local(), numbers, table.columns)
    return Partitioned(model, _summary(model, search.best_params_, table, looks, seed))


def _look(part: str, reading: Reading, number: int) -> Look:
    """Return what a file holds."""
    with naming(part):
        frame = read(part, delimiter=reading.delimiter, as_text=reading.label)
        check_columns(frame, reading.label, "--label")
        check_columns(frame, reading.leave_out, "--leave-out")
        names = Counter(names_in(frame, reading.label, reading.separator))
        kinds = {name: _kind(column) for name, column in frame.items()}
        rows = reading.held_out(len(frame), number)
        return Look(len(frame), names, kinds, frame.iloc[rows])


def _kind(column: Any) -> str:
    if column.isna().all():
        return ""
    if column.dtype.kind in "biuf":
        return "infinite numbers" if np.isinf(column).any() else "numbers"
    return "times" if column.dtype.kind in "mM" else "texts"


def _check_names(parts: Sequence[str], looks: Sequence[Look], names: list[str]) -> None:
    for part, look in zip(parts, looks, strict=True):
        unknown = [name for name in look.names if name not in names and not is_missing_word(name)]
        if unknown:
            raise DataError(
                f"{part}: labels must be among the classes {listed(names)}; got "
                f"{shown(unknown[0])}. {NAME_CLASSES}"
            )


def _check_same_columns(
    parts: Sequence[str], looks: Sequence[Look], not_features: set[str]
) -> None:
    first = looks[0].kinds
    known = dict(first)
    for part, look in zip(parts, looks, strict=True):
        if list(look.kinds) != list(first):
            different = sorted(set(look.kinds) ^ set(first)) or ["their order"]
            raise DataError(
                f"{part}: all files must have the same columns, those of {parts[0]}; "
                f"{different[0]!r} differs. Correct the file, or leave it out"
            )
        for name, kind in look.kinds.items():
            if name in not_features:
                continue
            if kind == "infinite numbers":
                raise DataError(
                    f"{part}: column {name!r} must hold finite numbers; it has infinite ones. "
                    "Correct them, or add --leave-out"
                )
            if kind and known[name] and kind != known[name]:
                raise DataError(
                    f"{part}: column {name!r} must have the same type in all files; it holds "
                    f"{kind} here and {known[name]} before. Convert it"
                )
            known[name] = known[name] or kind


def _classes(classes: str | None, matrix: Matrix | None, looks: Sequence[Look]) -> list[str]:
    names = parse_classes(classes)
    if names is None and matrix is not None:
        names = matrix.classes
    if names is not None:
        return list(names)
    names_of_all = {name for look in looks for name in look.names if not is_missing_word(name)}
    return sorted(names_of_all, key=natural_order)


def _held_out(
    looks: Sequence[Look],
    reading: Reading,
    names: list[str],
    matrix: Matrix | None,
    transition: str,
) -> TrainingTable:
    """Return the held-out rows of all files as a table, with T."""
    pandas = require("pandas", "data", "reading a table")
    drawn = [look.held_out for look in looks if look.n_rows]
    if not drawn:
        raise DataError(f"DATA must have rows; got none in {len(looks)} files")
    frame = pandas.concat(drawn, ignore_index=True)
    with naming("the held-out rows of all files"):
        y_comp = read_labels(frame, reading.label, names, reading.separator)
        features = columns.classify(frame, [*reading.label, *reading.leave_out])
    if matrix is None:
        return TrainingTable(frame, features, y_comp, uniform(len(names)), "uniform")
    T = read_matrix(matrix, names, name=transition).T
    return TrainingTable(frame, features, y_comp, T, f"from {transition}")


def _numbers(part: str, number: int, steps: Steps) -> tuple[FloatArray, BoolArray]:
    """Return the features and the labels of a file; held-out rows have none."""
    reading, features, numbers, names = steps
    as_text = [*reading.label, *features.categories, *features.texts]
    with naming(part):
        frame = read(part, delimiter=reading.delimiter, as_text=as_text)
        X = np.asarray(numbers.transform(as_features(frame, features)), dtype=np.float64)
        mask = label_mask(frame, reading.label, names, reading.separator)
    mask[reading.held_out(len(frame), number)] = False
    return X, mask


def _model(classifier: Any, numbers: Any, features: Columns) -> TableClassifier:
    model = TableClassifier(classifier, "trees")
    model.pipeline_ = Pipeline([("numbers", numbers), ("classifier", classifier)])
    model.classes_ = classifier.classes_
    model.columns_ = {name: list(values) for name, values in features._asdict().items()}
    model.row_hashes_ = np.zeros(0, np.uint32)  # they would be as many as the rows
    return model


def _summary(
    model: TableClassifier,
    settings: dict[str, Any],
    table: TrainingTable,
    looks: Sequence[Look],
    seed: int,
) -> dict[str, Any]:
    """Return what `fitting.Selection.summary` has, and keep it in the model."""
    result = CandidateResult("boosting", settings=settings, model=model)
    candidates.score(result, table.frame, table.y_comp)
    rows = np.arange(len(table.frame))
    selection = fitting.describe(table, [result], model, rows, rows, False, seed)
    counts = sum((look.names for look in looks), Counter())
    per_class = [counts[name] for name in table.y_comp.classes]
    n_rows = sum(look.n_rows for look in looks)
    model.account_ = selection.summary() | {
        "partitions": len(looks),
        "rows": n_rows,
        "rows_of_the_compared_models": n_rows - len(rows),
        "rows_of_the_saved_model": n_rows - len(rows),
        "labels": sum(per_class),
        "labels_per_class": per_class,
    }
    return model.account_
