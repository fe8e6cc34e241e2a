"""Noise that nobody told of: its level, how sure that is, and a T that may stray."""

import numpy as np
import pytest
import torch

from neural_helpers import objective_of
from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    datasets,
    labels,
    metrics,
    transition,
)
from ybar.displays import ConfusionDisplay
from ybar.experiments.runs import networks
from ybar.labels import Evidence
from ybar.neural import evaluate, fitting, methods, population, transition_layer
from ybar.neural.loop import Recipe
from ybar.neural.objective import Run
from ybar.neural.samples import Patterns, Samples
from ybar.neural.transition_estimate import TransitionEstimate

K = 5


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def synthetic(noise, seed=0, n=20_000):
    """Return logits, T without noise, and labels drawn from the p they give, with noise."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 3
    p = np.exp(evaluate.log_softmax(logits))
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    T = transition.strong(K, random_state=seed)
    return logits, T, labels.draw(y, transition.with_uniform_noise(T, noise), rng)


def total(logits, k, T, noise, scale=1.0, weight=None):
    q = np.exp(evaluate.log_softmax(scale * logits)) @ ((1 - noise) * T + noise / K)
    losses_of_rows = -np.log(q[np.arange(len(k)), k])
    return np.sum(losses_of_rows if weight is None else losses_of_rows * weight)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_level_is_the_likeliest_and_the_interval_what_is_not_rejected(noise, weighted):
    logits, T, k = synthetic(noise, n=2000)
    weight = np.random.default_rng(1).random(len(k)) * 2 if weighted else None
    found = TransitionEstimate(logits, k, weight, T)
    grid, scales = np.linspace(0, 1, 51), np.exp(np.linspace(-2, 2, 61))
    values = np.array([[total(logits, k, T, a, b, weight) for b in scales] for a in grid]).min(1)
    assert found.noise_level == pytest.approx(grid[values.argmin()], abs=0.021)
    each = 1 if weight is None else np.sum(weight**2) / np.sum(weight)
    inside = grid[values <= values.min() + each * 3.841459 / 2]
    assert found.noise_interval() == pytest.approx((inside[0], inside[-1]), abs=0.021)
    low, high = found.noise_interval()
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
        low, high = TransitionEstimate(logits, k, None, T).noise_interval()
        covered += low <= 0.3 <= high
    assert 0.88 <= covered / 100 <= 1


def test_weights_that_differ_make_the_interval_wider():
    covered = 0
    for seed in range(60):
        logits, T, k = synthetic(0.3, seed, n=1000)
        weight = np.where(np.arange(1000) % 10 == 0, 10.0, 0.1)
        low, high = TransitionEstimate(logits, k, weight, T).noise_interval()
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
    assert in_patterns.noise_interval() == pytest.approx(alone.noise_interval(), abs=1e-3)


def net(**params):
    defaults = {"hidden_layer_sizes": (), "max_epochs": 30, "random_state": 0, "dropout": 0}
    return ComplementaryNetClassifier(**{**defaults, "learning_rate": 1e-2, **params})


def test_noise_is_found_where_T_allows_a_label_to_no_class():
    T = np.array([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]])
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    y_comp = labels.draw(y, transition.with_uniform_noise(T, 0.3), rng)
    logits = 20.0 * np.eye(3)[y]
    found = TransitionEstimate(logits, y_comp, None, T)
    low, high = found.noise_interval()
    assert low < 0.3 < high
    assert 0.25 < found.noise_level < 0.35
    assert np.isposinf(evaluate.scel_losses(logits, np.full(3000, 2), "p", T)).all()


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_noise_in_the_labels_of_real_digits_is_noticed(digits, noise):
    T = transition.strong(10, random_state=0)
    X = np.tile(digits.X_train, (4, 1))
    rng = np.random.default_rng(0)
    y = np.tile(digits.y_train, 4)
    y_comp = labels.draw(y, transition.with_uniform_noise(T, noise), rng)
    clf = net(method="cpe-n", transition=T, input_dropout=0).fit(X, y_comp)
    low, high = clf.noise_interval_
    assert 0 <= low <= clf.noise_ <= high < 1
    # Digits leave a linear model unsure, which explains much of the noise as well.
    assert clf.noise_ < noise + 0.1
    assert (clf.noise_ > 0.1) == (noise > 0)
    level = 10 * clf.learned_transition_[0, 0]
    expected = transition.with_uniform_noise(T, level)
    np.testing.assert_allclose(clf.learned_transition_, expected, atol=1e-5)


def test_after_a_thousand_steps_the_held_out_level_is_what_is_trained_with(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, transition.with_uniform_noise(T, 0.4), random_state=0)
    how = {"method": "cpe-n", "transition": T, "batch_size": 32, "select": "last"}
    clf = net(max_epochs=40, **how).fit(digits.X_train, y_comp)
    expected = transition.with_uniform_noise(T, max(clf.noise_, 1e-4))
    np.testing.assert_allclose(clf.learned_transition_, expected, atol=1e-3)


def test_without_held_out_rows_the_level_is_learned_by_gradients(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    clf = net(method="cpe-n", transition=T, validation_fraction=0, select="last")
    clf.fit(digits.X_train, y_comp)
    assert not hasattr(clf, "noise_interval_")
    assert 0 < clf.noise_ < transition_layer.FIRST_NOISE
    clf = net(method="cpe-n", transition=T).fit(digits.X_train, y_comp)
    assert hasattr(clf, "noise_interval_")
    clf.partial_fit(digits.X_train[:200], y_comp[:200])
    assert not hasattr(clf, "noise_interval_")


def test_trust_in_T_is_worth_so_many_labels_of_each_class():
    T = transition.strong(K, random_state=0)
    method = methods.find("cpe-t")
    runs = [Run(method, trust=trust) for trust in (0.0, 30.0)]
    objective = objective_of(runs, T)
    rng = np.random.default_rng(0)
    k = torch.from_numpy(rng.integers(K, size=64))
    logits = torch.from_numpy(rng.normal(size=(2, 64, K))).float()
    logits[1] = logits[0]
    objective.observe(k, None, None)
    first = objective.transition.parameters[1].softmax(-1).clone()
    with torch.no_grad():
        for own in objective.transition.parameters:
            own += torch.from_numpy(np.random.default_rng(1).normal(size=(K, K))).float()
    objective(logits, k, None)
    W = objective.transition.parameters[1].clone().requires_grad_()
    divergence = (first * (first.log() - W.log_softmax(-1))).sum()
    (expected,) = torch.autograd.grad(30 / 64 * divergence, W)
    added = objective.transition.parameters[1].grad - objective.transition.parameters[0].grad
    np.testing.assert_allclose(added, expected, atol=1e-6)


def strayed(seed=0, n=20_000):
    """Return logits, a T, labels that come from another one, and that one."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 3
    p = np.exp(evaluate.log_softmax(logits))
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    T = transition.strong(K, random_state=seed)
    true = 0.8 * T + 0.2 * np.roll(np.eye(K), 1, axis=1) * [1, 0, 1, 0, 1]
    true[:, 0] += 1 - true.sum(axis=1)
    return logits, T, labels.draw(y, true, rng), true


