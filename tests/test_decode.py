"""Decoders: the nearest row, the inverse, the likelihood; each against a slow plain reference."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, special
from scipy.spatial import distance as scipy_distance

from ybar import decode, transition

quick = settings(deadline=None, max_examples=60)
SEEDS = st.integers(0, 2**32 - 1)
METHODS = ["l1", "l2", "max", "likelihood"]


@st.composite
def distributions(draw, n, smallest=0):
    """Rows with exact zeros and ties, as counted probabilities have them."""
    weights = draw(st.lists(st.integers(smallest, 12), min_size=n, max_size=n).filter(any))
    return np.array(weights, dtype=float) / sum(weights)


@st.composite
def problems(draw, max_classes=5, max_rows=4):
    """Return q and T, both with zeros; T can be singular and have zero columns."""
    n = draw(st.integers(2, max_classes))
    q = np.array([draw(distributions(n)) for _ in range(draw(st.integers(1, max_rows)))])
    return q, np.array([draw(distributions(n)) for _ in range(n)])


def invertible(n, rng, condition=1e3):
    """Return a random T with a usable inverse, with a zero diagonal half of the time."""
    while True:
        T = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0])), n)
        if n > 2 and rng.random() < 0.5:
            np.fill_diagonal(T, 0)
            T /= T.sum(axis=1, keepdims=True)
        if np.linalg.cond(T) < condition:
            return T


# --- slow plain references -----------------------------------------------------------------------


def l1(u, v):
    return sum(abs(a - b) for a, b in zip(u, v, strict=True))


def l2(u, v):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True)))


def assert_nearest(decoded, q, T, d, tolerance=1e-9):
    """Check each class against the distances of all rows of T, one by one."""
    assert len(decoded) == len(q)
    for row, k in zip(q, decoded, strict=True):
        distances = [d(row, t) for t in T]
        assert distances[k] <= min(distances) + tolerance
        if sorted(distances)[1] > min(distances) + tolerance:
            assert k == distances.index(min(distances))


def normalised(q, T):
    """Leave labels out of account that no class can have under T."""
    q = np.where(T.max(axis=0) > 0, q, 0)
    total = q.sum(axis=1, keepdims=True)
    return np.divide(q, total, out=np.zeros_like(q), where=total > 0)


def log_likelihood(p, q, T):
    """Σ_k q[k] log (p T)[k] for each row, in loops."""
    n = len(T)
    out = []
    for p_row, q_row in zip(p, q, strict=True):
        total = 0.0
        for k in range(n):
            r = sum(p_row[y] * T[y, k] for y in range(n))
            if q_row[k] > 0:
                total += q_row[k] * math.log(r) if r > 0 else -math.inf
        out.append(total)
    return np.array(out)


def gaps(p, q, T):
    """Return max g - 1 with g = T (q / (p T)): no p can be better by more than that.

    For p* on the simplex, Σ q log(r*/r) ≤ log Σ q r*/r = log p*·g ≤ max g - 1.
    """
    out = []
    for p_row, q_row in zip(p, q, strict=True):
        r = [sum(p_row[y] * T[y, k] for y in range(len(T))) for k in range(len(T))]
        w = [q_row[k] / r[k] if q_row[k] > 0 else 0.0 for k in range(len(T))]
        out.append(max(sum(T[y, k] * w[k] for k in range(len(T))) for y in range(len(T))) - 1)
    return np.array(out)


def long_em(q, T, steps=20_000):
    """p ← p ∘ ((q / r) Tᵀ): slow, but sure to converge."""
    p = np.full(q.shape, 1 / len(T))
    for _ in range(steps):
        r = p @ T
        p = p * (np.divide(q, r, out=np.zeros_like(q), where=q > 0) @ T.T)
    return p / p.sum(axis=1, keepdims=True)


def assert_simplex(p, n_rows, n_classes):
    assert p.shape == (n_rows, n_classes)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)


# --- the nearest row -----------------------------------------------------------------------------


@quick
@given(problem=problems())
def test_l1_takes_the_row_of_T_with_the_smallest_l1_distance(problem):
    q, T = problem
    assert_nearest(decode.decode(q, T, "l1"), q, T, l1)
    np.testing.assert_array_equal(decode.decode(q, T), decode.decode(q, T, "l1"))


@quick
@given(problem=problems())
def test_l2_takes_the_row_of_T_with_the_smallest_l2_distance(problem):
    q, T = problem
    assert_nearest(decode.decode(q, T, "l2"), q, T, l2, tolerance=1e-7)


def kl_by_loops(u, v):
    if any(b == 0 < a for a, b in zip(u, v, strict=True)):
        return math.inf
    return sum(a * math.log(a / b) for a, b in zip(u, v, strict=True) if a > 0)


CALLABLES = {
    "sums over the last axis": (lambda u, v: np.abs(u - v).sum(axis=-1), l1),
    "sums over everything": (lambda u, v: np.abs(u - v).sum(), l1),
    "norm of a vector": (lambda u, v: np.linalg.norm(u - v), l2),
    "python's sum": (lambda u, v: sum(abs(u - v)), l1),
    "python's max": (
        lambda u, v: max(abs(u - v)),
        lambda u, v: max(abs(a - b) for a, b in zip(u, v, strict=True)),
    ),
    "scipy's function": (scipy_distance.cityblock, l1),
    "KL, the last axis": (lambda u, v: special.rel_entr(u, v).sum(axis=-1), kl_by_loops),
    "KL, everything": (lambda u, v: special.rel_entr(u, v).sum(), kl_by_loops),
    "KL the other way": (
        lambda u, v: special.rel_entr(v, u).sum(axis=-1),
        lambda u, v: kl_by_loops(v, u),
    ),
}


@pytest.mark.parametrize("name", CALLABLES)
@settings(deadline=None, max_examples=30)
@given(problem=problems(max_rows=7))
def test_a_callable_decodes_as_if_called_pair_by_pair(name, problem):
    q, T = problem
    fast, plain = CALLABLES[name]
    assert_nearest(decode.decode(q, T, fast), q, T, plain)


@quick
@given(seed=SEEDS, n=st.integers(3, 40))
def test_l1_takes_the_first_class_where_rows_of_T_are_the_same(seed, n):
    rng = np.random.default_rng(seed)
    T = rng.dirichlet(np.ones(n), n)
    first, second = sorted(rng.choice(n, 2, replace=False))
    T[second] = T[first]
    q = 0.98 * np.tile(T[first], (5, 1)) + 0.02 * rng.dirichlet(np.ones(n), 5)
    assert second not in decode.decode(q, T, "l1")


# --- uniform T -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@quick
@given(data=st.data(), n=st.integers(2, 12))
def test_under_uniform_T_every_method_takes_the_smallest_q(method, data, n):
    weights = data.draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n).filter(any))
    assume(sorted(weights)[0] < sorted(weights)[1])
    q = np.array([weights], dtype=float) / sum(weights)
    smallest = weights.index(min(weights))
    assert decode.decode(q, transition.uniform(n), method).tolist() == [smallest]


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("method", METHODS)
def test_the_shortcut_for_uniform_T_is_what_the_method_gives_without_it(method, n, monkeypatch):
    q = np.random.default_rng(n).dirichlet(np.ones(n), 500)
    quickly = decode.decode(q, transition.uniform(n), method)
    monkeypatch.setattr(transition, "is_uniform", lambda T: False)
    slowly = decode.decode(q, transition.uniform(n), method)
    np.testing.assert_array_equal(quickly, slowly)
    np.testing.assert_array_equal(quickly, q.argmin(axis=1))


@quick
@given(data=st.data(), n=st.integers(2, 8))
def test_under_uniform_T_the_smallest_q_has_the_smallest_l1_distance_of_all(data, n):
    q = data.draw(distributions(n))
    U = transition.uniform(n)
    distances = [l1(q, U[k]) for k in range(n)]
    assert distances[int(q.argmin())] <= min(distances) + 1e-12
    generic = decode.decode(q[None], U, lambda u, v: np.abs(u - v).sum(axis=-1))
    assert distances[generic[0]] <= min(distances) + 1e-12


# --- max -----------------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_max_recovers_the_likeliest_class_where_q_follows_T(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    p = rng.dirichlet(np.ones(n), 20)
    decoded = decode.decode(p @ T, T, "max")
    for row, k in zip(p, decoded, strict=True):
        assert row[k] >= row.max() - 1e-9


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_max_takes_the_largest_entry_of_q_times_the_inverse(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    q = rng.dirichlet(np.ones(n), 5)
    for row, k in zip(q, decode.decode(q, T, "max"), strict=True):
        x = np.linalg.lstsq(T.T, row, rcond=None)[0]  # x T = q
        assert x[k] >= x.max() - 1e-7 * np.abs(x).max()


def test_max_with_a_singular_T_warns_that_it_uses_the_pseudo_inverse():
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    q = np.array([[0.1, 0.5, 0.4], [0.4, 0.5, 0.1]])
    with pytest.warns(UserWarning, match="singular, so its pseudo-inverse is used"):
        decoded = decode.decode(q, T, "max")
    for row, k in zip(q, decoded, strict=True):
        x = np.linalg.lstsq(T.T, row, rcond=None)[0]  # the shortest of the best solutions
        assert x[k] >= x.max() - 1e-9


@pytest.mark.parametrize("method", ["l1", "l2", "likelihood"])
def test_the_other_methods_do_not_mind_a_singular_T(method):
    T = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    q = np.array([[0.02, 0.5, 0.48], [0.48, 0.5, 0.02]])
    assert decode.decode(q, T, method).tolist() == [0, 2]


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_inverse_times_T_is_the_identity(seed, n):
    T = invertible(n, np.random.default_rng(seed))
    inverse = decode.inverse(T)
    for i, j in itertools.product(range(n), repeat=2):
        product = sum(inverse[i, k] * T[k, j] for k in range(n))
        assert math.isclose(product, float(i == j), abs_tol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_inverse_of_the_uniform_matrix_is_ones_less_K_minus_one_on_the_diagonal(n):
    np.testing.assert_allclose(
        decode.inverse(transition.uniform(n)), np.ones((n, n)) - (n - 1) * np.eye(n), atol=1e-9
    )


# --- class probabilities -------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(2, 12))
def test_p_is_recovered_where_q_follows_an_invertible_T(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    p = rng.dirichlet(np.full(n, rng.choice([0.2, 1.0, 5.0])), 10)
    p[0] = np.eye(n)[rng.integers(n)]
    # Where some p is 0 rounding sends q outside, and the likelihood is flat to 1e-9 there.
    np.testing.assert_allclose(decode.class_probabilities(p @ T, T), p, rtol=0, atol=1e-4)
    inside = 0.9 * p + 0.1 / n
    recovered = decode.class_probabilities(inside @ T, T)
    np.testing.assert_allclose(recovered, inside, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["weak", "strong"])
@pytest.mark.parametrize("n", [40, 70])
def test_p_is_recovered_with_many_classes_even_where_it_names_one_class(n, kind):
    T = getattr(transition, kind)(n, 0)
    np.testing.assert_allclose(decode.class_probabilities(T, T), np.eye(n), rtol=0, atol=1e-5)
    p = np.random.default_rng(0).dirichlet(np.ones(n), 5)
    np.testing.assert_allclose(decode.class_probabilities(p @ T, T), p, rtol=0, atol=1e-5)


@settings(deadline=None, max_examples=150)
@given(problem=problems())
def test_no_other_p_explains_q_better(problem):
    q, T = problem
    p = decode.class_probabilities(q, T)
    assert_simplex(p, *q.shape)
    q = normalised(q, T)
    possible = q.any(axis=1)
    assert gaps(p[possible], q[possible], T).max(initial=0) <= 1e-6


@settings(deadline=None, max_examples=100)
@given(seed=SEEDS, n=st.integers(2, 20), kind=st.integers(0, 6))
def test_no_other_p_explains_q_better_for_larger_matrices(seed, n, kind):
    rng = np.random.default_rng(seed)
    T = [
        lambda: transition.strong(n, rng),
        lambda: transition.weak(n, rng),
        lambda: transition.with_uniform_noise(transition.strong(n, rng), rng.random()),
        lambda: transition.with_uniform_noise(transition.uniform(n), rng.random()),
        lambda: transition.uniform(n),
        lambda: rng.dirichlet(np.full(n, 0.5), n)[rng.integers(0, n, n)],  # singular
        lambda: np.full((n, n), 1 / n),
    ][kind]()
    q = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0, 10.0])), 6)
    q[0] = np.eye(n)[rng.integers(n)]
    q[1] = rng.multinomial(7, q[1]) / 7
    q[2:] = np.maximum(q[2:], 1e-12)  # below, rounding of p itself decides
    q /= q.sum(axis=1, keepdims=True)
    p = decode.class_probabilities(q, T)
    assert_simplex(p, 6, n)
    shortfall = gaps(p, q, T)
    assert shortfall[:2].max() <= 1e-6
    # A q[k] of 1e-12 may weigh in by its rounding only.
    r = p @ T
    g = np.where(q > 1e-9, q / np.maximum(r, 1e-300), 0) @ T.T
    assert g.max() - 1 <= 1e-6


@quick
@given(problem=problems(max_classes=4))
def test_a_general_optimiser_finds_no_better_p(problem):
    q, T = problem
    n = len(T)
    q = normalised(q, T)
    assume(q.any(axis=1).all())
    ours = log_likelihood(decode.class_probabilities(q, T), q, T)
    for row, reached in zip(q, ours, strict=True):

        def loss(p, row=row):
            return -sum(
                row[k] * math.log(max(float(p @ T[:, k]), 1e-300)) for k in range(n) if row[k] > 0
            )

        found = optimize.minimize(
            loss,
            np.full(n, 1 / n),
            method="SLSQP",
            bounds=[(0, 1)] * n,
            constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}],
        )
        at = np.maximum(found.x, 0)
        assert -loss(at / at.sum()) <= reached + 1e-8


@pytest.mark.parametrize("level", [0.0, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_closed_form_for_uniform_T_is_where_slow_steps_end(n, level):
    rng = np.random.default_rng(n)
    T = transition.with_uniform_noise(transition.uniform(n), level)
    q = np.vstack(
        [
            rng.dirichlet(np.ones(n), 10),
            rng.dirichlet(np.full(n, 20.0), 10),
            rng.multinomial(4, np.full(n, 1 / n), 10) / 4,
            np.full((1, n), 1 / n),
        ]
    )
    p, slow = decode.class_probabilities(q, T), long_em(q, T)
    assert_simplex(p, *q.shape)
    assert (log_likelihood(p, q, T) >= log_likelihood(slow, q, T) - 1e-9).all()
    if level < 0.9:  # beyond, 20,000 steps are not enough to tell p
        several = (q == 0).sum(axis=1) > 1  # then many p are equally good
        np.testing.assert_allclose(p[~several], slow[~several], rtol=0, atol=2e-3)


def test_classes_that_are_never_ruled_out_share_all_under_uniform_T():
    p = decode.class_probabilities([[0, 0, 0.3, 0.7], [0, 0.2, 0.3, 0.5]], transition.uniform(4))
    np.testing.assert_allclose(p, [[0.5, 0.5, 0, 0], [1, 0, 0, 0]], atol=1e-15)


TINY = [0.0, 5e-324, 1e-310, 1e-200, 1e-40, 1e-20, 1e-17, 1e-15, 1e-12]


@pytest.mark.parametrize("tiny", TINY)
@pytest.mark.parametrize("level", [0.0, 0.1])
def test_a_class_that_is_almost_never_ruled_out_gets_almost_everything(level, tiny):
    for n in (2, 3, 4, 10):
        T = transition.with_uniform_noise(transition.uniform(n), level)
        q = np.full((1, n), (1 - tiny) / (n - 1))
        q[0, 1] = tiny
        p = decode.class_probabilities(q, T)
        np.testing.assert_allclose(p, np.eye(n)[[1]], rtol=0, atol=1e-9, err_msg=f"K = {n}")


@pytest.mark.parametrize("level", [0.0, 1e-18, 1e-12, 0.1])
def test_classes_that_are_almost_never_ruled_out_get_almost_everything_between_them(level):
    for n, first, second in itertools.product((3, 4, 7), TINY, TINY):
        T = transition.with_uniform_noise(transition.uniform(n), level)
        q = np.full((1, n), 1 / (n - 2))
        q[0, :2] = first, second
        q /= q.sum()
        p = decode.class_probabilities(q, T)
        assert_simplex(p, 1, n)
        assert p[0, :2].sum() > 1 - 1e-9, (n, first, second)


@pytest.mark.parametrize("tiny", TINY)
def test_tiny_probabilities_change_nothing_under_biased_T(tiny):
    for n in (3, 10):
        T = transition.strong(n, 0)
        p = decode.class_probabilities(np.where(T > 0, T, tiny), T)
        np.testing.assert_allclose(p, np.eye(n), rtol=0, atol=1e-4, err_msg=f"K = {n}")


def test_labels_that_no_class_can_have_are_left_out_of_account():
    T = np.array([[0, 0.8, 0.2], [0, 0.3, 0.7], [0, 0.5, 0.5]])
    q = np.array([[0.0, 0.75, 0.25], [0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    p = decode.class_probabilities(q, T)
    np.testing.assert_allclose(p[1], p[0], atol=1e-6)
    np.testing.assert_allclose(p[2], 1 / 3)
    assert gaps(p[:1], q[:1], T).max() <= 1e-6


@quick
@given(seed=SEEDS, n=st.integers(2, 8))
def test_likelihood_decodes_to_the_largest_class_probability(seed, n):
    rng = np.random.default_rng(seed)
    T = invertible(n, rng)
    q = rng.dirichlet(np.ones(n), 8)
    p = decode.class_probabilities(q, T)
    for row, k in zip(p, decode.decode(q, T, "likelihood"), strict=True):
        assert row[k] >= row.max() - 2e-4  # those that close are equally good


def without_columns(T, columns):
    """Return T with some labels made impossible."""
    T = T.copy()
    T[:, columns] = 0
    return T / T.sum(axis=1, keepdims=True)


LARGE = {
    "strong": lambda n, rng: transition.strong(n, rng),
    "weak": lambda n, rng: transition.weak(n, rng),
    "noisy": lambda n, rng: transition.with_uniform_noise(transition.strong(n, rng), 0.5),
    "dense": lambda n, rng: rng.dirichlet(np.ones(n), n),
    "singular": lambda n, rng: rng.dirichlet(np.full(n, 0.5), n)[np.arange(n) // 2],
    "zero columns": lambda n, rng: without_columns(transition.weak(n, rng), [0, 7, n - 1]),
    "uniform": lambda n, rng: transition.uniform(n),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("n", [65, 80])
def test_above_64_classes_the_likelihood_is_within_a_thousandth_of_its_maximum(n, name):
    rng = np.random.default_rng(n)
    T = LARGE[name](n, rng)
    q = np.vstack(
        [
            rng.dirichlet(np.ones(n), 8),
            rng.dirichlet(np.full(n, 0.1), 8),
            [rng.multinomial(50, T[y]) / 50 for y in rng.integers(0, n, 8)],
            0.8 * T[rng.integers(0, n, 8)] + 0.2 * rng.dirichlet(np.ones(n), 8),
        ]
    )
    p = decode.class_probabilities(q, T)
    assert_simplex(p, *q.shape)
    q = normalised(q, T)
    shortfall = gaps(p, q, T)
    # Rows that their own certificate leaves open are held against a much longer way.
    unsure = shortfall > 1e-3
    assert unsure.mean() <= 0.2
    p, q = p[unsure], q[unsure]
    slow = long_em(q, T, steps=30_000)
    highest = log_likelihood(slow, q, T) + gaps(slow, q, T)
    assert (highest - log_likelihood(p, q, T)).max(initial=0) <= 1e-3


# --- blocks, memory, kinds of input --------------------------------------------------------------


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
        monkeypatch.setattr(decode, "_EM_STEPS", 3)  # each step holds what the others hold
    if kind == "exact":
        q = (0.5 * q + 0.5 / 200) @ T
    if kind == "uniform":
        T = transition.uniform(200)
    assert peak_of(lambda: decode.class_probabilities(q, T)) < 5 * q.nbytes


def test_memory_of_the_interior_point_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(decode, "_NEWTON_STEPS", 1)
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


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([[0.5, 0.5]], r"shape \(N, 3\)"),
        ([0.2, 0.3, 0.5], r"shape \(N, 3\)"),
        ([[0.2, 0.3, 0.4]], "row 0 sums to 0.9"),
        ([[0, 0, 1], [1.2, -0.2, 0]], "none below 0; got -0.2 in row 1"),
        ([[0, 0, 1], [0, np.nan, 1]], "row 1 has NaN or infinity"),
        ([["a", "b", "c"]], "N×K array of probabilities"),
    ],
)
def test_decode_says_what_is_wrong_with_q(q, message):
    for function in (decode.decode, decode.class_probabilities):
        with pytest.raises(ValueError, match=message):
            function(q, transition.uniform(3))


@pytest.mark.parametrize("method", ["L1", "argmax", None, 1])
def test_an_unknown_method_is_refused_even_under_uniform_T(method):
    with pytest.raises(ValueError, match="method must be one of 'l1', 'l2', 'max', 'likelihood'"):
        decode.decode([[0.2, 0.8]], transition.uniform(2), method)
