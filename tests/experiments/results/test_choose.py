"""The run of a trial that counts: by validation loss alone, out of all that were planned."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace

import pytest

from experiments_helpers import (
    cell_of,
    changed,
    facts_of,
    failed,
    made_up,
    printed,
    rows_of,
    small_plan,
    where,
    with_scores,
)
from ybar.experiments.plan.model import (
    Network,
)
from ybar.experiments.results import render, tables
from ybar.experiments.results.choose import Runs

KMNIST_WEAK = {"dataset": "kmnist", "setting": "weak"}


MAIN_CPE_F = ["main", "CPE-F", "mnist", "strong"]


ROWS = [  # table, row, the method trained (under uniform T), its decoder, what chooses
    ("main", "URE-GA", "ure-ga", None, "max", "ure"),
    ("main", "SCL", "scl-nl", "cpe-f", "max", "ure"),
    ("main", "Fwd", "cpe-f", None, "max", "ure"),
    ("main", "CPE-F", "cpe-f", None, "l1", "scel"),
    ("main", "CPE-T", "cpe-t", None, "l1", "scel"),
    ("decoders", "MAX", "cpe-f", None, "max", "scel"),
    ("decoders", "L1", "cpe-f", None, "l1", "scel"),
    ("validation-cpe-t", "mlp URE", "cpe-t", None, "l1", "ure"),
    ("validation-cpe-t", "mlp SCEL", "cpe-t", None, "l1", "scel"),
    ("validation-fwd", "mlp URE", "cpe-f", None, "max", "ure"),
    ("validation-fwd", "mlp SCEL", "cpe-f", None, "max", "scel"),
]


@pytest.mark.parametrize("ure", ["given", "uniform"])
@pytest.mark.parametrize("epoch", ["last", "best"])
@pytest.mark.parametrize(("table", "row", "method", "uniformly", "decoder", "criterion"), ROWS)
def test_a_cell_is_what_its_definition_says(
    small, table, row, method, uniformly, decoder, criterion, epoch, ure
):
    plan, entries = small
    built = tables.build(Runs(entries, plan), epoch=epoch, ure=ure)
    for dataset in ("mnist", "kmnist"):
        for setting in ("uniform", "strong"):
            trained = (uniformly or method) if setting == "uniform" else method
            accuracies, rates = [], []
            for trial in range(3):
                best = math.inf
                for entry in entries:
                    run = {"dataset": dataset, "setting": setting, "trial": trial}
                    if not where(entry, run | {"method": trained}):
                        continue
                    loss = "scel" if criterion == "scel" else f"ure_{decoder}"
                    if criterion == "ure" and ure == "uniform":
                        loss = f"ure_uniform_{decoder}"
                    curve = entry.curves[loss]
                    at = len(curve) - 1 if epoch == "last" else list(curve).index(min(curve))
                    if curve[at] < best:
                        best = curve[at]
                        accuracy = entry.curves[f"accuracy_{decoder}"][at]
                        rate = entry.config["learning_rate"]
                accuracies.append(accuracy)
                rates.append(rate)
            cell = cell_of(built, table, row, dataset, setting)
            assert cell.accuracies == pytest.approx(accuracies, abs=1e-12)
            assert list(cell.rates) == rates
            assert (cell.n, cell.of, cell.complete) == (3, 3, True)
            assert cell.mean == pytest.approx(sum(accuracies) / 3)
            assert cell.std == pytest.approx(statistics.stdev(accuracies))


def test_the_choices_make_a_difference(small):
    plan, entries = small
    made = {
        render.to_csv(tables.build(Runs(entries, plan), epoch=epoch, ure=ure))
        for epoch in ("last", "best")
        for ure in ("given", "uniform")
    }
    assert len(made) == 4


@pytest.mark.parametrize("base", ["knn", "gbdt"])
@pytest.mark.parametrize("epoch", ["last", "best"])
def test_models_without_epochs_have_their_one_accuracy(paper, paper_entries, base, epoch):
    built = tables.build(Runs(paper_entries, paper), epoch=epoch)
    cell = cell_of(built, "traditional", f"CPE-{base.upper()}", "kmnist", "weak")
    runs = [e for e in paper_entries if where(e, {"base": base} | KMNIST_WEAK)]
    runs.sort(key=lambda e: e.config["trial"])
    assert cell.accuracies == tuple(e.scores["last.accuracy_l1"] for e in runs)
    assert cell.rates == (None,) * 5


TRIAL = {"dataset": "mnist", "setting": "strong", "trial": 1, "method": "cpe-f"}


RATE = TRIAL | {"learning_rate": 1e-4}


@pytest.mark.parametrize(
    ("change", "which", "n"),
    [
        pytest.param(None, TRIAL, 2, id="a trial not run"),
        pytest.param(None, RATE, 2, id="a rate not run"),
        pytest.param(failed, RATE, 3, id="a rate failed"),
        pytest.param(failed, TRIAL, 2, id="all rates of a trial failed"),
        pytest.param(with_scores({"last.scel": math.nan}), RATE, 3, id="a rate without loss"),
        pytest.param(with_scores({"last.scel": math.nan}), TRIAL, 2, id="no rate with a loss"),
        pytest.param(failed, {"method": "cpe-f"}, 0, id="all failed"),
        pytest.param(None, {"method": "cpe-f"}, 0, id="nothing run"),
        pytest.param(None, {"method": "cpe-t"}, 3, id="another method not run"),
        pytest.param(None, {"dataset": "kmnist"}, 3, id="another data set not run"),
    ],
)
def test_a_cell_says_how_many_trials_are_complete(small, change, which, n):
    plan, entries = small
    built = tables.build(Runs(changed(entries, change, which), plan))
    cell = cell_of(built, "main", "CPE-F")
    assert (cell.n, cell.of, cell.complete) == (n, 3, n == 3)
    assert math.isnan(cell.mean) == (n == 0)
    assert (cell.failed > 0) == (change is not None)
    marks = {render.markdown: "†", render.latex: r"\dag{}", printed: "†"}
    for made, mark in marks.items():
        assert f"({n}/3{mark if change is not None else ''})" in made(built[0])
    (line,) = (r for r in rows_of(render.to_csv(built)) if r[:4] == MAIN_CPE_F)
    assert line[6:8] == [str(n), "3"]


def test_a_run_that_failed_or_has_no_loss_is_never_chosen(small):
    plan, entries = small
    other = next(e for e in entries if where(e, TRIAL | {"learning_rate": 1e-3}))
    for change in (failed, with_scores({"last.scel": math.nan})):
        cell = cell_of(tables.build(Runs(changed(entries, change, RATE), plan)), "main", "CPE-F")
        assert cell.rates[1] == 1e-3
        assert cell.accuracies[1] == other.scores["last.accuracy_l1"]


def test_of_equal_losses_the_first_rate_of_the_plan_counts(small):
    plan, entries = small
    same = changed(entries, with_scores({"last.scel": 1.0}), {})
    cell = cell_of(tables.build(Runs(same, plan)), "main", "CPE-F")
    assert cell.rates == (1e-3,) * 3


def test_runs_on_other_data_do_not_count(small):
    plan, entries = small
    facts = facts_of(plan)
    other = {d: known._replace(sha256="f" * 64) for d, known in facts.items()}
    cells = [c for t in tables.build(Runs(entries, plan, other)) for *_, c in t.cells()]
    assert all(cell.n == 0 for cell in cells)
    both = [*entries, *made_up(plan, other)]
    assert tables.build(Runs(both, plan, facts)) == tables.build(Runs(entries, plan))
    for last in (facts, other):  # without facts those run last count
        versions = {known.sha256 for known in last.values()}
        dated = [
            replace(e, finished="2001" if e.config["data_sha256"] in versions else "2000")
            for e in both
        ]
        assert tables.build(Runs(dated, plan)) == tables.build(Runs(dated, plan, last))


def test_runs_of_other_plans_do_not_count(small):
    plan, entries = small
    others = made_up(small_plan(base=Network("mlp", (500,), epochs=9)))
    assert tables.build(Runs([*others, *entries], plan)) == tables.build(Runs(entries, plan))


def test_configurations_that_were_json_are_the_same_runs(small):
    plan, entries = small
    read = [replace(e, config=json.loads(json.dumps(e.config))) for e in entries]
    assert tables.build(Runs(read, plan)) == tables.build(Runs(entries, plan))


@pytest.mark.parametrize("wrong", [{"epoch": "first"}, {"ure": "weak"}, {"epoch": None}])
def test_what_cannot_be_chosen_is_refused_in_a_line(small, wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} must be '.*' or '.*'; got"):
        tables.build(Runs([], small[0]), **wrong)
