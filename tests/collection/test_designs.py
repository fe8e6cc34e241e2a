"""A design is enforceable if and only if menus make its T; what a T is worth is computed right."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_helpers import PAIRS, SAME, words
from ybar import collection, transition
from ybar.collection.designs import menus_of

quick = settings(deadline=None, max_examples=40)


@st.composite
def matrices(draw, max_classes=6):
    n = draw(st.integers(2, max_classes))
    weights = st.lists(st.integers(0, 9), min_size=n - 1, max_size=n - 1).filter(any)
    T = np.zeros((n, n))
    for y in range(n):
        row = np.array(draw(weights), dtype=float)
        T[y, np.arange(n) != y] = row / row.sum()
    return T


@st.composite
def menus(draw, max_classes=6):
    n = draw(st.integers(2, max_classes))
    cells = st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n)
    shown = np.array(draw(cells), dtype=float).reshape(n, n)
    np.fill_diagonal(shown, 0)
    shown[0, 1] += 1
    return shown


def label_by_asking(y, first, second):
    return first if y != first else second


@quick
@given(shown=menus())
def test_the_T_of_menus_is_that_of_asking_each_as_often_as_it_is_shown(shown):
    n = len(shown)
    T = np.zeros((n, n))
    for y in range(n):
        for a in range(n):
            for b in range(n):
                if a != b:
                    T[y, label_by_asking(y, a, b)] += shown[a, b] / shown.sum()
    np.testing.assert_allclose(transition.from_menus(shown), T, rtol=0, atol=1e-12)


@quick
@given(shown=menus())
def test_what_menus_make_is_enforceable_and_its_menus_make_it_again(shown):
    T = transition.from_menus(shown)
    design = collection.plan(len(T), designs={"mine": T})["mine"]
    assert design.enforceable
    np.testing.assert_allclose(design.menus.sum(), 1, rtol=0, atol=1e-9)
    np.testing.assert_allclose(transition.from_menus(design.menus), T, rtol=0, atol=1e-9)


@quick
@given(T=matrices(), level=st.floats(0, 0.9))
def test_enforceable_means_that_a_distribution_lies_below_the_columns_noise_or_not(T, level):
    n = len(T)
    room = sum(min(T[y, k] for y in range(n) if y != k) for k in range(n))
    if abs(room - 1) < 1e-6:
        return
    assert (menus_of(T) is not None) == (room > 1)
    assert (menus_of(transition.with_uniform_noise(T, level)) is not None) == (room > 1)


def test_noise_in_a_design_leaves_its_menus_and_other_wrong_labels_leave_none():
    clean = transition.from_menus(np.roll(np.eye(5), 1, axis=1))
    noisy = transition.with_uniform_noise(clean, 0.3)
    uneven = transition.uniform(5)
    uneven[0] = [0.2, 0.2, 0.2, 0.2, 0.2]
    designs = {"clean": clean, "noisy": noisy, "uneven": uneven}
    found = {design.name: design for design in collection.plan(5, designs=designs).designs}
    np.testing.assert_allclose(found["noisy"].menus, found["clean"].menus, atol=1e-12)
    assert found["noisy"].enforceable
    assert not found["uneven"].enforceable
    assert found["uneven"].menus is None
    assert ".menus" not in found["uneven"].how


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 10, 25])
def test_uniform_and_cycle_can_be_enforced_and_few_labels_a_class_cannot(n):
    plan = collection.plan(n, random_state=0)
    assert plan["uniform"].enforceable
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(plan["uniform"].menus[off], 1 / (n * (n - 1)), atol=1e-12)
    if n > 2:
        assert plan["cycle"].enforceable
        np.testing.assert_allclose(plan["cycle"].menus, np.roll(np.eye(n) / n, 1, 1), atol=1e-12)
    if n > 3:
        assert not plan["few"].enforceable
        assert plan["few"].menus is None
    if n >= 10:
        assert not plan["weak"].enforceable
        assert not plan["strong"].enforceable


def test_labels_that_come_of_menus_follow_the_T_that_is_promised():
    rng = np.random.default_rng(0)
    design = collection.plan(5, random_state=0)["cycle"]
    y = rng.integers(5, size=100_000)
    first, second = np.divmod(rng.choice(25, size=len(y), p=design.menus.ravel()), 5)
    y_comp = np.where(first != y, first, second)
    T = transition.estimate(y, y_comp, smoothing=0)
    assert np.abs(T - design.transition).max() < 5 * 0.5 / math.sqrt(len(y) / 5)


def entropy(p):
    return -sum(v * math.log2(v) for v in p if v > 0)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10, 50])
def test_information_has_its_closed_forms(n):
    plan = collection.plan(n, designs={"uniform": "uniform", "named": np.eye(n)})
    assert math.isclose(plan["uniform"].information, math.log2(n / (n - 1)))
    assert math.isclose(plan["named"].information, math.log2(n))
    if n > 2:
        plan = collection.plan(n)
        assert math.isclose(plan["cycle"].information, 2 / n)
        assert math.isclose(plan["cycle"].gamma, 4 / n)
        expected = n / (2 * math.sin(math.pi / n))
        assert math.isclose(plan["cycle"].condition_number, expected, rel_tol=1e-9)


@quick
@given(T=matrices(), level=st.floats(0, 1))
def test_information_is_the_entropy_of_labels_less_that_within_a_class(T, level):
    design = collection.plan(len(T), noise=level, designs={"mine": T})["mine"]
    noisy = transition.with_uniform_noise(T, level)
    bits = entropy(noisy.mean(axis=0)) - np.mean([entropy(row) for row in noisy])
    assert math.isclose(design.information, bits, abs_tol=1e-9)
    assert 0 <= design.information <= math.log2(len(T)) + 1e-9


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_with_noise_every_design_tells_less_and_with_only_noise_nothing(n):
    plans = [collection.plan(n, noise=v, random_state=0) for v in (0, 0.1, 0.3, 0.6, 0.9, 1)]
    for name in [d.name for d in plans[0].designs]:
        designs = [plan[name] for plan in plans]
        for before, after in itertools.pairwise(designs):
            assert after.information < before.information
            assert after.gamma < before.gamma
            assert (after.labels_99 or math.inf) >= before.labels_99
        assert math.isclose(designs[-1].information, 0, abs_tol=1e-12)
    assert plans[-1].recommended is None
    assert "Recommended" not in str(plans[-1])


@pytest.mark.parametrize("noise", [0, 0.2])
def test_gamma_condition_and_labels_are_those_of_transition(noise):
    plan = collection.plan(10, noise=noise, random_state=3)
    assert [d.name for d in plan.designs] == [
        "uniform",
        "cycle",
        "subsets",
        "weak",
        "strong",
        "few",
    ]
    for design in plan.designs:
        T = design.transition
        assert design.gamma == transition.gamma(T)
        assert design.condition_number == transition.condition_number(T)
        assert f"{design.labels_90} for 90%, {design.labels_99} for 99%" in transition.describe(T)
    uniform = transition.with_uniform_noise(transition.uniform(10), noise)
    np.testing.assert_array_equal(plan["uniform"].transition, uniform)


@pytest.mark.parametrize("n", range(2, 31))
def test_of_the_designs_by_default_none_is_singular_and_no_two_are_equal(n):
    plan = collection.plan(n, random_state=0)
    assert not any(d.singular for d in plan.designs if d.name not in ("weak", "strong"))
    matrices = [d.transition for d in plan.designs]
    assert len({T.round(9).tobytes() for T in matrices}) == len(matrices)
    if n >= 7:
        # Two of the three labels of a class are in no way those of another.
        assert math.isclose(plan["few"].gamma, 4 / 3)


def test_a_singular_design_is_said_to_be_and_not_recommended_though_its_gamma_is_larger():
    pairs = transition.from_menus(PAIRS)
    plan = collection.plan(6, designs={"pairs": pairs, "uniform": "uniform"})
    assert plan["pairs"].singular
    assert plan["pairs"].condition_number == math.inf
    assert re.search(r"condition number +inf +5\n", str(plan))
    assert plan["pairs"].gamma > 1.5 * plan["uniform"].gamma
    assert plan.recommended.name == "uniform"
    alone = collection.plan(6, designs={"pairs": pairs})
    assert alone.recommended.name == "pairs"
    assert "no inverse" in words(alone)
    # Why: two very different p, the same q.
    p, other = [0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0]
    np.testing.assert_allclose(np.array(p) @ pairs, np.array(other) @ pairs, atol=1e-15)


def test_classes_with_the_same_row_are_never_told_apart():
    plan = collection.plan(3, designs={"same": SAME, "uniform": "uniform"})
    assert plan["same"].labels_90 is plan["same"].labels_99 is None
    assert plan.recommended.name == "uniform"
    assert re.search(r"labels per class for 99% +never +8\n", str(plan))
    assert collection.plan(3, designs={"same": SAME}).recommended is None
