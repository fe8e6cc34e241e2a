"""Kinds of columns."""

import numpy as np
import pandas as pd
import pytest

from animals import table
from ybar.tables import columns


def test_columns_are_classified_by_kind():
    found = columns.classify(table(), ["not", "label"])
    assert found.numbers == ["length", "noise"]
    assert found.categories == ["colour"]
    assert found.texts == ["text"]
    times = pd.DataFrame({"t": pd.date_range("2020", periods=3), "x": [1, 2, 3]})
    assert set(columns.classify(times, []).left_out) == {"t"}


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%SZ", "%d %B %Y", "%b %d, %Y", "%H:%M"],
)
@pytest.mark.parametrize("n", [3, 200])
def test_dates_written_as_text_are_left_out_as_dates_and_not_as_ids(form, n):
    times = pd.date_range("2020-01-01 10:00", periods=n, freq="25h7min").strftime(form)
    frame = pd.DataFrame({"t": times.where(np.arange(n) != 1, "NA"), "x": np.arange(n)})
    found = columns.classify(frame, [])
    assert "dates" in found.left_out["t"]


@pytest.mark.parametrize("pattern", ["{}.1.12", "Golf {}", "{}-12", "march {}", "1/{}"])
def test_what_only_resembles_a_date_is_none(pattern):
    frame = pd.DataFrame({"t": [pattern.format(i) for i in range(5)], "x": range(5)})
    assert columns.classify(frame, []).categories == ["t"]
