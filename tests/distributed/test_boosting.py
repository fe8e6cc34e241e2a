"""Boosted trees on two workers, whatever lies where."""

from __future__ import annotations

from dataclasses import replace

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import ybar
from distributed_helpers import blocks, clusters, unknown
from ybar import metrics, transition
from ybar.classifiers.boosting_targets import Likelihood
from ybar.distributed import DaskCPEBoostingClassifierCV
from ybar.distributed.blocks import blocks_of
from ybar.distributed.facts import facts_of
from ybar.labels import Evidence
from ybar.labels.observed import observe

LENGTHS = [500, 0, 400, 300]


def fitted(X, y, weights=None, **parameters):
    parameters = {"learning_rates": [0.3, 0.1], "n_estimators": [5, 15]} | parameters
    model = DaskCPEBoostingClassifierCV(random_state=0, **parameters)
    return model.fit(X, y, weights)


@pytest.mark.parametrize("method", ["cpe-i", "cpe-f"])
@pytest.mark.parametrize("order", ["sorted", "random"])
def test_all_classes_are_right_even_if_labels_are_sorted(client, method, order):
    """With sorted labels each worker has some classes only, and one partition has no rows."""
    X, y, y_comp = clusters()
    rows = np.argsort(y_comp, kind="stable") if order == "sorted" else np.arange(len(y))
    model = fitted(blocks(X[rows], LENGTHS), blocks(y_comp[rows], LENGTHS), method=method)
    assert (model.predict(blocks(X, LENGTHS)).compute() == y).mean() > 0.97


@pytest.mark.parametrize("method", ["cpe-i", "cpe-f"])
def test_predictions_by_block_are_those_of_the_local_model(client, method):
    X, _, y_comp = clusters(T=transition.biased(3, random_state=0))
    model = fitted(
        blocks(X, LENGTHS),
        blocks(y_comp, LENGTHS),
        method=method,
        transition=transition.biased(3, random_state=0),
    )
    local = model.to_local()
    lazy = blocks(X, [700, 500])
    for name in ("predict", "predict_proba", "predict_complementary_proba"):
        result = getattr(model, name)(lazy)
        assert dask.is_dask_collection(result)
        assert result.shape == getattr(local, name)(X).shape
        # Sums of matrix products depend on the number of rows, in the last bit.
        np.testing.assert_allclose(result.compute(), getattr(local, name)(X), rtol=1e-14, atol=0)
    assert model.score(lazy, blocks(y_comp, [700, 500])) == pytest.approx(
        local.score(X, y_comp), rel=1e-12
    )
    scores = model.evaluate(unknown(lazy), unknown(blocks(y_comp, [700, 500])))
    q = local.predict_complementary_proba(X)
    T = local.transition_
    np.testing.assert_allclose(
        scores[:4],
        [
            *metrics.scel(y_comp, q, return_std_error=True),
            *metrics.ure_zero_one(y_comp, local.predict(X), T, return_std_error=True),
        ],
        rtol=1e-12,
    )


def test_the_model_file_predicts_without_dask(client, tmp_path):
    X, _, y_comp = clusters()
    model = fitted(blocks(X, LENGTHS), blocks(y_comp, LENGTHS))
    ybar.save(model.to_local(), tmp_path / "model.ybar")
    loaded = ybar.load(tmp_path / "model.ybar")
    assert type(loaded) is ybar.CPEBoostingClassifierCV
    np.testing.assert_array_equal(loaded.predict_proba(X), model.to_local().predict_proba(X))


def test_fits_and_scores_are_the_same_each_time(client):
    X, _, y_comp = clusters()
    one, two = (fitted(blocks(X, LENGTHS), blocks(y_comp, LENGTHS)) for _ in range(2))
    assert one.best_params_ == two.best_params_
    np.testing.assert_allclose(one.cv_results_["scel"], two.cv_results_["scel"], rtol=1e-6)


def test_the_search_finds_what_the_local_one_finds(client):
    """The SCEL of each candidate is that of the local search, up to other held-out rows."""
    X, _, y_comp = clusters(6000)
    model = fitted(blocks(X, [3000, 3000]), blocks(y_comp, [3000, 3000]))
    local = ybar.CPEBoostingClassifierCV(
        [0.3, 0.1], [5, 15], early_stopping=False, random_state=0
    ).fit(X, y_comp)
    errors = np.hypot(model.cv_results_["scel_std_error"], local.cv_results_["scel_std_error"])
    difference = np.abs(model.cv_results_["scel"] - local.cv_results_["scel"])
    assert (difference < 4 * errors).all()