@pytest.mark.parametrize("trust", [1.0, 50.0, 2000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_T_found_is_what_the_labels_and_those_that_trust_adds_expect_of_it(trust, weighted):
    logits, T, k, _ = strayed(n=2000)
    weight = np.random.default_rng(1).random(len(k)) * 2 if weighted else np.ones(len(k))
    found = TransitionEstimate(logits, k, weight if weighted else None, T)
    first = transition.with_uniform_noise(T, max(found.noise_level, 1e-3))
    mine = found.matrix(trust)

    def loss(T, scale):
        q = np.exp(evaluate.log_softmax(scale * logits)) @ T
        return -np.sum(weight * np.log(q[np.arange(len(k)), k])) - trust * np.sum(first * np.log(T))

    scales = np.exp(np.linspace(-2, 2, 2001))
    scale = scales[np.argmin([loss(mine, scale) for scale in scales])]
    # A step of EM: the labels expected of each class, and those of `trust`.
    p = np.exp(evaluate.log_softmax(scale * logits))
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


def test_each_half_of_the_labels_is_judged_under_the_T_of_the_other():
    logits, T, k, _ = strayed(n=2000)
    rows = np.repeat(np.arange(1000), 2)
    weight = np.random.default_rng(0).random(2000)
    halves = TransitionEstimate(logits, k, weight, T).cross_fitted(rows, 30)
    parts = [(np.flatnonzero(rows % 2 == i), T_half) for i, T_half in enumerate(halves)]
    for part, T_elsewhere in parts:
        others = np.setdiff1d(np.arange(2000), part)
        assert not set(rows[part]) & set(rows[others])
        alone = TransitionEstimate(logits[others], k[others], weight[others], T).matrix(30)
        np.testing.assert_allclose(T_elsewhere, alone, atol=1e-9)
    outputs = evaluate.Outputs(logits, evaluate.Reading("p", "max", T), T)
    values = evaluate.held_out(
        outputs, Samples(np.arange(2000), k), np.arange(2000), np.linalg.pinv(T), parts
    )
    q = np.exp(evaluate.log_softmax(logits))
    expected = [-np.log((q[part] @ own)[np.arange(len(part)), k[part]]) for part, own in parts]
    assert values["scel"] == pytest.approx(np.concatenate(expected).mean())


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_held_out_label_leaves_T_where_it_was_given(n):
    logits, T, k, _ = strayed(n=5)
    found = TransitionEstimate(logits[:n], k[:n], None, T)
    away = np.abs(found.matrix(100) - transition.with_uniform_noise(T, found.noise_level))
    assert away.max() < 0.02
    assert len(found.cross_fitted(np.arange(n), 100)) == 2


def test_a_T_found_on_held_out_labels_is_what_is_trained_with(digits):
    T = transition.strong(10, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.5)
    y = np.tile(digits.y_train, 4)
    X, y_comp = np.tile(digits.X_train, (4, 1)), labels.draw(y, noisy, random_state=0)
    how = {"input_dropout": 0, "decoder": "max", "max_epochs": 20}
    scores = {}
    for method, told, trust in (("cpe-f", T, 0), ("cpe-t", T, 1000), ("cpe-f", noisy, 0)):
        clf = net(method=method, transition=told, transition_trust=trust, **how).fit(X, y_comp)
        scores[method, told is noisy] = np.mean(clf.predict(digits.X_test) == digits.y_test)
        if trust:
            strayed = np.abs(clf.learned_transition_ - noisy).sum() / np.abs(T - noisy).sum()
    assert strayed < 0.6
    assert scores["cpe-t", False] > scores["cpe-f", False] + 0.02
    assert scores["cpe-t", False] > scores["cpe-f", True] - 0.03


def test_much_trust_holds_T_and_none_lets_it_go(digits):
    T = transition.strong(10, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.4)
    y_comp = labels.draw(digits.y_train, noisy, random_state=0)
    strayed = {
        trust: np.abs(
            net(method="cpe-t", transition=T, transition_trust=trust)
            .fit(digits.X_train, y_comp)
            .learned_transition_
            - T
        ).sum()
        for trust in (0, 100, 1e7)
    }
    assert strayed[0] > strayed[100] > strayed[1e7]
    assert strayed[1e7] < 0.1


def test_the_search_chooses_the_trust_by_scel(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    search = ComplementaryNetClassifierCV(
        "cpe-t",
        (),
        learning_rates=[1e-2, 1e-3],
        transition_trusts=[0, 1000],
        transition=T,
        max_epochs=5,
        random_state=0,
    ).fit(digits.X_train, y_comp)
    results = search.cv_results_
    assert len(results["params"]) == 4
    best = results["params"][int(np.argmin(results["scel"]))]
    assert search.best_params_ == best
    assert search.transition_trust_ == best["transition_trust"]
    assert set(search.histories_) == {1e-2, 1e-3}
    alone = net(
        method="cpe-t",
        transition=T,
        max_epochs=5,
        dropout=0.5,
        **{name: best[name] for name in ("learning_rate", "transition_trust")},
    ).fit(digits.X_train, y_comp)
    np.testing.assert_allclose(alone.coefs_[0], search.coefs_[0], atol=1e-5)


@pytest.mark.parametrize("wrong", [-1, np.nan, "much", True, None])
def test_trust_is_a_number_of_labels(digits, wrong):
    clf = net(method="cpe-t", transition_trust=wrong)
    with pytest.raises(ValueError, match="transition_trust must be a finite number of at least 0"):
        clf.fit(digits.X_train, digits.y_train)
    search = ComplementaryNetClassifierCV("cpe-t", (), transition_trusts=[wrong])
    if wrong is not True:
        with pytest.raises(ValueError, match="transition_trusts must be a list of numbers"):
            search.fit(digits.X_train, digits.y_train)


def test_trust_is_refused_where_no_T_is_learned(digits):
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    for clf, name in (
        (net(method="cpe-n", transition_trust=5), "transition_trust must be 0"),
        (ComplementaryNetClassifierCV(transition_trusts=[0, 5]), "transition_trusts must be 0"),
    ):
        with pytest.raises(ValueError, match=name):
            clf.fit(digits.X_train, y_comp)


def noisy_blobs(noise=0.5, n=9000, n_classes=5):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = (np.eye(n_classes)[y] + rng.normal(0, 0.3, (n, n_classes))).astype(np.float32)
    T = transition.strong(n_classes, random_state=3)
    return X, y, labels.draw(y, transition.with_uniform_noise(T, noise), rng), T


@pytest.mark.parametrize("settings", [{"method": "cpe-n"}, {"method": "cpe-t"}])
def test_error_rates_are_estimated_under_the_noise_that_was_found(settings):
    X, y, y_comp, T = noisy_blobs()
    if settings["method"] == "cpe-t":
        settings = {**settings, "transition_trust": 1000}
    clf = net(transition=T, **settings).fit(X[:5000], y_comp[:5000])
    predicted, unseen = clf.predict(X[5000:]), y_comp[5000:]
    T_learned = clf.learned_transition_
    found, error = metrics.ure_zero_one(unseen, predicted, T_learned, return_std_error=True)
    assert metrics.ure_scorer(clf, X[5000:], unseen) == pytest.approx(-found)
    assert abs(found - np.mean(predicted != y[5000:])) < 4 * error
    assert abs(metrics.ure_zero_one(unseen, predicted, T) - found) > 4 * error  # as it was given
    assert abs(clf.history_["ure"][-1]) < 0.3
    shown = ConfusionDisplay.from_estimator_complementary(clf, X[5000:], unseen)
    assert np.trace(shown.matrix) / shown.matrix.sum() == pytest.approx(1 - found, abs=0.02)


def test_error_rates_are_estimated_under_the_T_given_where_gradients_moved_it():
    X, _, y_comp, T = noisy_blobs(0.0, n=2000)
    clf = net(method="cpe-t", transition=T, max_epochs=5).fit(X, y_comp)
    assert not np.allclose(clf.learned_transition_, T)
    expected = metrics.ure_zero_one(y_comp, clf.predict(X), T)
    assert metrics.ure_scorer(clf, X, y_comp) == pytest.approx(-expected)


def test_a_T_that_is_only_near_the_true_one_does_not_decode():
    X, _, y_comp, T = noisy_blobs(n=2000)
    clf = net(method="cpe-t", transition=T, transition_trust=100, max_epochs=5).fit(X, y_comp)
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X).argmax(axis=1))
    assert clf.decoder_ == "max"
    assert net(method="cpe-t", transition=T, max_epochs=5).fit(X, y_comp).decoder_ == "l1"


@pytest.mark.parametrize("patience", [None, 2])
def test_the_epoch_kept_is_one_that_trained_with_the_noise_found(patience):
    X, _, y_comp, T = noisy_blobs(0.3, n=2000)
    clf = net(method="cpe-n", transition=T, max_epochs=20, learning_rate=0.1, patience=patience)
    clf.fit(X, y_comp)
    assert clf.best_epoch_ >= 10  # 8 batches an epoch: the noise is given after half of 160 steps
    expected = transition.with_uniform_noise(T, clf.noise_)
    np.testing.assert_allclose(clf.learned_transition_, expected, atol=2e-4)


def test_noise_is_found_from_all_labels_of_a_row_together():
    rng = np.random.default_rng(0)
    n, n_classes = 1500, 10
    y = rng.integers(n_classes, size=n)
    X = (np.eye(n_classes)[y] + rng.normal(0, 0.5, (n, n_classes))).astype(np.float32)
    T = transition.strong(n_classes, random_state=0)
    first, second = (labels.draw(y, transition.with_uniform_noise(T, 0.3), rng) for _ in range(2))
    X, first, second = (array[first != second] for array in (X, first, second))
    mask = np.eye(n_classes, dtype=bool)[first] | np.eye(n_classes, dtype=bool)[second]
    rows, held_out = np.arange(len(X)), np.arange(len(X))[::5]
    sets, code = np.unique(mask, axis=0, return_inverse=True)
    patterns = Patterns(np.zeros(sets.shape), sets.astype(float))
    training = Samples(rows, code.reshape(-1), None, patterns)
    together = Samples(held_out, code.reshape(-1)[held_out], None, patterns)
    row, k = np.nonzero(mask[held_out])
    run = Run(methods.METHODS["cpe-n"], 0.01)

    def found(validation, jointly):
        (record,) = fitting.fit_runs(
            [run],
            population.Data(X, training, validation, T, jointly=jointly),
            fitting.Architecture((n_classes, n_classes)),
            Recipe(max_epochs=10),
            population.Selection("last"),
            order_seed=0,
            mask_seed=0,
        )
        return record.learned.noise_level, record.history["scel"][-1]

    one_by_one = Samples(held_out[row], k)
    noise, scel = found(one_by_one, together)
    assert noise == pytest.approx(found(together, None)[0], abs=1e-6)
    assert noise != pytest.approx(found(one_by_one, None)[0], abs=1e-3)
    assert scel < np.log(n_classes) + 0.1  # of a label still, not of a row


def test_noise_cannot_be_found_where_no_label_is_complementary(digits):
    T, y = transition.strong(10, random_state=0), digits.y_train
    y_comp = labels.draw(y[600:], T, random_state=0)
    known = Evidence.ordinary(y[:600], classes=10)
    mixed = Evidence.concatenate([known, Evidence.complementary(y_comp, T)])
    with pytest.raises(ValueError, match="y must hold complementary labels under one T"):
        net(method="cpe-n").fit(digits.X_train[:600], mixed[:600])


def test_noise_in_evidence_of_several_kinds_is_found(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, transition.with_uniform_noise(T, 0.3), random_state=0)
    y = digits.y_train
    known = Evidence.ordinary(y[:600], classes=10)
    evidence = Evidence.concatenate([known, Evidence.complementary(y_comp[600:], T)])
    clf = net(method="cpe-n").fit(digits.X_train, evidence)
    assert clf.noise_ == pytest.approx(0.3, abs=0.2)
    assert clf.noise_interval_[0] < clf.noise_ < clf.noise_interval_[1]


def test_epochs_that_had_another_T_are_not_among_the_best(digits):
    """T is found after half of so few steps; until then SCEL is that of the T it started from."""
    T = transition.strong(10, random_state=0)
    noisy = transition.with_uniform_noise(T, 0.5)
    y_comp = labels.draw(digits.y_train, noisy, random_state=0)
    rows = np.arange(len(y_comp))
    (record,) = fitting.fit_runs(
        [Run(methods.find("cpe-n"), 1e-3)],
        population.Data(
            digits.X_train,
            Samples(rows[300:], y_comp[300:]),
            Samples(rows[:300], y_comp[:300]),
            T,
        ),
        fitting.Architecture([64, 10]),
        Recipe(6, 100, 0.0, 0.0),
        population.Selection("best"),
        order_seed=0,
        mask_seed=0,
    )
    assert record.comparable_from == 3  # epochs 1 and 2 end before half of the steps
    assert record.kept_epoch >= 3
    curves = {"scel": np.array([1.0, 1.1, 3.0, 2.0, 2.5])}
    assert networks.figures(curves, 3)["best-scel.epoch"] == 4
    assert networks.figures(curves)["best-scel.epoch"] == 1
    assert networks.figures(curves, 9)["best-scel.epoch"] == 5  # all that there is
