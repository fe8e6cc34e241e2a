"""What held-out labels leave unknown of T, and intervals of estimates under it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from neural_helpers import linear_net
from ybar import labels, metrics, transition
from ybar.displays import ConfusionDisplay
from ybar.labels.patterns import Patterns
from ybar.metrics.likelihood import softmax
from ybar.metrics.transition_profile import QUANTILE
from ybar.neural import evaluate
from ybar.neural.evaluate import Reading
from ybar.neural.samples import Samples
from ybar.neural.transition_errors import _BIAS_PRECISION, _INFLATION
from ybar.neural.transition_estimate import TransitionEstimate
from ybar.neural.transition_layer import Judgement

K = 4


def drawn(noise, n, seed=0, kind="strong", scale=2.5, distorted=True):
    """Return logits, T, labels and classes; p is a vector scaling of that of the logits."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * scale
    biases = np.array([0.5, -0.3, 0.0, -0.2]) if distorted else 0.0
    p = softmax(0.7 * logits + biases)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    T = transition.uniform(K) if kind == "uniform" else transition.strong(K, random_state=3)
    return logits, T, labels.draw(y, transition.with_uniform_noise(T, noise), rng), y


def profile_loss(logits, k, T, noise, weight):
    """Return the lowest of minus the log posterior over temperatures and biases."""
    noisy = transition.with_uniform_noise(T, noise)

    def loss(at):
        q = softmax(np.exp(at[0]) * logits + at[1:]) @ noisy
        return -weight @ np.log(q[np.arange(len(k)), k]) + _BIAS_PRECISION * at[1:] @ at[1:] / 2

    bounds = [(-2, 2)] + [(None, None)] * K
    return minimize(loss, np.zeros(K + 1), method="L-BFGS-B", bounds=bounds).fun


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_the_interval_is_what_no_vector_scaling_makes_unlikely(noise, weighted):
    logits, T, k, _ = drawn(noise, 400)
    weight = np.random.default_rng(1).random(400) * 2 if weighted else np.ones(400)
    found = TransitionEstimate(logits, k, weight if weighted else None, T)
    levels = np.linspace(0, 0.99, 34)
    losses = np.array([profile_loss(logits, k, T, level, weight) for level in levels])
    unit = _INFLATION * (weight @ weight) / weight.sum()
    inside = levels[2 * (losses - losses.min()) / unit <= QUANTILE]
    assert found.noise_interval == pytest.approx((inside[0], inside[-1]), abs=0.035)
    errors = found.errors()
    assert errors.profile.identified
    spacing = np.diff(levels)[0]
    slopes = np.gradient(losses, spacing)  # the scores of a level sum to minus the slope
    matrices = errors.profile.matrices
    found_levels = (matrices[:, 0, 0] - T[0, 0]) / (1 / K - T[0, 0])
    middle = np.searchsorted(found_levels, found.noise_level)
    expected = -np.interp(found_levels[middle], levels, slopes)
    assert errors.scores[middle].sum() == pytest.approx(expected, abs=0.1 * abs(slopes).max())


def sampled(estimate, logits, k, T, n_rows, *, trust=0.0):
    """Return URE of argmax p and its standard error, on the labels that T was estimated on."""
    matrix = estimate.matrix(trust) if trust else None
    errors = estimate.errors(matrix, trust)
    if matrix is None:
        matrix = transition.with_uniform_noise(T, estimate.noise_level)
    outputs = evaluate.Outputs(logits, Reading("p", "max", T), matrix)
    rows = np.arange(n_rows)
    judgement = Judgement(estimate, errors=errors)
    found = evaluate.held_out(outputs, Samples(rows, k), rows, np.linalg.pinv(matrix), judgement)
    return found["ure"], found["ure_std_error"]


@pytest.mark.parametrize("trust", [0.0, 500.0])
def test_the_standard_error_of_URE_is_that_of_a_bootstrap_that_estimates_T_again(trust):
    n = 3000
    logits, T, k, _ = drawn(0.3, n, distorted=False)
    _, error = sampled(TransitionEstimate(logits, k, None, T), logits, k, T, n, trust=trust)
    rng, found = np.random.default_rng(0), []
    for _ in range(60 if trust else 150):
        i = rng.integers(n, size=n)
        again = TransitionEstimate(logits[i], k[i], None, T)
        matrix = transition.with_uniform_noise(T, again.noise_level)
        if trust:
            matrix = again.matrix(trust)
        predicted = logits[i].argmax(axis=1)
        found.append(evaluate.ure_losses(predicted, k[i], np.linalg.inv(matrix)).mean())
    # A bootstrap knows neither the errors of p nor that of the prior: it is the lower of the two.
    assert 0.85 < error / np.std(found) < (1.7 if trust else 1.45)


