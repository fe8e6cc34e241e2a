"""A folder with tables, and a fitted model, for the tests of the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
pytest.importorskip("torch")

from animals import run, table
from ybar import labels, transition


def write_tables(folder):
    table().drop(columns="label").to_csv(folder / "answers.csv", index=False)
    table(200, 1).to_csv(folder / "test.csv", index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


@pytest.fixture
def biased(tmp_path, monkeypatch):
    """A folder with labels of six classes from a strongly biased matrix, which is in T.csv.

    The rows of new.csv are like those of biased.csv.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names, T = np.array(list("abcdef")), transition.strong(6, random_state=12)
    for seed, name in enumerate(("biased.csv", "new.csv")):
        y = rng.integers(6, size=3000)
        X = rng.normal(size=(3000, 2)) + 4 * np.c_[np.cos(y), np.sin(y)]
        frame = pd.DataFrame(X, columns=["x1", "x2"])
        frame["not"] = names[labels.draw(y, T, random_state=seed)]
        frame.to_csv(name, index=False)
    pd.DataFrame(T, index=names, columns=names).to_csv("T.csv")
    return tmp_path


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with a model by logistic regression, and the JSON that fit printed."""
    place = tmp_path_factory.mktemp("fitted")
    write_tables(place)
    arguments = ["--label", "not", "--method", "logistic", "--model", place / "model.ybar"]
    done = run("fit", place / "answers.csv", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return place, json.loads(done.stdout)
