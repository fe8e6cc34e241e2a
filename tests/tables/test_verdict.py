"""Whether held-out labels show that a model has learned anything."""

import itertools

import numpy as np
import pytest

from ybar import labels, transition
from ybar.tables import answers, scoring, verdict
from ybar.tables.labels import ComplementaryLabels


def drawn(n, K, seed, n_labels=1):
    """Classes, and the mask of their uniform labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    mask = np.zeros((n, K), dtype=bool)
    for _ in range(n_labels):
        mask[np.arange(n), labels.draw(y, transition.uniform(K), rng)] = True
    return y, mask


@pytest.mark.parametrize("n_labels", [1, 2])
def test_scores_have_mean_0_and_variance_1_over_all_permutations(n_labels):
    _, mask = drawn(5, 3, 0, n_labels)
    table = np.log(np.random.default_rng(1).dirichlet(np.ones(3), 5))
    scores = verdict._standardised(table, mask)
    sums = [float((scores[list(order)] * mask).sum()) for order in itertools.permutations(range(5))]
    assert np.mean(sums) == pytest.approx(0, abs=1e-12)
    assert np.var(sums) == pytest.approx(1)


@pytest.mark.parametrize("K", [3, 200])
def test_labels_that_do_not_depend_on_the_features_are_rarely_called_informative(K):
    rng = np.random.default_rng(0)
    found = []
    for seed in range(60):
        mask = drawn(150, K, seed)[1]
        outputs = [rng.dirichlet(np.ones(K), 150) @ transition.uniform(K) for _ in range(4)]
        found.append(verdict.p_value(outputs, mask, seed))
    assert np.mean(np.array(found) <= 0.1) < 0.25  # 6 of 60 are expected
    assert np.mean(found) == pytest.approx(0.5, abs=0.15)


def test_an_output_that_differs_from_equal_shares_by_rounding_is_no_information():
    K, rng = 200, np.random.default_rng(0)
    _, mask = drawn(400, K, 0)
    nearly = 1 / K + 2e-6 * rng.normal(size=(400, K))
    assert verdict.p_value([nearly], mask, 0) > verdict.LEVEL
    assert verdict.p_value([np.full((400, K), 1 / K)], mask, 0) == 1


def test_a_model_that_is_far_too_confident_does_not_hide_what_it_has_learned():
    K = 6
    y, mask = drawn(300, K, 0)
    p = np.eye(K)[np.where(np.random.default_rng(1).random(300) < 0.7, y, (y + 1) % K)]
    output = p @ transition.uniform(K)
    losses = scoring.label_losses(output, mask)
    assert losses.mean() > np.log(K)  # worse than a constant guess by SCEL
    assert verdict.p_value([output], mask, 0) <= verdict.LEVEL


def test_answers_are_compared_with_those_to_the_same_question():
    """Which class is asked about depends on the features, and so do answers at random."""
    K, n = 4, 300
    found = {"at random": [], "right": [], "at random, all questions alike": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.integers(K, size=n)
        asked = np.where(rng.random(n) < 0.6, y, rng.integers(K, size=n))
        outputs = [answers.probabilities((0.2 + np.eye(K)[y]) / (1 + 0.2 * K))]
        for name in found:
            yes = asked == y if name == "right" else rng.random(n) < np.where(asked == 0, 0.9, 0.2)
            mask = np.eye(K, dtype=bool)[asked] ^ yes[:, None]
            given = answers.answered(ComplementaryLabels(mask, list("abcd"), asked))
            assert (given.argmax(axis=1) == asked + K * ~yes).all()
            strata = None if "alike" in name else asked
            found[name].append(verdict.p_value(outputs, given, seed, strata))
    assert np.mean(np.array(found["at random"]) <= 0.1) < 0.35  # 2 of 20 are expected
    assert max(found["right"]) <= verdict.LEVEL
    assert np.mean(np.array(found["at random, all questions alike"]) <= 0.1) > 0.5


def test_the_constant_guess_is_not_worse_than_equal_shares_if_those_are_the_truth():
    K, T = 200, transition.uniform(200)
    scel = []
    for seed in range(20):
        (_, training), (_, held_out) = drawn(800, K, seed), drawn(2000, K, 100 + seed)
        parts = (ComplementaryLabels(mask, [""] * K) for mask in (training, held_out))
        scel.append(scoring.constant_losses(*parts, T).mean())
    assert np.mean(scel) < np.log(K) + 0.002


def test_the_constant_guess_has_the_frequencies_of_labels_if_there_are_many():
    T = transition.uniform(4)
    mask = np.eye(4, dtype=bool)[np.repeat([0, 1, 2, 3], [10, 2000, 3000, 4000])]
    guess = scoring.constant_guess(mask, T)
    np.testing.assert_allclose(guess, mask.mean(axis=0), atol=0.002)
    assert guess.sum() == pytest.approx(1)
