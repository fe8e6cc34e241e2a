"""Complementary labels of a table."""

import json

import numpy as np
import pandas as pd

from animals import CLASSES, run, table
from ybar import labels, transition
from ybar.tables import files
from ybar.tables.labels import as_names, read_labels


def test_several_labels_per_row_may_be_in_columns_or_cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = table()
    second = labels.draw(
        frame["label"].map(CLASSES.index).to_numpy(), transition.uniform(3), random_state=9
    )
    frame["also"] = np.array(CLASSES)[second]
    frame["both"] = frame["not"] + " | " + frame["also"]
    frame.loc[3, ["also", "both"]] = [None, frame.loc[3, "not"]]
    one = read_labels(frame, ["not", "also"], None)
    other = read_labels(frame, ["both"], None)
    np.testing.assert_array_equal(one.mask, other.mask)
    frame["listed"] = [[a, b] if b else [a] for a, b in frame[["not", "also"]].values]
    frame.loc[5, "listed"] = None
    frame[["listed", "not"]].to_parquet("listed.parquet")
    listed = read_labels(files.read("listed.parquet"), ["listed"], None)
    np.testing.assert_array_equal(listed.mask[6:], one.mask[6:])
    assert not listed.mask[5].any()
    assert one.mask.sum(axis=1).max() == 2
    frame.drop(columns=["label", "not", "also"]).to_csv("both.csv", index=False)
    done = run("fit", "both.csv", "--label", "both", "--method", "logistic", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["labels"] == one.mask.sum()


def test_bytes_are_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", x=np.arange(3.0), label=np.array(["é".encode(), b"a", b"b"]))
    found = read_labels(files.read("a.npz"), ["label"], None)
    assert found.classes == ["a", "b", "é"]


def test_whole_numbers_keep_their_names_in_a_column_with_missing_values():
    column = pd.Series([1, None, 3])
    assert as_names(column) == ["1", None, "3"]
    assert as_names(pd.Series([1.5, 2.0])) == ["1.5", "2.0"]


def test_words_for_missing_values_are_missing_unless_they_are_classes():
    column = pd.Series(["NA", "a", "None", "?", None])
    assert as_names(column) == [None, "a", None, None, None]
    assert as_names(column, {"NA"}) == ["NA", "a", None, None, None]
    frame = pd.DataFrame({"not": ["a|NA", "b", "null", "c"]})
    y_comp = read_labels(frame, ["not"], None)
    assert y_comp.classes == ["a", "b", "c"]
    assert y_comp.mask.sum(axis=1).tolist() == [1, 1, 0, 1]
    (note,) = y_comp.notes
    assert "'NA' (1), 'null' (1)" in note


def test_classes_that_differ_in_case_or_spaces_only_are_noted():
    frame = pd.DataFrame({"not": ["New York", "new  york", "Rome", "rome", "Oslo"]})
    (note,) = read_labels(frame, ["not"], None).notes
    assert "'New York' and 'new  york'" in note
    assert "'Rome' and 'rome'" in note
    assert "Oslo" not in note
