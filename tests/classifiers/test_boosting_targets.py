"""What trees are fitted to: the gradient of the likelihood, its limits, defaults by information."""

from __future__ import annotations

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from ybar import CPEBoostingClassifierCV, labels, metrics, transition
from ybar.classifiers.boosting_targets import Likelihood
from ybar.labels.observed import observe

K = 4


ALL_ROWS = {"bagging_fraction": 1.0, "feature_fraction": 1.0}


QUICK = {"learning_rates": [0.1], "n_estimators": [10, 30], "random_state": 0}


def target_of(evidence, weights=None):
    observed = replace(observe(evidence), weights=weights)
    if observed.transition is None:
        observed = observed.with_transition(transition.uniform(len(evidence.classes)))
    return Likelihood(observed)


def total_loss(scores, e, weights):
    """-Σ_i w_i log Σ_y p_i[y] e_i[y], as the docstring has it."""
    p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return -(weights * np.log((p * e).sum(axis=1))).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_the_likelihood_and_the_curvature_bounds_its_second(weighted):
    rng = np.random.default_rng(0)
    e, scores = rng.random((6, K)), rng.normal(size=(6, K))
    e[0, 1] = e[1, :3] = 0
    weights = rng.random(6) + 0.5 if weighted else np.ones(6)
    target = target_of(labels.Evidence(e), weights if weighted else None)
    slope, curvature = target.gradient(np.arange(6))(scores, None)
    weights = weights / weights.mean()
    step = 1e-4
    for row in range(6):
        for y in range(K):
            up, down = scores.copy(), scores.copy()
            up[row, y] += step
            down[row, y] -= step
            above, here, below = (total_loss(s, e, weights) for s in (up, scores, down))
            assert slope[row, y] == pytest.approx((above - below) / (2 * step), abs=1e-7)
            second = (above - 2 * here + below) / step**2
            bound = curvature[row, y] / (target.information * K / (K - 1))
            assert second <= bound + 1e-5
    assert np.isfinite(slope).all()


def test_it_is_finite_at_scores_of_ten_thousand():
    e = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]])
    slope, curvature = target_of(labels.Evidence(e)).gradient(np.arange(2))(scores, None)
    np.testing.assert_allclose(slope, [[1, 0, -1], [-1, 0.5, 0.5]])
    assert np.isfinite(curvature).all()


def test_information_is_that_of_ordinary_labels_in_units_of_theirs():
    y = np.arange(1000) % K
    ordinary = target_of(labels.Evidence.ordinary(y, classes=K))
    assert ordinary.information == pytest.approx(1)
    y_comp = labels.draw(y, transition.uniform(K), random_state=0)
    uniform = target_of(labels.Evidence.complementary(y_comp, classes=K))
    assert uniform.information == pytest.approx(1 / (K - 1) ** 2)
    # The expected squared gradient at p = 1/K, over that of ordinary labels.
    T = transition.strong(10, random_state=0)
    many = labels.draw(np.arange(200_000) % 10, T, random_state=0)
    q = T.mean(axis=0)
    posterior = T / T.sum(axis=0)  # of each label, at p = 1/K
    expected = q @ ((posterior - 0.1) ** 2).sum(axis=0) * 10 / 9
    found = target_of(labels.Evidence.complementary(many, T)).information
    assert found == pytest.approx(expected, rel=0.01)
    flat = observe(many).with_transition(np.full((10, 10), 0.1))
    assert Likelihood(flat).information == pytest.approx(0, abs=1e-12)


def test_leaves_are_as_large_as_labels_say_little(digits):
    y_comp = labels.draw(np.arange(200_000) % 10, transition.uniform(10), random_state=0)
    target = target_of(labels.Evidence.complementary(y_comp, classes=10))
    assert target.defaults(200_000, 64)["min_data_in_leaf"] == 20 * 81
    few = target_of(labels.Evidence.complementary(y_comp[:1000], classes=10))
    assert few.defaults(1000, 64)["min_data_in_leaf"] == 100
    assert few.defaults(1000, 64)["bagging_fraction"] == 0.5
    assert few.defaults(150, 64)["bagging_fraction"] == 1  # too few for half of them to be split
    known = target_of(labels.Evidence.ordinary(y_comp, classes=10))
    assert known.defaults(200_000, 64) == {}  # LightGBM's own
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    clf = CPEBoostingClassifierCV([0.1], [5], method="cpe-f", random_state=0)
    for said in ("min_data_in_leaf: 121", "bagging_fraction: 0.5", "feature_fraction: 0.2"):
        assert f"[{said}]" in clf.fit(digits.X_train, y_comp).model_
    for name in ("min_data_in_leaf", "min_child_samples"):
        clf.set_params(lightgbm_params={name: 30})
        assert "[min_data_in_leaf: 30]" in clf.fit(digits.X_train, y_comp).model_


