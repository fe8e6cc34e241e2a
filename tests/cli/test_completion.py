"""Completion offers values: methods, matrices, data sets, plans and the columns of the data."""

import gzip
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from ybar import datasets, transition
from ybar.cli import app
from ybar.neural import methods
from ybar.transition.reading import as_csv


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"length": [1], "label": ["a"], "a, b": ["c"]})
    frame.to_csv("t.csv", index=False)
    frame.to_csv("t.tsv", index=False, sep="\t")
    frame.to_csv("t.csv.gz", index=False)
    frame.to_parquet("t.parquet")
    Path("photos").mkdir()
    frame.rename(columns={"length": "file"}).to_csv("photos/labels.csv", index=False)
    Path("T.csv").write_text(as_csv(transition.uniform(2), ["a", "b"]))
    Path("mine.toml").write_text("")
    Path("broken.csv.gz").write_bytes(gzip.compress(b"length\n")[:9])
    return tmp_path


def offered(*words):
    """Return what bash is offered for the last word."""
    environment = {
        "_YBAR_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["ybar", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = CliRunner().invoke(app, [], prog_name="ybar", env=environment)
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.parametrize("data", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize(
    "command", ["fit {} --label", "predict m {} --keep", "simulate {} --target"]
)
def test_columns_of_the_data_are_offered(here, data, command):
    words = command.format(data).split()
    assert offered(*words, "le") == {"length"}
    assert {"length", "label"} <= offered(*words, "")


def test_the_columns_of_a_folder_of_images_are_those_of_its_labels(here):
    assert {"file", "label"} <= offered("fit", "photos", "--label", "")


@pytest.mark.parametrize("data", ["broken.csv.gz", "none.csv", "mine.toml", "m.npz"])
def test_a_file_without_columns_offers_none(here, data):
    assert offered("fit", data, "--label", "") == set()


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("fit", "t.csv", "--method", ""), {"auto", "knn", *methods.METHODS}),
        (("fit", "t.csv", "--decoder", ""), {"l1", "l2", "max", "likelihood"}),
        (("fit", "t.csv", "--transition", ""), {"uniform", "estimate:", "T.csv"}),
        (("simulate", "t.csv", "--transition", "s"), {"strong"}),
        (("transition", "describe", ""), {"uniform:", "weak:", "strong:", "T.csv"}),
        (("data", "fetch", ""), set(datasets.REGISTRY)),
        (("reproduce", ""), {"paper", "digits", "mine.toml"}),
    ],
)
def test_values_are_offered(here, words, values):
    assert values <= offered(*words)
