"""Temperatures from complementary labels alone; calibration errors against slow references."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ybar import (
    CPEKNeighborsClassifierCV,
    calibration,
    datasets,
    decode,
    labels,
    metrics,
    transition,
)
from ybar.labels import Evidence

K = 4
ROOT = Path(__file__).resolve().parents[1]


def drawn(seed, n=40_000, concentration=1.0):
    """Return p, and classes drawn from it."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(K, concentration), n)
    return p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 20), st.floats(0.05, 20))
def test_temperatures_multiply_and_keep_the_order(seed, first, second):
    p = np.random.default_rng(seed).dirichlet(np.ones(K), 5)
    once = calibration.temper(p, first)
    np.testing.assert_allclose(once.sum(axis=1), 1)
    np.testing.assert_allclose(calibration.temper(p, 1.0), p)
    np.testing.assert_array_equal(once.argmax(axis=1), p.argmax(axis=1))
    slow = p ** (1 / first) / (p ** (1 / first)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(once, slow, atol=1e-12)
    if first * second < 20:
        again = calibration.temper(p, first * second)
        np.testing.assert_allclose(calibration.temper(once, second), again, atol=1e-6)


def test_zeros_stay_and_cold_is_certain():
    assert calibration.temper([[0.5, 0.5, 0]], 3.0).tolist() == [[0.5, 0.5, 0]]
    np.testing.assert_allclose(calibration.temper([[0.6, 0.4]], 1e-300), [[1, 0]])


@pytest.mark.parametrize("wrong_by", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("kind", ["uniform", "strong", "evidence"])
def test_the_temperature_that_was_applied_is_found_without_true_labels(wrong_by, kind):
    p, y = drawn(1)
    T = transition.uniform(K) if kind == "uniform" else transition.strong(K, random_state=0)
    y_comp = labels.draw(y, T, random_state=2)
    given_p = calibration.temper(p, 1 / wrong_by)
    if kind == "evidence":
        found = calibration.fit_temperature(Evidence.complementary(y_comp, T), given_p)
    else:
        found = calibration.fit_temperature(y_comp, given_p, T)
    assert found == pytest.approx(wrong_by, rel=0.1)


def test_it_is_the_minimum_of_scel():
    p, y = drawn(3, n=2000)
    T = transition.weak(K, random_state=0)
    y_comp = labels.draw(y, T, random_state=4)
    weight = np.random.default_rng(0).random(2000)
    found = calibration.fit_temperature(y_comp, p, T, sample_weight=weight)

    def slow(temperature):
        q = calibration.temper(p, temperature) @ T
        return -np.average(np.log(q[np.arange(2000), y_comp]), weights=weight)

    levels = np.exp(np.linspace(np.log(0.05), np.log(20), 2001))
    assert slow(found) <= min(map(slow, levels)) + 1e-9


@pytest.mark.parametrize("small", [1e-18, 1e-40, 1e-200])
def test_a_power_too_small_for_a_float_is_not_taken_for_none(small):
    unsure, sure = [0.4, 0.3, 0.3], [1 - 2 * small, small, small]
    p = np.array([unsure] * 990 + [sure] * 10)
    y_comp = np.r_[np.tile([1, 2], 495), np.zeros(10, int)]  # what was sure was wrong
    T = transition.uniform(3)
    found = calibration.fit_temperature(y_comp, p, T)
    scel = [metrics.scel(y_comp, calibration.temper(p, t) @ T) for t in (0.5, 1, found)]
    assert found > 1
    assert scel[2] < min(scel[:2])


def test_the_calibration_error_is_that_of_the_textbook():
    p, y = drawn(5, n=3000)
    p = calibration.temper(p, 0.5)
    expected = 0.0
    for i in range(15):
        top = p.max(axis=1)
        inside = (top >= i / 15) & ((top < (i + 1) / 15) | (i == 14))
        if inside.any():
            right = (p.argmax(axis=1) == y)[inside].mean()
            expected += inside.mean() * abs(right - top[inside].mean())
    assert calibration.expected_calibration_error(y, p) == pytest.approx(expected)


def test_right_probabilities_have_hardly_any_error():
    p, y = drawn(6, n=100_000)
    assert calibration.expected_calibration_error(y, p) < 0.01
    assert calibration.expected_calibration_error(y, calibration.temper(p, 0.3)) > 0.1


def test_probabilities_are_calibrated_better_than_distances_and_inverses():
    d, n = datasets.load("digits"), 1000
    for T in (transition.uniform(10), transition.strong(10, random_state=0)):
        y_comp = labels.draw(d.y_train, T, random_state=0)
        clf = CPEKNeighborsClassifierCV(transition=T, random_state=0)
        clf.fit(d.X_train[:n], y_comp[:n])
        held_out = clf.predict_proba(d.X_train[n:])
        temperature = calibration.fit_temperature(y_comp[n:], held_out, T)
        q, ours = clf.predict_complementary_proba(d.X_test), clf.predict_proba(d.X_test)
        raw = np.maximum(q @ decode.inverse(T), 0)
        near = 1 / np.abs(q[:, None] - T[None]).sum(axis=2)
        ways = {"raw": raw, "l1": near, "tempered": calibration.temper(ours, temperature)}
        error = {
            name: calibration.expected_calibration_error(d.y_test, p / p.sum(axis=1, keepdims=True))
            for name, p in ways.items()
        }
        assert error["tempered"] <= 0.5 * error["raw"]
        assert error["tempered"] <= 0.5 * error["l1"]


P = [[0.5, 0.5], [0.9, 0.1]]
U = transition.uniform(2)
WRONG = {
    "cold": (lambda: calibration.temper(P, 0), "temperature", "got 0"),
    "hot": (lambda: calibration.temper(P, np.inf), "temperature", "inf"),
    "word": (lambda: calibration.temper(P, "1"), "temperature", "'1'"),
    "flat": (lambda: calibration.temper([0.5, 0.5], 1), "p must", "(2,)"),
    "no rows": (lambda: calibration.temper(np.empty((0, 2)), 1), "p must", "(0, 2)"),
    "negative": (lambda: calibration.temper([[1.5, -0.5]], 1), "p must", "-0.5 in row 0"),
    "sums": (lambda: calibration.temper([[0.5, 0.1]], 1), "p must", "row 0 sums to 0.6"),
    "nan": (lambda: calibration.temper([[np.nan, 1]], 1), "p must", "row 0 has NaN"),
    "no T": (lambda: calibration.fit_temperature([0, 1], P), "T must", "None"),
    "T twice": (
        lambda: calibration.fit_temperature(Evidence.complementary([0, 1], U), P, U),
        "T must",
        "Evidence",
    ),
    "lengths": (
        lambda: calibration.fit_temperature([0], P, U),
        "y_comp and p",
        "(1, 2) and (2, 2)",
    ),
    "classes": (
        lambda: calibration.fit_temperature(Evidence.nothing(2, classes=3), P),
        "y_comp and p",
        "(2, 3) and (2, 2)",
    ),
    "nothing": (
        lambda: calibration.fit_temperature(Evidence.nothing(2, classes=2), P),
        "y_comp",
        "nothing",
    ),
    "unknown label": (lambda: calibration.fit_temperature([0, 2], P, U), "y_comp", "got 2"),
    "true lengths": (
        lambda: calibration.expected_calibration_error([0], P),
        "y_true and p",
        "1 and 2",
    ),
    "bins": (
        lambda: calibration.expected_calibration_error([0, 1], P, n_bins=0),
        "n_bins",
        "got 0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_the_argument_and_shows_its_value(case):
    make, argument, value = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=re.escape(value)) as caught:
        make()
    assert argument in str(caught.value)
    assert "\n" not in str(caught.value)
