"""Kinds of columns."""

import pandas as pd

from animals import table
from ybar.tables import columns


def test_columns_are_classified_by_kind():
    found = columns.classify(table(), ["not", "label"])
    assert found.numbers == ["length", "noise"]
    assert found.categories == ["colour"]
    assert found.texts == ["text"]
    times = pd.DataFrame({"t": pd.date_range("2020", periods=3), "x": [1, 2, 3]})
    assert set(columns.classify(times, []).left_out) == {"t"}
