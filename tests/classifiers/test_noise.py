"""Neighbours and boosting know the noise level if it is in the T that they are passed."""

from __future__ import annotations

import numpy as np
import pytest

from ybar import CPEBoostingClassifierCV, CPEKNeighborsClassifierCV, labels, transition

K = 6
MAKE = {
    "knn": lambda T: CPEKNeighborsClassifierCV(
        [100], transition=T, decoder="likelihood", random_state=0
    ),
    "boosting": lambda T: CPEBoostingClassifierCV(
        [0.1], [30], method="cpe-f", transition=T, decoder="max", random_state=0
    ),
}


@pytest.mark.parametrize("name", MAKE)
def test_the_noise_level_in_T_makes_predictions_more_accurate(name):
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=4000)
    X = 2 * np.eye(K)[y] + rng.normal(size=(4000, K))
    T = transition.strong(K, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.5)
    y_comp = labels.draw(y[:3000], noisy, random_state=0)
    without, informed = (
        np.mean(MAKE[name](each).fit(X[:3000], y_comp).predict(X[3000:]) == y[3000:])
        for each in (T, noisy)
    )
    assert informed > without + 0.02
