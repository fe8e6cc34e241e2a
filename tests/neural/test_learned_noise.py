"""Classifiers that learn T or its noise level from labels."""

from __future__ import annotations

import numpy as np
import pytest

from neural_helpers import linear_net
from ybar import (
    ComplementaryNetClassifierCV,
    labels,
    metrics,
    transition,
)
from ybar.displays import ConfusionDisplay
from ybar.labels import Evidence
from ybar.neural import transition_layer


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_noise_in_the_labels_of_real_digits_is_noticed(digits, noise):
    T = transition.strong(10, random_state=0)
    X = np.tile(digits.X_train, (4, 1))
    rng = np.random.default_rng(0)
    y = np.tile(digits.y_train, 4)
    y_comp = labels.draw(y, transition.with_uniform_noise(T, noise), rng)
    clf = linear_net(method="cpe-n", transition=T, input_dropout=0).fit(X, y_comp)
    low, high = clf.noise_interval_
    assert 0 <= low <= clf.noise_ <= high < 1
    # Digits leave a linear model unsure, which explains much of the noise as well.
    assert clf.noise_ < noise + 0.1
    assert (clf.noise_ > 0.1) == (noise > 0)
    level = 10 * clf.learned_transition_[0, 0]
    expected = transition.with_uniform_noise(T, level)
    np.testing.assert_allclose(clf.learned_transition_, expected, atol=1e-5)


def test_after_a_thousand_steps_the_held_out_level_is_what_is_trained_with(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, transition.with_uniform_noise(T, 0.4), random_state=0)
    how = {"method": "cpe-n", "transition": T, "batch_size": 32, "select": "last"}
    clf = linear_net(max_epochs=40, **how).fit(digits.X_train, y_comp)
    expected = transition.with_uniform_noise(T, max(clf.noise_, 1e-4))
    np.testing.assert_allclose(clf.learned_transition_, expected, atol=1e-3)


