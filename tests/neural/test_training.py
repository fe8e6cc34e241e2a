"""The loop against the plainest one there is, and populations against their members alone."""

from __future__ import annotations

import decimal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from neural_helpers import CPU, log_of, module_of
from ybar import labels, transition
from ybar.neural import evaluate, fitting, methods, population
from ybar.neural.data import Rows
from ybar.neural.evaluate import Reading, log_softmax
from ybar.neural.loop import Recipe, Stack, one_thread, train
from ybar.neural.methods import likelihoods
from ybar.neural.networks import Dense, Module
from ybar.neural.objective import Run
from ybar.neural.optimiser import Average
from ybar.neural.samples import Samples


def plain_loop(module, X, samples, method, T, rate, recipe, seed):
    """Return the weights after the loop that everybody knows."""
    log_T = torch.tensor(log_of(T)).float()
    adam = torch.optim.Adam(module.parameters(), lr=rate, weight_decay=recipe.weight_decay)
    generator = np.random.default_rng(seed)
    X, y_comp = torch.tensor(X).float(), torch.from_numpy(samples.y_comp)
    weight = None if samples.weight is None else torch.from_numpy(samples.weight).float()
    for _ in range(recipe.max_epochs):
        order = generator.permutation(len(samples.rows))
        for first in range(0, len(order), recipe.batch_size):
            at = order[first : first + recipe.batch_size]
            rows = method.loss(module(X[samples.rows[at]]), y_comp[at], log_T)
            loss = (rows if weight is None else rows * weight[at]).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    return [p.detach().numpy() for p in module.parameters()]


@pytest.fixture
def job(digits, strong_T):
    y_comp = labels.draw(digits.y_train, strong_T, random_state=0)
    rows = np.random.default_rng(1).permutation(len(y_comp))
    training, held_out = rows[:1200], rows[1200:]
    return (
        digits.X_train,
        Samples(training, y_comp[training]),
        Samples(held_out, y_comp[held_out]),
        strong_T,
        (digits.X_test, digits.y_test),
    )


def grown(
    job, runs, sizes=(64, 20, 10), recipe=None, selection=None, n_jobs=1, watched=(), **dropout
):
    X, training, held_out, T, _ = job
    return fitting.fit_runs(
        runs,
        population.Data(X, training, held_out, T, watched),
        fitting.Architecture(sizes, **dropout),
        recipe or Recipe(max_epochs=6, batch_size=100, weight_decay=1e-4),
        selection or population.Selection("last"),
        order_seed=2,
        mask_seed=5,
        n_jobs=n_jobs,
    )


