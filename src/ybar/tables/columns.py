"""What the columns of a table are, and how scikit-learn makes numbers of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from .files import DataError

_MOST_CATEGORIES = 50
_MOST_NAMED = 5
_MOST_WORDS = 20_000
_TEXT_DIMENSIONS = 100
_WORDS_OF_TEXT = 3  # on average, from which on a column of strings is text
_SHARE_OF_AN_ID = 0.9  # of values that occur once, from which on a column of strings is an id
_ROWS_LOOKED_AT = 10_000
_GAPS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "."})
"""What people write in a column of numbers where there is none."""


class Columns(NamedTuple):
    """The features of a table by kind; `left_out` are columns of no use, with the reason."""

    numbers: list[str]
    categories: list[str]
    texts: list[str]
    left_out: dict[str, str]

    @property
    def used(self) -> list[str]:
        """All features."""
        return [*self.numbers, *self.categories, *self.texts]

    def explain_left_out(self) -> list[str]:
        """Return a line for each reason, with the columns it holds for."""
        lines = []
        for why in dict.fromkeys(self.left_out.values()):
            names = [repr(name) for name, reason in self.left_out.items() if reason == why]
            listed = ", ".join(names[:_MOST_NAMED])
            if len(names) == 1:
                lines.append(f"column {listed} is left out: {why}")
            else:
                listed += ", …" if len(names) > _MOST_NAMED else ""
                lines.append(f"{len(names)} columns are left out ({listed}): {why}")
        return lines


def find(frame: Any, leave_out: Sequence[str]) -> Columns:
    """Return the kinds of a table's columns, but for those that are no features."""
    found = Columns([], [], [], {})
    for name in frame.columns:
        if name not in leave_out:
            _place(found, name, frame[name])
    if not found.used:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in found.left_out.items())
        raise DataError(
            "the data must have a column to learn from besides the labels"
            + (f"; all others are of no use ({reasons})" if reasons else "")
        )
    return found


def _place(found: Columns, name: str, column: Any) -> None:
    column = _with_gaps(column)
    values = column.dropna()
    if not len(values):
        found.left_out[name] = "empty"
    elif values.nunique() == 1:
        found.left_out[name] = "always the same"
    elif column.dtype.kind in "biuf":
        _refuse_infinite(values, name, "Mend them, or say --leave-out")
        found.numbers.append(name)
    elif column.dtype.kind in "mM":
        found.left_out[name] = "a time; make numbers of it first"
    else:
        some = values.head(_ROWS_LOOKED_AT).astype(str)
        words = some.str.split().str.len().mean()
        if words >= _WORDS_OF_TEXT:
            found.texts.append(name)
        elif some.nunique() > _MOST_CATEGORIES and some.nunique() > _SHARE_OF_AN_ID * len(some):
            found.left_out[name] = "nearly each value once: an id?"
        else:
            found.categories.append(name)


def _with_gaps(column: Any) -> Any:
    """Return a column of text that holds numbers, and words for gaps among them, as numbers."""
    if column.dtype.kind in "biufmM":
        return column
    names = column.dropna().unique()
    words = [name for name in names if _is_gap(name) or not _is_number(name)]
    if not words or len(words) == len(names) or not all(_is_gap(word) for word in words):
        return column
    return _without_gaps(column).astype("float64")


def _without_gaps(column: Any) -> Any:
    return column.where(~column.isin([v for v in column.dropna().unique() if _is_gap(v)]))


def _is_gap(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in _GAPS


def transformer(columns: Columns, kind: str, frame: Any) -> ColumnTransformer:
    """Return what makes numbers of the columns, for a kind of model.

    Parameters
    ----------
    kind : {"sparse", "dense", "trees"}
        Scaled with texts as sparse counts of words; scaled with texts in few dimensions; as they
        are, missing ones too, categories as numbers.
    frame : DataFrame
        The rows to learn from.
    """
    steps: list[tuple[str, Any, list[str]]] = []
    if columns.numbers:
        steps.append(("numbers", _of_numbers(columns.numbers, kind, frame), columns.numbers))
    if columns.categories:
        missing = SimpleImputer(strategy="constant", fill_value="(missing)")
        if kind == "trees":
            codes: Any = OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-1, max_categories=255
            )
        else:
            codes = OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                max_categories=_MOST_CATEGORIES,
                sparse_output=kind == "sparse",
            )
        steps.append(("categories", make_pipeline(missing, codes), columns.categories))
    for name in columns.texts:
        steps.append((f"text {name}", _of_text(frame[name], kind), name))  # type: ignore[arg-type]
    return ColumnTransformer(steps, sparse_threshold=1.0 if kind == "sparse" else 0.0)


def _of_text(column: Any, kind: str) -> Any:
    words = TfidfVectorizer(max_features=_MOST_WORDS, sublinear_tf=True)
    if kind == "sparse":
        return words
    n_words = len(words.fit(column.dropna().astype(str)).vocabulary_)
    most = min(_TEXT_DIMENSIONS, max(1, len(column) // 10))
    return words if n_words <= most else make_pipeline(words, TruncatedSVD(most, random_state=0))


def _of_numbers(names: list[str], kind: str, frame: Any) -> Any:
    if kind == "trees":
        return "passthrough"
    bytes_alone = all(frame[name].dtype == "uint8" for name in names)
    scale = MaxAbsScaler() if bytes_alone else StandardScaler()  # pixels have one scale
    if bytes_alone:
        return scale
    # Rows to predict may have gaps where those to learn from had none.
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True), scale)


def as_features(frame: Any, columns: Columns) -> Any:
    """Return the features of a table, of the types that training saw."""
    missing = [name for name in columns.used if name not in frame.columns]
    if missing:
        raise DataError(
            f"the data must have the columns that the model was fitted to; {missing[0]!r} is "
            f"missing. It has {', '.join(map(str, list(frame.columns)[:20]))}"
        )
    made: dict[str, Any] = {}
    for name in columns.used:
        column = frame[name]
        if name in columns.numbers:
            if column.dtype.kind not in "biuf":
                made[name] = column = _numbers(column, name)
            if column.dtype.kind == "f":
                _refuse_infinite(column, name, "Mend them, or leave the cells empty")
        else:
            as_text = column.astype(object).where(column.notna(), None)
            made[name] = as_text.map(lambda value: "" if value is None else _name(value))
            if name in columns.categories:
                made[name] = made[name].where(column.notna(), "(missing)")
    return frame[columns.used].assign(**made)


def _refuse_infinite(column: Any, name: str, what_to_do: str) -> None:
    if np.isinf(column.to_numpy(dtype=float)).any():
        raise DataError(
            f"column {name!r} must hold finite numbers or nothing; it has infinite ones. "
            f"{what_to_do}"
        )


def _name(value: Any) -> str:
    """Return a category as text; true and false may come as such, or as they were written."""
    text = str(value)
    return text.capitalize() if text in ("true", "TRUE", "false", "FALSE") else text


def _numbers(column: Any, name: str) -> Any:
    column = _without_gaps(column)
    try:
        return column.astype("float64")
    except (ValueError, TypeError):
        wrong = next(value for value in column.dropna() if not _is_number(value))
        raise DataError(
            f"column {name!r} must hold numbers, as when the model was fitted; got {wrong!r}"
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    return True