def test_of_ordinary_labels_it_is_lightgbms_multiclass(digits):
    X, y = digits.X_train.astype(float), digits.y_train
    split = [(np.arange(1000), np.arange(1000, len(X)))]
    clf = CPEBoostingClassifierCV([0.1], [5, 15], method="cpe-f", cv=split, random_state=0)
    clf.fit(X, labels.Evidence.ordinary(y, classes=10))
    params = {
        "objective": "multiclass",
        "num_class": 10,
        "boost_from_average": False,
        "learning_rate": 0.1,
        "verbosity": -1,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
    }
    own = lightgbm.train(params, lightgbm.Dataset(X, y), clf.best_params_["n_estimators"])
    np.testing.assert_allclose(
        clf.predict_proba(digits.X_test), own.predict(digits.X_test), atol=1e-4
    )


def test_the_path_is_the_scel_of_the_labels_held_out(digits_strong, strong_T):
    X, y_comp, _, _ = digits_strong
    split = [(np.arange(1000), np.arange(1000, len(X)))]
    clf = CPEBoostingClassifierCV(
        [0.05],
        [5, 20],
        method="cpe-f",
        transition=strong_T,
        cv=split,
        random_state=0,
        lightgbm_params=ALL_ROWS,
    ).fit(X, y_comp)
    for count, found, error in zip(
        [5, 20], clf.cv_results_["scel"], clf.cv_results_["scel_std_error"], strict=True
    ):
        alone = CPEBoostingClassifierCV(
            [0.05], [count], method="cpe-f", transition=strong_T, lightgbm_params=ALL_ROWS
        )
        target = Likelihood(alone._observe_fit(X, y_comp))
        booster = lightgbm.Booster(
            alone._params(lightgbm, target, 1000, (1000, 64), 0) | {"learning_rate": 0.05},
            lightgbm.Dataset(X[:1000].astype(np.float32), np.zeros(1000)),
        )
        for _ in range(count):
            booster.update(fobj=target.gradient(np.arange(1000)))
        q = softmax(booster.predict(X[1000:]), axis=1) @ strong_T
        mean, std_error = metrics.scel(y_comp[1000:], q, return_std_error=True)
        assert (found, error) == (pytest.approx(mean, rel=1e-6), pytest.approx(std_error, rel=1e-6))


def test_rows_without_a_label_or_weight_change_nothing_but_what_is_held_out(blobs):
    X, _, y_comp = blobs
    several = np.eye(3, dtype=bool)[y_comp]
    several[::3] = False
    weights = np.where(np.arange(len(X)) % 3 == 1, 0.0, 2.0)
    split = [(np.arange(600), np.arange(600, 900))]
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", cv=split)
    clf.fit(X, several, weights)
    used = np.arange(600, 900)[2::3]
    clf.set_params(n_estimators=[10]).fit(X, several, weights)
    target = Likelihood(clf._observe_fit(X, several, weights))
    assert target.samples(np.arange(6))[0].tolist() == [2, 5]
    slope, _ = target.gradient(np.array([2]))(np.zeros((1, 3)), None)
    assert slope[0] == pytest.approx(1 / 3 - (~several[2]) / 2)  # weights of mean 1
    found = target.losses(np.zeros((300, 3)), np.arange(600, 900))
    np.testing.assert_array_equal(found.rows[1::2], used)
    np.testing.assert_allclose(found.values, np.log(3))


def test_held_out_losses_stay_in_log_space():
    observed = observe([0, 1, 2] * 4).with_transition(transition.uniform(3))
    target = Likelihood(observed)
    found = target.losses(np.array([[800.0, 0, 0]]), np.array([0]))
    assert found.values == pytest.approx([800])
