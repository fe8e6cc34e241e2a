"""Estimates of T are near the truth if T is identifiable; otherwise one line says why not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from bad_input import assert_one_clear_line
from ybar import CPEKNeighborsClassifierCV, decode, estimation, labels, transition

quick = settings(deadline=None, max_examples=10)
SEEDS = st.integers(0, 2**32 - 1)
METHODS = ["anchors", "vertices", "volume"]


def random_T(n, rng, noise=0.0):
    """Return an identifiable T: far from singular, with a diagonal that is clearly the smallest."""
    while True:
        T = rng.dirichlet(np.full(n, 2.0), n)
        np.fill_diagonal(T, 0)
        T /= T.sum(axis=1, keepdims=True)
        T = T + 0.3 * transition.uniform(n)
        T /= T.sum(axis=1, keepdims=True)
        T = transition.with_uniform_noise(T, noise)
        if np.linalg.cond(T) < 30 and transition.gamma(T) > 0.2:
            return T


def mixtures(n, rows, rng, concentration=0.3):
    return rng.dirichlet(np.full(n, concentration), rows)


def with_certain_rows(n, rows, rng):
    """Return p of which n rows, somewhere, are certain, one of each class."""
    p = mixtures(n, rows, rng)
    p[rng.choice(rows, n, replace=False)] = np.eye(n)
    return p


def error(T, estimated):
    return np.abs(T - estimated).sum(axis=1).mean()


# --- is q good enough? ---------------------------------------------------------------------------


def of_blobs(alike, n=9000, n_classes=6):
    """Return q of rows not fitted and their labels; classes 4 and 5 may look alike, or all."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    place = {"none": y, "two": np.minimum(y, 4), "all": 0 * y}[alike]
    X = 4 * np.eye(n_classes)[place] + rng.normal(size=(n, n_classes))
    T = transition.strong(n_classes, random_state=0)
    y_comp = labels.draw(y, T, random_state=0)
    model = CPEKNeighborsClassifierCV(random_state=0).fit(X[:6000], y_comp[:6000])
    return model.predict_complementary_proba(X[6000:]), y_comp[6000:], T


@pytest.mark.parametrize("method", ["anchors", "vertices", "volume"])
def test_held_out_labels_detect_a_q_that_is_noise(method):
    q, y_comp, T = of_blobs("none")
    estimated = estimation.estimate_from_probabilities(q, method=method, y_comp=y_comp)
    assert error(T, estimated) < 0.2
    np.testing.assert_array_equal(
        estimated, estimation.estimate_from_probabilities(q, method=method)
    )
    mask = np.eye(6, dtype=bool)[y_comp]
    np.testing.assert_array_equal(
        estimated, estimation.estimate_from_probabilities(q, method=method, y_comp=mask)
    )
    for alike in ("two", "all"):
        q, y_comp, _ = of_blobs(alike)
        with pytest.raises(ValueError, match=r"^q must .* 5 .*y_comp .*[0-4] "):
            estimation.estimate_from_probabilities(q, method=method, y_comp=y_comp)


def test_labels_must_be_of_the_rows_of_q():
    q, y_comp, _ = of_blobs("none")
    with pytest.raises(ValueError, match=r"q .*y_comp .*3000.*2999"):
        estimation.estimate_from_probabilities(q, y_comp=y_comp[1:])


# --- complementary labels alone ------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["uniform", "weak", "strong"])
def test_vertices_are_exact_for_an_exact_q_with_one_certain_row_of_each_class(n, kind):
    rng = np.random.default_rng(n)
    T = transition.uniform(n) if kind == "uniform" else getattr(transition, kind)(n, rng)
    if transition.gamma(T) < 0.05 or transition.condition_number(T) > 1e3:
        pytest.skip("this T has nearly equal rows")
    q = with_certain_rows(n, 300, rng) @ T
    estimated = estimation.estimate_from_probabilities(q, method="vertices", share=1e-6)
    np.testing.assert_allclose(estimated, T, rtol=0, atol=1e-9)


