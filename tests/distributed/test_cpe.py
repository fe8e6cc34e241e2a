"""The reduction around classifiers of LightGBM, of XGBoost, and any other on Dask."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import ybar
from distributed_helpers import blocks, clusters
from ybar.distributed import DaskCPEClassifier

LENGTHS = [500, 0, 400, 300]


class Lazy(ClassifierMixin, BaseEstimator):
    """Logistic regression of all rows, which predicts block by block."""

    def fit(self, X, y, sample_weight=None):
        weights = None if sample_weight is None else sample_weight.compute()
        self.model_ = LogisticRegression().fit(X.compute(), y.compute(), weights)
        return self

    def predict_proba(self, X):
        return X.map_blocks(
            lambda block: self.model_.predict_proba(block) if len(block) else np.empty((0, 3)),
            chunks=(X.chunks[0], (3,)),
            dtype=float,
        )


def fitted(estimator, *data, **parameters):
    return DaskCPEClassifier(estimator, **parameters).fit(*data)


def test_any_lazy_classifier_is_the_local_reduction(client):
    X, _, y_comp = clusters()
    weights = np.random.default_rng(0).random(len(X))
    weights[:500] = 0  # the first partition does not count
    lazy = [blocks(each, LENGTHS) for each in (X, y_comp, weights)]
    model = fitted(Lazy(), *lazy, decoder="max")
    local = ybar.CPEClassifier(LogisticRegression(), decoder="max").fit(X, y_comp, weights)
    for name in ("predict", "predict_proba", "predict_complementary_proba"):
        result = getattr(model, name)(lazy[0])
        assert isinstance(result, da.Array)
        expected = getattr(local, name)(X)
        if name == "predict":
            assert (result.compute() == expected).mean() > 0.999
        else:
            np.testing.assert_allclose(result.compute(), expected, atol=1e-4)
    assert model.score(*lazy) == pytest.approx(local.score(X, y_comp, weights), rel=1e-5)
    with pytest.raises(TypeError, match="Lazy"):
        model.to_local()


def test_several_labels_per_row_are_samples_each(client):
    X, y, y_comp = clusters()
    mask = np.eye(3, dtype=bool)[y_comp]
    mask[:500] = False
    mask[600:700] = ~np.eye(3, dtype=bool)[y[600:700]]
    model = fitted(Lazy(), blocks(X, LENGTHS), blocks(mask, LENGTHS))
    local = ybar.CPEClassifier(LogisticRegression()).fit(X, mask)
    q = model.predict_complementary_proba(blocks(X, LENGTHS)).compute()
    np.testing.assert_allclose(q, local.predict_complementary_proba(X), atol=1e-4)


def test_a_class_that_never_occurs_has_probability_0(client):
    X, _, y_comp = clusters()
    T = np.array([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0]])
    lazy = blocks(X, LENGTHS), blocks(y_comp, LENGTHS)
    model = fitted(Lazy(), *lazy, classes=[0, 1, 2, 3], transition=T)
    q = model.predict_complementary_proba(lazy[0]).compute()
    assert q.shape == (1200, 4)
    assert not q[:, 3].any()
    assert model.seen_classes_.tolist() == [0, 1, 2]


def test_lightgbm_on_a_data_frame(client, tmp_path):
    X, y, y_comp = clusters()
    names = np.array(["ape", "bee", "cat"])
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=names[y_comp])
    for i in range(6):
        frame[i::6].to_parquet(tmp_path / f"{i}.parquet")
    lazy = dd.read_parquet(f"{tmp_path}/*.parquet")
    # Dask reads the files of one small column together, and those of X one by one.
    model = fitted(None, lazy[list("abcd")], lazy["label"])
    predicted = model.predict(lazy[list("abcd")]).compute()
    expected = np.concatenate([names[y[i::6]] for i in range(6)])
    assert (predicted == expected).mean() > 0.97
    assert type(model.to_local()) is ybar.CPEBoostingClassifierCV
    local = model.to_local()
    ybar.save(local, tmp_path / "m.ybar")
    np.testing.assert_array_equal(
        ybar.load(tmp_path / "m.ybar").predict(frame[list("abcd")]),
        local.predict(frame[list("abcd")]),
    )


def test_xgboost(client):
    xgboost = pytest.importorskip("xgboost.dask")
    X, y, y_comp = clusters()
    rows = np.argsort(y_comp, kind="stable")
    base = xgboost.DaskXGBClassifier(n_estimators=15)
    model = fitted(base, blocks(X[rows], LENGTHS), blocks(y_comp[rows], LENGTHS))
    assert (model.predict(blocks(X, LENGTHS)).compute() == y).mean() > 0.97
    np.testing.assert_array_equal(
        model.to_local().predict(X), model.predict(blocks(X, LENGTHS)).compute()
    )
