"""Tables that show each method by every criterion, true labels among them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments_helpers import facts_of, made_up, small_plan
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading
from ybar.experiments.plan.model import METHODS
from ybar.experiments.results import layouts, tables
from ybar.experiments.results.choose import Rule, Runs


@pytest.fixture(scope="module")
def field():
    return reading.read("field")


@pytest.fixture(scope="module")
def tuned():
    """The small plan with every criterion, and its made-up runs."""
    plan = small_plan(every_criterion=True)
    return plan, Runs(made_up(plan), plan)


def test_true_labels_choose_the_most_accurate_rate_of_each_trial(tuned):
    plan, runs = tuned
    (part,) = plan.parts
    accuracies = {}
    for entry in runs.entries:
        config = entry.config
        if config["base"] == part.base.name and config["method"] == "cpe-f":
            where = config["dataset"], config["setting"], config["trial"]
            accuracies.setdefault(where, []).append(entry.scores["last.accuracy_l1"])
    method = replace(METHODS["cpe-f"], criterion="true")
    for (dataset, setting, trial), of_rates in accuracies.items():
        (data,) = (d for d in part.datasets if d.name == dataset)
        (labels,) = (s for s in part.settings if s.name == setting)
        chosen = runs.choose(part, method, data, labels, trial, Rule())
        assert len(of_rates) == len(part.learning_rates) > 1
        assert chosen.accuracy == max(of_rates)


def test_each_method_has_a_row_for_each_criterion_and_true_labels_are_the_best(tuned):
    plan, runs = tuned
    built = {table.name: table for table in tables.build(runs)}
    rows = dict(built["tuning-mlp"].rows)
    (part,) = plan.parts
    assert len(rows) == 3 * len(part.methods)
    for method in part.methods:
        best = rows[f"{method.label} by true labels"]
        for way in ("SCEL", "URE"):
            for cell, other in zip(best, rows[f"{method.label} by {way}"], strict=True):
                assert cell.n == other.n == 3
                assert cell.mean >= other.mean
    assert all(cell.paper is None for cells in rows.values() for cell in cells)


def test_no_such_table_is_there_if_the_plan_does_not_ask_for_it():
    plan = small_plan()
    assert not [t for t in tables.build(Runs([], plan)) if t.name.startswith("tuning")]


def test_the_field_has_every_method_of_ybar_on_five_kinds_of_labels(field):
    for part in field.parts:
        assert {method.name for method in part.methods} == set(METHODS)
        assert [setting.name for setting in part.settings] == [
            *("uniform", "weak", "strong", "noise-0.2", "people")
        ]
    names = [layout.name for layout in layouts.layouts(field)]
    assert {"tuning-linear", "tuning-mlp"} <= set(names)


def test_the_field_shares_the_runs_of_the_paper(field):
    def names(plan):
        jobs = plan_jobs.jobs(plan, facts_of(plan))
        return {
            name: (job.base.name, job.setting.name, training.method)
            for job in jobs
            for name, training in zip(plan_jobs.hashes(job), job.trainings, strict=True)
        }

    paper, ours = names(reading.read("paper")), names(field)
    shared = {ours[name] for name in ours.keys() & paper.keys()}
    methods = {"ure-ga", "scl-nl", "dm", "cpe-i", "cpe-f"}  # fwd is cpe-f
    assert {method for *_, method in shared} == methods
    assert {setting for _, setting, _ in shared} == {"uniform", "weak", "strong", "noise-0.2"}


def test_the_t_of_people_is_in_the_order_of_the_classes_of_any_data(field):
    (people,) = {s for part in field.parts for s in part.settings if s.name == "people"}
    assert people.classes == ()  # those of any data, without a note
    assert len(people.transition) == 10
    assert all(sum(row) == pytest.approx(1) for row in people.transition)
    assert min(people.transition[k][k] for k in range(10)) > 0  # people make mistakes
