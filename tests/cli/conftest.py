"""A folder with tables, and a fitted model, for the tests of the command line."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer")
pytest.importorskip("torch")

from animals import run, table


def write_tables(folder):
    table().drop(columns="label").to_csv(folder / "answers.csv", index=False)
    table(200, 1).to_csv(folder / "test.csv", index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
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