def test_data_frames_with_names_and_missing_values(client):
    X, y, y_comp = clusters()
    names = np.array(["ape", "bee", "cat"])
    X[::9, 3] = np.nan
    frame = dd.from_pandas(
        pd.DataFrame(X, columns=list("abcd")).assign(label=names[y_comp]), npartitions=3
    )
    model = fitted(frame[list("abcd")], frame["label"])
    assert model.classes_.tolist() == names.tolist()
    assert model.to_local().feature_names_in_.tolist() == list("abcd")
    predicted = model.predict(frame[list("abcd")]).compute()
    assert (predicted == names[y]).mean() > 0.97


def test_several_labels_per_row_and_rows_without_one(client):
    X, y, y_comp = clusters()
    mask = np.eye(3, dtype=bool)[y_comp]
    mask[:500] = False  # the first partition has no label
    mask[600, (y[600] + np.arange(1, 3)) % 3] = True
    for method in ("cpe-i", "cpe-f"):
        model = fitted(blocks(X, LENGTHS), blocks(mask, LENGTHS), method=method)
        assert (model.predict(blocks(X, LENGTHS)).compute() == y).mean() > 0.97


def test_evidence_of_all_kinds_at_once(client):
    X, y, y_comp = clusters()
    parts = [
        Evidence.complementary(y_comp[:500], classes=3),
        Evidence.nothing(0, classes=3),
        Evidence.ordinary(y[500:900], classes=3),
        dask.delayed(Evidence.excluded)(np.eye(3, dtype=bool)[y_comp[900:]], classes=3),
    ]
    model = fitted(blocks(X, LENGTHS), parts, method="cpe-f")
    assert model.decoder_ == "max"
    assert (model.predict(blocks(X, LENGTHS)).compute() == y).mean() > 0.97
    whole = Evidence.concatenate([parts[0], parts[2], parts[3].compute()])
    assert model.score(blocks(X, LENGTHS), parts) == pytest.approx(
        model.to_local().score(X, whole), rel=1e-12
    )


def test_evidence_that_consists_of_labels_is_the_labels(client):
    X, _, y_comp = clusters()
    evidence = Evidence.complementary(y_comp, classes=3)
    one = fitted(blocks(X, LENGTHS), evidence)
    two = fitted(blocks(X, LENGTHS), blocks(y_comp, LENGTHS))
    assert one.decoder_ == "l1"
    np.testing.assert_array_equal(one.cv_results_["scel"], two.cv_results_["scel"])
    assert one.score(blocks(X, LENGTHS), evidence) == pytest.approx(
        one.score(blocks(X, LENGTHS), blocks(y_comp, LENGTHS)), rel=1e-12
    )


@pytest.mark.parametrize("method", ["cpe-i", "cpe-f"])
def test_rows_of_weight_0_are_as_if_absent(client, method):
    X, y, y_comp = clusters()
    weights = np.full(len(X), 2.0)
    weights[:500] = 0  # the whole first partition
    wrong = y_comp.copy()
    wrong[:500] = y[:500]
    lazy = blocks(X, LENGTHS), blocks(wrong, LENGTHS), blocks(weights, LENGTHS)
    model = fitted(*lazy, method=method)
    assert (model.predict(blocks(X, LENGTHS)).compute() == y).mean() > 0.97
    assert model.score(*lazy) == pytest.approx(model.to_local().score(X, wrong, weights), rel=1e-12)


def test_information_of_the_labels_is_that_of_all_rows(client):
    """Defaults of "cpe-f" depend on T and on the number of rows, not on the partitions."""
    X, _, y_comp = clusters()
    weights = np.random.default_rng(0).random(len(X))
    T = transition.biased(3, random_state=3)
    local = ybar.CPEBoostingClassifierCV(method="cpe-f", transition=T)
    lazy = [blocks(values, LENGTHS) for values in (X, y_comp, weights)]
    facts = facts_of(client, blocks_of(*lazy), None, 0).read_by(local)
    whole = replace(observe(y_comp), transition=T, weights=weights)
    assert Likelihood(facts.words.table).information == pytest.approx(Likelihood(whole).information)
    assert facts.mean_weight == pytest.approx(weights.mean())
    assert (facts.n_rows, facts.n_usable) == (1200, 1200)


def test_one_partition_is_enough(client):
    X, y, y_comp = clusters()
    model = fitted(blocks(X, [1200]), blocks(y_comp, [1200]))
    assert (model.predict(blocks(X, LENGTHS)).compute() == y).mean() > 0.97
