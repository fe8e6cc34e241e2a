"""Transition matrices: built as the paper says, measured right, described truthfully."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import distance as scipy_distance
from sklearn.exceptions import DataConversionWarning

from ybar import labels, transition

quick = settings(deadline=None, max_examples=40)
GUESSED = pytest.mark.filterwarnings("ignore:y_true has no row")

ALL_K = range(2, 41)
MASSES = {
    "weak": (0.45, 0.30, 0.25),
    "strong": (0.75, 0.24, 0.01),
    "two parts": (0.9, 0.1),
    "one part": (1.0,),
    "four parts": (0.4, 0.3, 0.2, 0.1),
}


@st.composite
def distributions(draw, n):
    """Rows with exact zeros and ties, as real tables have them."""
    weights = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n).filter(any))
    return np.array(weights, dtype=float) / sum(weights)


@st.composite
def transitions(draw, max_classes=5):
    n = draw(st.integers(2, max_classes))
    return np.array([draw(distributions(n)) for _ in range(n)])


def build(kind, n, random_state=0):
    if kind == "uniform":
        return transition.uniform(n)
    if kind in ("weak", "strong"):
        return getattr(transition, kind)(n, random_state)
    return transition.biased(n, MASSES[kind], random_state)


def shares_by_loops(n_classes, masses):
    """Lay the K-1 other classes and the parts over [0, 1]; a class takes what it covers."""
    others, parts = n_classes - 1, len(masses)
    shares = []
    for i in range(others):
        share = Fraction(0)
        for j, mass in enumerate(masses):
            low = max(Fraction(i, others), Fraction(j, parts))
            high = min(Fraction(i + 1, others), Fraction(j + 1, parts))
            if high > low:
                share += (high - low) * parts * Fraction(str(mass))
        shares.append(share)
    return sorted(shares, reverse=True)


# --- building ------------------------------------------------------------------------------------


def test_uniform_gives_every_other_class_the_same_share():
    for n in ALL_K:
        T = transition.uniform(n)
        assert T.shape == (n, n)
        for y, k in itertools.product(range(n), repeat=2):
            assert T[y, k] == (0 if y == k else 1 / (n - 1))


@pytest.mark.parametrize("kind", ["uniform", *MASSES])
def test_rows_sum_to_one_and_a_class_never_rules_itself_out(kind):
    for n in ALL_K:
        T = build(kind, n, random_state=n)
        assert T.shape == (n, n)
        assert T.dtype == np.float64
        assert (T >= 0).all()
        assert (np.diag(T) == 0).all()
        np.testing.assert_allclose(T.sum(axis=1), 1, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", MASSES)
def test_every_row_has_the_same_shares_and_borders_take_from_both_parts(kind):
    for n in ALL_K:
        T = build(kind, n, random_state=n)
        shares = shares_by_loops(n, MASSES[kind])
        assert sum(shares) == 1
        others = T[~np.eye(n, dtype=bool)].reshape(n, n - 1)
        expected = np.tile([float(share) for share in shares], (n, 1))
        np.testing.assert_allclose(-np.sort(-others, axis=1), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("masses", [(1.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5)])
def test_a_part_without_mass_gets_exactly_zero(masses):
    for n in ALL_K:
        T = transition.biased(n, masses, random_state=0)
        zeros = sum(share == 0 for share in shares_by_loops(n, masses))
        np.testing.assert_array_equal((T == 0).sum(axis=1), zeros + 1, err_msg=f"K = {n}")


@pytest.mark.parametrize(
    ("kind", "values"),
    [("weak", (0.15, 0.10, 0.25 / 3)), ("strong", (0.25, 0.08, 0.01 / 3))],
)
@pytest.mark.parametrize("seed", range(5))
def test_ten_classes_have_three_at_each_of_the_papers_values(kind, values, seed):
    T = build(kind, 10, seed)
    for row in T:
        for value in values:
            assert np.isclose(row, value, rtol=0, atol=1e-14).sum() == 3
        assert (row == 0).sum() == 1


@pytest.mark.parametrize("kind", ["weak", "strong", "two parts", "four parts"])
@pytest.mark.parametrize("n", [3, 4, 10, 25])
def test_T_is_drawn_anew_for_each_seed_and_is_the_same_for_the_same_seed(kind, n):
    drawn = [build(kind, n, seed) for seed in range(20)]
    for seed, T in enumerate(drawn):
        np.testing.assert_array_equal(T, build(kind, n, seed))
    assert len({T.tobytes() for T in drawn}) > (15 if n >= 10 else 2)


def test_a_generator_advances_and_a_random_state_is_taken_and_the_global_one_left_alone():
    before = np.random.get_state()
    generator = np.random.default_rng(0)
    first, second = transition.strong(10, generator), transition.strong(10, generator)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, transition.strong(10, 0))
    legacy = np.random.RandomState(0)
    third, fourth = transition.weak(10, legacy), transition.weak(10, legacy)
    assert not np.array_equal(third, fourth)
    np.testing.assert_array_equal(
        third,
        transition.weak(10, np.random.RandomState(0)),
    )
    assert not np.array_equal(transition.weak(10), transition.weak(10))
    after = np.random.get_state()
    assert after[2] == before[2]
    np.testing.assert_array_equal(after[1], before[1])


def test_each_row_is_cut_anew_with_every_class_as_likely_in_each_part():
    rng = np.random.default_rng(0)
    trials = 3000
    favoured = np.zeros((10, 10))
    both = 0
    for _ in range(trials):
        largest = transition.strong(10, rng) > 0.2
        favoured += largest
        both += largest[0, 2] and largest[1, 2]
    off = ~np.eye(10, dtype=bool)
    error = math.sqrt(1 / 3 * 2 / 3 / trials)
    assert np.abs(favoured[off] / trials - 1 / 3).max() < 5 * error
    # Rows are cut independently of each other: 1/3 · 1/3 of the time both favour class 2.
    assert abs(both / trials - 1 / 9) < 5 * math.sqrt(1 / 9 * 8 / 9 / trials)


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, "10", None, True])
def test_fewer_than_two_classes_are_refused(n):
    for function in (transition.uniform, transition.weak, transition.strong):
        with pytest.raises(ValueError, match="n_classes must be an int of at least 2"):
            function(n)


@pytest.mark.parametrize("masses", [(), (0.5, 0.4), (1.5, -0.5), (np.nan, 1.0), [[1.0]]])
def test_masses_that_are_no_distribution_are_refused(masses):
    with pytest.raises(ValueError, match="masses must be non-negative numbers that sum to 1"):
        transition.biased(5, masses)


# --- noise ---------------------------------------------------------------------------------------


@quick
@given(T=transitions(), level=st.floats(0, 1))
def test_uniform_noise_mixes_every_entry_with_one_over_K(T, level):
    n = len(T)
    noisy = transition.with_uniform_noise(T, level)
    for y, k in itertools.product(range(n), repeat=2):
        assert math.isclose(noisy[y, k], (1 - level) * T[y, k] + level / n, abs_tol=1e-12)
    np.testing.assert_allclose(noisy.sum(axis=1), 1, atol=1e-12)


@quick
@given(T=transitions(), first=st.floats(0, 1), second=st.floats(0, 1))
def test_noise_on_noise_is_noise_and_its_ends_are_T_and_nothing_but_noise(T, first, second):
    twice = transition.with_uniform_noise(transition.with_uniform_noise(T, first), second)
    once = transition.with_uniform_noise(T, 1 - (1 - first) * (1 - second))
    np.testing.assert_allclose(twice, once, atol=1e-12)
    np.testing.assert_allclose(transition.with_uniform_noise(T, 0), T, atol=1e-15)
    np.testing.assert_allclose(transition.with_uniform_noise(T, 1), 1 / len(T), atol=1e-15)


# --- counting ------------------------------------------------------------------------------------


@quick
@given(data=st.data(), n=st.integers(2, 5), smoothing=st.floats(0.01, 10))
def test_from_counts_is_the_smoothed_share_of_each_cell(data, n, smoothing):
    cells = st.lists(st.integers(0, 50), min_size=n, max_size=n)
    counts = [data.draw(cells) for _ in range(n)]
    T = transition.from_counts(counts, smoothing)
    for y in range(n):
        total = sum(count + smoothing for count in counts[y])
        for k in range(n):
            assert math.isclose(T[y, k], (counts[y][k] + smoothing) / total, rel_tol=1e-12)


@quick
@given(data=st.data(), n=st.integers(2, 5), factor=st.integers(1, 1000))
def test_unsmoothed_counts_keep_zeros_and_only_their_shares_matter(data, n, factor):
    cells = st.lists(st.integers(0, 50), min_size=n, max_size=n).filter(any)
    counts = np.array([data.draw(cells) for _ in range(n)])
    T = transition.from_counts(counts)
    np.testing.assert_array_equal(T == 0, counts == 0)
    np.testing.assert_allclose(transition.from_counts(counts * factor), T, atol=1e-15)
    np.testing.assert_allclose(T.sum(axis=1), 1, atol=1e-12)


def test_a_row_without_counts_needs_smoothing_and_then_is_flat():
    counts = np.array([[0, 3, 1], [0, 0, 0], [2, 2, 0]])
    kept = counts.copy()
    with pytest.raises(ValueError, match=r"no count in row 1.*smoothing="):
        transition.from_counts(counts)
    np.testing.assert_allclose(transition.from_counts(counts, 1 / 3)[1], 1 / 3)
    np.testing.assert_array_equal(counts, kept)


def estimate_by_loops(y_true, y_comp_sets, names, smoothing):
    counts = {(y, k): smoothing for y in names for k in names}
    for y, ruled_out in zip(y_true, y_comp_sets, strict=True):
        for k in ruled_out:
            counts[y, k] += 1
    return np.array(
        [[counts[y, k] / sum(counts[y, j] for j in names) for k in names] for y in names]
    )


@GUESSED
@quick
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
    smoothing=st.none() | st.floats(0.01, 5),
    order=st.permutations([0, 1, 2, 3]),
    as_strings=st.booleans(),
)
def test_estimate_counts_pairs_in_the_order_of_the_classes(rows, smoothing, order, as_strings):
    words = ["dog", "ant", "cow", "bee"]
    name = (lambda k: words[k]) if as_strings else (lambda k: 10 * k - 7)
    names = [name(k) for k in order]
    y_true, y_comp = [name(y) for y, _ in rows], [name(k) for _, k in rows]
    T = transition.estimate(y_true, y_comp, classes=names, smoothing=smoothing)
    expected = estimate_by_loops(
        y_true, [[k] for k in y_comp], names, 1 / 4 if smoothing is None else smoothing
    )
    np.testing.assert_allclose(T, expected, atol=1e-12)


def test_estimate_says_which_rows_it_had_to_guess():
    with pytest.warns(UserWarning, match=r"no row of 2 of the 3 classes, first of number 1 \(from"):
        T = transition.estimate(["a", "a"], ["b", "c"])
    np.testing.assert_allclose(T[1:], 1 / 3)
    np.testing.assert_array_equal(transition.estimate(["a", "a"], ["b", "c"], smoothing=1 / 3), T)


def test_estimate_takes_the_sorted_values_of_both_labels_as_classes():
    T = transition.estimate(["b", "b", "c"], ["a", "c", "b"], smoothing=1)
    expected = estimate_by_loops(["b", "b", "c"], [["a"], ["c"], ["b"]], ["a", "b", "c"], 1)
    np.testing.assert_allclose(T, expected)


@GUESSED
@quick
@given(data=st.data(), n=st.integers(2, 5), rows=st.integers(1, 20))
def test_estimate_counts_every_label_of_a_boolean_row(data, n, rows):
    y_true = data.draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows))
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    mask = np.array([data.draw(flags) for _ in range(rows)])
    mask[:, -1] &= ~mask[:, :-1].all(axis=1)  # no row rules out every class
    mask[0] = np.arange(n) == 0
    sets = [[k for k in range(n) if row[k]] for row in mask]
    np.testing.assert_allclose(
        transition.estimate(y_true, mask),
        estimate_by_loops(y_true, sets, range(n), 1 / n),
        atol=1e-12,
    )
    names = [f"class {n - k}" for k in range(n)]
    np.testing.assert_allclose(
        transition.estimate([names[y] for y in y_true], mask, classes=names, smoothing=0.5),
        estimate_by_loops(y_true, sets, range(n), 0.5),
        atol=1e-12,
    )


@pytest.mark.parametrize("kind", ["uniform", "weak", "strong"])
def test_estimate_converges_to_the_T_that_drew_the_labels(kind):
    n, rows = 5, 200_000
    T = transition.with_uniform_noise(build(kind, n), 0.05)
    y = np.arange(rows) % n
    estimate = transition.estimate(y, labels.draw(y, T, random_state=0))
    error = np.sqrt(T * (1 - T) / (rows / n))
    assert (np.abs(estimate - T) < 5 * error).all()


# --- gamma, epsilon, condition -------------------------------------------------------------------


def l1(u, v):
    return sum(abs(a - b) for a, b in zip(u, v, strict=True))


def l2(u, v):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True)))


def largest_difference(u, v):
    return max(abs(a - b) for a, b in zip(u, v, strict=True))


def canberra(u, v):
    return sum(abs(a - b) / (a + b) for a, b in zip(u, v, strict=True) if a + b > 0)


def cosine(u, v):
    dot = sum(a * b for a, b in zip(u, v, strict=True))
    return 1 - dot / math.sqrt(sum(a * a for a in u) * sum(b * b for b in v))


def jensen_shannon(u, v):
    total = 0.0
    for a, b in zip(u, v, strict=True):
        middle = (a + b) / 2
        total += (a * math.log(a / middle) if a > 0 else 0) / 2
        total += (b * math.log(b / middle) if b > 0 else 0) / 2
    return math.sqrt(max(total, 0))


BY_NAME = {
    "l1": l1,
    "cityblock": l1,
    "l2": l2,
    "euclidean": l2,
    "sqeuclidean": lambda u, v: l2(u, v) ** 2,
    "chebyshev": largest_difference,
    "canberra": canberra,
    "braycurtis": lambda u, v: l1(u, v) / (sum(u) + sum(v)),
    "cosine": cosine,
    "jensenshannon": jensen_shannon,
}
CALLABLES = {
    "sums over the last axis": (lambda u, v: np.abs(u - v).sum(axis=-1), l1),
    "sums over everything": (lambda u, v: np.abs(u - v).sum(), l1),
    "norm of a vector": (lambda u, v: np.linalg.norm(u - v), l2),
    "norm over the last axis": (lambda u, v: np.linalg.norm(u - v, axis=-1), l2),
    "python's sum": (lambda u, v: sum(abs(u - v)), l1),
    "python's max": (lambda u, v: max(abs(u - v)), largest_difference),
    "first axis": (lambda u, v: np.abs(u - v).max(axis=0), largest_difference),
    "scipy's function": (scipy_distance.cityblock, l1),
    "not symmetric": (
        lambda u, v: np.maximum(u - v, 0).sum(axis=-1) + 0.1 * u[..., 0],
        lambda u, v: sum(max(a - b, 0) for a, b in zip(u, v, strict=True)) + 0.1 * u[0],
    ),
}


def gamma_by_loops(T, d):
    return min(d(T[i], T[j]) for i in range(len(T)) for j in range(len(T)) if i != j)


@pytest.mark.parametrize("name", BY_NAME)
@quick
@given(T=transitions())
def test_gamma_is_the_smallest_distance_of_two_rows(name, T):
    # A square root turns rounding of 1e-16 into 1e-8.
    assert math.isclose(
        transition.gamma(T, name), gamma_by_loops(T, BY_NAME[name]), rel_tol=1e-9, abs_tol=3e-8
    )


@pytest.mark.parametrize("name", CALLABLES)
@quick
@given(T=transitions())
def test_gamma_takes_any_callable_with_or_without_an_axis(name, T):
    given_, plain = CALLABLES[name]
    assert math.isclose(
        transition.gamma(T, given_), gamma_by_loops(T, plain), rel_tol=1e-9, abs_tol=1e-12
    )


def test_gamma_of_the_uniform_matrix_is_two_over_K_minus_one():
    for n in ALL_K:
        assert math.isclose(transition.gamma(transition.uniform(n)), 2 / (n - 1), rel_tol=1e-12)


@pytest.mark.parametrize("distance", ["no such metric", 3, None])
def test_an_unknown_distance_is_refused(distance):
    with pytest.raises(ValueError, match="distance must be 'l1', 'l2'"):
        transition.gamma(transition.uniform(4), distance)


@quick
@given(data=st.data())
def test_epsilon_is_the_largest_l1_distance_of_matching_rows(data):
    T = data.draw(transitions())
    other = np.array([data.draw(distributions(len(T))) for _ in T])
    expected = max(l1(a, b) for a, b in zip(other, T, strict=True))
    assert math.isclose(transition.epsilon(other, T), expected, abs_tol=1e-12)
    assert transition.epsilon(T, other) == pytest.approx(expected, abs=1e-12)
    assert transition.epsilon(T, T) == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", [0.0, 0.1, 0.2, 0.5, 1.0])
def test_epsilon_of_uniform_noise_on_strong_is_nine_tenths_of_its_level(level, seed):
    # Σ_k |T[y, k] - 1/10| = 3·0.15 + 3·0.02 + 3·(0.1 - 0.01/3) + 0.1 = 0.9 in every row.
    T = transition.strong(10, seed)
    noisy = transition.with_uniform_noise(T, level)
    assert math.isclose(transition.epsilon(noisy, T), 0.9 * level, abs_tol=1e-12)


@quick
@given(T=transitions())
def test_condition_number_is_the_ratio_of_the_extreme_singular_values(T):
    eigenvalues = np.linalg.eigvalsh(T.T @ T)
    assume(eigenvalues[0] > 1e-6)
    expected = math.sqrt(eigenvalues[-1] / eigenvalues[0])
    assert math.isclose(transition.condition_number(T), expected, rel_tol=1e-6)
    assert not transition.is_singular(T)


def test_condition_number_of_the_uniform_matrix_is_K_minus_one():
    for n in ALL_K:
        condition = transition.condition_number(transition.uniform(n))
        assert math.isclose(condition, n - 1, rel_tol=1e-9)


@quick
@given(T=transitions(), data=st.data())
def test_a_T_with_two_equal_rows_is_singular_with_gamma_zero(T, data):
    i, j = data.draw(st.permutations(range(len(T))))[:2]
    T[i] = T[j]
    assert transition.is_singular(T)
    assert transition.gamma(T) == 0
    assert transition.condition_number(T) > 1e12


# --- check ---------------------------------------------------------------------------------------


@quick
@given(T=transitions(), scale=st.floats(1 - 9e-5, 1 + 9e-5))
def test_check_returns_a_new_array_with_rows_that_sum_to_one(T, scale):
    rounded = T * scale
    kept = rounded.copy()
    checked = transition.check(rounded)
    np.testing.assert_allclose(checked, T, atol=1e-12)
    assert not np.shares_memory(checked, rounded)
    np.testing.assert_array_equal(rounded, kept)


@pytest.mark.parametrize(
    ("T", "message"),
    [
        ([[0, 1, 0], [1, 0, 0]], "must be square"),
        ([[1.0]], "at least 2 classes"),
        ([[0, 0.9], [1, 0]], "row 0 sums to 0.9"),
        ([[0, 1], [1.5, -0.5]], "none below 0; got -0.5 at row 1, column 1"),
        ([[0, 1], [np.nan, 0]], "finite numbers; got nan at row 1, column 0"),
        ([["a", "b"], ["c", "d"]], "K×K array of numbers"),
        ("weak", "got 'weak'"),
    ],
)
def test_check_says_what_is_wrong(T, message):
    with pytest.raises(ValueError, match=message):
        transition.check(T)


# --- describe ------------------------------------------------------------------------------------


def first_line(T):
    return transition.describe(T).splitlines()[0]


def promised(T):
    """Return {chance: labels} out of the last line of `describe`."""
    found = re.findall(r"([\d,]+) for ([\d.]+)%", transition.describe(T).splitlines()[-1])
    assert [chance for _, chance in found] == ["90", "99", "99.9"]
    counts = [int(count.replace(",", "")) for count, _ in found]
    return dict(zip((0.9, 0.99, 0.999), counts, strict=True))


@pytest.mark.parametrize("n", [2, 3, 10])
def test_describe_says_uniform_biased_noisy_and_singular(n):
    uniform = transition.uniform(n)
    assert first_line(uniform) == f"transition matrix of {n} classes: uniform"
    noisy = first_line(transition.with_uniform_noise(uniform, 0.3))
    assert "uniform" in noisy
    assert "noisy" in noisy
    assert "singular" not in noisy
    flat = first_line(np.full((n, n), 1 / n))
    assert "noisy" in flat
    assert "singular" in flat
    if n > 2:
        T = transition.strong(n, 0)
        assert first_line(T) == f"transition matrix of {n} classes: biased"
        assert "biased, noisy" in first_line(transition.with_uniform_noise(T, 0.2))
        T[1] = T[0]
        assert "biased" in first_line(T)
        assert "singular" in first_line(T)


def test_describe_and_is_uniform_agree_on_what_uniform_is():
    for deviation in (0.0, 1e-12, 1e-7, 1e-6, 1e-4):
        T = transition.uniform(4)
        T[0, 1] += deviation
        T[0, 2] -= deviation
        assert ("uniform" in first_line(T)) == transition.is_uniform(T) == (deviation < 1e-9)


def test_describe_gives_gamma_condition_and_the_share_of_wrong_labels():
    T = transition.with_uniform_noise(transition.strong(5, 0), 0.2)
    text = transition.describe(T)
    assert f"gamma (smallest L1 distance of two rows): {gamma_by_loops(T, l1):.4g}\n" in text
    assert f"condition number: {np.linalg.cond(T):.4g}\n" in text
    assert "wrong labels (diagonal): 0.04 on average, 0.04 at most\n" in text
    assert "wrong labels (diagonal): none\n" in transition.describe(transition.uniform(5))
    singular = transition.describe(np.full((3, 3), 1 / 3))
    assert "condition number: infinite (T has no inverse)" in singular


@pytest.mark.parametrize("pair", [(0, 1), (1, 3), (2, 4)])
def test_describe_says_that_no_number_of_labels_tells_equal_rows_apart(pair):
    T = transition.weak(5, 0)
    i, j = pair
    T[j] = T[i]
    last = transition.describe(T).splitlines()[-1]
    assert last == (f"no number of labels tells class {i} from class {j}: their rows are the same")


def named_share(T, m, trials, rng):
    """Share of m-label draws that maximum likelihood names right, ties counted as wrong."""
    n = len(T)
    log_T = np.log(np.maximum(T, 1e-300))  # a label that cannot be costs more than any other
    shares = []
    for y in range(n):
        counts = rng.multinomial(m, T[y] / T[y].sum(), size=trials)
        likelihood = counts @ log_T.T
        rivals = np.delete(likelihood, y, axis=1).max(axis=1)
        shares.append(np.mean(likelihood[:, y] > rivals + 1e-9))
    return np.array(shares)


@pytest.mark.parametrize(
    "name", ["uniform", "weak", "strong", "noisy", "two classes", "dense", "near twins"]
)
def test_the_promised_number_of_labels_names_every_class_with_the_promised_chance(name):
    rng = np.random.default_rng(7)
    T = {
        "uniform": transition.uniform(10),
        "weak": transition.weak(6, 0),
        "strong": transition.strong(10, 0),
        "noisy": transition.with_uniform_noise(transition.strong(6, 0), 0.3),
        "two classes": transition.with_uniform_noise(transition.uniform(2), 0.4),
        "dense": rng.dirichlet(np.full(5, 3.0), 5),
        "near twins": np.array([[0.0, 0.6, 0.4], [0.05, 0.55, 0.4], [0.5, 0.5, 0.0]]),
    }[name]
    trials = 4000
    for chance, m in promised(T).items():
        allowed = 5 * math.sqrt(chance * (1 - chance) / trials)
        assert named_share(T, m, trials, rng).min() >= chance - allowed
        if chance == 0.9:  # nor is the promise idle: a third of the labels would not keep it
            assert named_share(T, max(1, m // 3), trials, rng).min() < chance or m == 1


def exact_error(T, y, m):
    """Chance that m labels of class y are as likely under another class, by enumeration."""
    n = len(T)
    error = 0.0
    for cuts in itertools.combinations(range(m + n - 1), n - 1):
        edges = (-1, *cuts, m + n - 1)
        counts = [edges[k + 1] - edges[k] - 1 for k in range(n)]
        ways = math.factorial(m) // math.prod(map(math.factorial, counts))
        chances = [math.prod(T[j, k] ** counts[k] for k in range(n)) for j in range(n)]
        if max(chances[j] for j in range(n) if j != y) >= chances[y] * (1 - 1e-12):
            error += ways * chances[y]
    return error


@settings(deadline=None, max_examples=40)
@given(T=transitions(max_classes=3))
def test_the_promise_holds_exactly_for_two_and_three_classes(T):
    assume(transition.gamma(T) > 0.2)
    for chance, m in promised(T).items():
        if m <= 40:
            assert max(exact_error(T, y, m) for y in range(len(T))) <= 1 - chance + 1e-9


def test_one_label_is_enough_where_no_two_classes_share_one():
    assert promised(np.eye(4)[[1, 2, 3, 0]]) == {0.9: 1, 0.99: 1, 0.999: 1}


def test_estimate_minds_the_column_names_of_a_data_frame():
    """A frame in another order than `classes` would give a T with its columns swapped."""
    y_true = ["ant", "zebra", "mole", "ant"]
    names = ["zebra", "ant", "mole"]
    ruled_out = [["zebra"], ["mole"], ["ant"], ["mole"]]
    mask = pd.DataFrame([[k in row for k in names] for row in ruled_out], columns=names)
    expected = transition.estimate(y_true, [row[0] for row in ruled_out], classes=names)
    np.testing.assert_array_equal(transition.estimate(y_true, mask), expected)
    with pytest.raises(ValueError, match="columns named and ordered as classes"):
        transition.estimate(y_true, mask, classes=sorted(names))


def test_a_column_of_labels_is_as_good_as_a_row_of_them():
    y_true, y_comp = [0, 1, 2, 2], np.array([1, 0, 1, 0])
    expected = transition.estimate(y_true, y_comp)
    with pytest.warns(DataConversionWarning):
        found = transition.estimate(y_true, y_comp[:, None])
    np.testing.assert_array_equal(found, expected)
    assert expected.shape == (3, 3)
