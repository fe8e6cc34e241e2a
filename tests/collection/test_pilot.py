"""Simulated accuracies are reproducible and mean what they say."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from collection_helpers import X, Y, bayes, simulated, words
from ybar import CPEKNeighborsClassifierCV, collection, labels, transition


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
    assert re.search(rf"Accuracy 0.75 needs (about|at most) {reached} labels", words(plan))
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
