"""``ybar simulate``: complementary labels from true classes."""

import io
import json
import os

import numpy as np
import pandas as pd
import pytest

from animals import CLASSES, run
from ybar import transition
from ybar.tables import files
from ybar.transition.reading import read_matrix


def test_simulated_labels_have_the_frequencies_of_the_matrix(folder):
    n = 30_000
    frame = pd.DataFrame({"x": np.arange(n), "label": np.array(CLASSES * (n // 3))})
    frame.to_csv("true.csv", index=False)
    arguments = ["--target", "label", "--transition", "strong", "--write-transition", "T.csv"]
    done = run("simulate", "true.csv", *arguments, "--noise", 0.3, "--keep-true", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    T = read_matrix("T.csv")
    assert T.classes == CLASSES
    drawn = pd.read_csv("out.csv")
    counts = pd.crosstab(drawn["label"], drawn["not_label"], normalize="index")
    np.testing.assert_allclose(counts, 0.7 * T.T + 0.1, atol=0.015)
    done = run("simulate", "true.csv", "--target", "label", "--labels", 3)
    cells = pd.read_csv(io.StringIO(done.stdout))
    assert "label" not in cells
    assert cells["not_label"].str.contains("|", regex=False).any()


def test_what_was_drawn_is_printed_as_json(folder):
    arguments = ["--target", "label", "--labels", 2, "-o", "out.csv", "--json"]
    summary = json.loads(run("simulate", "test.csv", *arguments).stdout)
    assert (summary["rows"], summary["labels_drawn"], summary["wrong"]) == (200, 400, 0)
    assert summary["classes"] == CLASSES
    np.testing.assert_allclose(summary["T"], transition.uniform(3))


def test_a_matrix_without_names_is_read_in_an_order_that_is_reported(folder):
    np.savetxt("unnamed.csv", transition.uniform(3), delimiter=",")
    arguments = ["simulate", "test.csv", "--target", "label", "-o", "drawn.csv"]
    done = run(*arguments, "--transition", "unnamed.csv")
    assert done.exit_code == 0, done.stderr
    assert "unnamed.csv" in done.stderr
    assert "bird, cat, dog" in done.stderr
    assert "bird, cat, dog" not in run(*arguments, "--transition", "strong").stderr


def test_a_word_for_a_missing_class_is_counted_as_missing(folder):
    frame = pd.DataFrame({"x": range(6), "label": ["a", "b", "NA"] * 2})
    frame.to_csv("true.csv", index=False)
    done = run("simulate", "true.csv", "--target", "label")
    assert done.exit_code == 2
    assert all(part in done.stderr for part in ("label", "2 of 6"))


@pytest.mark.parametrize("name", ["s.tsv", "s.csv.gz", "s.parquet"])
def test_the_name_of_the_output_decides_its_format(folder, name):
    arguments = ["simulate", "test.csv", "--target", "label", "-o"]
    assert run(*arguments, "s.csv").exit_code == 0
    assert run(*arguments, name).exit_code == 0
    expected = files.read("s.csv", as_text=None)
    pd.testing.assert_frame_equal(files.read(name, as_text=None), expected, check_dtype=False)


@pytest.mark.parametrize(
    "arguments", [["-o", "s.xlsx"], ["-o", "s.csv", "--write-transition", "T.parquet"]]
)
def test_an_output_of_no_known_format_is_refused_before_anything_is_written(folder, arguments):
    before = sorted(os.listdir())
    done = run("simulate", "test.csv", "--target", "label", *arguments)
    assert done.exit_code == 2
    assert repr(arguments[-1]) in done.stderr
    assert sorted(os.listdir()) == before
