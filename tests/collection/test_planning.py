"""Planning a collection: figures that are right, and no promise that cannot be kept."""

from __future__ import annotations

import itertools
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ybar import CPEClassifier, CPEKNeighborsClassifierCV, collection, labels, transition
from ybar.collection.designs import menus_of

quick = settings(deadline=None, max_examples=40)
X, Y = load_iris(return_X_y=True)
PAIRS = np.kron(np.eye(3), [[0, 1], [1, 0]])  # 0 and 1, 2 and 3, 4 and 5, in either order
SAME = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0, 0.5, 0.5]]  # no label tells class 0 from class 2


def bayes():
    """Cheap, for tests that are not about accuracy."""
    return CPEClassifier(GaussianNB(), decoder="likelihood")


def simulated(**changes):
    given = {"X": X, "y": Y, "budget": 100, "random_state": 0, "classifier": bayes()}
    return collection.plan(3, **given | changes)


def words(plan):
    return " ".join(str(plan).split())


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


# --- menus: what can be enforced -----------------------------------------------------------------


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


# --- figures -------------------------------------------------------------------------------------


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
    assert [d.name for d in plan.designs] == ["uniform", "cycle", "weak", "strong", "few"]
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


# --- advice --------------------------------------------------------------------------------------


def test_what_cannot_be_enforced_is_not_recommended_but_what_it_promises_is_said():
    plan = collection.plan(10, budget=6000, random_state=0)
    assert plan.recommended.enforceable
    assert plan["few"].information > 5 * plan.recommended.information
    assert re.search(r"Recommended: cycle.*few .*1\.737 bits per label", words(plan))
    few = plan["few"].transition
    alone = collection.plan(10, designs={"only": few})
    assert alone.recommended.name == "only"
    assert "Recommended: only." in words(alone)


def test_the_fewest_labels_for_a_class_decide_without_a_pilot():
    for n in (3, 5, 10, 30):
        plan = collection.plan(n, random_state=0)
        enforceable = [d for d in plan.designs if d.enforceable]
        assert plan.recommended.labels_99 == min(d.labels_99 for d in enforceable)


def test_a_budget_without_a_pilot_is_counted_in_groups_that_look_alike():
    plan = collection.plan(10, budget=1000, designs={"uniform": "uniform"})
    assert re.search(r"58 labels .*1,000 .*17 ", words(plan))
    assert plan.budget == 1000
    assert plan.sizes == ()
    assert plan["uniform"].accuracy is plan["uniform"].std_error is None


def test_the_table_is_narrow_and_names_cannot_break_it():
    plan = collection.plan(3, designs={"a\nb\x1b[31m": "uniform"})
    assert r"a\nb\x1b[31m" in str(plan)
    assert "\x1b" not in str(plan)
    assert repr(plan) == str(plan)
    assert max(map(len, str(simulated(target=0.9)).splitlines())) <= 110
    with pytest.raises(KeyError, match="no design 'other'; there are"):
        plan["other"]


# --- simulation ----------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_accuracies_whatever_the_classifier_draws():
    knn = CPEKNeighborsClassifierCV()  # holds rows out at random
    plans = [simulated(random_state=seed, classifier=knn) for seed in (5, 5, 6)]
    for design, again, other in zip(*(plan.designs for plan in plans), strict=True):
        np.testing.assert_array_equal(design.accuracies, again.accuracies)
        assert not np.array_equal(design.accuracies, other.accuracies)
    assert str(plans[0]) == str(plans[1])
    assert knn.random_state is None


def test_nothing_that_is_given_is_changed():
    before, x, y = np.random.get_state(), X.copy(), Y.copy()
    T = transition.weak(3, 0)
    kept, classifier = T.copy(), bayes()
    simulated(designs={"mine": T}, classifier=classifier)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(T, kept)
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])
    assert classifier.transition == "uniform"
    assert not hasattr(classifier, "classes_")


def test_labels_that_name_the_class_reach_what_ordinary_labels_do_and_noise_nothing():
    named = simulated(designs={"named": np.eye(3)}, repeats=8)["named"]
    assert named.accuracy > 0.9
    nothing = simulated(designs={"named": np.eye(3)}, noise=1.0, repeats=8)["named"]
    assert abs(nothing.accuracy - 1 / 3) < 0.15


