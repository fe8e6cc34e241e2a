"""Methods of the field: their readings, sets of labels, priors, and how they relate."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from neural_helpers import (
    SETS,
    as_read,
    evaluated,
    matrix,
    net,
    objective_of,
    random_batch,
    scarce,
    softmax,
)
from ybar import labels, transition
from ybar.labels.patterns import patterns_of
from ybar.neural import methods
from ybar.neural.objective import Run

NEW = ["op", "op-w", *SETS, "pc", "scarce"]


def random_sets(K, rows, seed=0):
    """Return boolean labels (rows, K), with at least one class ruled out and one allowed."""
    rng = np.random.default_rng(seed)
    ruled_out = rng.random((rows, K)) < 0.4
    ruled_out[np.arange(rows), rng.integers(0, K, rows)] = True
    allowed = (np.argmax(ruled_out, axis=1) + 1) % K
    ruled_out[np.arange(rows), allowed] = False
    assert len(np.unique(ruled_out.sum(axis=1))) > 2
    return ruled_out


@pytest.mark.parametrize("name", SETS)
def test_a_loss_of_label_sets_is_its_formula(name):
    g, _ = random_batch(6)
    ruled_out = random_sets(6, len(g))
    found = methods.METHODS[name].loss(torch.tensor(g), torch.tensor(ruled_out), None)
    sets = [set(np.flatnonzero(row)) for row in ruled_out]
    expected = [SETS[name](softmax(z), labels_) for z, labels_ in zip(g, sets, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("priors", [None, [0.1, 0.2, 0.3, 0.4]])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_negative_unlabelled_risk_is_its_formula(priors, weighted):
    g, _ = random_batch(4, rows=20)
    ruled_out = random_sets(4, 20)
    ruled_out[:, 2] = False  # class 2 is never ruled out
    weight = np.random.default_rng(1).uniform(0, 2, 20) if weighted else None
    found = methods.scarce(priors).loss(
        torch.tensor(g),
        torch.tensor(ruled_out),
        None,
        None if weight is None else torch.tensor(weight),
    )
    sets = [set(np.flatnonzero(row)) for row in ruled_out]
    assert float(found) == pytest.approx(scarce(g, sets, weight, priors), rel=1e-10)


def test_the_negative_unlabelled_risk_is_unbiased_without_its_correction():
    # For rows drawn from P(x, y), Σ_k of the two parts has the mean of the one-vs-rest loss.
    K, T = 3, matrix("uniform", 3)
    priors = np.array([0.2, 0.3, 0.5])
    n = 40_000
    rng = np.random.default_rng(0)
    y = rng.choice(K, n, p=priors)
    g = rng.normal(size=(n, K)) + 2 * np.eye(K)[y]
    ruled_out = np.eye(K, dtype=bool)[labels.draw(y, T, random_state=0)]
    # Uniform labels of rows with unequal priors: class k is ruled out with probability (1-π_k)/2.
    loss = methods.scarce(priors).loss(torch.tensor(g), torch.tensor(ruled_out), None)
    own = np.log1p(np.exp(-g))[np.arange(n), y]
    others = np.log1p(np.exp(g)).sum(axis=1) - np.log1p(np.exp(g))[np.arange(n), y]
    assert float(loss) == pytest.approx(np.mean(own + others), rel=0.02)


def sloped(name, g, y_comp, K, method=None):
    method = methods.METHODS[name] if method is None else method
    z = torch.tensor(g, requires_grad=True)
    rows = method.loss(z, as_read(name, torch.tensor(y_comp), K), torch.zeros(K, K))
    return torch.autograd.grad(rows.sum(), z)[0]


def test_proden_has_the_gradient_of_the_log_loss_on_allowed_classes():
    g, y_comp = random_batch(7)
    scaled = sloped("mcl-log", g, y_comp, 7) / (2 * 6)
    np.testing.assert_allclose(sloped("proden", g, y_comp, 7), scaled, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(scaled, sloped("scl-nl", g, y_comp, 7), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["op", "op-w", "pc", "mcl-log", "mcl-exp", "mcl-mae", "proden"])
def test_each_step_lowers_the_score_of_the_class_that_is_ruled_out(name):
    g, y_comp = random_batch(5, scale=1.0)
    slope = sloped(name, g, y_comp, 5).numpy()
    if name == "op-w":  # its weight falls with 1/s too, which may outweigh the rest
        slope = sloped(name, g, y_comp, 5, methods.op_w(differentiate=False)).numpy()
    assert (slope[np.arange(len(g)), y_comp] > 0).all()


@pytest.mark.parametrize("power", [None, 0, 0.5, 2.0])
@pytest.mark.parametrize("differentiate", [True, False])
def test_both_readings_of_the_weight_of_op_w(power, differentiate):
    g, y_comp = random_batch(5, scale=1.0)
    method = methods.op_w(power, differentiate=differentiate)
    p = [softmax(z) for z in g]
    s = [softmax(-np.array(z)) for z in g]
    expected = []
    for p_row, s_row, c in zip(p, s, y_comp, strict=True):
        weight = softmax([1 / v for v in s_row])[c] * p_row[c]
        weight = weight if power is None else p_row[c] ** power
        expected.append(-weight * math.log(s_row[c]))
    found = method.loss(torch.tensor(g), torch.tensor(y_comp), None)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    loss, gradient = method.gradient(torch.tensor(g).T, torch.tensor(y_comp), None)
    np.testing.assert_allclose(loss, expected, rtol=1e-10)
    np.testing.assert_allclose(
        gradient.T, sloped("op-w", g, y_comp, 5, method), rtol=1e-9, atol=1e-14
    )
    fixed = sloped("op-w", g, y_comp, 5, methods.op_w(power, differentiate=False))
    assert np.allclose(gradient.T, fixed) == (not differentiate or power == 0)


def test_the_published_op_w_differentiates_its_weight():
    g, y_comp = random_batch(5)
    published = sloped("op-w", g, y_comp, 5)
    np.testing.assert_allclose(published, sloped("op-w", g, y_comp, 5, methods.op_w()), rtol=1e-12)
    assert not np.allclose(
        published, sloped("op-w", g, y_comp, 5, methods.op_w(differentiate=False))
    )


@pytest.mark.parametrize("name", [*SETS, "scarce"])
def test_the_objective_reads_the_labels_of_a_row_together(name):
    K, rows = 5, 24
    g, _ = random_batch(K, rows)
    ruled_out = random_sets(K, rows)
    code, patterns = patterns_of(ruled_out, K)
    objective = objective_of([Run(methods.METHODS[name])], transition.uniform(K))
    code = torch.from_numpy(code)
    objective.observe(code, None, patterns)
    mean, gradient = evaluated(objective, torch.tensor(g).float()[None], code, None)
    z = torch.tensor(g, requires_grad=True)
    loss = methods.METHODS[name].loss(z, torch.tensor(ruled_out), None)
    (slope,) = torch.autograd.grad(loss.mean(), z)
    np.testing.assert_allclose(mean, [loss.mean().item()], rtol=1e-5)
    np.testing.assert_allclose(gradient[0], slope, atol=1e-6)


@pytest.mark.parametrize("name", NEW)
def test_each_method_learns_digits_from_uniform_labels(name, digits):
    y_comp = labels.draw(digits.y_train, transition.uniform(10), random_state=0)
    clf = net(method=name, max_epochs=60, learning_rate=3e-3).fit(digits.X_train, y_comp)
    # The gradient of mcl-mae vanishes where t is near 0 or 1: it leaves out whole classes.
    least = 0.2 if name == "mcl-mae" else 0.5
    assert np.mean(clf.predict(digits.X_test) == digits.y_test) > least
    assert clf.history_["scel"].min() < math.log(10)


@pytest.mark.parametrize("name", [*SETS, "scarce"])
def test_three_labels_per_row_teach_more_than_one(name, digits):
    rank = np.random.default_rng(0).random((len(digits.y_train), 10))
    rank[np.arange(len(rank)), digits.y_train] = 2  # the true class is never ruled out
    one, three = (rank <= np.sort(rank, axis=1)[:, [n]] for n in (0, 2))
    assert set(one.sum(axis=1)) == {1}
    assert set(three.sum(axis=1)) == {3}
    of_one, of_three = (
        np.mean(
            net(method=name, max_epochs=30).fit(digits.X_train, y).predict(digits.X_test)
            == digits.y_test
        )
        for y in (one, three)
    )
    assert of_three > max(of_one, 0.6)


@pytest.mark.parametrize("method", [methods.op_w(0.5), methods.scarce([0.2, 0.3, 0.5])])
def test_a_method_with_settings_can_be_cloned_and_pickled(method):
    clf = clone(net(method=method))
    assert clf.method.gradient.keywords == method.gradient.keywords
    assert pickle.loads(pickle.dumps(method)).loss.function.keywords == method.gradient.keywords


@pytest.mark.parametrize(
    ("priors", "came"),
    [
        ([0.5, 0.6], "1.1"),
        ([1.5, -0.5], "-0.5"),
        ([[0.5, 0.5]], "0.5"),
        ([math.nan, 1], "nan"),
        ("uniform", "uniform"),
    ],
)
def test_priors_that_are_no_distribution_are_refused(priors, came):
    with pytest.raises(ValueError, match=r"^priors must be") as caught:
        methods.scarce(priors)
    assert came in str(caught.value)
    assert "\n" not in str(caught.value)


def test_priors_of_another_number_of_classes_are_refused():
    X, y = np.zeros((30, 2)), np.arange(30) % 3
    with pytest.raises(ValueError, match=r"^priors must have .* 3 here; got 2$"):
        net(method=methods.scarce([0.4, 0.6])).fit(X, y)


@pytest.mark.parametrize("power", [-1, math.inf, "2", True])
def test_a_power_that_is_none_is_refused(power):
    with pytest.raises(ValueError, match=r"^power must be a number of at least 0; got"):
        methods.op_w(power)


@pytest.mark.parametrize("name", [*SETS, "scarce"])
def test_a_row_that_rules_out_every_class_is_refused(name):
    y = np.eye(4, dtype=bool)[np.arange(40) % 4]
    y[7] = True
    with pytest.raises(ValueError, match=r"^y must leave at least one class .* row 7 "):
        net(method=name, transition=np.full((4, 4), 0.25)).fit(np.zeros((40, 2)), y)
