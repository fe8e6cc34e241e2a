"""The kinds of columns in a table, and the transformers that turn them into numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from .files import DataError
from .labels import is_missing_word, is_nested

_MOST_CATEGORIES = 50
_MOST_NAMED = 5
_MOST_WORDS = 20_000
_TEXT_DIMENSIONS = 100
_WORDS_OF_TEXT = 3  # a column of strings with at least this many words on average is text
_SHARE_OF_AN_ID = 0.9  # a column of strings with a larger share of distinct values is an id
_ROWS_INSPECTED = 10_000
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?/\d\d?/(?:\d\d){1,2}|\d\d?[.-]\d\d?[.-]\d{4}"
    rf"|(?:\d\d?[ -])?{_MONTH}[ -](?:\d\d?,? )?\d{{4}}"
)
_TIME = r"\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_DATE = re.compile(rf"(?:{_DAY})(?:[T ,]+{_TIME})?|{_TIME}", re.IGNORECASE)
_CELLS_AT_ONCE = 10_000_000
_EMPTY = "every value is missing"
_CONSTANT = "every row has the same value"
_INFINITE = "infinite numbers"
_HOLDS_TIMES = "dates or times; convert them to numbers first"


class Columns(NamedTuple):
    """The features of a table by kind; `left_out` maps columns that are not used to the reason."""

    numbers: list[str]
    categories: list[str]
    texts: list[str]
    left_out: dict[str, str]

    @property
    def used(self) -> list[str]:
        """All features."""
        return [*self.numbers, *self.categories, *self.texts]

    def explain_left_out(self) -> list[str]:
        """Return one line per reason, with its columns."""
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


def classify(frame: Any, leave_out: Sequence[str]) -> Columns:
    """Return the columns of a table by kind, except those that are not features."""
    columns = Columns([], [], [], {})
    not_features = frozenset(leave_out)
    features = [name for name in frame.columns if name not in not_features]
    numbers = [name for name, dtype in frame.dtypes.items() if _is_numeric(dtype)]
    kinds = dict(zip(numbers, _kinds_of_numbers(frame[numbers]), strict=True))
    for name in features:
        if name in kinds:
            _add_numbers(columns, name, kinds[name])
        else:
            _add(columns, name, frame[name])
    if not columns.used:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in columns.left_out.items())
        raise DataError(
            "the data must have a column to learn from besides the labels"
            + (f"; all other columns are left out ({reasons})" if reasons else "")
        )
    return columns


def _is_numeric(dtype: Any) -> bool:
    """Return whether a column holds numbers of numpy, not those of an extension of pandas."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _kinds_of_numbers(frame: Any) -> list[str]:
    """Return for each column of numbers why it is no feature, or "".

    It reads all columns at once, because methods of pandas take a millisecond per column.
    """
    kinds: list[str] = []
    at_once = max(1, _CELLS_AT_ONCE // max(1, len(frame)))
    for start in range(0, frame.shape[1], at_once):
        part = frame.iloc[:, start : start + at_once]
        values = part.to_numpy(dtype=np.float64, na_value=np.nan)
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        infinite = np.isinf(low) | np.isinf(high)
        reasons = [_INFINITE, _EMPTY, _CONSTANT]
        kinds += np.select([infinite, np.isnan(low), low == high], reasons, "").tolist()
    return kinds


def _add_numbers(columns: Columns, name: str, kind: str) -> None:
    if kind == _INFINITE:
        raise _infinite(name, "Correct them, or add --leave-out")
    if kind:
        columns.left_out[name] = kind
    else:
        columns.numbers.append(name)


def _add(columns: Columns, name: str, column: Any) -> None:
    if any(is_nested(value) for value in column.head(_ROWS_INSPECTED)):
        columns.left_out[name] = "lists or records; write a column for each part"
        return
    column = _as_numbers_with_gaps(column)
    values = column.dropna()
    if not len(values):
        columns.left_out[name] = _EMPTY
    elif values.nunique() == 1:
        columns.left_out[name] = _CONSTANT
    elif column.dtype.kind in "biuf":
        _add_numbers(columns, name, *_kinds_of_numbers(column.to_frame()))
    elif column.dtype.kind in "mM":
        columns.left_out[name] = _HOLDS_TIMES
    else:
        some = values.head(_ROWS_INSPECTED).astype(str)
        words = some.str.split().str.len().mean()
        if _are_dates(some.unique()):
            columns.left_out[name] = _HOLDS_TIMES
        elif words >= _WORDS_OF_TEXT:
            columns.texts.append(name)
        elif some.nunique() > _MOST_CATEGORIES and some.nunique() > _SHARE_OF_AN_ID * len(some):
            columns.left_out[name] = "almost every value differs, as in an id"
        else:
            columns.categories.append(name)


def _are_dates(values: Iterable[str]) -> bool:
    words = [value for value in values if not is_missing_word(value)]
    return bool(words) and all(_DATE.fullmatch(word.strip()) for word in words)


def _as_numbers_with_gaps(column: Any) -> Any:
    """Return a column of strings that are numbers or words such as "NA" as numbers."""
    if column.dtype.kind in "biufmM":
        return column
    names = column.dropna().unique()
    words = [name for name in names if is_missing_word(name) or not _is_number(name)]
    if not words or len(words) == len(names) or not all(is_missing_word(word) for word in words):
        return column
    return _without_words(column).astype("float64")


def _without_words(column: Any) -> Any:
    """Return a column in which words such as "NA" are missing values."""
    return column.where(~column.isin([v for v in column.dropna().unique() if is_missing_word(v)]))


def transformer(columns: Columns, kind: str, frame: Any) -> ColumnTransformer:
    """Return the transformer that turns the columns into numbers for a kind of model.

    Parameters
    ----------
    kind : {"sparse", "dense", "trees"}
        "sparse": numbers are scaled, texts are sparse word weights. "dense": numbers are scaled,
        texts have few dimensions. "trees": numbers stay as they are, missing values included, and
        categories are integers.
    frame : DataFrame
        The training rows.
    """
    steps: list[tuple[str, Any, list[str]]] = []
    if columns.numbers:
        steps.append(("numbers", _number_steps(columns.numbers, kind, frame), columns.numbers))
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
        steps.append((f"text {name}", _text_steps(frame[name], kind), name))  # type: ignore[arg-type]
    return ColumnTransformer(steps, sparse_threshold=1.0 if kind == "sparse" else 0.0)


def _text_steps(column: Any, kind: str) -> Any:
    words = TfidfVectorizer(max_features=_MOST_WORDS, sublinear_tf=True)
    if kind == "sparse":
        return words
    n_words = len(words.fit(column.dropna().astype(str)).vocabulary_)
    most = min(_TEXT_DIMENSIONS, max(1, len(column) // 10))
    return words if n_words <= most else make_pipeline(words, TruncatedSVD(most, random_state=0))


def _number_steps(names: list[str], kind: str, frame: Any) -> Any:
    if kind == "trees":
        return "passthrough"
    if all(frame[name].dtype == "uint8" for name in names):
        return MaxAbsScaler()  # pixels share one scale
    # New rows may have missing values in columns that were complete in training.
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())


def as_features(frame: Any, columns: Columns) -> Any:
    """Return the features of a table, with the types that they had in training."""
    missing = [name for name in columns.used if name not in frame.columns]
    if missing:
        raise DataError(
            f"the data must have the columns that the model was fitted on; {missing[0]!r} is "
            f"missing. The data has {', '.join(map(str, list(frame.columns)[:20]))}"
        )
    converted: dict[str, Any] = {}
    types = dict(frame.dtypes.items())
    for name in columns.numbers:
        if types[name].kind not in "biuf":
            converted[name] = _numbers(frame[name], name)
    for name in [*columns.categories, *columns.texts]:
        column = frame[name]
        as_text = column.astype(object).where(column.notna(), None)
        converted[name] = as_text.map(lambda value: "" if value is None else _name(value))
        if name in columns.categories:
            converted[name] = converted[name].where(column.notna(), "(missing)")
    features = frame[columns.used].assign(**converted)
    kinds = _kinds_of_numbers(features[columns.numbers])
    if _INFINITE in kinds:
        name = columns.numbers[kinds.index(_INFINITE)]
        raise _infinite(name, "Correct them, or leave the cells empty")
    return features


def _infinite(name: str, remedy: str) -> DataError:
    return DataError(f"column {name!r} must hold finite numbers; it has infinite ones. {remedy}")


def _name(value: Any) -> str:
    """Return a category as text, with one spelling of true and false."""
    text = str(value)
    return text.capitalize() if text in ("true", "TRUE", "false", "FALSE") else text


def _numbers(column: Any, name: str) -> Any:
    column = _without_words(column)
    try:
        return column.astype("float64")
    except (ValueError, TypeError):
        wrong = next(value for value in column.dropna() if not _is_number(value))
        raise DataError(
            f"column {name!r} must hold numbers, as in training; got {wrong!r}"
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    return True
