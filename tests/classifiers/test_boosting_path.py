"""The staged path of boosting is what one fit for each pair would give."""

from __future__ import annotations

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.model_selection import ShuffleSplit

from ybar import (
    CPEBoostingClassifierCV,
    CPEClassifier,
    metrics,
)
from ybar.classifiers.boosting_path import seems_unable_to_win

RATES, COUNTS = [0.05, 0.2], [5, 15, 30]


@pytest.fixture
def split(digits):
    return list(ShuffleSplit(1, test_size=0.2, random_state=1).split(digits.X_train))


def test_the_path_equals_a_fit_for_each_pair(digits_strong, strong_T, split):
    X, y_comp, X_test, _ = digits_strong
    path = CPEBoostingClassifierCV(RATES, COUNTS, transition=strong_T, cv=split, random_state=0)
    path.fit(X, y_comp)
    train, validation = split[0]
    scores = []
    for rate in RATES:
        for count in COUNTS:
            base = LGBMClassifier(
                learning_rate=rate, n_estimators=count, n_jobs=1, verbosity=-1, force_row_wise=True
            )
            single = CPEClassifier(base, transition=strong_T).fit(X[train], y_comp[train])
            scores.append(single.score(X[validation], y_comp[validation]))
    np.testing.assert_allclose(path.cv_results_["mean_test_score"], scores, rtol=1e-6)
    best = path.best_params_
    assert best == path.cv_results_["params"][int(np.argmax(scores))]
    base = LGBMClassifier(**best, n_jobs=1, verbosity=-1, force_row_wise=True)
    whole = CPEClassifier(base, transition=strong_T).fit(X, y_comp)
    np.testing.assert_allclose(
        path.predict_complementary_proba(X_test),
        whole.predict_complementary_proba(X_test),
        atol=1e-6,
    )


def test_standard_errors_come_with_the_path(digits_strong, strong_T, split):
    X, y_comp, _, _ = digits_strong
    path = CPEBoostingClassifierCV([0.1], [10], transition=strong_T, cv=split, random_state=0)
    path.fit(X, y_comp)
    train, validation = split[0]
    base = LGBMClassifier(n_estimators=10, n_jobs=1, verbosity=-1, force_row_wise=True)
    q = CPEClassifier(base).fit(X[train], y_comp[train]).predict_complementary_proba(X[validation])
    mean, error = metrics.scel(y_comp[validation], q, return_std_error=True)
    assert path.cv_results_["scel"][0] == pytest.approx(mean, rel=1e-6)
    assert path.cv_results_["scel_std_error"][0] == pytest.approx(error, rel=1e-6)


def test_stopping_early_saves_rounds_and_keeps_the_choice(digits_strong, strong_T, split):
    X, y_comp, X_test, _ = digits_strong
    counts = range(5, 151, 5)
    rates = [0.02, 0.1, 0.3]
    runs = [
        CPEBoostingClassifierCV(
            rates, counts, transition=strong_T, cv=split, early_stopping=stop, random_state=0
        ).fit(X, y_comp)
        for stop in (True, False)
    ]
    early, full = (run.cv_results_["scel"] for run in runs)
    assert not np.isnan(full).any()
    assert np.isnan(early).mean() > 0.3
    np.testing.assert_array_equal(early[~np.isnan(early)], full[~np.isnan(early)])
    assert runs[0].best_params_ == runs[1].best_params_
    np.testing.assert_array_equal(runs[0].predict(X_test), runs[1].predict(X_test))
    assert runs[0].cv_results_["rank_test_score"][runs[0].best_index_] == 1


def test_a_rate_stops_only_when_its_last_fall_cannot_reach_the_best():
    counts = list(range(10, 101, 10))
    falling = 2.0 - 0.01 * np.arange(10)  # 0.001 a round: ends at 1.91
    assert not seems_unable_to_win(falling, 3, counts, best=1.5)  # too early to tell
    assert not seems_unable_to_win(falling, 6, counts, best=1.92)
    assert seems_unable_to_win(falling, 6, counts, best=1.90)
    rising = np.array([1.5, 1.4, 1.3, 1.35, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9])
    assert not seems_unable_to_win(rising, 4, counts, best=1.3)
    assert seems_unable_to_win(rising, 5, counts, best=1.3)


def test_the_rule_is_a_heuristic_that_noise_can_mislead():
    """The loss rises by chance for five candidates, and then falls below all others."""
    path = np.array([2.0, 1.9, 1.80, 1.81, 1.82, 1.83, 1.82, 1.81, 1.5, 1.4])
    counts = list(range(5, 51, 5))
    assert seems_unable_to_win(path, 7, counts, best=1.7)
    assert path.min() < 1.7