def test_without_held_out_rows_the_level_is_learned_by_gradients(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    clf = linear_net(method="cpe-n", transition=T, validation_fraction=0, select="last")
    clf.fit(digits.X_train, y_comp)
    assert not hasattr(clf, "noise_interval_")
    assert 0 < clf.noise_ < transition_layer.FIRST_NOISE
    clf = linear_net(method="cpe-n", transition=T).fit(digits.X_train, y_comp)
    assert hasattr(clf, "noise_interval_")
    clf.partial_fit(digits.X_train[:200], y_comp[:200])
    assert not hasattr(clf, "noise_interval_")


def test_a_T_found_on_held_out_labels_is_what_is_trained_with(digits):
    T = transition.strong(10, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.5)
    y = np.tile(digits.y_train, 4)
    X, y_comp = np.tile(digits.X_train, (4, 1)), labels.draw(y, noisy, random_state=0)
    how = {"input_dropout": 0, "decoder": "max", "max_epochs": 20}
    scores = {}
    for method, told, trust in (("cpe-f", T, 0), ("cpe-t", T, 1000), ("cpe-f", noisy, 0)):
        clf = linear_net(method=method, transition=told, transition_trust=trust, **how).fit(
            X, y_comp
        )
        scores[method, told is noisy] = np.mean(clf.predict(digits.X_test) == digits.y_test)
        if trust:
            strayed = np.abs(clf.learned_transition_ - noisy).sum() / np.abs(T - noisy).sum()
    assert strayed < 0.6
    assert scores["cpe-t", False] > scores["cpe-f", False] + 0.02
    assert scores["cpe-t", False] > scores["cpe-f", True] - 0.03


def test_much_trust_holds_T_and_none_lets_it_go(digits):
    T = transition.strong(10, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.4)
    y_comp = labels.draw(digits.y_train, noisy, random_state=0)
    strayed = {
        trust: np.abs(
            linear_net(method="cpe-t", transition=T, transition_trust=trust)
            .fit(digits.X_train, y_comp)
            .learned_transition_
            - T
        ).sum()
        for trust in (0, 100, 1e7)
    }
    assert strayed[0] > strayed[100] > strayed[1e7]
    assert strayed[1e7] < 0.1


@pytest.mark.parametrize("wrong", [-1, np.nan, "much", True, None])
def test_trust_is_a_number_of_labels(digits, wrong):
    clf = linear_net(method="cpe-t", transition_trust=wrong)
    with pytest.raises(ValueError, match="transition_trust must be a finite number of at least 0"):
        clf.fit(digits.X_train, digits.y_train)
    search = ComplementaryNetClassifierCV("cpe-t", (), transition_trusts=[wrong])
    if wrong is not True:
        with pytest.raises(ValueError, match="transition_trusts must be a list of numbers"):
            search.fit(digits.X_train, digits.y_train)


def test_trust_is_refused_where_no_T_is_learned(digits):
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    for clf, name in (
        (linear_net(method="cpe-n", transition_trust=5), "transition_trust must be 0"),
        (ComplementaryNetClassifierCV(transition_trusts=[0, 5]), "transition_trusts must be 0"),
    ):
        with pytest.raises(ValueError, match=name):
            clf.fit(digits.X_train, y_comp)


def noisy_blobs(noise=0.5, n=9000, n_classes=5):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = (np.eye(n_classes)[y] + rng.normal(0, 0.3, (n, n_classes))).astype(np.float32)
    T = transition.strong(n_classes, random_state=3)
    return X, y, labels.draw(y, transition.with_uniform_noise(T, noise), rng), T


@pytest.mark.parametrize("settings", [{"method": "cpe-n"}, {"method": "cpe-t"}])
def test_error_rates_are_estimated_under_the_noise_that_was_found(settings):
    X, y, y_comp, T = noisy_blobs()
    if settings["method"] == "cpe-t":
        settings = {**settings, "transition_trust": 1000}
    clf = linear_net(transition=T, **settings).fit(X[:5000], y_comp[:5000])
    predicted, unseen = clf.predict(X[5000:]), y_comp[5000:]
    T_learned = clf.learned_transition_
    np.testing.assert_array_equal(clf.label_transition_, T_learned)
    found, error = metrics.ure_zero_one(unseen, predicted, T_learned, return_std_error=True)
    assert metrics.ure_scorer(clf, X[5000:], unseen) == pytest.approx(-found)
    assert abs(found - np.mean(predicted != y[5000:])) < 4 * error
    assert abs(metrics.ure_zero_one(unseen, predicted, T) - found) > 4 * error  # as it was given
    assert abs(clf.history_["ure"][-1]) < 0.3
    shown = ConfusionDisplay.from_estimator_complementary(clf, X[5000:], unseen)
    assert np.trace(shown.matrix) / shown.matrix.sum() == pytest.approx(1 - found, abs=0.02)


def test_error_rates_are_estimated_under_the_T_given_where_gradients_moved_it():
    X, _, y_comp, T = noisy_blobs(0.0, n=2000)
    clf = linear_net(method="cpe-t", transition=T, max_epochs=5).fit(X, y_comp)
    assert not np.allclose(clf.learned_transition_, T)
    np.testing.assert_array_equal(clf.label_transition_, T)
    expected = metrics.ure_zero_one(y_comp, clf.predict(X), T)
    assert metrics.ure_scorer(clf, X, y_comp) == pytest.approx(-expected)


def test_a_T_that_is_only_near_the_true_one_does_not_decode():
    X, _, y_comp, T = noisy_blobs(n=2000)
    clf = linear_net(method="cpe-t", transition=T, transition_trust=100, max_epochs=5).fit(
        X, y_comp
    )
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X).argmax(axis=1))
    assert clf.decoder_ == "max"
    assert linear_net(method="cpe-t", transition=T, max_epochs=5).fit(X, y_comp).decoder_ == "l1"


@pytest.mark.parametrize("patience", [None, 2])
def test_the_epoch_kept_is_one_that_trained_with_the_noise_found(patience):
    X, _, y_comp, T = noisy_blobs(0.3, n=2000)
    clf = linear_net(
        method="cpe-n", transition=T, max_epochs=20, learning_rate=0.1, patience=patience
    )
    clf.fit(X, y_comp)
    assert clf.best_epoch_ >= 10  # 8 batches an epoch: the noise is given after half of 160 steps
    expected = transition.with_uniform_noise(T, clf.noise_)
    np.testing.assert_allclose(clf.learned_transition_, expected, atol=2e-4)


def test_noise_cannot_be_found_where_no_label_is_complementary(digits):
    T, y = transition.strong(10, random_state=0), digits.y_train
    y_comp = labels.draw(y[600:], T, random_state=0)
    known = Evidence.ordinary(y[:600], classes=10)
    mixed = Evidence.concatenate([known, Evidence.complementary(y_comp, T)])
    with pytest.raises(ValueError, match="y must hold complementary labels under one T"):
        linear_net(method="cpe-n").fit(digits.X_train[:600], mixed[:600])


def test_noise_in_evidence_of_several_kinds_is_found(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, transition.with_uniform_noise(T, 0.3), random_state=0)
    y = digits.y_train
    known = Evidence.ordinary(y[:600], classes=10)
    evidence = Evidence.concatenate([known, Evidence.complementary(y_comp[600:], T)])
    clf = linear_net(method="cpe-n").fit(digits.X_train, evidence)
    assert clf.noise_ == pytest.approx(0.3, abs=0.2)
    assert clf.noise_interval_[0] < clf.noise_ < clf.noise_interval_[1]
