"""Bad input of fits on a cluster: one line that names the argument, and the partition."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from distributed.comm import CommClosedError

import ybar
from distributed_helpers import blocks, clusters, unknown
from ybar.distributed import DaskCPEBoostingClassifierCV, DaskCPEClassifier, workers
from ybar.labels import Evidence
from ybar.utils.errors import FailureError

LENGTHS = [500, 400, 300]
DATA, Y, Y_COMP = clusters()
X = blocks(DATA, LENGTHS)
Y_LAZY = blocks(Y_COMP, LENGTHS)


def last_is_dog():
    names = np.array(["ape", "bee", "cat"])[Y_COMP]
    names[-1] = "dog"
    return blocks(names, LENGTHS)


def frames(**changes):
    """Return a data frame whose last partition has other columns."""
    parts = [pd.DataFrame(DATA[i : i + 400], columns=list("abcd")) for i in (0, 400, 800)]
    parts[-1] = parts[-1].rename(columns=changes)
    return dd.from_map(lambda i: parts[i], range(3), meta=parts[0][:0], enforce_metadata=False)


def some_text(block):
    """Return the last partition as text."""
    return block.astype(object) if len(block) > 300 else np.full(block.shape, "x", object)


def impossible():
    T = np.array([[0, 1.0, 0], [1, 0, 0], [1, 0, 0]])
    return {"method": "cpe-f", "transition": T}


CASES = {
    "X in memory": (DATA, Y_LAZY, {}, ["X", "Dask"]),
    "y in memory": (X, Y_COMP, {}, ["y", "Dask"]),
    "other lengths": (X, blocks(Y_COMP[:900], [500, 400]), {}, ["1200", "900"]),
    "other partitions": (unknown(X), unknown(blocks(Y_COMP, [600, 600])), {}, ["y", "3", "2"]),
    "other unknown lengths": (
        unknown(X),
        unknown(blocks(Y_COMP, [500, 300, 400])),
        {},
        ["partition", "of 3"],
    ),
    "evidence of unknown lengths": (
        unknown(X),
        Evidence.complementary(Y_COMP, classes=3),
        {"method": "cpe-f"},
        ["y", "compute_chunk_sizes"],
    ),
    "a class not named": (
        X,
        last_is_dog(),
        {"classes": ["ape", "bee", "cat"]},
        ["partition 3 of 3", "dog"],
    ),
    "labels of two kinds": (
        X,
        [np.array(["a", "b"] * 250), np.arange(400) % 3, np.arange(300) % 3],
        {},
        ["partition 2 of 3", "kind"],
    ),
    "other columns": (frames(d="e"), Y_LAZY.rechunk(400), {}, ["partition 3 of 3", "'e'"]),
    "text among numbers": (unknown(X.map_blocks(some_text)), unknown(Y_LAZY), {}, ["3 of 3"]),
    "infinite numbers": (
        X.map_blocks(lambda block: block + np.inf),
        Y_LAZY,
        {},
        ["partition", "infinity"],
    ),
    "one class only": (X, Y_LAZY * 0, {"classes": [0, 1, 2]}, ["y", "only one class"]),
    "no labels": (X, blocks(np.zeros((1200, 3), bool), LENGTHS), {}, ["y", "1,200"]),
    "impossible labels": (X, Y_LAZY, impossible(), ["partition 1 of 3", "transition"]),
    "method": (X, Y_LAZY, {"method": "fwd"}, ["method", "fwd"]),
    "transition": (X, Y_LAZY, {"transition": np.eye(2)}, ["transition"]),
    "fraction": (X, Y_LAZY, {"validation_fraction": 2}, ["validation_fraction", "2"]),
    "rates": (X, Y_LAZY, {"learning_rates": [-1.0]}, ["learning_rates", "-1.0"]),
    "parameters": (X, Y_LAZY, {"lightgbm_params": {"linear_tree": True}}, ["linear_tree"]),
    "bins": (
        X,
        Y_LAZY,
        {"lightgbm_params": {"max_bin": 63}},
        ["lightgbm_params", "'max_bin'", "63"],
    ),
    "other parameters": (X, Y_LAZY, {"lightgbm_params": {"num_leavs": 3}}, ["num_leaves"]),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_line(client, name):
    data, y, parameters, words = CASES[name]
    model = DaskCPEBoostingClassifierCV(**({"n_estimators": [2]} | parameters))
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(data, y)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("estimator", [object(), DaskCPEClassifier])
def test_an_estimator_needs_probabilities(client, estimator):
    with pytest.raises(TypeError, match="estimator"):
        DaskCPEClassifier(estimator).fit(X, Y_LAZY)


def test_without_a_client_the_line_says_how_to_start_one():
    with pytest.raises(FailureError, match=r"Client\(\)"):
        DaskCPEBoostingClassifierCV().fit(X, Y_LAZY)


def test_without_workers_the_line_names_the_cluster(monkeypatch):
    monkeypatch.setattr(workers, "_SECONDS_TO_START", 0.1)
    with Client(processes=False, n_workers=0, dashboard_address=":0") as empty:
        with pytest.raises(FailureError, match="no workers") as caught:
            DaskCPEBoostingClassifierCV().fit(X, Y_LAZY)
        assert empty.scheduler.address in str(caught.value)


def test_workers_with_another_version_are_named(client, monkeypatch):
    one, other = client.ncores()
    versions = {one: ybar.__version__, other: "0.0.1"}
    monkeypatch.setattr(client, "run", lambda *_, **__: versions)
    with pytest.raises(FailureError, match=r"0\.0\.1") as caught:
        DaskCPEBoostingClassifierCV(client=client).fit(X, Y_LAZY)
    assert other in str(caught.value)


def test_a_worker_that_is_lost_while_it_is_asked_for_its_version_is_no_error(client, monkeypatch):
    one, other = client.ncores()
    versions = {one: ybar.__version__, other: CommClosedError("connection reset by peer")}
    monkeypatch.setattr(client, "run", lambda *_, **__: versions)
    workers.check_workers(client)
    versions[other] = ImportError("no ybar")
    with pytest.raises(FailureError, match="none that can be imported"):
        workers.check_workers(client)
