"""SCEL and URE over blocks are those of `ybar.metrics`, to 1e-12."""

from __future__ import annotations

import warnings

import dask
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distributed_helpers import blocks, unknown
from ybar import distributed, metrics, transition
from ybar.distributed.sums import Sums
from ybar.labels import Evidence
from ybar.metrics.losses import Losses, mean_and_error

K = 4


def rows(n, seed, several=False, zeros=False):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(K), n)
    if zeros:
        q[rng.random(n) < 0.2, 0] = 0
        q /= q.sum(axis=1, keepdims=True)
    y = rng.integers(0, K, n)
    if several:
        y = rng.random((n, K)) < 0.3
        y[y.all(axis=1)] = False
        y[: n // 5] = False
        y[-1] = np.arange(K) == 1
    return y, q


def lengths(n, seed):
    """Cut n rows at random places, some of which leave an empty block."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, n + 1, 5))
    return np.diff([0, *cuts, n]).tolist()


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(60, 300),
    seed=st.integers(0, 1000),
    several=st.booleans(),
    weighted=st.booleans(),
    zeros=st.booleans(),
)
def test_scel_is_the_local_one(n, seed, several, weighted, zeros):
    y, q = rows(n, seed, several, zeros)
    w = np.random.default_rng(seed).integers(0, 3, n).astype(float) if weighted else None
    parts = lengths(n, seed)
    weights = None if w is None else blocks(w, parts)
    with dask.config.set(scheduler="sync"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of too few effective rows
        for zero_as in (0.0, 0.01):
            ours = distributed.scel(
                blocks(y, parts),
                blocks(q, parts),
                sample_weight=weights,
                zero_as=zero_as,
                return_std_error=True,
            )
            theirs = metrics.scel(y, q, sample_weight=w, zero_as=zero_as, return_std_error=True)
            close(ours, theirs)


@settings(deadline=None, max_examples=25)
@given(n=st.integers(150, 300), seed=st.integers(0, 1000), several=st.booleans())
def test_ure_is_the_local_one(n, seed, several):
    y, q = rows(n, seed, several)
    T = transition.biased(K, random_state=seed) if seed % 2 else transition.uniform(K)
    predicted, parts = q.argmax(axis=1), lengths(n, seed)
    w = 1 + np.random.default_rng(seed).random(n) / 2  # equal enough for a standard error
    with dask.config.set(scheduler="sync"):
        ours = distributed.ure_zero_one(
            blocks(y, parts),
            blocks(predicted, parts),
            T,
            sample_weight=blocks(w, parts),
            return_std_error=True,
        )
    close(ours, metrics.ure_zero_one(y, predicted, T, sample_weight=w, return_std_error=True))


def test_evidence_of_all_kinds_is_the_local_scel():
    y, p = rows(90, 0)
    evidence = Evidence.concatenate(
        [
            Evidence.complementary(y[:30], classes=K),
            Evidence.candidates(p[30:60] >= p[30:60].max(axis=1, keepdims=True), classes=K),
            Evidence.nothing(30, classes=K),
        ]
    )
    with dask.config.set(scheduler="sync"):
        ours = distributed.scel(evidence, blocks(p, [40, 30, 20]), return_std_error=True)
        listed = distributed.scel(
            [evidence[:40], evidence[40:70], dask.delayed(evidence[70:])],
            unknown(blocks(p, [40, 30, 20])),
            return_std_error=True,
        )
    theirs = metrics.scel(evidence, p, return_std_error=True)
    close(ours, theirs)
    close(listed, theirs)


def test_standard_errors_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(0)
    values = 1e6 + rng.normal(size=40_000)
    whole = mean_and_error(values, np.arange(40_000), 40_000, None)
    parts = [
        Sums.of(
            Losses(
                values[i : i + 7_000],
                np.arange(len(values[i : i + 7_000])),
                len(values[i : i + 7_000]),
            ),
            None,
        )
        for i in range(0, 40_000, 7_000)
    ]
    np.testing.assert_allclose(Sums.merged(parts).mean_and_error(), whole, rtol=1e-10)


def test_few_effective_rows_have_no_standard_error():
    y, q = rows(200, 1)
    w = np.r_[np.full(3, 1e6), np.ones(197)]
    with dask.config.set(scheduler="sync"), pytest.warns(UserWarning, match="sample_weight"):
        _, error = distributed.scel(
            blocks(y, [200]),
            blocks(q, [200]),
            sample_weight=blocks(w, [200]),
            return_std_error=True,
        )
    assert np.isnan(error)


def test_a_singular_matrix_is_warned_of_once_and_here():
    T = np.full((4, 4), 0.25)
    y, q = rows(100, 2)
    with dask.config.set(scheduler="sync"), pytest.warns(UserWarning, match="singular") as caught:
        distributed.ure_zero_one(blocks(y, [50, 50]), blocks(q.argmax(axis=1), [50, 50]), T)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, q: (y, np.asarray(q)), ["q", "Dask"]),
        (lambda y, q: (y[:50], q), ["y_comp", "100", "50"]),
        (lambda y, q: (unknown(y), unknown(q)[:]), None),
        (
            lambda y, q: (unknown(y), unknown(blocks(np.asarray(q), [50, 50]))),
            ["partitions", "2", "4"],
        ),
        (lambda y, q: (y * 0 + 9, q), ["partition", "of 4", "9"]),
        (
            lambda y, q: (unknown(blocks(np.arange(105) % K, [25, 25, 30, 25])), unknown(q)),
            ["partition 3 of 4", "30"],
        ),
    ],
)
def test_bad_collections_are_named(change, words):
    y, q = rows(100, 3)
    y, q = change(blocks(y, [25] * 4), blocks(q, [25] * 4))
    with dask.config.set(scheduler="sync"):
        if words is None:
            distributed.scel(y, q)
            return
        with pytest.raises((ValueError, TypeError)) as caught:
            distributed.scel(y, q)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)