@quick
@given(SEEDS, st.integers(2, 8), st.sampled_from([0.0, 0.2]))
def test_vertices_are_exact_for_any_such_T_with_or_without_noise(seed, n, noise):
    rng = np.random.default_rng(seed)
    T = random_T(n, rng, noise) if n > 2 else transition.with_uniform_noise([[0, 1], [1, 0]], noise)
    q = with_certain_rows(n, 200, rng) @ T
    estimated = estimation.estimate_from_probabilities(q, method="vertices", share=1e-6)
    np.testing.assert_allclose(estimated, T, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_anchors_bear_the_noise_of_counted_frequencies(kind, seed):
    """Rows nearly certain, q counted from 250 labels each, as nearest neighbours do."""
    rng = np.random.default_rng(seed)
    T = getattr(transition, kind)(10, rng)
    q = rng.multinomial(250, mixtures(10, 1500, rng, 0.02) @ T) / 250
    estimated = {m: estimation.estimate_from_probabilities(q, method=m) for m in METHODS[:2]}
    assert error(T, estimated["anchors"]) < 0.06
    assert error(T, estimated["anchors"]) < error(T, estimated["vertices"])


def test_volume_bears_noise_of_the_size_that_its_weight_is_for():
    rng = np.random.default_rng(0)
    T = transition.strong(6, rng)
    q = rng.multinomial(250, mixtures(6, 500, rng, 0.05) @ T) / 250
    estimated = estimation.estimate_from_probabilities(q, method="volume", volume=2e-3)
    assert error(T, estimated) < 0.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_volume_needs_no_certain_rows(noise, seed):
    """No row's class is more likely than 0.85; the others find the corners of what they see."""
    rng = np.random.default_rng(seed)
    T = random_T(5, rng, noise)
    p = mixtures(5, 4000, rng)
    q = p[p.max(axis=1) < 0.85][:1000] @ T
    errors = {
        method: error(T, estimation.estimate_from_probabilities(q, method=method, volume=1e-4))
        for method in METHODS
    }
    assert errors["volume"] < 0.05
    assert errors["volume"] < errors["vertices"] / 2
    assert errors["volume"] < errors["anchors"] / 2


def test_a_larger_weight_makes_a_smaller_volume_and_the_diagonal_stays_below_guessing():
    rng = np.random.default_rng(0)
    T = transition.weak(5, rng)
    q = rng.multinomial(100, mixtures(5, 500, rng, 0.1) @ T) / 100
    sizes = []
    for weight in (1e-4, 1e-3, 1e-2, 1e-1):
        estimated = estimation.estimate_from_probabilities(q, method="volume", volume=weight)
        assert (np.diag(estimated) < 1 / 5).all()
        sizes.append(np.linalg.slogdet(estimated @ estimated.T + np.eye(5) / 16)[1])
    assert sizes == sorted(sizes, reverse=True)


@quick
@given(SEEDS, st.sampled_from(METHODS))
def test_the_result_is_a_transition_matrix_and_the_input_is_left_alone(seed, method):
    rng = np.random.default_rng(seed)
    T = random_T(4, rng, 0.1)
    q = rng.multinomial(60, mixtures(4, 300, rng, 0.1) @ T) / 60
    before = q.copy()
    estimated = estimation.estimate_from_probabilities(q, method=method)
    assert (estimated >= 0).all()
    np.testing.assert_allclose(estimated.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(q, before)
    np.testing.assert_array_equal(
        estimation.estimate_from_probabilities(q, method=method),
        estimated,
        err_msg="not repeatable",
    )


@quick
@given(SEEDS, st.sampled_from(METHODS))
def test_other_names_for_the_classes_give_the_same_T_under_these_names(seed, method):
    rng = np.random.default_rng(seed)
    T = random_T(4, rng)
    q = mixtures(4, 200, rng, 0.1) @ T
    order = rng.permutation(4)
    estimated = estimation.estimate_from_probabilities(q, method=method)
    renamed = estimation.estimate_from_probabilities(q[:, order], method=method)
    tolerance = 5e-3 if method == "volume" else 1e-8  # where the search stops depends on rounding
    np.testing.assert_allclose(renamed, estimated[np.ix_(order, order)], rtol=0, atol=tolerance)


def test_from_labels_to_T_to_classes_without_a_true_label():
    X, y = make_blobs(8000, centers=6, random_state=0)
    T = transition.strong(6, random_state=0)
    y_comp = labels.draw(y, T, random_state=1)
    clf = CPEKNeighborsClassifierCV(random_state=0).fit(X[:6000], y_comp[:6000])
    q = clf.predict_complementary_proba(X[6000:])
    estimated = estimation.estimate_from_probabilities(q)
    assert error(T, estimated) < 0.15
    accuracy = {}
    for name, matrix in {
        "true": T,
        "estimated": estimated,
        "uniform": transition.uniform(6),
    }.items():
        accuracy[name] = (decode.decode(q, matrix, "likelihood") == y[6000:]).mean()
    assert accuracy["estimated"] > accuracy["true"] - 0.02
    assert accuracy["estimated"] > accuracy["uniform"] + 0.1


# --- bad input -----------------------------------------------------------------------------------

Q = mixtures(3, 50, np.random.default_rng(0), 0.1) @ transition.weak(3, random_state=0)
# Neither of two classes is ever ruled out for examples of the other: their names can be swapped.
SWAP = np.array([[0, 0, 0.6, 0.4], [0, 0, 0.4, 0.6], [0.5, 0.2, 0, 0.3], [0.2, 0.5, 0.3, 0]])
from_q = estimation.estimate_from_probabilities


# Each: the call, and what the error must show; "q" and the classes where T is not identifiable.
BAD = [
    (lambda: from_q([0.2, 0.8]), "q", "(2,)"),
    (lambda: from_q(np.ones((9, 1))), "q", "(9, 1)"),
    (lambda: from_q([["a", "b"]]), "q", "[['a', 'b']]"),
    (lambda: from_q(np.zeros((0, 3))), "q", "3", "0"),
    (lambda: from_q(Q[:2]), "q", "3", "2", "transition.estimate"),
    (lambda: from_q(Q - 0.5), "q", "-0.5"),
    (lambda: from_q(2.5 * Q), "q", "2.5"),
    (lambda: from_q(np.full((9, 3), np.nan)), "q", "NaN"),
    (lambda: from_q(np.full((50, 3), 1 / 3)), "q", "rank 3", "rank 1", "transition.estimate"),
    (lambda: from_q(np.tile(np.eye(3)[[0, 1]], (20, 1))), "q", "rank 3", "rank 2"),
    (lambda: from_q(np.repeat(SWAP, 20, axis=0)), "q", "classes", "transition.estimate"),
    (lambda: from_q(Q, method="magic"), "method", "'anchors'", "'magic'"),
    (lambda: from_q(Q, method=None), "method", "None"),
    (lambda: from_q(Q, share=0), "share", "0"),
    (lambda: from_q(Q, share=1.5), "share", "1.5"),
    (lambda: from_q(Q, volume=-1), "volume", "-1"),
    (lambda: from_q(Q, volume=np.nan), "volume", "nan"),
]


@pytest.mark.parametrize("case", BAD, ids=range(len(BAD)))
def test_bad_input_and_a_T_that_is_not_identifiable_raise_one_line(case):
    call, *shows = case
    assert_one_clear_line(call, ValueError, *shows)