def test_accuracy_rises_with_labels_and_its_error_is_that_of_a_mean():
    plan = simulated(budget=400, repeats=6)
    assert plan.sizes == (50, 100, 200, 400)
    for design in plan.designs:
        means = design.accuracies.mean(axis=0)
        assert design.accuracies.shape == (6, 4)
        assert means[-1] > means[0]
        assert design.accuracy == means[-1]
        error = design.accuracies[:, -1].std(ddof=1) / math.sqrt(6)
        assert math.isclose(design.std_error, error)
        assert f"{design.accuracy:.3f} ± {design.std_error:.3f}" in str(plan)
    assert plan["uniform"].accuracy > 0.8
    assert plan.pilot_rows == 100
    assert re.search(r"\b100 rows of the pilot", words(plan))
    assert "rows of the pilot" not in words(simulated())


def test_how_many_labels_a_target_takes_is_read_off_the_curve():
    plan = simulated(budget=400, target=0.75)
    for design in plan.designs:
        means = design.accuracies.mean(axis=0)
        needed = design.labels_for_target
        if (means < 0.75).all():
            assert needed is None
            continue
        i = int(np.argmax(means >= 0.75))
        assert needed <= plan.sizes[i]
        assert needed == plan.sizes[0] if i == 0 else needed > plan.sizes[i - 1]
    reached = plan.recommended.labels_for_target
    assert re.search(rf"Accuracy 0.75 needs about (≤ )?{reached} labels", words(plan))
    too_high = simulated(target=1.0)
    assert all(d.labels_for_target is None for d in too_high.designs)
    assert re.search("100 labels do not reach 1: expect accuracy", words(too_high))
    assert words(too_high).count("not reached") == len(too_high.designs)


def test_the_simplest_design_is_recommended_where_no_other_is_clearly_better():
    same = {"first": "uniform", "second": "uniform", "third": transition.weak(3, 0)}
    plan = simulated(designs=same, repeats=10)
    scores = {d.name: d.accuracies[:, -1] for d in plan.designs}
    best = max(scores.values(), key=np.mean)
    for name, score in scores.items():
        behind = best - score
        if behind.mean() <= behind.std(ddof=1) / math.sqrt(10):
            assert plan.recommended.name == name
            break


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x.tolist(),
        sparse.csr_matrix,
        sparse.coo_matrix,
        lambda x: pd.DataFrame(x, columns=list("abcd"), index=range(7, 7 + len(x))),
    ],
)
def test_X_may_have_any_form_and_y_names(form):
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = collection.plan(3, X=form(X), y=names, budget=40, repeats=2, random_state=0)
    same = collection.plan(3, X=X, y=Y, budget=40, repeats=2, random_state=0)
    for design, other in zip(plan.designs, same.designs, strict=True):
        np.testing.assert_allclose(design.accuracies, other.accuracies, atol=0.05)


def test_a_pipeline_that_ends_in_one_of_our_classifiers_is_taken():
    plan = simulated(classifier=make_pipeline(StandardScaler(), bayes()))
    assert plan.budget == 100
    assert all(d.accuracy > 0.4 for d in plan.designs)


def test_the_budget_is_the_pilot_by_default_and_small_parts_of_a_small_one_are_left_out():
    assert simulated(budget=None).sizes == (12, 25, 50, 100)
    assert simulated(budget=7).sizes == (4, 7)
    assert simulated(budget=3).sizes == (3,)


def test_a_design_that_gives_one_label_only_learns_nothing_and_does_not_fail():
    constant = [[0.0, 0.0, 1.0]] * 3
    plan = simulated(designs={"constant": constant, "uniform": "uniform"})
    assert plan["constant"].information == 0
    assert plan["constant"].accuracy < 0.5
    assert plan.recommended.name == "uniform"


def test_the_T_of_a_design_is_the_one_to_fit_with():
    design = simulated(noise=0.1)["cycle"]
    y_comp = labels.draw(Y, design.transition, random_state=0)
    assert bayes().set_params(transition=design.transition).fit(X, y_comp).score(X, y_comp) > -1.2
