"""Rows that are held out, at random or by the splits of the user."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from ybar import CPEBoostingClassifierCV, CPEKNeighborsClassifierCV, labels
from ybar.classifiers import hold_out
from ybar.labels.observed import observe

SEARCHES = {
    "knn": CPEKNeighborsClassifierCV(random_state=0),
    "boosting": CPEBoostingClassifierCV([0.1], [10, 20], random_state=0),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_folds_are_shuffled_since_rows_often_come_ordered(name, digits, strong_T):
    order = np.argsort(digits.y_train, kind="stable")
    X, y = digits.X_train[order], digits.y_train[order]
    y_comp = labels.draw(y, strong_T, random_state=0)
    search = clone(SEARCHES[name]).set_params(transition=strong_T, cv=3)
    clf = search.fit(X, y_comp)
    held_out = labels.draw(digits.y_test, strong_T, random_state=1)
    # The SCEL of the folds is then close to that of unseen rows.
    assert -clf.best_score_ == pytest.approx(-clf.score(digits.X_test, held_out), abs=0.15)
    splitter = clone(search).set_params(cv=StratifiedKFold(3)).fit(X, y_comp)
    assert splitter.cv_results_["scel"].shape == clf.cv_results_["scel"].shape


def test_a_split_is_the_front_of_one_permutation():
    order = np.random.default_rng(3).permutation(20)
    training, held_out = hold_out.split(20, 6, 3)
    np.testing.assert_array_equal(held_out, np.sort(order[:6]))
    np.testing.assert_array_equal(training, np.sort(order[6:]))
    training, held_out = hold_out.split(20, 6, np.random.default_rng(3), shuffled=True)
    np.testing.assert_array_equal(np.concatenate([held_out, training]), order)


def test_a_fraction_is_rounded_up_and_split_at_random():
    ((training, validation),) = hold_out.splits(observe(np.arange(25) % 3), None, 0.1, 0)
    expected = hold_out.split(25, 3, 0)
    np.testing.assert_array_equal(training, expected[0])
    np.testing.assert_array_equal(validation, expected[1])


@pytest.mark.parametrize("lacking", ["labels", "weight"])
def test_both_parts_must_have_rows_of_use(lacking):
    mask = np.eye(3, dtype=bool)[np.arange(30) % 3]
    observed = observe(mask)
    if lacking == "labels":
        mask[20:] = False
        observed = observe(mask)
    else:
        observed = replace(observed, weights=(np.arange(30) < 20).astype(float))
    split = [(np.arange(20), np.arange(20, 30))]
    with pytest.raises(ValueError, match=r"cv must leave labelled rows .* to validate on"):
        hold_out.splits(observed, split, 0.1, 0)
    with pytest.raises(ValueError, match=r"cv must leave labelled rows .* to train on"):
        hold_out.splits(observed, [split[0][::-1]], 0.1, 0)


@pytest.mark.parametrize("cv", [None, 3, KFold(3)], ids=["fraction", "folds", "splitter"])
def test_rows_of_weight_0_are_in_no_part_and_do_not_change_the_others(cv):
    weights = (np.arange(60) % 4 > 0).astype(float)
    observed = replace(observe(np.arange(60) % 3), weights=weights)
    kept = np.flatnonzero(weights)
    parts = hold_out.splits(observed, cv, 0.1, 0)
    for part, expected in zip(
        parts, hold_out.splits(observed.subset(kept), cv, 0.1, 0), strict=True
    ):
        for indices, others in zip(part, expected, strict=True):
            np.testing.assert_array_equal(indices, kept[others])


def test_the_indices_of_a_user_count_all_rows():
    weights = (np.arange(30) % 4 > 0).astype(float)
    observed = replace(observe(np.arange(30) % 3), weights=weights)
    ((training, validation),) = hold_out.splits(observed, [([5, 4, 8, 3], range(20, 24))], 0.1, 0)
    assert training.tolist() == [5, 3]
    assert validation.tolist() == [21, 22, 23]
