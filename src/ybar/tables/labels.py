"""Complementary labels and classes, from the columns of a table and the options of a command."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..labels import Evidence
from ..utils.checks import shown
from ..utils.errors import input_errors
from ..utils.memory import VARIABLE, byte_limit
from ..utils.typing import AnyArray, BoolArray, IntArray
from .files import DataError

NAME_CLASSES = "Name all classes with --classes"
_MISSING = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "?", "-", "."})
_MOST_PAIRS = 5
_BYTES_OF_A_FLOAT = 8
_FLOAT_OF_INT = re.compile(r"-?\d+\.0+")  # a whole number in a column with missing values


class ComplementaryLabels(NamedTuple):
    """The classes that are ruled out: one boolean row of K entries per row of the table."""

    mask: BoolArray
    classes: list[str]
    asked: IntArray | None = None
    """For yes-or-no answers, the class that each row was asked about; -1 for rows without one."""
    notes: tuple[str, ...] = ()
    """Remarks on the names, for the user."""

    def as_y(self) -> AnyArray | Evidence:
        """Return one label per row if each row has exactly one, otherwise the mask or evidence."""
        if self.asked is not None:
            return Evidence.excluded(self.mask, classes=self.names)
        if (self.mask.sum(axis=1) == 1).all():
            return np.asarray(self.names[self.mask.argmax(axis=1)])
        return self.mask

    def subset(self, rows: IntArray) -> ComplementaryLabels:
        """Return the labels of some rows."""
        asked = None if self.asked is None else self.asked[rows]
        return ComplementaryLabels(self.mask[rows], self.classes, asked)

    @property
    def units(self) -> BoolArray:
        """The observations that count once in SCEL: labels, (N, K), or answers, (N, 1)."""
        if self.asked is None:
            return self.mask
        return np.asarray(self.mask.any(axis=1, keepdims=True))

    @property
    def names(self) -> AnyArray:
        """The classes as an array."""
        return np.array(self.classes)


def as_names(column: Any, classes: Container[str] = ()) -> list[str | None]:
    """Return a column's values as names of classes, None for a missing value.

    Words for a missing value, such as NA, are missing unless they are among the classes.
    """
    return [
        None if name is None or _is_missing(name, classes) else name for name in _written(column)
    ]


def is_missing_word(value: Any) -> bool:
    """Return whether a value is a word for a missing value, such as NA."""
    return isinstance(value, str) and value.strip().lower() in _MISSING


def _is_missing(name: str, classes: Container[str]) -> bool:
    return is_missing_word(name) and name not in classes


def _written(column: Any) -> list[str | None]:
    """Return a column's values as they are written in the file, None for an empty cell.

    Whole numbers keep the names that they have in the file: pandas reads 1 as 1.0 in a column with
    missing values.
    """
    values = column.tolist()
    if column.dtype.kind == "f" and all(v != v or float(v).is_integer() for v in values):
        return [None if v != v else str(int(v)) for v in values]
    values = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    nested = next(filter(is_nested, values), None)
    if nested is not None:
        raise DataError(
            f"{column.name!r} must hold one name per cell; got {shown(nested)}. Write a column of "
            "names"
        )
    texts = [v for v in values if isinstance(v, str)]
    if texts and all(_FLOAT_OF_INT.fullmatch(v.strip()) for v in texts):
        return [v.strip().partition(".")[0] if isinstance(v, str) else None for v in values]
    return [None if v is None or v != v else str(v).strip() for v in values]


def is_nested(value: Any) -> bool:
    """Return whether a cell, of a Parquet file, holds a list or a record."""
    return _is_list(value) or isinstance(value, Mapping)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, np.ndarray))


def cells(column: Any, separator: str) -> list[list[str]]:
    """Return the names in each cell, which may be "": between separators, or in a list."""
    if any(map(_is_list, column)):
        lists = [list(v) if _is_list(v) else [] if v is None or v != v else [v] for v in column]
        ends = np.cumsum([len(each) for each in lists]).tolist()
        names = _written(type(column)([v for each in lists for v in each], name=column.name))
        return [
            [name for name in names[end - len(each) : end] if name]
            for each, end in zip(lists, ends, strict=True)
        ]
    return [[part.strip() for part in (name or "").split(separator)] for name in _written(column)]


def check_separator(separator: str) -> None:
    """Raise an error if a separator is empty."""
    if not separator.strip() and separator != " ":
        raise DataError(f"--separator must have at least one character; got {separator!r}")


def check_columns(frame: Any, names: Sequence[str], option: str) -> None:
    """Raise an error if one of the names of an option is not a column."""
    for name in names:
        if name not in frame.columns:
            listed = ", ".join(map(str, list(frame.columns)[:20]))
            raise DataError(f"{option} must be a column of the data: {listed}; got {shown(name)}")


def read_labels(
    frame: Any,
    columns: Sequence[str],
    classes: Sequence[str] | None,
    separator: str = "|",
    *,
    other_classes: Iterable[str | None] = (),
    remedy: str = NAME_CLASSES,
) -> ComplementaryLabels:
    """Return the complementary labels of a table.

    Parameters
    ----------
    columns : sequence of str
        Each cell holds a class, several classes with a separator between them or in a list, or
        nothing.
    classes : sequence of str, optional
        All classes; by default those that occur in the columns, and `other_classes`.
    remedy : str
        What to do about a label that is not one of the classes.
    """
    check_columns(frame, columns, "--label")
    check_separator(separator)
    pairs = [
        (row, name)
        for column in columns
        for row, names in enumerate(cells(frame[column], separator))
        for name in names
        if name
    ]
    named = frozenset(classes or ())
    missing = Counter(name for _, name in pairs if _is_missing(name, named))
    pairs = [pair for pair in pairs if pair[1] not in missing]
    present = sorted({name for _, name in pairs}, key=natural_order)
    if classes is None:
        classes = sorted({*present, *filter(None, other_classes)}, key=natural_order)
    index = {name: i for i, name in enumerate(classes)}
    unknown = [name for name in present if name not in index]
    if unknown:
        row = next(row for row, name in pairs if name == unknown[0])
        raise DataError(
            f"labels must be among the classes {listed(classes)}; got {shown(unknown[0])} "
            f"in row {row + 1}. {remedy}"
        )
    check_classes(classes, len(frame), columns, remedy)
    mask = np.zeros((len(frame), len(classes)), dtype=bool)
    if pairs:
        mask[[row for row, _ in pairs], [index[name] for _, name in pairs]] = True
    _check_mask(mask, columns)
    notes = [*_explain_missing(missing, columns), *explain_similar(classes)]
    return ComplementaryLabels(mask, list(classes), notes=tuple(notes))


def _explain_missing(missing: Mapping[str, int], columns: Sequence[str]) -> list[str]:
    """Return a note on words for missing values among the labels, with their counts."""
    if not missing:
        return []
    words = ", ".join(f"{word!r} ({count})" for word, count in missing.items())
    return [
        f"{', '.join(columns)}: cells with {words} count as empty. If such a word is a class, "
        "name all classes with --classes"
    ]


def explain_similar(classes: Iterable[str]) -> list[str]:
    """Return a note on classes that differ in upper and lower case, or in spaces, only."""
    groups: dict[str, list[str]] = {}
    for name in classes:
        key = "".join(unicodedata.normalize("NFKC", name).casefold().split())
        groups.setdefault(key, []).append(name)
    alike = [" and ".join(map(repr, names)) for names in groups.values() if len(names) > 1]
    if not alike:
        return []
    more = f", and {len(alike) - _MOST_PAIRS} more" if len(alike) > _MOST_PAIRS else ""
    return [
        f"these classes differ in upper and lower case or spaces only: "
        f"{'; '.join(alike[:_MOST_PAIRS])}{more}. If they are the same, correct the data"
    ]


def check_classes(classes: Sequence[str], n_rows: int, columns: Sequence[str], remedy: str) -> None:
    """Raise an error for too few classes, or for more than fit into the memory."""
    n_classes = len(classes)
    with input_errors():
        limit = byte_limit()
    if max(n_rows, _BYTES_OF_A_FLOAT * n_classes) * n_classes > limit:
        raise DataError(
            f"the classes must be fewer, because the transition matrix of {n_classes:,} classes "
            f"and the labels of {n_rows:,} rows must fit into {limit:,} bytes; got {n_classes:,} "
            f"classes in {', '.join(columns)}, such as {shown(classes[0])}. Check that this is not "
            f"a column of ids; for more memory, set the environment variable {VARIABLE}"
        )
    if len(classes) < 2:
        raise DataError(
            f"there must be at least 2 classes; got {shown(list(classes))} in "
            f"{', '.join(columns)}. {remedy}"
        )


def _check_mask(mask: BoolArray, columns: Sequence[str]) -> None:
    if not mask.any():
        raise DataError(f"{', '.join(columns)} must hold labels; all cells are empty")
    contradictory = np.flatnonzero(mask.all(axis=1))
    if len(contradictory):
        raise DataError(
            f"each row must leave at least one class possible; row {contradictory[0] + 1} rules "
            f"out all {mask.shape[1]} classes. Correct or remove it"
        )


def natural_order(name: str) -> tuple[int, float, str]:
    """Return a sort key: numbers by value, then other names."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def listed(classes: Sequence[str], most: int = 20) -> str:
    """Return the first classes as one text for an error."""
    return ", ".join(classes[:most])


def parse_classes(classes: str | None) -> list[str] | None:
    """Return the classes of ``a,b,c``, or of a file with one class per line."""
    if classes is None:
        return None
    path = Path(classes)
    if "," not in classes and path.is_file():
        try:
            text = path.read_text("utf-8-sig")
        except ValueError as error:
            raise DataError(
                f"--classes must be a file of UTF-8 text; {classes}: {error}"
            ) from error
    else:
        text = classes.replace(",", "\n")
    names = [line.strip() for line in text.splitlines() if line.strip()]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"--classes must name each class once; {shown(repeated[0])} occurs twice")
    if len(names) < 2:
        raise DataError(
            f"--classes must name at least 2 classes, as a,b,c or one per line of a file; got "
            f"{shown(classes)}"
        )
    return names
