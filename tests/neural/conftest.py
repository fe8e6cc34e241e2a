"""Fixtures of the tests of the networks."""

from __future__ import annotations

import numpy as np
import pytest

from ybar import (
    labels,
)
from ybar.neural.samples import Samples


@pytest.fixture
def job(digits, strong_T):
    y_comp = labels.draw(digits.y_train, strong_T, random_state=0)
    rows = np.random.default_rng(1).permutation(len(y_comp))
    training, held_out = rows[:1200], rows[1200:]
    return (
        digits.X_train,
        Samples(training, y_comp[training]),
        Samples(held_out, y_comp[held_out]),
        strong_T,
        (digits.X_test, digits.y_test),
    )


@pytest.fixture
def strong(digits_strong, strong_T):
    X, y_comp, X_test, y_test = digits_strong
    return X, y_comp, X_test, y_test, strong_T
