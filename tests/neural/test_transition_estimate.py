"""T and its noise, estimated on held-out labels."""

from __future__ import annotations

import numpy as np
import pytest

from neural_helpers import strayed
from ybar import (
    labels,
    transition,
)
from ybar.labels.patterns import Patterns
from ybar.metrics.likelihood import log_softmax
from ybar.neural import evaluate
from ybar.neural.transition_estimate import TransitionEstimate

K = 5


def synthetic(noise, seed=0, n=20_000):
    """Return logits, T without noise, and labels drawn from the p they give, with noise."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 3
    p = np.exp(log_softmax(logits))
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    T = transition.strong(K, random_state=seed)
    return logits, T, labels.draw(y, transition.with_uniform_noise(T, noise), rng)


def total(logits, k, T, noise, scale=1.0, weight=None):
    q = np.exp(log_softmax(scale * logits)) @ ((1 - noise) * T + noise / K)
    losses_of_rows = -np.log(q[np.arange(len(k)), k])
    return np.sum(losses_of_rows if weight is None else losses_of_rows * weight)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_level_is_the_likeliest(noise, weighted):
    logits, T, k = synthetic(noise, n=2000)
    weight = np.random.default_rng(1).random(len(k)) * 2 if weighted else None
    found = TransitionEstimate(logits, k, weight, T)
    grid, scales = np.linspace(0, 1, 51), np.exp(np.linspace(-2, 2, 61))
    values = np.array([[total(logits, k, T, a, b, weight) for b in scales] for a in grid]).min(1)
    assert found.noise_level == pytest.approx(grid[values.argmin()], abs=0.021)
    low, high = found.noise_interval
    assert low <= found.noise_level <= high
    assert low - 0.03 <= noise <= high + 0.03


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_the_level_does_not_depend_on_how_sure_the_network_is(scale):
    logits, T, k = synthetic(0.3)
    assert TransitionEstimate(scale * logits, k, None, T).noise_level == pytest.approx(
        0.3, abs=0.03
    )


def test_the_interval_covers_as_often_as_it_says():
    covered = 0
    for seed in range(100):
        logits, T, k = synthetic(0.3, seed, n=500)
        low, high = TransitionEstimate(logits, k, None, T).noise_interval
        covered += low <= 0.3 <= high
    assert 0.88 <= covered / 100 <= 1


def test_weights_that_differ_make_the_interval_wider():
    covered = 0
    for seed in range(60):
        logits, T, k = synthetic(0.3, seed, n=1000)
        weight = np.where(np.arange(1000) % 10 == 0, 10.0, 0.1)
        low, high = TransitionEstimate(logits, k, weight, T).noise_interval
        covered += low <= 0.3 <= high
    assert covered >= 50


def test_labels_in_patterns_say_the_same_of_the_noise():
    logits, T, k = synthetic(0.3, n=3000)
    patterns = Patterns(np.zeros((K, K)), np.eye(K))
    alone, in_patterns = (
        TransitionEstimate(logits, k, None, T),
        TransitionEstimate(logits, k, None, T, patterns),
    )
    assert in_patterns.noise_level == pytest.approx(alone.noise_level, abs=1e-3)
    assert in_patterns.noise_interval == pytest.approx(alone.noise_interval, abs=1e-3)


def test_noise_is_found_where_T_allows_a_label_to_no_class():
    T = np.array([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]])
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    y_comp = labels.draw(y, transition.with_uniform_noise(T, 0.3), rng)
    logits = 20.0 * np.eye(3)[y]
    found = TransitionEstimate(logits, y_comp, None, T)
    low, high = found.noise_interval
    assert low < 0.3 < high
    assert 0.25 < found.noise_level < 0.35
    assert np.isposinf(evaluate.scel_losses(logits, np.full(3000, 2), "p", T)).all()


@pytest.mark.parametrize("trust", [1.0, 50.0, 2000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_T_found_is_what_the_labels_and_those_that_trust_adds_expect_of_it(trust, weighted):
    logits, T, k, _ = strayed(n=2000)
    weight = np.random.default_rng(1).random(len(k)) * 2 if weighted else np.ones(len(k))
    found = TransitionEstimate(logits, k, weight if weighted else None, T)
    first = transition.with_uniform_noise(T, max(found.noise_level, 1e-3))
    mine = found.matrix(trust)

    def loss(T, scale):
        q = np.exp(log_softmax(scale * logits)) @ T
        return -np.sum(weight * np.log(q[np.arange(len(k)), k])) - trust * np.sum(first * np.log(T))

    scales = np.exp(np.linspace(-2, 2, 2001))
    scale = scales[np.argmin([loss(mine, scale) for scale in scales])]
    # A step of EM: the labels expected of each class, and those of `trust`.
    p = np.exp(log_softmax(scale * logits))
    of_class = p * mine[:, k].T
    of_class *= (weight / of_class.sum(axis=1))[:, None]
    expected = of_class.T @ np.eye(K)[k] + trust * first
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mine, expected, atol=2e-3)
    rng = np.random.default_rng(2)
    for _ in range(20):
        other = mine * np.exp(rng.normal(size=(K, K)) / 20)
        assert loss(other / other.sum(axis=1, keepdims=True), scale) > loss(mine, scale) - 1e-3


def test_little_trust_finds_another_T_and_endless_trust_only_noise():
    logits, T, k, true = strayed()
    found = TransitionEstimate(logits, k, None, T)
    away = np.abs(T - true).sum(axis=1).mean()
    assert np.abs(found.matrix(10) - true).sum(axis=1).mean() < away / 5
    noisy = transition.with_uniform_noise(T, found.noise_level)
    np.testing.assert_allclose(found.matrix(1e9), noisy, atol=1e-5)


def test_labels_in_patterns_say_the_same_of_T():
    logits, T, k, _ = strayed(n=3000)
    patterns = Patterns(np.zeros((K, K)), np.eye(K))
    alone, in_patterns = (
        TransitionEstimate(logits, k, None, T),
        TransitionEstimate(logits, k, None, T, patterns),
    )
    np.testing.assert_allclose(in_patterns.matrix(30), alone.matrix(30), atol=2e-3)


def test_two_labels_of_a_row_say_as_much_of_T_as_they_know():
    logits, T, _, true = strayed(n=10_000)
    rng = np.random.default_rng(3)
    y = logits.argmax(axis=1)
    sure = 20.0 * np.eye(K)[y]
    both = labels.draw(y, true, rng), labels.draw(y, true, rng)
    counts = np.eye(K)[both[0]] + np.eye(K)[both[1]]
    patterns = Patterns(np.zeros((len(y), K)), counts)
    found = TransitionEstimate(sure, np.arange(len(y)), None, T, patterns).matrix(1e-3)
    counted = np.stack([counts[y == c].mean(axis=0) / 2 for c in range(K)])
    np.testing.assert_allclose(found, counted, atol=0.01)


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_held_out_label_leaves_T_where_it_was_given(n):
    logits, T, k, _ = strayed(n=5)
    found = TransitionEstimate(logits[:n], k[:n], None, T)
    away = np.abs(found.matrix(100) - transition.with_uniform_noise(T, found.noise_level))
    assert away.max() < 0.02
    assert len(found.cross_fitted(np.arange(n), 100)) == 2
