"""The likelihood in log space, against scipy and at its limits."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from ybar.metrics import likelihood


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 9), n=st.integers(2, 8))
def test_softmax_and_likelihood_are_those_of_scipy(seed, rows, n):
    rng = np.random.default_rng(seed)
    scores, e = rng.normal(0, 30, (rows, n)), rng.random((rows, n))
    log_p = likelihood.log_softmax(scores)
    np.testing.assert_allclose(log_p, special.log_softmax(scores, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(likelihood.softmax(scores), special.softmax(scores, axis=1))
    found = likelihood.log_likelihood(log_p, np.log(e))
    np.testing.assert_allclose(found, np.log((np.exp(log_p) * e).sum(axis=1)), rtol=1e-9)


def test_the_likelihood_is_exact_where_products_underflow():
    log_p = np.log([[1e-300, 1.0], [0.5, 0.5]], dtype=float)
    log_e = np.array([[-400.0, -np.inf], [-2000.0, -2000.0]])
    found = likelihood.log_likelihood(log_p, log_e)
    np.testing.assert_allclose(found, [np.log(1e-300) - 400, -2000])


def test_what_p_rules_out_has_likelihood_zero():
    with np.errstate(divide="ignore"):
        log_p = np.log([[1.0, 0.0]])
    assert likelihood.log_likelihood(log_p, log_p[:, ::-1])[0] == -np.inf


def test_a_likelihood_of_zero_counts_as_asked():
    losses = likelihood.log_losses(np.array([0.0, 0.5]), 0.1)
    np.testing.assert_allclose(losses, -np.log([0.1, 0.5]))
    assert likelihood.log_losses(np.array([0.0]), 0.0)[0] == np.inf
