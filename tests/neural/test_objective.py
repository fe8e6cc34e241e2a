"""What a stack of runs minimises."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from neural_helpers import (
    LEARNING,
    NAMES,
    WHOLE_BATCH,
    class_risks,
    evaluated,
    loss_of,
    matrix,
    mean_reference,
    objective_of,
    random_batch,
    softmax,
)
from ybar.neural import methods
from ybar.neural.objective import Run, balanced


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_a_batch_are_given_the_shares_of_all_that_is_trained_on(weighted):
    T = matrix("strong", 4)
    g, y_comp = random_batch(4, rows=30)
    y_comp[y_comp == 2] = 0  # missing from the batch: it adds 0
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 30) if weighted else None
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    p, inverse = [softmax(z) for z in g], np.linalg.inv(T)
    counts = np.ones(30) if weight is None else weight
    R = [0.0] * 4
    for k in range(4):
        for j in (0, 1, 3):
            mine = [i for i in range(30) if y_comp[i] == j]
            loss = sum(counts[i] * -math.log(p[i][k]) for i in mine)
            R[k] += shares[j] * inverse[j, k] * loss / sum(counts[i] for i in mine)
    given = balanced(
        torch.tensor(y_comp),
        None if weight is None else torch.from_numpy(weight),
        torch.from_numpy(shares),
    )
    found = loss_of("ure-nn", g, y_comp, T, given.double())
    np.testing.assert_allclose(found, sum(max(0.0, r) for r in R), rtol=1e-5)


def test_an_unsure_network_has_no_negative_risk_whatever_the_batch():
    T = matrix("uniform", 10)
    y_comp = np.random.default_rng(0).integers(10, size=256)
    assert min(class_risks(np.zeros((256, 10)), y_comp, T)) < 0  # by the batch's own shares
    objective = objective_of([Run(methods.METHODS["ure-ga"])], T)
    objective.shares = torch.full((10,), 0.1)
    (loss,), _ = evaluated(objective, torch.zeros(1, 256, 10), torch.tensor(y_comp), None)
    assert float(loss) == pytest.approx(math.log(10), rel=1e-5)  # the sum of all, none turned


@pytest.mark.parametrize("name", ["ure", "fwd", *WHOLE_BATCH])
def test_a_method_that_assumes_uniform_T_is_the_one_that_is_given_it(name):
    uniform, strong = matrix("uniform", 5), matrix("strong", 5)
    g, y_comp = random_batch(5, rows=60)
    assumed = methods.assuming(methods.METHODS[name], uniform)
    found = []
    for method, T, shares in (
        (assumed, strong, [0.1, 0.2, 0.3, 0.3, 0.1]),  # whatever the data have
        (methods.METHODS[name], uniform, [0.2] * 5),
    ):
        objective = objective_of([Run(method)], T)
        objective.shares = torch.tensor(shares)
        logits = torch.tensor(g).float()[None]
        found.append(evaluated(objective, logits, torch.tensor(y_comp), None))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "proden"])  # no gradient of it
@pytest.mark.parametrize("weighted", [False, True])
def test_an_objective_is_the_weighted_mean_of_the_loss_and_its_gradient(name, weighted):
    T = matrix("strong", 5)
    g, y_comp = random_batch(5, rows=40)
    weight = np.random.default_rng(3).uniform(0.2, 1.8, 40) if weighted else np.ones(40)
    weight /= weight.mean()
    given = torch.from_numpy(weight).float() if weighted else None
    objective = objective_of([Run(methods.METHODS[name])], T)
    loss, gradient = evaluated(
        objective, torch.from_numpy(g).float()[None], torch.from_numpy(y_comp), given
    )
    expected = mean_reference(name, g, y_comp, T, weight)
    np.testing.assert_allclose(loss, [expected], rtol=2e-5)
    step, slope = 1e-5, np.empty_like(g)
    for at in np.ndindex(*g[:2].shape):
        there, back = g.copy(), g.copy()
        there[at] += step
        back[at] -= step
        rise = [mean_reference(name, z, y_comp, T, weight) for z in (there, back)]
        slope[at] = (rise[0] - rise[1]) / (2 * step)
    np.testing.assert_allclose(gradient[0, :2], slope[:2], rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize(
    "order",
    [
        [*NAMES, *NAMES],
        [name for name in NAMES for _ in range(2)],
        ["fwd", "dm", "fwd", "dm", "fwd"],
        ["cpe-t", "fwd", "cpe-t", "cpe-t", "ure-ga", "cpe-n", "fwd", "ure-ga", "cpe-n"],
        ["dm"],
    ],
    ids=["twice around", "pairs", "in turn", "uneven", "alone"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_runs_of_several_methods_get_what_they_get_alone(order, weighted):
    T, rows = matrix("strong", 4), 20
    rng = np.random.default_rng(6)
    # As Dense gives them: runs are columns of one matrix.
    logits = torch.tensor(rng.normal(size=(rows, len(order), 4)), dtype=torch.float32)
    logits = logits.transpose(0, 1)
    kept = logits.clone()
    y_comp = torch.from_numpy(rng.integers(0, 4, rows))
    weight = torch.tensor(rng.uniform(0.5, 1.5, rows)).float() if weighted else None
    runs = [Run(methods.METHODS[name]) for name in order]
    objective = objective_of(runs, T)
    loss, gradient = evaluated(objective, logits, y_comp, weight)
    assert torch.equal(logits, kept)
    assert loss.shape == (len(order),)
    for i, run in enumerate(runs):
        alone = objective_of([run], T)
        its_loss, its_gradient = evaluated(alone, logits[[i]], y_comp, weight)
        np.testing.assert_allclose(loss[i], its_loss[0], rtol=1e-5)
        np.testing.assert_allclose(gradient[i], its_gradient[0], rtol=1e-4, atol=1e-7)
        assert (objective.transition.parameters[i] is not None) == (order[i] in LEARNING)
        if order[i] in LEARNING:
            slope, its_slope = (
                objective.transition.parameters[i].grad,
                alone.transition.parameters[0].grad,
            )
            np.testing.assert_allclose(slope, its_slope, rtol=1e-4, atol=1e-7)
            assert its_slope.abs().max() > 1e-6


def test_the_risk_is_trained_with_the_inverse_that_held_out_labels_are_judged_by():
    T = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 3e-6, 0.5 - 3e-6]])  # nearly singular
    with np.errstate(divide="ignore"):
        (part,) = objective_of([Run(methods.find("ure"))], T).parts
    np.testing.assert_allclose(part.gradient_input.numpy(), np.linalg.inv(T), rtol=1e-5)
