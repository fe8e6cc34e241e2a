"""Workers in processes of their own: LightGBM's network, limits of memory, and kills."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask.array as da
import lightgbm
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from animals import run
from distributed_helpers import blocks, clusters
from ybar import labels, transition
from ybar.distributed import DaskCPEBoostingClassifierCV, DaskCPEClassifier, crew
from ybar.utils.errors import FailureError


@pytest.fixture(scope="module")
def processes():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture(autouse=True)
def few_rows_on_each_worker(monkeypatch):
    monkeypatch.setattr(crew, "_FEWEST_ROWS", 1)


def pids(client):
    return sorted(client.run(os.getpid, on_error="ignore").values())


@pytest.mark.parametrize("method", ["cpe-i", "cpe-f"])
def test_a_class_that_is_on_one_worker_only_is_learned(processes, method):
    X, y, y_comp = clusters()
    rows = np.argsort(y_comp, kind="stable")
    model = DaskCPEBoostingClassifierCV([0.3, 0.1], [5, 15], method=method, random_state=0)
    model.fit(blocks(X[rows], [300] * 4), blocks(y_comp[rows], [300] * 4))
    assert (model.predict(blocks(X, [300] * 4)).compute() == y).mean() > 0.97


@pytest.mark.parametrize("method", ["cpe-i", "cpe-f"])
def test_a_range_of_values_that_is_on_one_worker_only_is_learned(processes, method):
    """Neither worker has all values of the first feature, and one has all missing values."""
    rng = np.random.default_rng(0)
    n = 2400
    X = np.c_[np.sort(rng.uniform(size=n)), rng.normal(size=n)]
    y = (6 * X[:, 0]).astype(int) % 3
    X[y == 2, 1] = np.nan
    X[: n // 2, 1] = 0.0
    y[: n // 2 : 2] = 0
    X[: n // 2 : 2, 1] = 1.0
    y_comp = labels.draw(y, transition.uniform(3), random_state=0)
    model = DaskCPEBoostingClassifierCV([0.1], [50], method=method, random_state=0)
    model.fit(blocks(X, [600] * 4), blocks(y_comp, [600] * 4))
    for half in (slice(0, n // 2), slice(n // 2, n)):
        assert (model.to_local().predict(X[half]) == y[half]).mean() > 0.9


@pytest.mark.slow
def test_the_trees_of_lightgbm_know_all_classes_on_each_worker(processes):
    X, y, y_comp = clusters()
    rows = np.argsort(y_comp, kind="stable")
    base = lightgbm.DaskLGBMClassifier(n_estimators=20, verbosity=-1)
    model = DaskCPEClassifier(base).fit(blocks(X[rows], [300] * 4), blocks(y_comp[rows], [300] * 4))
    assert (model.predict(blocks(X, [300] * 4)).compute() == y).mean() > 0.97


def killed_after(client, seconds, work):
    """Kill a worker some time after the work has started; return its result or its error."""
    victim = pids(client)[0]
    timer = threading.Timer(seconds, os.kill, (victim, signal.SIGKILL))
    timer.start()
    try:
        return work()
    except FailureError as error:
        return str(error)
    finally:
        timer.join()
        client.wait_for_workers(2, timeout=300)
        deadline = time.monotonic() + 300
        while victim in pids(client) and time.monotonic() < deadline:
            time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 1, 2, 3, 5])
def test_a_worker_that_is_killed_during_fit_costs_time_only(processes, seconds):
    X, y, y_comp = clusters(40_000)
    lengths = [4_000] * 10
    model = DaskCPEBoostingClassifierCV([0.05, 0.1], [40, 150], random_state=0)
    result = killed_after(
        processes, seconds, lambda: model.fit(blocks(X, lengths), blocks(y_comp, lengths))
    )
    assert result is model
    assert (model.predict(blocks(X, lengths)).compute() == y).mean() > 0.97


@pytest.mark.slow
def test_a_worker_that_is_killed_during_predict_costs_time_only(processes):
    X, _, y_comp = clusters(2_000)
    model = DaskCPEBoostingClassifierCV([0.1], [100], random_state=0)
    model.fit(blocks(X, [1000] * 2), blocks(y_comp, [1000] * 2))
    many = da.concatenate([blocks(X, [1000] * 2)] * 60)
    predicted = killed_after(processes, 1, lambda: model.predict(many).compute())
    np.testing.assert_array_equal(predicted, np.tile(model.to_local().predict(X), 60))


@pytest.mark.slow
def test_a_worker_that_is_killed_while_files_are_predicted_leaves_whole_files(processes, tmp_path):
    """Ten kills: each file of predictions is absent or whole, and is written once."""
    X, y, y_comp = clusters(60_000)
    rows = pd.DataFrame(X, columns=list("abcd")).assign(label=y.astype(str), no=y_comp)
    for i in range(6):
        rows[i::6].to_parquet(tmp_path / f"{i}.parquet")
    data, options = f"{tmp_path}/*.parquet", ["--dask", processes.scheduler.address]
    columns = ["--label", "no", "--leave-out", "label", "--method", "logistic"]
    model = tmp_path / "model.ybar"
    assert run("fit", tmp_path / "0.parquet", *columns, "--model", model).exit_code == 0
    for kill in range(10):
        command = ["predict", model, data, "-o", out := tmp_path / str(kill), "--keep", "label"]
        done = killed_after(processes, 0.1 + 0.15 * kill, lambda c=command: run(*c, *options))
        assert done.exit_code == 0 or done.stderr.count("\n") == 1, done.stderr
        before = {file: file.stat().st_mtime_ns for file in out.glob("*.parquet")}
        assert run(*command).exit_code == 0
        tables = {file: pd.read_parquet(file) for file in out.glob("*.parquet")}
        assert [len(table) for table in tables.values()] == [10_000] * 6
        assert all((table["predicted"] == table["label"]).mean() > 0.9 for table in tables.values())
        assert all(file.stat().st_mtime_ns == before[file] for file in before)
        assert {file.name for file in out.iterdir()} - {f"{i}.parquet" for i in range(6)} == {
            ".ybar-predict.json"
        }
