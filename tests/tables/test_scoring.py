"""Scores on complementary labels."""

import numpy as np

from ybar.tables import scoring


def test_standard_errors_are_over_rows_not_labels():
    losses = np.repeat(np.random.default_rng(0).random(50), 2)
    twice, once = np.ones((50, 2), dtype=bool), np.eye(2, dtype=bool)[[0] * 50]
    same = scoring.mean_and_std_error(losses, twice)
    np.testing.assert_allclose(same, scoring.mean_and_std_error(losses[::2], once))
