"""Kinds of columns."""

import time

import numpy as np
import pandas as pd
import pytest

from animals import table
from ybar.tables import columns
from ybar.tables.files import DataError


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


@pytest.mark.parametrize("dtype", ["float64", "Float64", "object"])
def test_numbers_are_classified_alike_whatever_holds_them(dtype):
    frame = pd.DataFrame(
        {
            "varied": [1.0, None, 2.0],
            "once": [1.0, None, 1.0],
            "empty": [None, None, None],
            "zero": [0.0, -0.0, None],
        }
    ).astype(dtype)
    found = columns.classify(frame, [])
    assert set(found.left_out) == {"once", "empty", "zero"}
    assert len(set(found.left_out.values())) == 2
    if dtype != "object":
        assert found.numbers == ["varied"]
        infinite = frame.astype("float64").replace(2.0, np.inf).astype(dtype)
        with pytest.raises(DataError, match="'varied'"):
            columns.classify(infinite, [])
        with pytest.raises(DataError, match="'varied'"):
            columns.as_features(infinite, found)


def test_a_hundred_thousand_columns_take_seconds():
    values = np.random.default_rng(0).integers(9, size=(10, 100_000))
    frame = pd.DataFrame(values, columns=[f"c{i}" for i in range(100_000)])
    started = time.process_time()
    found = columns.classify(frame, ["c1"])
    assert columns.as_features(frame, found).shape == (10, len(found.numbers))
    assert time.process_time() - started < 10
    varied = [f"c{i}" for i in np.flatnonzero(np.ptp(values, axis=0)) if i != 1]
    assert found.numbers == varied
