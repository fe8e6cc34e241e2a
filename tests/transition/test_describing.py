"""Distances, condition and the number of labels that T costs are measured right."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import distance as scipy_distance

from matrices import ALL_K, distributions, transitions
from ybar import transition

quick = settings(deadline=None, max_examples=40)


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
    with pytest.raises(ValueError, match=r"^distance .*'l1', 'l2'"):
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
def test_describe_names_classes_that_no_number_of_labels_distinguishes(pair):
    T = transition.weak(5, 0)
    i, j = pair
    T[j] = T[i]
    last = transition.describe(T).splitlines()[-1]
    assert re.search(rf"\b{i} and {j}\b", last)


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
