"""Questions about a subset: their T is that of asking, and the best size is the best."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ybar import CPEKNeighborsClassifierCV, collection, datasets, labels, transition
from ybar.collection.subsets import best_subsets, transition_of
from ybar.transition.describing import labels_needed


def questions(subsets, noise):
    n, size = subsets.shape
    T = transition.with_uniform_noise(transition_of(subsets), noise)
    return labels_needed(T, 0.01) * n / (n - size)


@pytest.mark.parametrize(("n", "size"), [(5, 1), (6, 2), (7, 3), (10, 5)])
def test_T_is_that_of_asking_and_keeping_the_noes(n, size):
    rng = np.random.default_rng(n)
    offsets = np.append(0, rng.choice(n - 1, size - 1, replace=False) + 1)
    subsets = (np.arange(n)[:, None] + offsets) % n
    kept = np.zeros((n, n))
    for y in range(n):
        for k, listed in enumerate(subsets):
            kept[y, k] = y not in listed
    T = transition_of(subsets)
    np.testing.assert_allclose(T, kept / kept.sum(axis=1, keepdims=True), atol=1e-15)
    assert (np.diag(T) == 0).all()
    if size == 1:
        np.testing.assert_allclose(T, transition.uniform(n), atol=1e-15)


def test_answers_of_people_who_are_right_follow_the_T_of_the_plan():
    rng = np.random.default_rng(0)
    design = collection.plan(9)["subsets"]
    y, asked = rng.integers(9, size=200_000), rng.integers(9, size=200_000)
    no = ~(design.subsets[asked] == y[:, None]).any(axis=1)
    assert math.isclose(1 / no.mean(), design.questions_per_label, rel_tol=0.02)
    T = transition.estimate(y[no], asked[no], smoothing=0)
    assert np.abs(T - design.transition).max() < 0.02
    size = design.subsets.shape[1]
    assert math.isclose(design.information, math.log2(9 / (9 - size)))


@pytest.mark.parametrize("noise", [0, 0.1, 0.5])
@pytest.mark.parametrize("n", [5, 8, 13, 40])
def test_no_other_random_subsets_need_clearly_fewer_questions(n, noise):
    best = best_subsets(n, noise, n // 2)
    T = transition_of(best)
    assert not transition.is_singular(T)
    assert (np.diag(T) == 0).all()
    rng = np.random.default_rng(n)
    for size in range(2, n // 2 + 1):
        for _ in range(5):
            offsets = np.append(0, rng.choice(n - 1, size - 1, replace=False) + 1)
            other = (np.arange(n)[:, None] + offsets) % n
            if not transition.is_singular(transition_of(other)):
                assert questions(best, noise) <= 1.1 * questions(other, noise)


def test_the_size_fits_the_noise_and_the_largest_size_is_kept():
    for noise in (0.0, 0.3, 0.7):
        tuned = questions(best_subsets(60, noise, 30), noise)
        for other in (0.0, 0.3, 0.7):
            assert tuned <= questions(best_subsets(60, other, 30), noise)
    fewest = [questions(best_subsets(60, 0.1, largest), 0.1) for largest in (2, 5, 15, 30)]
    assert fewest == sorted(fewest, reverse=True)
    assert fewest[0] > 5 * fewest[-1]
    plan = collection.plan(60, noise=0.1, largest_subset=4)
    assert plan["subsets"].subsets.shape[1] <= 4
    assert collection.plan(20)["subsets"].subsets.shape[1] <= 10


def test_too_few_classes_have_no_subsets():
    for n in (2, 3, 4):
        assert "subsets" not in {design.name for design in collection.plan(n).designs}


def test_many_classes_need_few_questions_where_other_designs_need_thousands():
    plan = collection.plan(200, noise=0.1, random_state=0)
    best = plan.recommended
    assert best.name == "subsets"
    assert best.enforceable
    assert best.labels_99 < 50
    assert plan["uniform"].labels_99 > 4000
    assert str(best.subsets.shape[1]) in best.how


def test_a_classifier_learns_digits_from_fewer_questions_about_subsets():
    d = datasets.load("digits")
    plan = collection.plan(10)
    accuracy = {}
    for name in ("uniform", "cycle", "subsets"):
        design = plan[name]
        n_labels = int(1200 / design.questions_per_label)
        y_comp = labels.draw(d.y_train[:n_labels], design.transition, 0)
        classifier = CPEKNeighborsClassifierCV(
            transition=design.transition, classes=range(10), decoder="likelihood", random_state=0
        )
        classifier.fit(d.X_train[:n_labels], y_comp)
        accuracy[name] = (classifier.predict(d.X_test) == d.y_test).mean()
    assert accuracy["subsets"] > accuracy["cycle"] + 0.03
    assert accuracy["subsets"] > accuracy["uniform"] + 0.03


@pytest.mark.slow
def test_a_plan_for_a_thousand_classes_recommends_subsets():
    assert collection.plan(1000, noise=0.1, random_state=0).recommended.labels_99 < 60
