"""Nothing that is passed in is changed, in any form, by calls that succeed or fail."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bad_input import (
    BIASED,
    EXCLUDES_ALL,
    MASK,
    NAMES,
    X_NAN,
    Q,
    U,
    X,
    Y,
    boosting,
    cpe,
    frozen,
    kmeans,
    knn,
    net,
)
from ybar import decode, labels, metrics, transition

FORMS = {
    "array": np.array,
    "read-only": frozen,
    "list": lambda values: np.asarray(values).tolist(),
    "pandas": lambda values: (
        pd.DataFrame(values) if np.ndim(values) == 2 else pd.Series(np.array(values))
    ),
}
COUNTS = np.array([[0, 8, 2], [5, 0, 5], [3, 7, 0]])
K_NAMES = np.array(["dog", "cat", "cow"])


def _fit_and_use(model, X, y, sample_weight=None):
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    model.fit(X, y, **weights)
    model.predict(X)
    model.predict_proba(X)
    model.predict_complementary_proba(X)
    model.score(X, y, sample_weight)


def _cpe(X, y, T, classes, sample_weight):
    _fit_and_use(cpe(transition=T, classes=classes), X, y, sample_weight)


def _knn(X, y, T, classes, n_neighbors):
    model = knn(transition=T, classes=classes, n_neighbors=n_neighbors, n_components=2)
    _fit_and_use(model, X, y)


def _kmeans(X, y, T, classes, cluster_counts):
    model = kmeans(transition=T, classes=classes, cluster_counts=cluster_counts, n_components=2)
    _fit_and_use(model, X, y)


def _boosting(X, y, T, classes, sample_weight, learning_rates, n_estimators, lightgbm_params):
    model = boosting(
        transition=T,
        classes=classes,
        learning_rates=learning_rates,
        n_estimators=n_estimators,
        lightgbm_params=lightgbm_params,
    )
    _fit_and_use(model, X, y, sample_weight)


def _net(X, y, T, classes, sample_weight):
    _fit_and_use(net(transition=T, classes=classes), X, y, sample_weight)


_FIT = {"X": X, "T": BIASED, "classes": K_NAMES}
_CPE = {**_FIT, "sample_weight": 1 + Y}
_KNN = {**_FIT, "n_neighbors": np.array([7, 3, 5])}
_KMEANS = {**_FIT, "cluster_counts": np.array([7, 3, 5])}
_BOOSTING = {
    **_CPE,
    "learning_rates": np.array([0.1, 0.2]),
    "n_estimators": np.array([3, 2]),
    "lightgbm_params": {"num_leaves": 7},
}
_BAD_T = {"T": -BIASED}

# Each: the call, what it is given, and what makes it fail.
USES = {
    "cpe": (_cpe, {**_CPE, "y": NAMES}, _BAD_T),
    "cpe-several": (_cpe, {**_CPE, "y": MASK}, {"y": EXCLUDES_ALL}),
    "cpe-late": (_cpe, {**_CPE, "y": NAMES}, {"X": X_NAN}),
    "knn": (_knn, {**_KNN, "y": NAMES}, _BAD_T),
    "knn-several": (_knn, {**_KNN, "y": MASK}, {"y": EXCLUDES_ALL}),
    "knn-late": (_knn, {**_KNN, "y": NAMES}, {"n_neighbors": np.array([3, 99])}),
    "kmeans": (_kmeans, {**_KMEANS, "y": NAMES}, _BAD_T),
    "kmeans-several": (_kmeans, {**_KMEANS, "y": MASK}, {"y": EXCLUDES_ALL}),
    "kmeans-late": (_kmeans, {**_KMEANS, "y": NAMES}, {"cluster_counts": np.array([3, 99])}),
    "boosting": (_boosting, {**_BOOSTING, "y": NAMES}, _BAD_T),
    "boosting-several": (_boosting, {**_BOOSTING, "y": MASK}, {"y": EXCLUDES_ALL}),
    "boosting-late": (_boosting, {**_BOOSTING, "y": NAMES}, {"lightgbm_params": {"seed": 1}}),
    "net": (_net, {**_CPE, "y": NAMES}, _BAD_T),
    "net-several": (_net, {**_CPE, "y": MASK}, {"y": EXCLUDES_ALL}),
    "net-pixels": (_net, {**_CPE, "y": NAMES, "X": (X * 9).astype(np.uint8)}, {"X": X_NAN}),
    "draw": (
        lambda y, T: labels.draw(y, T, random_state=0),
        {"y": Y, "T": BIASED},
        {"y": Y + 1},
    ),
    "draw-names": (
        lambda y, T, classes: labels.draw(y, T, 0, classes=classes),
        {"y": NAMES, "T": BIASED, "classes": K_NAMES},
        {"classes": K_NAMES[:2]},
    ),
    "encode": (labels.encode, {"y_comp": NAMES, "classes": K_NAMES}, {"classes": K_NAMES[:2]}),
    "encode-several": (labels.encode, {"y_comp": MASK}, {"y_comp": EXCLUDES_ALL}),
    "pairs": (lambda codes: labels.pairs(codes, 3), {"codes": Y}, {"codes": Y - 1}),
    "check": (transition.check, {"T": BIASED}, _BAD_T),
    "biased": (
        lambda masses: transition.biased(5, masses, random_state=0),
        {"masses": np.array([0.5, 0.5])},
        {"masses": np.array([0.5, 0.6])},
    ),
    "noise": (lambda T: transition.with_uniform_noise(T, 0.5), {"T": BIASED}, _BAD_T),
    "counts": (
        lambda counts: transition.from_counts(counts, 0.5),
        {"counts": COUNTS},
        {"counts": -COUNTS},
    ),
    "estimate": (
        transition.estimate,
        {"y_true": Y, "y_comp": np.roll(Y, 1), "classes": np.array([2, 0, 1])},
        {"classes": np.array([0, 1])},
    ),
    "gamma": (transition.gamma, {"T": BIASED}, _BAD_T),
    "epsilon": (transition.epsilon, {"T_true": U, "T": BIASED}, _BAD_T),
    "describe": (transition.describe, {"T": BIASED}, _BAD_T),
    **{
        f"decode-{method}": (
            lambda q, T, method=method: decode.decode(q, T, method),
            {"q": Q, "T": BIASED},
            {"q": -Q},
        )
        for method in ("l1", "l2", "max", "likelihood")
    },
    "decode-uniform": (decode.decode, {"q": Q, "T": U}, {"q": -Q}),
    "decode-float32": (decode.decode, {"q": Q.astype(np.float32), "T": BIASED}, {"q": -Q}),
    "class-probabilities": (decode.class_probabilities, {"q": Q, "T": BIASED}, {"q": -Q}),
    "class-probabilities-uniform": (decode.class_probabilities, {"q": Q, "T": U}, {"q": 2 * Q}),
    "inverse": (decode.inverse, {"T": BIASED}, _BAD_T),
    "scel": (
        metrics.scel,
        {"y_comp": Y[:3], "q": Q, "sample_weight": np.array([0.5, 1, 2])},
        {"sample_weight": np.array([0.5, 1, -2])},
    ),
    "scel-several": (metrics.scel, {"y_comp": MASK[:3], "q": Q}, {"q": 2 * Q}),
    "ure": (
        metrics.ure_zero_one,
        {"y_comp": Y[:3], "y_pred": Y[1:4], "T": BIASED, "sample_weight": np.array([0.5, 1, 2])},
        {"y_pred": Y[1:4] + 1},
    ),
    "ure-several": (
        metrics.ure_zero_one,
        {"y_comp": MASK[:3], "y_pred": Y[1:4], "T": BIASED},
        _BAD_T,
    ),
    "estimation-loss": (
        metrics.complementary_estimation_loss,
        {"y_true": Y[:3], "q": Q, "T": BIASED},
        {"y_true": Y[:3] + 1},
    ),
    "bound": (
        metrics.error_bound,
        {"y_true": Y[:3], "q": Q, "T": BIASED, "T_true": U},
        {"q": Q[:2]},
    ),
}


def _given(form, values):
    return {
        name: FORMS[form](value) if isinstance(value, np.ndarray) else dict(value)
        for name, value in values.items()
    }


def _assert_same(name, now, before):
    assert type(now) is type(before), name
    if isinstance(now, (pd.DataFrame, pd.Series)):
        (pd.testing.assert_frame_equal if now.ndim == 2 else pd.testing.assert_series_equal)(
            now, before
        )
    else:
        np.testing.assert_equal(now, before, err_msg=name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
def test_calls_that_succeed_change_nothing_passed_in(use, form):
    call, values, _ = USES[use]
    given = _given(form, values)
    before = copy.deepcopy(given)
    call(**given)
    for name in given:
        _assert_same(name, given[name], before[name])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
def test_calls_that_fail_change_nothing_passed_in(use, form):
    call, values, spoilt = USES[use]
    given = _given(form, {**values, **spoilt})
    before = copy.deepcopy(given)
    # Read-only arrays are refused for what they hold, not for being read-only.
    with pytest.raises(ValueError, match=r"^(?!.*read-only)"):
        call(**given)
    for name in given:
        _assert_same(name, given[name], before[name])


def test_the_base_estimator_is_left_unfitted_and_its_parameters_alone():
    base = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    before = repr(base.get_params())
    cpe(base).fit(X, Y)
    with pytest.raises(ValueError, match="y must hold"):
        cpe(base).fit(X, [])
    assert repr(base.get_params()) == before
    assert not hasattr(base[-1], "coef_")
    assert not hasattr(base[0], "mean_")
