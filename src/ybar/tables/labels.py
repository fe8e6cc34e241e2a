"""From columns of complementary labels, and T in words, to what `fit` takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import transition
from ..transition.reading import read_matrix
from ..utils.checks import shown
from ..utils.typing import AnyArray, BoolArray, FloatArray
from .files import DataError

_NAME_CLASSES = "Name all classes with --classes"
_FLOAT_OF_INT = re.compile(r"-?\d+\.0+")  # a whole number that gaps made a float


class ComplementaryLabels(NamedTuple):
    """Complementary labels: a boolean row of K for each row of the table."""

    mask: BoolArray
    classes: list[str]

    def as_y(self) -> AnyArray:
        """Return one label a row where that says all, else the mask."""
        if (self.mask.sum(axis=1) == 1).all():
            return np.asarray(self.names[self.mask.argmax(axis=1)])
        return self.mask

    @property
    def names(self) -> AnyArray:
        """The classes as an array."""
        return np.array(self.classes)


def as_names(column: Any) -> list[str | None]:
    """Return a column's values as names of classes, None where one is missing.

    A whole number that missing values have made a float is the name it was in the file.
    """
    values = column.tolist()
    if column.dtype.kind == "f" and all(v != v or float(v).is_integer() for v in values):
        return [None if v != v else str(int(v)) for v in values]
    values = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    several = [v for v in values if _is_list(v)]
    if several:
        raise DataError(f"{column.name!r} must hold one name in each cell; got {shown(several[0])}")
    texts = [v for v in values if isinstance(v, str)]
    if texts and all(_FLOAT_OF_INT.fullmatch(v.strip()) for v in texts):
        return [v.strip().partition(".")[0] if isinstance(v, str) else None for v in values]
    return [None if v is None or v != v else str(v).strip() for v in values]


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, np.ndarray))


def _cells(column: Any, separator: str) -> list[list[str]]:
    """Return the names in each cell: several with a separator between, or in a list."""
    if any(map(_is_list, column)):
        lists = [list(v) if _is_list(v) else [] if v is None or v != v else [v] for v in column]
        lengths = np.cumsum([len(each) for each in lists])[:-1]
        flat = as_names(type(column)([v for each in lists for v in each], name=column.name))
        return [[v for v in each if v] for each in np.split(np.array(flat, object), lengths)]
    names = as_names(column)
    return [[part.strip() for part in (name or "").split(separator)] for name in names]


def check_separator(separator: str) -> None:
    """Refuse a separator that separates nothing."""
    if not separator.strip() and separator != " ":
        raise DataError(f"--separator must be a character or more; got {separator!r}")


def need(frame: Any, names: Sequence[str], what: str) -> None:
    """Refuse a name that is no column."""
    for name in names:
        if name not in frame.columns:
            listed = ", ".join(map(str, list(frame.columns)[:20]))
            raise DataError(f"{what} must be a column of the data: {listed}; got {shown(name)}")


def read_labels(
    frame: Any,
    columns: Sequence[str],
    classes: Sequence[str] | None,
    separator: str = "|",
    what_to_do: str = _NAME_CLASSES,
) -> ComplementaryLabels:
    """Return the complementary labels of a table.

    Parameters
    ----------
    columns : sequence of str
        Each cell holds a class, several with a separator between or in a list, or nothing.
    classes : sequence of str, optional
        All classes; by default those that occur.
    what_to_do : str
        Said where a label is none of the classes.
    """
    need(frame, columns, "--label")
    check_separator(separator)
    pairs = [
        (row, name)
        for column in columns
        for row, names in enumerate(_cells(frame[column], separator))
        for name in names
        if name
    ]
    found = sorted({name for _, name in pairs}, key=natural)
    names = list(classes) if classes is not None else found
    unknown = [name for name in found if name not in set(names)]
    if unknown:
        row = next(row for row, name in pairs if name == unknown[0])
        raise DataError(
            f"labels must be among the classes {', '.join(names[:20])}; got {shown(unknown[0])} "
            f"in row {row + 1}. {what_to_do}"
        )
    if len(names) < 2:
        raise DataError(
            f"there must be at least 2 classes; got {shown(names)} in {', '.join(columns)}. "
            f"{what_to_do}"
        )
    mask = np.zeros((len(frame), len(names)), dtype=bool)
    if pairs:
        at = {name: i for i, name in enumerate(names)}
        mask[[row for row, _ in pairs], [at[name] for _, name in pairs]] = True
    if not mask.any():
        raise DataError(f"{', '.join(columns)} must hold labels; all cells are empty")
    contradictory = np.flatnonzero(mask.all(axis=1))
    if len(contradictory):
        raise DataError(
            f"each row must leave some class possible; row {contradictory[0] + 1} rules out all "
            f"{len(names)} classes. Correct or drop it"
        )
    return ComplementaryLabels(mask, names)


def classes_of_both(frame: Any, columns: Sequence[str], true: str, separator: str) -> list[str]:
    """Return all classes that occur as a complementary label or as a true one."""
    found = read_labels(frame, columns, None, separator)
    return sorted({*found.classes, *filter(None, as_names(frame[true]))}, key=natural)


def natural(name: str) -> tuple[int, float, str]:
    """Sort numbers as numbers, before other names."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def split_names(given: str | None) -> list[str] | None:
    """Return the classes of ``a,b,c``, or of a file with one on each line."""
    if given is None:
        return None
    path = Path(given)
    if "," not in given and path.is_file():
        try:
            text = path.read_text("utf-8-sig")
        except ValueError as error:
            raise DataError(f"--classes must be a file of UTF-8 text; {given}: {error}") from error
    else:
        text = given.replace(",", "\n")
    names = [line.strip() for line in text.splitlines() if line.strip()]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"--classes must name each class once; {shown(twice[0])} is there twice")
    if len(names) < 2:
        raise DataError(
            f"--classes must name at least 2 classes, as a,b,c or as the lines of a file; got "
            f"{shown(given)}"
        )
    return names


