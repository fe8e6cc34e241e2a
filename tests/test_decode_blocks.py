"""Decoding in blocks: memory, kinds of input, and inputs that stay as they were."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from decode_helpers import CALLABLES, METHODS, assert_simplex
from ybar import decode, transition
from ybar.decode import likelihood


@pytest.mark.parametrize(
    "T", [transition.strong(6, 0), transition.uniform(6)], ids=["strong", "uniform"]
)
@pytest.mark.parametrize("numbers", [1, 13, 500])
def test_results_do_not_depend_on_the_size_of_the_blocks(T, numbers, monkeypatch):
    q = np.random.default_rng(0).dirichlet(np.ones(6), 101)
    methods = [*METHODS, *(fast for fast, _ in CALLABLES.values())]
    whole = [decode.decode(q, T, method) for method in methods]
    p = decode.class_probabilities(q, T)
    monkeypatch.setattr(decode, "_BLOCK_NUMBERS", numbers)
    for method, expected in zip(methods, whole, strict=True):
        np.testing.assert_array_equal(decode.decode(q, T, method), expected)
    np.testing.assert_allclose(decode.class_probabilities(q, T), p, rtol=0, atol=1e-7)


def test_results_do_not_depend_on_the_size_of_the_blocks_above_64_classes(monkeypatch):
    T = transition.strong(70, 0)
    q = np.random.default_rng(0).dirichlet(np.ones(70), 30)
    p = decode.class_probabilities(q, T)
    monkeypatch.setattr(decode, "_BLOCK_NUMBERS", 600)
    np.testing.assert_allclose(decode.class_probabilities(q, T), p, rtol=0, atol=1e-5)


def peak_of(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def large():
    """K = 200, N = 20,000: q has 32 MB, an N×K×K array would have 6.4 GB."""
    rng = np.random.default_rng(0)
    T = transition.strong(200, 0)
    q = 0.7 * T[rng.integers(0, 200, 20_000)] + 0.3 * rng.dirichlet(np.ones(200), 20_000)
    return q, T


@pytest.mark.parametrize("method", ["l1", "l2", "max", "callable"])
def test_decoding_never_holds_rows_times_classes_squared(method, large):
    q, T = large
    if method == "callable":
        method = CALLABLES["sums over the last axis"][0]
    assert peak_of(lambda: decode.decode(q, T, method)) < 4 * q.nbytes


@pytest.mark.parametrize("kind", ["solver", "exact", "uniform"])
def test_class_probabilities_never_hold_rows_times_classes_squared(kind, large, monkeypatch):
    q, T = large
    if kind == "solver":
        monkeypatch.setattr(likelihood, "_NEWTON_STEPS", 2)  # each step holds what the others hold
        monkeypatch.setattr(likelihood, "_interior_point", lambda q, T, gap: q)
    if kind == "exact":
        q = (0.5 * q + 0.5 / 200) @ T
    if kind == "uniform":
        T = transition.uniform(200)
    assert peak_of(lambda: decode.class_probabilities(q, T)) < 5 * q.nbytes


def test_memory_of_the_interior_point_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(likelihood, "_INTERIOR_STEPS", 1)
    monkeypatch.setattr(likelihood, "_NEWTON_STEPS", 0)
    T = transition.strong(60, 0)
    q = np.random.default_rng(0).dirichlet(np.ones(60), 6000)
    few, many = q[:1500], q
    grown = peak_of(lambda: decode.class_probabilities(many, T)) - peak_of(
        lambda: decode.class_probabilities(few, T)
    )
    assert grown < 4 * (many.nbytes - few.nbytes)  # a K×K matrix for each row would be 60 times q


@pytest.mark.parametrize("method", [*METHODS, "callable"])
def test_float32_probabilities_are_taken(method):
    if method == "callable":
        method = CALLABLES["sums over the last axis"][0]
    T = transition.strong(10, 0)
    rng = np.random.default_rng(0)
    q = (0.5 * T[rng.integers(0, 10, 200)] + 0.5 * rng.dirichlet(np.ones(10), 200)).astype("f4")
    expected = decode.decode(q.astype(np.float64), T, method)
    np.testing.assert_array_equal(decode.decode(q, T, method), expected)
    p = decode.class_probabilities(q, T)
    assert p.dtype == np.float64
    assert_simplex(p, 200, 10)
    np.testing.assert_allclose(p, decode.class_probabilities(q.astype(np.float64), T), atol=1e-9)


def test_two_classes_swap_their_probabilities():
    q = np.array([[0.3, 0.7], [1.0, 0.0], [0.9, 0.1]])
    T = [[0, 1], [1, 0]]
    np.testing.assert_allclose(decode.class_probabilities(q, T), q[:, ::-1], atol=1e-15)
    for method in METHODS:
        assert decode.decode(q, T, method).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "T", [transition.strong(4, 0), transition.uniform(4)], ids=["strong", "uniform"]
)
def test_inputs_are_left_as_they_were_and_no_rows_give_no_rows(T):
    q = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    q_kept, T_kept = q.copy(), T.copy()
    q.flags.writeable = T.flags.writeable = False
    for method in METHODS:
        assert decode.decode(q, T, method).shape == (20,)
        assert decode.decode(q[:0], T, method).shape == (0,)
    assert decode.class_probabilities(q, T).shape == (20, 4)
    assert decode.class_probabilities(q[:0], T).shape == (0, 4)
    np.testing.assert_array_equal(q, q_kept)
    np.testing.assert_array_equal(T, T_kept)
