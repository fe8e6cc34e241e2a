"""From logits to the losses of held-out labels."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

from neural_helpers import CPU, strayed
from ybar import (
    transition,
)
from ybar.metrics.likelihood import log_softmax
from ybar.neural import evaluate
from ybar.neural.data import Rows
from ybar.neural.evaluate import Reading
from ybar.neural.samples import Samples
from ybar.neural.transition_estimate import TransitionEstimate
from ybar.neural.transition_layer import Judgement


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


def test_log_softmax_and_rows_are_exact():
    logits = np.array([[1e4, -1e4, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(log_softmax(logits)[0], [0, -2e4, -1e4])
    np.testing.assert_allclose(log_softmax(logits)[1], -np.log(3))
    pixels = np.arange(12, dtype=np.uint8).reshape(4, 3)
    rows = Rows(pixels, CPU)
    np.testing.assert_allclose(rows.fetch(np.array([2, 0])), pixels[[2, 0]] / 255, rtol=1e-6)
    blocks = [(place, block.clone()) for place, block in rows.blocks(np.arange(4), size=3)]
    assert [place for place, _ in blocks] == [slice(0, 3), slice(3, 4)]
    np.testing.assert_allclose(blocks[1][1], pixels[3:] / 255, rtol=1e-6)


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
    labels, judgement = Samples(np.arange(2000), k), Judgement(halves=parts)
    values = evaluate.held_out(outputs, labels, labels.rows, np.linalg.pinv(T), judgement)
    q = np.exp(log_softmax(logits))
    expected = [-np.log((q[part] @ own)[np.arange(len(part)), k[part]]) for part, own in parts]
    assert values["scel"] == pytest.approx(np.concatenate(expected).mean())