@pytest.mark.parametrize(("kind", "noise", "n"), [("uniform", 0.2, 180), ("strong", 0.5, 2000)])
def test_intervals_hold_the_truth_in_95_of_100_cases(kind, noise, n):
    levels, in_sample, fresh, naive, none = [], [], [], [], 0
    for seed in range(120):
        logits, T, k, _ = drawn(noise, n, seed, kind)
        estimate = TransitionEstimate(logits, k, None, T)
        low, high = estimate.noise_interval
        levels.append(low <= noise <= high)
        truth = TRUTH
        value, error = sampled(estimate, logits, k, T, n)
        if math.isnan(error):
            none += 1
            assert high == 1
            continue
        in_sample.append(abs(value - truth) < 1.96 * error)
        other, _, unseen, _ = drawn(noise, n, 1000 + seed, kind)
        matrix = transition.with_uniform_noise(T, estimate.noise_level)
        predicted = other.argmax(axis=1)
        value, error = metrics.ure_zero_one(
            unseen, predicted, matrix, profile=estimate.errors().profile, return_std_error=True
        )
        fresh.append(abs(value - truth) < 1.96 * error)
        value, error = metrics.ure_zero_one(unseen, predicted, matrix, return_std_error=True)
        naive.append(abs(value - truth) < 1.96 * error)
    assert none < 30
    for held in (levels, in_sample, fresh):
        assert np.mean(held) > 0.91
    assert np.mean(naive) < np.mean(fresh)


def _truth():
    logits, _, _, y = drawn(0.0, 200_000, 99)
    return float(np.mean(logits.argmax(axis=1) != y))


TRUTH = _truth()


def test_labels_that_may_be_independent_of_the_class_have_no_error_anywhere():
    rng = np.random.default_rng(0)
    X, k = rng.normal(size=(300, 3)), rng.integers(K, size=300)
    clf = linear_net(method="cpe-n", max_epochs=10, classes=range(K)).fit(X, k)
    assert clf.noise_interval_[1] == 1
    assert not clf.transition_profile_.identified
    assert np.isnan(clf.history_["ure_std_error"]).all()
    predicted = clf.predict(X)
    with pytest.warns(UserWarning, match="noise level reaches 1"):
        _, error = metrics.ure_zero_one(
            k,
            predicted,
            clf.label_transition_,
            profile=clf.transition_profile_,
            return_std_error=True,
        )
    assert math.isnan(error)
    with pytest.warns(UserWarning, match="noise level reaches 1"):
        shown = ConfusionDisplay.from_estimator_complementary(clf, X, k)
    assert np.isnan(shown.std_error).all()
    assert math.isnan(shown.error_std_error)
    assert "±" not in shown.ax_.get_title()


def test_the_errors_of_a_free_T_include_those_that_the_prior_leaves():
    logits, T, k, _ = drawn(0.3, 1000)
    estimate = TransitionEstimate(logits, k, None, T)
    spreads = []
    for trust in (10.0, 1000.0, 1e9):
        errors = estimate.errors(estimate.matrix(trust), trust)
        spreads.append(float((errors.profile.directions**2).sum()))
        np.testing.assert_allclose(errors.profile.directions.sum(axis=2), 0, atol=1e-9)
        np.testing.assert_allclose(errors.profile.matrices.sum(axis=2), 1)
        predicted = logits.argmax(axis=1)
        of_T = metrics.ure_zero_one(k, predicted, T, profile=errors.profile, return_std_error=True)
        assert of_T[1] > metrics.ure_zero_one(k, predicted, T, return_std_error=True)[1]
    assert spreads[0] > spreads[1] > spreads[2]
    # Endless trust leaves nothing unknown but the noise level.
    of_noise = estimate.errors().profile
    np.testing.assert_allclose(errors.profile.matrices, of_noise.matrices, atol=1e-4)
    np.testing.assert_allclose(errors.profile.statistic, of_noise.statistic)


def test_labels_in_patterns_have_the_same_errors():
    logits, T, k, _ = drawn(0.3, 500)
    patterns = Patterns(np.zeros((K, K)), np.eye(K))
    alone = TransitionEstimate(logits, k, None, T).errors()
    in_patterns = TransitionEstimate(logits, k, None, T, patterns).errors()
    assert alone.profile.statistic[0] == pytest.approx(in_patterns.profile.statistic[0], abs=0.05)
    np.testing.assert_allclose(
        alone.profile.matrices[[0, -1]], in_patterns.profile.matrices[[0, -1]], atol=2e-3
    )
