"""Data in several files: fit on a cluster, predict and evaluate file by file."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")

from distributed import LocalCluster

from animals import run
from ybar import labels, transition

NAMES = np.array(["ape", "bee", "cat"])
N = 600


def write(folder, name, seed, *, unlabelled=False, **changes):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N)
    frame = pd.DataFrame(rng.normal(size=(N, 3)) + 5 * np.eye(3)[y], columns=list("abc"))
    frame["kind"] = np.array(["x", "y"])[rng.integers(0, 2, N)]
    frame["not"] = NAMES[labels.draw(y, transition.uniform(3), random_state=seed)]
    frame["label"] = NAMES[y]
    if unlabelled:
        frame["not"] = None
    frame.assign(**changes).to_parquet(folder / name)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler whose workers are threads of this process."""
    with LocalCluster(
        processes=False,
        protocol="tcp://",
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i in range(4):
        write(folder, f"part-{i}.parquet", i, unlabelled=i == 2)
    pd.read_parquet(folder / "part-0.parquet")[:0].to_parquet(folder / "part-4.parquet")
    return folder


@pytest.fixture(scope="module")
def model(files, scheduler):
    options = ["--label", "not", "--leave-out", "label", "--dask", scheduler, "--json"]
    done = run("fit", f"{files}/*.parquet", *options, "--model", files / "m.ybar")
    assert done.exit_code == 0, done.stderr
    return files / "m.ybar", json.loads(done.stdout)


def test_the_model_is_an_ordinary_file(files, model):
    path, known = model
    assert (known["rows"], known["partitions"], known["labels"]) == (4 * N, 5, 3 * N)
    assert known["expected_accuracy"] > 0.9
    done = run("evaluate", path, files / "part-0.parquet", "--true", "label", "--json")
    assert json.loads(done.stdout)["accuracy"] > 0.95


def test_scores_of_files_are_those_of_one_table(files, model, tmp_path):
    """Several files have the scores that their rows have in one file."""
    path, _ = model
    parts = [pd.read_parquet(files / f"part-{i}.parquet") for i in range(4)]
    pd.concat(parts).to_parquet(tmp_path / "all.parquet")
    options = ["--true", "label", "--label", "not", "--json"]
    many, one = (
        json.loads(run("evaluate", path, data, *options).stdout)
        for data in (f"{files}/*.parquet", tmp_path / "all.parquet")
    )
    assert many.keys() == one.keys()
    for name in one:
        if isinstance(one[name], float):
            assert many[name] == pytest.approx(one[name], rel=1e-12), name
        elif name != "transition":
            assert many[name] == one[name], name


def test_each_file_is_predicted_once(files, model, tmp_path, scheduler):
    path, _ = model
    out = tmp_path / "predicted"
    options = ["-o", out, "--keep", "label"]
    assert run("predict", path, f"{files}/*.parquet", *options).exit_code == 0
    before = {name: (out / name).stat().st_mtime_ns for name in os.listdir(out)}
    assert {f"part-{i}.parquet" for i in range(5)} <= before.keys()
    for i in range(4):
        table = pd.read_parquet(out / f"part-{i}.parquet")
        assert (table["predicted"] == table["label"]).mean() > 0.95
    none = pd.read_parquet(out / "part-4.parquet")
    assert (len(none), list(none.columns)) == (0, ["label", "predicted"])
    (out / "part-1.parquet").unlink()
    assert run("predict", path, f"{files}/*.parquet", *options, "--dask", scheduler).exit_code == 0
    after = {name: (out / name).stat().st_mtime_ns for name in os.listdir(out)}
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {"part-1.parquet"}


def test_a_folder_holds_the_predictions_of_one_model(files, model, tmp_path):
    path, _ = model
    out = tmp_path / "predicted"
    run("predict", path, f"{files}/part-[0].parquet", "-o", out)
    done = run("predict", path, f"{files}/part-[0].parquet", "-o", out, "--proba")
    assert done.exit_code in (1, 2)
    assert "--output" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"a": "text"}, ["part-9", "'a'", "texts", "numbers"]),
        ({"not": ["dog", *["ape", "bee"] * ((N - 1) // 2), "ape"]}, ["part-9", "dog"]),
        ({"more": 1.0}, ["part-9", "'more'"]),
        ({"not": "dog"}, ["part-9", "dog"]),
        ({"a": np.inf}, ["part-9", "'a'", "infinite"]),
    ],
)
def test_a_file_that_differs_is_named(files, scheduler, tmp_path, changes, words):
    write(tmp_path, "part-0.parquet", 0)
    write(tmp_path, "part-9.parquet", 1, **changes)
    options = ["--label", "not", "--leave-out", "label", "--classes", "ape,bee,cat"]
    done = run("fit", f"{tmp_path}/*.parquet", *options, "--dask", scheduler)
    assert done.exit_code in (1, 2)
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["fit", "*.parquet", "--label", "not"], "--dask"),
        (["fit", "none-*.parquet", "--label", "not", "--dask", "{scheduler}"], "none-*"),
        (["fit", "*.parquet", "--label", "not", "--dask", "tcp://127.0.0.1:9"], "127.0.0.1:9"),
        (["fit", "*.parquet", "--label", "not", "--method", "knn", "--dask", "x"], "--method"),
        (["predict", "m.ybar", "*.parquet"], "--output"),
        (["predict", "m.ybar", "*.parquet", "-o", "."], "--output"),
        (["evaluate", "m.ybar", "*.parquet"], "--true"),
    ],
)
def test_bad_options_are_one_line(files, model, scheduler, monkeypatch, arguments, word):
    monkeypatch.chdir(files)
    done = run(*(argument.format(scheduler=scheduler) for argument in arguments))
    assert done.exit_code in (1, 2)
    assert word in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