def matrix_for(given: str, frame: Any, y_comp: ComplementaryLabels) -> tuple[FloatArray, str]:
    """Return T for the classes of the labels, and in words where it comes from.

    Parameters
    ----------
    given : str
        "uniform", the path of a file, or ``estimate:<column>``: a column with a few true labels.
    """
    if given.startswith("estimate:"):
        return _estimated(given.removeprefix("estimate:"), frame, y_comp)
    T = read_matrix(
        given,
        y_comp.classes,
        name="--transition",
        words=["uniform"],
        also=", or estimate:COLUMN with a column of true labels",
    ).T
    return T, "uniform" if given == "uniform" else f"from {Path(given).name}"


def _estimated(column: str, frame: Any, y_comp: ComplementaryLabels) -> tuple[FloatArray, str]:
    need(frame, [column], "--transition estimate:")
    true = as_names(frame[column])
    at = {name: i for i, name in enumerate(y_comp.classes)}
    rows = [row for row, name in enumerate(true) if name and y_comp.mask[row].any()]
    unknown = [true[row] for row in rows if true[row] not in at]
    if unknown:
        raise DataError(
            f"{column} must hold classes among {', '.join(y_comp.classes[:20])}; got "
            f"{shown(unknown[0])}. Name all classes with --classes"
        )
    if not rows:
        raise DataError(
            f"{column} must have a true label in some row that has a complementary one; none has"
        )
    codes = np.array([at[str(true[row])] for row in rows])
    n_classes = len(at)
    T = transition.estimate(
        codes, y_comp.mask[rows], classes=np.arange(n_classes), smoothing=1 / n_classes
    )
    said = f"estimated from {len(rows)} rows with a true label in {column}"
    without = [name for name, i in at.items() if i not in codes]
    if without:
        said += f"; none is {' or '.join(without[:5])}, whose part of T is guessed"
    return T, said
