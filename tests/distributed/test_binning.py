"""Bins that all partitions share, and trees on them as trees on the features."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from ybar.distributed import binning, training


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
def test_a_code_counts_the_edges_below_a_value(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 3)) * 3).astype(dtype)
    edges = binning.edges_of(X, 20)
    codes = binning.binned(X, edges)
    for j in range(3):
        slow = [sum(edge < value for edge in edges[j]) for value in X[:, j].astype(float)]
        assert codes[:, j].tolist() == slow
        assert len(edges[j]) < 20


def test_missing_values_have_a_code_of_their_own():
    X = np.array([[0.0], [np.nan], [2.0]])
    codes = binning.binned(X, binning.edges_of(X))
    np.testing.assert_array_equal(binning.unbinned(codes), [[0.0], [np.nan], [1.0]])


def test_the_bins_of_lightgbm_are_the_codes_whichever_rows_there_are():
    many, one, none = np.arange(254) + 0.5, np.array([0.5]), np.zeros(0)
    missing = np.array([False, True, False, True, False])
    params = {**training.BINS, "verbosity": -1}
    rows = binning.unbinned(binning.every_code([many, many, one, one, none], missing))
    bins = lightgbm.Dataset(rows, params=params)
    data = lightgbm.Dataset(np.zeros((50, 5)), np.zeros(50), bins, params=params).construct()
    # A feature with a single code is left out.
    assert [data.feature_num_bin(j) for j in range(5)] == [255, 256, 2, 3, 0]


@pytest.mark.parametrize("missing", [False, True])
def test_a_model_on_features_predicts_what_it_predicts_on_codes(missing):
    rng = np.random.default_rng(1)
    X = np.c_[rng.normal(size=2000), rng.integers(0, 4, 2000), rng.exponential(size=2000)]
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > X[:, 2])
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    edges = binning.edges_of(X)
    codes = binning.unbinned(binning.binned(X, edges))
    params = {"objective": "multiclass", "num_class": 3, "verbosity": -1, "num_threads": 1}
    text = lightgbm.train(params, lightgbm.Dataset(codes, y), 30).model_to_string()
    model = lightgbm.Booster(model_str=binning.on_features(text, edges))
    expected = lightgbm.Booster(model_str=text).predict(codes)
    np.testing.assert_array_equal(model.predict(X), expected)
    new = rng.normal(size=(5000, 3)) * 3
    np.testing.assert_array_equal(
        model.predict(new),
        lightgbm.Booster(model_str=text).predict(binning.unbinned(binning.binned(new, edges))),
    )


def test_bins_have_equal_shares_of_the_rows_of_all_partitions():
    """A long partition counts as much as its rows, although each sends the same number at most."""
    rng = np.random.default_rng(2)
    parts = [rng.uniform(size=(9_000, 1)), rng.uniform(1, 2, size=(1_000, 1))]
    samples = [binning.sample(part, 100, rng) for part in parts]
    edges = binning.edges_of(binning.joined(samples, [9_000, 1_000]), 10)[0]
    assert 8 <= (edges < 1).sum() <= 9
