"""The accuracy estimated without true labels, and when there is none."""

import numpy as np
import pytest

from ybar import labels, transition
from ybar.tables import accuracy

T = transition.uniform(3)
ACCOUNT = {"method": "logistic", "transition": {"source": "uniform", "noise_learned": False}}


@pytest.fixture(scope="module")
def passed():
    """A check that T passes."""
    y = np.arange(300) % 3
    mask = np.eye(3, dtype=bool)[labels.draw(y, T, random_state=0)]
    result = accuracy.check(mask, T, y, ["a", "b", "c"])
    assert not result.refuted
    return result


@pytest.mark.parametrize(
    ("error", "std_error", "value", "interval"),
    [
        (0.2, 0.05, 0.8, (0.7, 0.9)),
        (-0.02, 0.02, 1.0, (0.98, 1.0)),
        (1.01, 0.1, 0.0, (0.0, 0.19)),
    ],
)
def test_the_estimate_and_its_interval_are_shares(passed, error, std_error, value, interval):
    found = accuracy.summary(error, std_error, passed)
    assert found["expected_accuracy"] == pytest.approx(value)
    assert found["expected_accuracy_interval"] == pytest.approx(interval)
    low, high = found["expected_accuracy_interval"]
    assert low <= found["expected_accuracy"] <= high


def test_an_estimate_without_a_known_error_is_a_reason_and_no_number(passed):
    found = accuracy.summary(0.4, float("nan"), passed)
    assert found["expected_accuracy"] is found["expected_accuracy_interval"] is None
    assert found["expected_accuracy_std_error"] is None
    (reason,) = found["transition"]["reasons"]
    text = "\n".join(accuracy.explain(found, ACCOUNT))
    assert reason in text
    assert "Expected accuracy" not in text


@pytest.mark.parametrize("error", [-1.43, 2.43])
def test_an_interval_outside_the_possible_shares_is_a_reason_and_no_number(passed, error):
    found = accuracy.summary(error, 0.1, passed)
    assert found["expected_accuracy"] is found["expected_accuracy_interval"] is None
    assert found["expected_accuracy_std_error"] is None
    (reason,) = found["transition"]["reasons"]
    text = "\n".join(accuracy.explain(found, ACCOUNT))
    assert reason in text
    assert "Expected accuracy" not in text
    assert "243" not in text


def test_a_singular_matrix_has_no_estimate_and_is_not_called_refuted(passed):
    found = accuracy.summary(float("nan"), float("nan"), passed)
    assert found["expected_accuracy"] is None
    assert not found["transition"]["refuted"]
    assert "singular" in "\n".join(accuracy.explain(found, ACCOUNT))


def test_an_estimated_matrix_is_not_refuted_by_an_error_rate_that_takes_it_for_exact():
    y = np.arange(300) % 3
    nearly_noise = transition.with_uniform_noise(T, 0.999)
    mask = np.eye(3, dtype=bool)[(y + 1) % 3]
    wrong = (y + 2) % 3
    assert accuracy.check(mask, nearly_noise, wrong, ["a", "b", "c"]).refuted
    assert not accuracy.check(mask, nearly_noise, None, ["a", "b", "c"]).refuted


def test_selecting_a_free_q_by_the_labels_lowers_the_level():
    mask = np.eye(3, dtype=bool)[np.arange(30) % 3]
    y = np.zeros(30, dtype=int)
    q = np.full((30, 3), 1 / 3)
    once, twice = (accuracy.check(mask, T, y, ["a", "b", "c"], q, n_free=n) for n in (1, 2))
    assert twice.level == once.level / 2