@pytest.mark.parametrize("sizes", [(64, 10), (64, 20, 10), (64, 20, 15, 10)])
@pytest.mark.parametrize("method", ["cpe-f", "scl-nl", "dm", "ure", "cpe-i"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loop_takes_the_steps_of_the_plain_one(sizes, method, weighted, job):
    X, training, _, T, _ = job
    if weighted:
        weight = np.random.default_rng(0).uniform(0.5, 1.5, len(training.rows))
        training = training._replace(weight=weight / weight.mean())
    recipe = Recipe(max_epochs=3, batch_size=110, weight_decay=1e-2)  # the last batch is smaller
    dense, run = Dense(sizes, [7]), Run(methods.METHODS[method], 0.003)
    module = module_of(dense)
    stack = Stack(dense, [run], log_of(T), recipe)
    for _ in train(
        stack, Rows(X, CPU), training, recipe, np.random.default_rng(3), threading.Event()
    ):
        pass
    expected = plain_loop(module, X, training, run.method, T, 0.003, recipe, 3)
    for ours, theirs in zip(dense.weights(0), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-5)


class Counting(torch.nn.Linear):
    """A linear model that counts its batches, as batch normalisation keeps what it has seen."""

    def __init__(self):
        super().__init__(64, 10)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.seen += 1
        return super().forward(x)


def test_the_mean_of_the_weights_has_the_mean_of_what_belongs_to_them(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=2, batch_size=50, weight_averaging=0.9)
    model = Module(Counting, 0, CPU)
    stack = Stack(model, [Run(methods.METHODS["cpe-f"])], log_of(T), recipe)
    mean, n = 0.0, 0
    generator = np.random.default_rng(3)
    for epoch in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
        for _ in range(epoch.batches):
            n += 1
            mean += (1 - min(0.9, n / (n + 10))) * (n - mean)
        assert model.module.seen.item() == pytest.approx(mean, rel=1e-4)
    assert model.module.seen.item() == n


def test_held_out_losses_have_the_weight_of_their_row():
    rng = np.random.default_rng(0)
    logits, T = rng.normal(size=(5, 3)), transition.strong(3, 0)
    rows, k = np.array([3, 0, 0, 4, 1, 1]), np.array([0, 1, 2, 2, 0, 1])
    of_row = rng.random(5)
    outputs = evaluate.Outputs(logits, Reading("p", "max", T), T)
    found = evaluate.held_out(outputs, Samples(rows, k, of_row[rows]), rows, np.linalg.inv(T))
    q = np.exp(log_softmax(logits)) @ T
    expected = np.average(-np.log(q[rows, k]), weights=of_row[rows])
    assert found["scel"] == pytest.approx(expected)


@pytest.mark.parametrize("estimates", ["p", "q"])
@pytest.mark.parametrize("scale", [1, 1e2, 1e4])
def test_scel_is_exact_where_a_double_cannot_hold_q(scale, estimates):
    """Held against decimal numbers with as many digits and as large exponents as it takes."""
    rng = np.random.default_rng(0)
    logits = (scale * rng.normal(size=(40, 4))).round()
    T = transition.strong(4, 0)
    rows, k = rng.integers(40, size=90), rng.integers(4, size=90)
    outputs = evaluate.Outputs(logits, Reading(estimates, "l1", T), T)
    found = outputs.scel_losses(rows, k)
    with decimal.localcontext() as context:
        context.prec, context.Emin, context.Emax = 40, -(10**6), 10**6
        for row, label, loss in zip(rows, k, found, strict=True):
            e = [decimal.Decimal(int(g)).exp() for g in logits[row]]
            column = np.eye(4)[label] if estimates == "q" else T[:, label]
            q = sum(x * decimal.Decimal(float(t)) for x, t in zip(e, column, strict=True)) / sum(e)
            assert loss == pytest.approx(float(-q.ln()) if q else np.inf, rel=1e-9)


class Manhattan:
    __hash__ = None

    def __call__(self, q, t):
        return np.abs(q - t).sum(axis=-1)


def test_what_is_asked_of_outputs_again_is_not_found_again(monkeypatch):
    logits, T = np.random.default_rng(0).normal(size=(50, 3)), transition.strong(3, 0)
    outputs = evaluate.Outputs(logits, Reading("q", "l1", T), T)
    decoders = ("l1", "max", Manhattan())
    first = [outputs.q, *map(outputs.classes, decoders)]
    monkeypatch.setattr(evaluate, "softmax", None)
    monkeypatch.setattr(evaluate.decode, "decode", None)
    for before, again in zip(first, [outputs.q, *map(outputs.classes, decoders)], strict=True):
        assert again is before
    np.testing.assert_allclose(first[0], np.exp(log_softmax(logits)))
    np.testing.assert_array_equal(first[1], first[3])
    assert (first[1] != first[2]).any()


def test_a_noise_level_that_is_given_is_moved_by_nothing_else(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=4, batch_size=20, weight_averaging=0.9)
    runs = [Run(methods.METHODS["cpe-n"], rate) for rate in (0.01, 0.01)]
    stack = Stack(Dense((64, 10), [0, 1]), runs, log_of(T), recipe)
    generator, given = np.random.default_rng(3), None
    for epoch in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
        for run, level in enumerate((0.3, 0.6)):
            expected = transition.with_uniform_noise(T, level)
            if given is not None:
                np.testing.assert_allclose(stack.transition.matrix(run), expected, atol=1e-6)
            elif epoch.epoch == 2:
                assert np.abs(stack.transition.matrix(run) - expected).max() > 0.01
                stack.fix_transition(run, np.array([np.log(level / (1 - level))]))
        given = True if epoch.epoch >= 2 else None


def test_a_T_that_is_given_to_one_run_leaves_the_others_to_learn_theirs(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=3, batch_size=20, weight_averaging=0.9)
    runs = [Run(methods.METHODS["cpe-t"], 0.01, trust=trust) for trust in (0, 100)]
    given = transition.with_uniform_noise(T, 0.4)
    found = []
    for both in (False, True):
        stack = Stack(Dense((64, 10), [0, 0]), runs, log_of(T), recipe)
        if both:
            stack.fix_transition(1, np.log(given))
        generator = np.random.default_rng(3)
        for _ in train(stack, Rows(X, CPU), training, recipe, generator, threading.Event()):
            found.append([stack.transition.matrix(run) for run in (0, 1)])
    np.testing.assert_allclose(found[-1][1], given, atol=1e-6)
    assert np.abs(found[-1][0] - T).max() > 0.01
    np.testing.assert_allclose(found[-1][0], found[2][0], atol=1e-5)


def test_a_module_goes_the_way_of_the_dense_network_that_it_is(job):
    X, training, _, T, _ = job
    recipe = Recipe(max_epochs=3, batch_size=110, weight_decay=1e-2, weight_averaging=0.9)
    dense = Dense((64, 20, 10), [7])
    first = dense.weights(0)
    module = Module(lambda: module_of(dense), 0, CPU)
    for model in (dense, module):
        model.set_weights(0, first)
        stack = Stack(model, [Run(methods.METHODS["cpe-f"])], log_of(T), recipe)
        for _ in train(
            stack, Rows(X, CPU), training, recipe, np.random.default_rng(3), threading.Event()
        ):
            kept = model.weights(0)
        if model is dense:
            expected = kept
    for ours, theirs in zip(kept, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("sizes", [(5, 4), (5, 6, 4), (5, 6, 7, 4)])
def test_the_gradient_by_hand_is_that_of_autograd(sizes):
    generator = torch.Generator().manual_seed(0)
    dense = Dense(sizes, [0, 1, 2])
    x = torch.randn(9, 5, generator=generator)
    at_logits = torch.randn(3, 9, 4, generator=generator)
    logits = dense.forward(x.clone(), train=True)
    dense.backward(at_logits)
    for run in range(3):
        module = module_of(dense, run)
        expected = module(x)
        np.testing.assert_allclose(logits[run], expected.detach(), rtol=1e-5, atol=1e-6)
        expected.backward(at_logits[run])
        gradients = [
            g[run] for p in zip(dense.weight_gradient, dense.bias_gradient, strict=True) for g in p
        ]
        for ours, theirs in zip(gradients, module.parameters(), strict=True):
            np.testing.assert_allclose(ours, theirs.grad, rtol=1e-4, atol=1e-6)


def test_dropout_keeps_its_share_and_the_mean_and_is_passed_back():
    dense = Dense((400, 300, 4), [0], dropout=0.5, input_dropout=0.2, seed=0)
    x = torch.ones(500, 400)
    dense.forward(x, train=True)
    kept, hidden = dense.x, dense._layers(500)[0].z
    assert float((kept == 0).float().mean()) == pytest.approx(0.2, abs=0.005)
    assert float(kept.mean()) == pytest.approx(1, abs=0.01)
    np.testing.assert_allclose(kept.unique(), [0, 1.25], rtol=1e-4)
    dense.backward(torch.ones(1, 500, 4))
    passed = dense._layers(500)[0].g
    assert torch.equal(passed != 0, hidden > 0)
    reference = dense.weight[1][0].t() @ torch.ones(4, 500) * 2  # 1 / (1 - 0.5)
    np.testing.assert_allclose(passed[hidden > 0], reference[hidden > 0], rtol=1e-4, atol=1e-6)
    first = kept.clone()
    dense.forward(torch.ones(500, 400), train=True)
    assert not torch.equal(first, dense.x)
    once = dense.forward(torch.ones(5, 400)).clone()
    assert torch.equal(once, dense.forward(torch.ones(5, 400)))


def test_the_mean_of_the_weights_is_the_mean_of_the_weights():
    parameter = torch.zeros(3)
    average = Average([parameter], 0.9)
    mean = np.zeros(3)
    for step in range(1, 200):
        parameter.copy_(torch.arange(3) * step)
        average.update()
        share = 1 - min(0.9, step / (step + 10))
        mean += share * (np.arange(3) * step - mean)
    with average.in_place():
        np.testing.assert_allclose(parameter, mean, rtol=1e-4)
    np.testing.assert_allclose(parameter, np.arange(3) * 199)


METHODS = ["ure-ga", "scl-nl", "dm", "cpe-i", "cpe-f", "cpe-t", "cpe-n", "ure"]


def test_a_member_of_a_population_goes_as_it_would_alone(job):
    runs = [
        Run(methods.METHODS[name], rate, seed)
        for name in METHODS
        for rate in (1e-2, 1e-3)
        for seed in (0, 1)
    ]
    for dropout in ({}, {"dropout": 0.3, "input_dropout": 0.1}):
        together = grown(job, runs, **dropout)
        for run, record in list(zip(runs, together, strict=True))[::3]:
            (alone,) = grown(job, [run], **dropout)
            for name in ("loss", "scel"):
                np.testing.assert_allclose(
                    record.history[name][:2], alone.history[name][:2], rtol=2e-4, atol=1e-5
                )
            np.testing.assert_allclose(record.transition, alone.transition, atol=2e-3)
    first = {name: together[4 * i].history["scel"][-1] for i, name in enumerate(METHODS)}
    assert len({round(value, 6) for value in first.values()}) == len(METHODS)


def test_at_the_end_members_have_the_accuracy_and_the_choice_of_runs_alone(job):
    X_test, y_test = job[4]
    recipe = Recipe(max_epochs=60, batch_size=100, weight_decay=1e-4)
    runs = [Run(methods.METHODS["cpe-f"], rate) for rate in (1e-2, 1e-3, 1e-4)]

    def accuracy(outputs, record):
        return {"accuracy": float(np.mean(outputs.classes("max") == y_test))}

    watched = ((X_test, accuracy),)
    together = grown(job, runs, recipe=recipe, watched=watched)
    alone = [grown(job, [run], recipe=recipe, watched=watched)[0] for run in runs]
    for a, b in zip(together, alone, strict=True):
        assert abs(a.history["accuracy"][-1] - b.history["accuracy"][-1]) <= 0.003
    chosen = [min(range(3), key=lambda i: found[i].kept("scel")) for found in (together, alone)]
    assert chosen[0] == chosen[1]


def test_runs_are_stacked_by_their_width_alone():
    runs = [Run(methods.METHODS[m], rate) for m in METHODS[:6] for rate in (1e-3, 5e-4, 1e-4)] * 2
    stacks = population.stacks_of(runs, 20)
    assert [len(stack) for stack in stacks] == [18, 18]
    assert sorted(i for stack in stacks for i in stack) == list(range(36))
    for stack in stacks:
        rates = [runs[i].learning_rate for i in stack]
        assert rates == sorted(rates)
        assert len({runs[i].method for i in stack}) == 3
    assert [len(stack) for stack in population.stacks_of(runs[:5], 500)] == [1] * 5


def test_equal_methods_are_one_and_others_are_not_mixed_in(job):
    def mine(logits, y_comp, log_T):
        return likelihoods.forward(logits, y_comp, log_T)

    rates = (0.01, 0.003)
    runs = [Run(methods.METHODS["dm"]), *(Run(methods.find(mine), rate) for rate in rates)]
    found = grown(job, runs)
    for run, record in zip(runs[1:], found[1:], strict=True):
        (alone,) = grown(job, [Run(methods.METHODS["fwd"], run.learning_rate)])
        np.testing.assert_allclose(record.history["scel"], alone.history["scel"], rtol=1e-3)


def test_one_run_that_fails_harms_no_other(job):
    def turns_nan(logits, y_comp, log_T):
        return likelihoods.forward(logits, y_comp, log_T) * np.nan

    good = Run(methods.METHODS["cpe-f"])
    failed, kept = grown(job, [Run(methods.Method(turns_nan)), good])
    (alone,) = grown(job, [good])
    assert failed.failed == (1, 1)
    assert not failed.weights
    assert kept.failed is None
    np.testing.assert_allclose(kept.history["scel"], alone.history["scel"], rtol=1e-4)


def test_threads_share_the_stacks_and_give_the_same_bits(job):
    runs = [Run(methods.METHODS["cpe-f"], rate) for rate in (1e-2, 1e-3, 1e-4)]
    found = [grown(job, runs, sizes=(64, 300, 10), n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.history["scel"] == b.history["scel"]
            assert all(map(np.array_equal, a.weights, b.weights))


def test_an_error_on_a_thread_is_raised_and_ends_the_others(job):
    def fails(logits, y_comp, log_T):
        raise ZeroDivisionError("mine")

    runs = [Run(methods.Method(fails)), Run(methods.METHODS["cpe-f"])]
    with pytest.raises(ZeroDivisionError, match="mine"):
        grown(job, runs, sizes=(64, 300, 10), recipe=Recipe(max_epochs=10**6), n_jobs=2)
    assert threading.active_count() < 5


def test_log_softmax_and_rows_are_exact():
    logits = np.array([[1e4, -1e4, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(log_softmax(logits)[0], [0, -2e4, -1e4])
    np.testing.assert_allclose(log_softmax(logits)[1], -np.log(3))
    pixels = np.arange(12, dtype=np.uint8).reshape(4, 3)
    rows = Rows(pixels, CPU)
    np.testing.assert_allclose(rows.take(np.array([2, 0])), pixels[[2, 0]] / 255, rtol=1e-6)
    blocks = [(place, block.clone()) for place, block in rows.blocks(np.arange(4), size=3)]
    assert [place for place, _ in blocks] == [slice(0, 3), slice(3, 4)]
    np.testing.assert_allclose(blocks[1][1], pixels[3:] / 255, rtol=1e-6)


def test_uniform_T_makes_scl_and_forward_one_training(digits):
    T = transition.uniform(10)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    rows = np.arange(len(y_comp))
    job = (digits.X_train, Samples(rows, y_comp), Samples(rows[:200], y_comp[:200]), T, None)
    recipe = Recipe(max_epochs=25, batch_size=100, weight_decay=1e-4)
    fwd, scl, cpe = (
        grown(job, [Run(methods.METHODS[name], 0.003)], recipe=recipe)[0]
        for name in ("fwd", "scl-nl", "cpe-f")
    )
    assert all(map(np.array_equal, fwd.weights, cpe.weights))
    for a, b in zip(fwd.weights, scl.weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=2e-4)
    gaps = np.array(fwd.history["loss"]) - np.array(scl.history["loss"])
    np.testing.assert_allclose(gaps, np.log(9), rtol=1e-5)


def is_subnormal(x):
    return (x != 0) & (np.abs(x) < np.finfo(np.float32).tiny)


def half_of_the_least_normal_number():
    return (torch.tensor(np.finfo(np.float32).tiny) * 0.5).item()


@pytest.mark.parametrize("before", [False, True])
def test_subnormal_numbers_are_taken_for_0_inside_only_and_in_this_thread_only(before):
    with ThreadPoolExecutor(1) as other:
        assert other.submit(half_of_the_least_normal_number).result() > 0  # it runs by now
        try:
            torch.set_flush_denormal(before)
            with one_thread():
                assert half_of_the_least_normal_number() == 0
                assert other.submit(half_of_the_least_normal_number).result() > 0
            assert (half_of_the_least_normal_number() == 0) == before
            with pytest.raises(ValueError, match="inside"), one_thread():
                raise ValueError("inside")
            assert (half_of_the_least_normal_number() == 0) == before
        finally:
            torch.set_flush_denormal(False)


@pytest.mark.parametrize("sizes", [(64, 10), (64, 20, 10)])
@pytest.mark.parametrize("kind", ["dense", "module"])
def test_no_weight_becomes_subnormal(sizes, kind, job, monkeypatch):
    """Weights of features that are always 0 only decay, and would shrink for ever."""
    _, training, held_out, T, _ = job
    X = job[0].copy()
    X[:, :20] = 0
    recipe = Recipe(max_epochs=3, batch_size=100, weight_decay=1e-4)

    dense = Dense(sizes, [0])
    weights = dense.weights(0)
    weights[0][:, :20] *= 1e-36  # what many epochs of decay would leave
    network = (lambda: module_of(dense)) if kind == "module" else None

    def weights_after_training():
        (record,) = fitting.fit_runs(
            [Run(methods.METHODS["cpe-f"], 1e-12)],
            population.Data(X, training, held_out, T),
            fitting.Architecture(sizes, network),
            recipe,
            population.Selection("last"),
            order_seed=2,
            mask_seed=5,
            start=fitting.Start(weights, None),
        )
        return record.weights

    assert not any(is_subnormal(array).any() for array in weights_after_training())
    monkeypatch.setattr(torch, "set_flush_denormal", lambda _: False)
    assert any(is_subnormal(array).any() for array in weights_after_training())
