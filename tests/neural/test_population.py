"""Populations against their members trained alone."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from neural_helpers import grown
from ybar.neural import methods, population
from ybar.neural.loop import Recipe
from ybar.neural.methods import likelihoods
from ybar.neural.objective import Run

STACKED = ["ure-ga", "scl-nl", "dm", "cpe-i", "cpe-f", "cpe-t", "cpe-n", "ure"]


def test_a_member_of_a_population_goes_as_it_would_alone(job):
    runs = [
        Run(methods.METHODS[name], rate, seed)
        for name in STACKED
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
            if run.method.learns:
                matrices = record.learned.matrix, alone.learned.matrix
                np.testing.assert_allclose(*matrices, atol=2e-3)
    first = {name: together[4 * i].history["scel"][-1] for i, name in enumerate(STACKED)}
    assert len({round(value, 6) for value in first.values()}) == len(STACKED)


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
    runs = [Run(methods.METHODS[m], rate) for m in STACKED[:6] for rate in (1e-3, 5e-4, 1e-4)] * 2
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
    threads = set(threading.enumerate())

    def fails(logits, y_comp, log_T):
        raise ZeroDivisionError("mine")

    runs = [Run(methods.Method(fails)), Run(methods.METHODS["cpe-f"])]
    with pytest.raises(ZeroDivisionError, match="mine"):
        grown(job, runs, sizes=(64, 300, 10), recipe=Recipe(max_epochs=10**6), n_jobs=2)
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)  # one that trains on would not end
        assert not thread.is_alive()
