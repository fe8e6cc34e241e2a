"""Boosted trees as a classifier: weights, missing values, evidence, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import ybar
from ybar import (
    CPEBoostingClassifierCV,
    labels,
    transition,
)


def test_missing_values_are_allowed(digits_strong, strong_T):
    X, y_comp, X_test, y_test = digits_strong
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    clf = CPEBoostingClassifierCV([0.1], [30], transition=strong_T, random_state=0).fit(X, y_comp)
    assert np.mean(clf.predict(X_test) == y_test) > 0.5


def test_a_progress_bar_is_shown_when_asked(digits_strong, capsys):
    X, y_comp, _, _ = digits_strong
    clf = CPEBoostingClassifierCV([0.1], [5], verbose=True, random_state=0).fit(X, y_comp)
    assert "boosting rounds" in capsys.readouterr().out
    clf.set_params(verbose=False).fit(X, y_comp)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("method", ["cpe-i", "cpe-f"])
def test_only_the_ratios_of_weights_matter(blobs, method):
    X, _, y_comp = blobs
    weight = np.random.default_rng(0).random(len(X))
    clf = CPEBoostingClassifierCV([0.1], [10], method=method, transition="uniform", random_state=0)
    q = [
        clf.fit(X, y_comp, sample_weight=scale * weight).predict_complementary_proba(X)
        for scale in (1, 2.0**-20)
    ]
    assert len(np.unique(q[0], axis=0)) > 2
    np.testing.assert_allclose(*q, atol=1e-6)


def test_boosting_takes_sample_weights(blobs):
    X, y, y_comp = blobs
    wrong = np.arange(len(X)) % 2 == 0
    y_bad = np.where(wrong, y, y_comp)  # half of the labels are the class itself
    weight = np.where(wrong, 1e-6, 1.0)
    clf = CPEBoostingClassifierCV([0.1], [20], random_state=0)
    assert np.mean(clf.fit(X, y_bad, sample_weight=weight).predict(X) == y) > 0.97
    assert np.mean(clf.fit(X, y_bad).predict(X) == y) < 0.9


QUICK = {"learning_rates": [0.1], "n_estimators": [10, 30], "random_state": 0}


def test_its_probabilities_are_its_own(digits_strong, strong_T, tmp_path):
    X, y_comp, X_test, y_test = digits_strong
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", transition=strong_T).fit(X, y_comp)
    p = clf.predict_proba(X_test)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(clf.predict_complementary_proba(X_test), p @ strong_T)
    assert clf.estimates_ == "p"
    assert np.mean(clf.predict(X_test) == y_test) > 0.65
    clf.set_params(decoder="max")
    np.testing.assert_array_equal(clf.predict(X_test), p.argmax(axis=1))
    ybar.save(clf, tmp_path / "model.ybar")
    np.testing.assert_array_equal(ybar.load(tmp_path / "model.ybar").predict_proba(X_test), p)


def test_it_learns_where_q_is_flat(digits):
    """Under uniform T, where one label says least, q is hard to learn and p is not."""
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    right = {}
    for method in ("cpe-i", "cpe-f"):
        clf = CPEBoostingClassifierCV(
            [0.025, 0.1], range(5, 101, 5), method=method, random_state=0,
        ).fit(digits.X_train, y_comp)  # fmt: skip
        right[method] = np.mean(clf.predict(digits.X_test) == digits.y_test)
    assert right["cpe-f"] > right["cpe-i"] + 0.05


def test_several_labels_of_a_row_are_taken_together(digits):
    X, y = digits.X_train, digits.y_train
    several = np.zeros((len(y), 10), dtype=bool)
    for seed in range(4):
        several[np.arange(len(y)), labels.draw(y, transition.uniform(10), random_state=seed)] = True
    together = CPEBoostingClassifierCV(**QUICK, method="cpe-f").fit(X, several)
    sets = labels.Evidence.excluded(several)  # the same likelihoods, up to a factor
    as_sets = CPEBoostingClassifierCV(**QUICK, method="cpe-f").set_params(n_estimators=[30])
    np.testing.assert_allclose(
        together.set_params(n_estimators=[30]).fit(X, several).predict_proba(digits.X_test),
        as_sets.fit(X, sets).predict_proba(digits.X_test),
        atol=1e-6,
    )


def test_true_labels_for_some_rows_help(digits, strong_T):
    X, y = digits.X_train, digits.y_train
    gains = []
    for seed in range(5):
        y_comp = labels.draw(y, strong_T, random_state=seed)
        mixed = labels.Evidence.concatenate(
            [
                labels.Evidence.ordinary(y[:150], classes=10),
                labels.Evidence.complementary(y_comp[150:], strong_T),
            ]
        )
        clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", transition=strong_T)
        without, with_ = (
            np.mean(clf.fit(X, given).predict(digits.X_test) == digits.y_test)
            for given in (y_comp, mixed)
        )
        gains.append(with_ - without)
    assert np.mean(gains) > 0
    assert clf.score(digits.X_test, labels.Evidence.ordinary(digits.y_test, classes=10)) > -1


def test_bad_input_gets_one_line_that_says_what_and_why(digits_strong, strong_T):
    X, y_comp, _, _ = digits_strong
    with pytest.raises(ValueError, match=r"method must be 'cpe-i' .* or 'cpe-f' .*; got 'fwd'"):
        CPEBoostingClassifierCV(method="fwd").fit(X, y_comp)
    with pytest.raises(ValueError, match=r"method must be .*; got \['cpe-f'\]"):
        CPEBoostingClassifierCV(method=["cpe-f"]).fit(X, y_comp)
    known = labels.Evidence.ordinary(y_comp, classes=10)
    with pytest.raises(
        ValueError, match=r"Use method='cpe-f' of ComplementaryNetClassifier or CPEB"
    ):
        CPEBoostingClassifierCV().fit(X, known)
    both = np.zeros((len(X), 10), dtype=bool)
    both[:, :2] = True
    pairs = np.kron(np.eye(5), [[0, 1], [1, 0]])  # each class rules out one other, always
    with pytest.raises(
        ValueError, match=r"y must hold only labels that transition allows; .*row 0 "
    ):
        CPEBoostingClassifierCV(method="cpe-f", transition=pairs, classes=range(10)).fit(X, both)


def few_rows():
    X = np.random.default_rng(0).normal(size=(30, 2))
    return X, np.arange(30) % 3, None


def constant():
    return np.ones((600, 2)), np.arange(600) % 3, None


def rare():
    X = np.random.default_rng(0).random((1000, 3)) < 0.01
    return X.astype(float), np.arange(1000) % 10, None


def small_training_part():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    return X, np.arange(1000) % 10, [(np.arange(180), np.arange(180, 1000))]


@pytest.mark.parametrize("make", [few_rows, constant, rare, small_training_part])
def test_where_no_split_is_worth_it_all_classes_are_alike(make):
    X, y_comp, cv = make()
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", cv=cv).fit(X, y_comp)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    if make is not small_training_part:
        np.testing.assert_allclose(p, 1 / p.shape[1], atol=0.05)


def test_weights_count_by_their_ratios(digits):
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    weights = np.random.default_rng(0).random(len(y_comp)) + 0.5
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f")
    one, other = (
        clf.fit(digits.X_train, y_comp, scale * weights).predict_proba(digits.X_test)
        for scale in (1, 1e-6)
    )
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert np.mean(one.argmax(axis=1) == digits.y_test) > 0.3


def test_evidence_is_decoded_by_the_largest_p():
    """Two classes with one row of T could not be told apart by decoding q."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1200)
    X = np.eye(3)[y] * 4 + rng.normal(size=(1200, 3))
    T = np.array([[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])
    known = labels.Evidence.ordinary(y[:600], classes=3)
    not_these = labels.Evidence.complementary(labels.draw(y[600:], T, random_state=0), T)
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f")
    clf.fit(X, labels.Evidence.concatenate([known, not_these]))
    assert clf.decoder_ == "max"
    assert np.mean(clf.predict(X) == y) > 0.95
    assert clf.fit(X, labels.draw(y, T, random_state=0)).decoder_ == "l1"


def test_a_class_that_is_never_a_label_is_no_trouble():
    T = np.array([[0, 1, 0], [0.9, 0.1, 0], [0.5, 0.5, 0]])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    X = np.eye(3)[y] * 4 + rng.normal(size=(900, 3))
    y_comp = labels.draw(y, T, random_state=0)
    clf = CPEBoostingClassifierCV(**QUICK, method="cpe-f", transition=T, classes=range(3))
    p = clf.fit(X, y_comp).predict_proba(X)
    assert np.isfinite(p).all()
    with pytest.raises(ValueError, match="y must hold only labels that transition allows"):
        clf.fit(X, np.where(np.arange(900) == 7, 2, y_comp))
    clf.fit(X, np.where(np.arange(900) == 7, 2, y_comp), np.where(np.arange(900) == 7, 0.0, 1.0))
