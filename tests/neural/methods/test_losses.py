"""Every method's loss: its formula by plain loops, weights, leading dimensions, extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from neural_helpers import (
    CORRECTED,
    LEARNING,
    NAMES,
    WHOLE_BATCH,
    as_read,
    calm_batch,
    class_risks,
    each_kind,
    each_name,
    each_size,
    evaluated,
    learned_matrix,
    log_transition,
    loss_of,
    matrix,
    objective_of,
    random_batch,
    reference,
    softmax,
    start,
    torn_batch,
)
from ybar import (
    transition,
)
from ybar.neural import methods
from ybar.neural.objective import Run


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WHOLE_BATCH + LEARNING])
@each_kind
@each_size
def test_each_loss_is_its_formula(name, kind, K):
    T = matrix(kind, K)
    g, y_comp = random_batch(K)
    found = loss_of(name, g, y_comp, T)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found, reference(name, g, y_comp, T), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("moved", [0.0, 0.7])
@each_kind
@each_size
def test_each_loss_with_a_learned_transition_is_its_formula(name, moved, kind, K):
    T = matrix(kind, K)
    g, y_comp = random_batch(K)
    learned = start(name, T)
    learned += moved * torch.from_numpy(np.random.default_rng(1).normal(size=learned.shape))
    its_T = learned_matrix(name, learned.numpy(), T)
    np.testing.assert_allclose(log_transition(name, T, learned).exp(), its_T, rtol=1e-12)
    found = loss_of(name, g, y_comp, T, learned=learned)
    np.testing.assert_allclose(found, reference(name, g, y_comp, its_T), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("negative", [True, False])
@each_kind
@each_size
def test_each_loss_of_a_whole_batch_is_its_formula(name, negative, kind, K):
    T = matrix(kind, K)
    g, y_comp = torn_batch(T) if negative else calm_batch(T)
    R = class_risks(g, y_comp, T)
    assert (min(R) < 0) == negative
    assert max(R) > 0
    found = loss_of(name, g, y_comp, T)
    assert found.shape == ()
    np.testing.assert_allclose(found, reference(name, g, y_comp, T), rtol=1e-10)


@each_size
def test_ure_under_uniform_T_is_the_sum_of_all_losses_less_that_of_the_label(K):
    g, y_comp = random_batch(K)
    loss = [[-math.log(v) for v in softmax(z)] for z in g]
    expected = [sum(row) - (K - 1) * row[c] for row, c in zip(loss, y_comp, strict=True)]
    np.testing.assert_allclose(loss_of("ure", g, y_comp, matrix("uniform", K)), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "T",
    [
        [[0.0, 0.4, 0.6], [0.0, 0.4, 0.6], [0.625, 0.375, 0.0]],
        [[0, 0.5, 0.3, 0.2], [0.4, 0, 0.4, 0.2], [0.2, 0.25, 0.35, 0.2], [0.1, 0.1, 0.8, 0]],
    ],
)
def test_ure_takes_the_pseudo_inverse_of_a_singular_T(T):
    T = np.array(T)
    K = len(T)
    g, y_comp = random_batch(K)
    pseudo = np.linalg.pinv(T)
    expected = [
        sum(-pseudo[c, k] * math.log(softmax(z)[k]) for k in range(K))
        for z, c in zip(g, y_comp, strict=True)
    ]
    np.testing.assert_allclose(loss_of("ure", g, y_comp, T), expected, rtol=1e-9, atol=1e-12)
    with np.errstate(divide="ignore"):
        objective = objective_of([Run(methods.METHODS["ure"])], T)
    found, _ = evaluated(objective, torch.tensor(g).float()[None], torch.tensor(y_comp), None)
    assert float(found) == pytest.approx(np.mean(expected), rel=1e-3)


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("negative", [True, False])
@each_kind
def test_weights_in_a_whole_batch_count_as_rows(name, negative, kind):
    T = matrix(kind, 5)
    g, y_comp = torn_batch(T) if negative else calm_batch(T)
    weight = np.random.default_rng(2).uniform(*((0.2, 1.8) if negative else (0.99, 1.01)), len(g))
    assert (min(class_risks(g, y_comp, T, weight)) < 0) == negative
    found = loss_of(name, g, y_comp, T, torch.from_numpy(weight))
    np.testing.assert_allclose(found, reference(name, g, y_comp, T, weight), rtol=1e-10)
    assert not math.isclose(found, reference(name, g, y_comp, T), rel_tol=1e-8)
    ones = loss_of(name, g, y_comp, T, torch.ones(len(g), dtype=torch.float64))
    np.testing.assert_allclose(ones, loss_of(name, g, y_comp, T, None), rtol=1e-14)


@pytest.mark.parametrize("name", WHOLE_BATCH)
def test_a_row_of_weight_two_is_a_row_given_twice(name):
    T = matrix("weak", 4)
    g, y_comp = random_batch(4, rows=12)
    weight = np.ones(12)
    weight[[3, 5]] = 2, 0
    twice = np.r_[0, 1, 2, 3, 3, 4, 6:12]
    found = loss_of(name, g, y_comp, T, torch.from_numpy(weight))
    np.testing.assert_allclose(found, loss_of(name, g[twice], y_comp[twice], T), rtol=1e-12)


EXTREME = {
    "random signs": lambda rows, K: 1e4 * np.random.default_rng(0).choice([-1.0, 1.0], (rows, K)),
    "one high": lambda rows, K: 1e4 * np.eye(K)[np.arange(rows) % K],
    "one high, others low": lambda rows, K: 1e4 * (2 * np.eye(K)[np.arange(rows) % K] - 1),
    "one low": lambda rows, K: -1e4 * np.eye(K)[np.arange(rows) % K],
    "all equal": lambda rows, K: np.repeat([[1e4], [-1e4]], rows // 2, axis=0) * np.ones(K),
    "between": lambda rows, K: np.random.default_rng(0).uniform(-1e4, 1e4, (rows, K)),
}


@each_name
@pytest.mark.parametrize("pattern", EXTREME)
@pytest.mark.parametrize("kind", ["uniform", "cyclic"])
def test_losses_and_gradients_are_finite_at_extreme_logits(name, pattern, kind):
    K, rows = 5, 50
    T = matrix(kind, K)
    assert (np.diag(T) == 0).all()
    assert np.linalg.cond(T) < 1e3
    assert kind != "cyclic" or [(row > 0).sum() for row in T] == [1, 2, 1, 2, 1]
    g = torch.tensor(EXTREME[pattern](rows, K), dtype=torch.float32)
    objective = objective_of([Run(methods.METHODS[name])], T)
    every_label = [np.full(rows, c) for c in range(K)] + [np.arange(rows) // K % K]
    for y_comp in map(torch.from_numpy, every_label):
        z = g.clone().requires_grad_()
        learned = start(name, T, torch.float32)
        inputs = [z] if learned is None else [z, learned.requires_grad_()]
        loss = loss_of(name, z, y_comp, T, learned=learned)
        assert loss.isfinite().all()
        for slope in torch.autograd.grad(loss.sum(), inputs):
            assert slope.isfinite().all()
        for weight in (None, torch.linspace(0, 2, rows)):
            mean, gradient = evaluated(objective, g[None], y_comp, weight)
            assert mean.isfinite().all()
            assert gradient.isfinite().all()
            assert learned is None or objective.transition.parameters[0].grad.isfinite().all()


@pytest.mark.parametrize(
    ("name", "at_label", "loss", "slope"),
    [
        # -log of a p that is 0 to rounding is the logits' difference, and still pushes at full.
        ("fwd", 1e4, 1e4, [-1 / 3, 1, -1 / 3, -1 / 3]),
        ("cpe-f", 1e4, 1e4, [-1 / 3, 1, -1 / 3, -1 / 3]),
        ("scl-nl", 1e4, 1e4 - math.log(3), [-1 / 3, 1, -1 / 3, -1 / 3]),
        ("scl-exp", 1e4, math.e, [0, 0, 0, 0]),
        ("cpe-i", 1e4, 0, [0, 0, 0, 0]),
        ("ure", 1e4, 3e4, [-1, 3, -1, -1]),
        ("fwd", -1e4, math.log(3), [0, 0, 0, 0]),
        ("scl-nl", -1e4, 0, [0, 0, 0, 0]),
        ("scl-exp", -1e4, 1, [0, 0, 0, 0]),
        ("cpe-i", -1e4, 1e4 + math.log(3), [1 / 3, -1, 1 / 3, 1 / 3]),
        ("ure", -1e4, -2e4 + math.log(3), [-2 / 3, 2, -2 / 3, -2 / 3]),
    ],
)
def test_at_extreme_logits_a_loss_and_its_gradient_are_their_limits(name, at_label, loss, slope):
    g = torch.tensor([[0.0, at_label, 0.0, 0.0]])
    objective = objective_of([Run(methods.METHODS[name])], transition.uniform(4))
    found, gradient = evaluated(objective, g[None], torch.tensor([1]), None)
    np.testing.assert_allclose(found, [loss], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient[0, 0], slope, rtol=0, atol=1e-3)  # float32 at 1e4


@each_name
@pytest.mark.parametrize("lead", [(3,), (2, 2)])
def test_leading_dimensions_are_runs_that_do_not_meet(name, lead):
    T, rows = matrix("strong", 4), 12
    rng = np.random.default_rng(4)
    g, y_comp = rng.normal(size=(*lead, rows, 4)), rng.integers(0, 4, rows)
    together = loss_of(name, g, y_comp, T)
    assert together.shape == (lead if name in WHOLE_BATCH else (*lead, rows))
    for run in np.ndindex(*lead):
        np.testing.assert_allclose(together[run], loss_of(name, g[run], y_comp, T), rtol=1e-12)


@each_name
def test_each_run_may_have_a_transition_of_its_own(name):
    rng = np.random.default_rng(5)
    g, y_comp = rng.normal(size=(3, 12, 4)), torch.from_numpy(rng.integers(0, 4, 12))
    matrices = [matrix("strong", 4, seed) for seed in range(3)]
    log_T = torch.stack([log_transition(name, T, start(name, T)) for T in matrices])
    y_read = as_read(name, y_comp, 4)
    together = methods.METHODS[name].loss(torch.from_numpy(g), y_read, log_T)
    for run, T in enumerate(matrices):
        np.testing.assert_allclose(together[run], loss_of(name, g[run], y_comp, T), rtol=1e-12)
