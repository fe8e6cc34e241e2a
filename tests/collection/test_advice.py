"""A plan recommends what can be enforced, and its text holds its figures."""

from __future__ import annotations

import re

import pytest

from collection_helpers import simulated, words
from ybar import collection


def test_what_cannot_be_enforced_is_not_recommended_but_what_it_promises_is_said():
    plan = collection.plan(10, budget=6000, random_state=0)
    assert plan.recommended.enforceable
    assert plan["few"].information > plan.recommended.information
    assert re.search(r"Recommended: subsets.*'few' .*1\.737 bits per label", words(plan))
    few = plan["few"].transition
    alone = collection.plan(10, designs={"only": few})
    assert alone.recommended.name == "only"
    assert "Recommended: only." in words(alone)


def test_the_fewest_questions_for_a_class_decide_without_a_pilot():
    for n in (3, 5, 10, 30):
        plan = collection.plan(n, random_state=0)
        enforceable = [d for d in plan.designs if d.enforceable]
        questions = [d.labels_99 * d.questions_per_label for d in enforceable]
        best = plan.recommended
        assert best.labels_99 * best.questions_per_label == min(questions)


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
