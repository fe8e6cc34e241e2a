"""Tables say what was run: n of N trials, the paper's figure beside it, never a silent mean."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
import statistics
import sys
from dataclasses import replace

import pytest

from experiments_helpers import facts_of, made_up, small_plan
from hostile_names import HOSTILE
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.model import (
    METHODS,
    Boosting,
    Dataset,
    Method,
    Neighbors,
    Network,
    Setting,
)
from ybar.experiments.results import published, render, tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.results.tables import Cell, Table


@pytest.fixture(scope="module")
def paper():
    return plan_file.read("paper")


@pytest.fixture(scope="module")
def paper_entries(paper):
    return made_up(paper)


@pytest.fixture(scope="module")
def full(paper, paper_entries):
    return tables.build(Runs(paper_entries, paper))


@pytest.fixture(scope="module")
def small():
    plan = small_plan()
    return plan, made_up(plan)


def cell_of(built, table, row, dataset="mnist", setting="strong"):
    (found,) = (
        cell
        for each in built
        if each.name == table
        for *names, cell in each.cells()
        if names == [row, dataset, setting]
    )
    return found


def where(entry, names):
    return all(entry.config.get(name) == value for name, value in names.items())


def changed(entries, change, names):
    """Entries of which those that match are changed, or left out where the change is None."""
    found = [(change and change(e)) if where(e, names) else e for e in entries]
    return [entry for entry in found if entry is not None]


def failed(entry):
    """A run that failed, though its loss was the lowest of all."""
    return replace(entry, cause="out of memory", scores=entry.scores | {"last.scel": -1.0})


def with_scores(scores):
    return lambda entry: replace(entry, scores=entry.scores | scores)


KMNIST_WEAK = {"dataset": "kmnist", "setting": "weak"}
MAIN_CPE_F = ["main", "CPE-F", "mnist", "strong"]


# What a cell is


def test_the_tables_of_the_paper_are_all_there(paper):
    built = tables.build(Runs([], paper))
    assert [(t.name, [label for label, _ in t.rows], len(t.columns)) for t in built] == [
        ("main", ["URE-GA", "SCL", "DM", "Fwd", "CPE-I", "CPE-F", "CPE-T"], 18),
        ("linear-clean", ["URE-GA", "SCL", "DM", "Fwd", "CPE-I", "CPE-F", "CPE-T"], 9),
        ("linear-noisy", ["URE-GA", "SCL", "DM", "Fwd", "CPE-I", "CPE-F", "CPE-T"], 9),
        ("decoders", ["MAX", "L1"], 18),
        ("traditional", ["CPE-KNN", "CPE-GBDT"], 18),
        ("validation-cpe-t", ["linear URE", "linear SCEL", "mlp URE", "mlp SCEL"], 18),
        ("validation-fwd", ["linear URE", "linear SCEL", "mlp URE", "mlp SCEL"], 18),
    ]


def test_every_published_figure_stands_in_one_cell(paper):
    bases = {"main": "mlp", "decoders": "mlp", "linear": "linear"}
    found = {}
    for table in tables.build(Runs([], paper)):
        for label, dataset, setting, cell in table.cells():
            name = table.name.removesuffix("-clean").removesuffix("-noisy")
            base, _, row = label.rpartition(" ")
            base = base or bases.get(name) or label.removeprefix("CPE-").lower()
            assert (name, base, row, dataset, setting) not in found
            found[name, base, row, dataset, setting] = cell.paper
    assert len(found) == 468
    assert found == published.accuracies()


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


# What is missing is said

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


def test_a_trial_alone_has_no_deviation():
    cell = Cell((75.0,), 5, (75.3, 2.6), (None,))
    assert math.isnan(cell.std)
    assert (
        render.to_csv([one_cell(cell)]).splitlines()[1] == "t,r,d,s,75.00,,1,5,75.30,2.60,false,0"
    )
    assert "75.0 (1/5)" in render.markdown(one_cell(cell))


def test_a_cell_that_is_not_planned_is_left_empty(paper):
    linear = next(p for p in paper.parts if p.base.name == "linear")
    mlp = next(p for p in paper.parts if p.base.name == "mlp")
    short = replace(mlp, datasets=mlp.datasets[:1], settings=mlp.settings[1:3])
    built = tables.build(Runs([], replace(paper, parts=(linear, short))))
    table = next(t for t in built if t.name == "validation-fwd")
    assert table.columns == tuple(
        (d.name, s.name) for d in linear.datasets for s in linear.settings
    )
    assert cell_of(built, table.name, "mlp URE", "kmnist", "weak") == Cell()
    assert cell_of(built, table.name, "mlp URE", "mnist", "weak").of == 5
    assert sum("(0/0)" in text for text in (render.markdown(table), render.latex(table))) == 0


# The paper beside


@pytest.mark.parametrize(
    ("mean", "paper", "differs"),
    [
        (75.3, (75.3, 2.6), False),
        (81.5, (75.3, 2.6), False),
        (81.51, (75.3, 2.6), True),
        (69.1, (75.3, 2.6), False),
        (69.0, (75.3, 2.6), True),
        (95.8, (94.4, 0.2), False),  # 95.8 - 94.4 is more than 1.4 in binary
        (90.0, None, None),
    ],
)
def test_cells_differ_beyond_a_point_and_two_of_the_papers_deviations(mean, paper, differs):
    cell = Cell((mean,), 5, paper, (None,))
    assert cell.differs is differs
    assert Cell((), 5, paper, ()).differs is None
    for text in (render.markdown, printed, render.latex):
        lines = text(one_cell(cell)).splitlines()
        mark = r"\neq" if text is render.latex else "≠"
        assert any(mark in line for line in lines) == bool(differs)


def part_of(paper, base):
    return next(part for part in paper.parts if part.base.name == base)


@pytest.mark.parametrize(
    ("base", "change", "kept"),
    [
        ("mlp", {}, 18 * 7),
        ("mlp", {"learning_rates": (1e-3,)}, 18 * 7),
        ("mlp", {"trials": 1}, 18 * 7),
        ("mlp", {"base": Network("mlp", (500,), epochs=40)}, 0),
        ("mlp", {"base": Network("mlp", (300,))}, 0),
        ("mlp", {"base": Network("big", (500,))}, 0),
        ("linear", {"base": Network("linear", batch_size=512)}, 0),
        ("mlp", {"datasets": (Dataset("mnist", "/tmp/mine"), Dataset("kmnist"))}, 6 * 7),
        ("mlp", {"datasets": (Dataset("digits"),)}, 0),
        ("mlp", {"settings": (Setting("weak", "strong"), Setting("strong", "strong"))}, 3 * 7),
        ("mlp", {"settings": (Setting("noise-0.1", "strong", 0.2),)}, 0),
        ("mlp", {"uniform_risk": False}, 18 * 6 + 3),  # under uniform T it is the same training
        ("mlp", {"methods": (METHODS["cpe-n"], METHODS["fwd"])}, 18),
        ("mlp", {"methods": (replace(METHODS["fwd"], label="Forward"),)}, 18),
        ("mlp", {"methods": (replace(METHODS["fwd"], criterion="scel"),)}, 0),
        ("mlp", {"methods": (Method("mine", "CPE-F", "l1", loss="json:loads"),)}, 0),
        ("knn", {"base": Neighbors("knn", (10, 20))}, 0),
        ("gbdt", {"base": Boosting("gbdt", max_bin=15)}, 18),
        ("gbdt", {"base": Boosting("gbdt", n_estimators=(5,))}, 0),
    ],
)
def test_published_figures_stand_only_beside_the_papers_protocol(paper, base, change, kept):
    plan = replace(paper, parts=(replace(part_of(paper, base), **change),))
    compared = ("decoders", "validation-cpe-t", "validation-fwd")
    cells = [
        cell
        for table in tables.build(Runs([], plan))
        if table.name not in compared
        for *_, cell in table.cells()
    ]
    assert sum(cell.paper is not None for cell in cells) == kept


def test_trees_that_all_run_to_their_end_are_the_papers_protocol(paper):
    (part,) = [p for p in paper.parts if p.base.name == "gbdt"]
    to_the_end = replace(part, base=replace(part.base, early_stopping=False))
    changed = replace(paper, parts=(to_the_end,))
    assert tables.agreement(tables.build(Runs([], changed))).published == 18


def test_another_share_held_out_is_another_protocol(paper):
    built = tables.build(Runs([], replace(paper, validation_fraction=0.2)))
    assert tables.agreement(built).published == 0


def test_agreement_counts_cells_and_lists_those_that_differ(paper, paper_entries):
    built = tables.build(Runs(paper_entries, paper))
    assert tables.agreement(built)[:4] == (468, 468, 468, 468)
    assert tables.agreement(built).differing == ()
    knn = {"base": "knn", "dataset": "mnist"}
    off = changed(paper_entries, with_scores({"last.accuracy_l1": 50.0}), knn | {"setting": "weak"})
    off = changed(off, with_scores({"last.accuracy_l1": 70.0}), knn | {"setting": "strong"})
    off = changed(off, None, knn | {"setting": "weak", "trial": 3})
    off = changed(off, None, {"base": "gbdt", "dataset": "mnist", "setting": "weak"})
    found = tables.agreement(tables.build(Runs(off, paper)))
    assert found[:4] == (468, 467, 466, 465)
    assert [d[2:] for d in found.differing] == [
        ("mnist", "weak", 50.0, 4, 5, (92.6, 0.1)),
        ("mnist", "strong", 70.0, 5, 5, (94.5, 0.4)),
    ]
    assert {d[:2] for d in found.differing} == {("traditional", "CPE-KNN")}


# Plans of users


def test_bases_of_other_names_have_tables_of_their_own(small):
    plan, _ = small
    (part,) = plan.parts
    own = Method("mine", "Mine", "l2", loss="json:loads")
    parts = (
        replace(part, base=Network("wide", (900,)), methods=(*part.methods, own)),
        replace(part, base=Network("flat"), methods=(METHODS["cpe-i"],)),
        replace(part, base=Network("deep", (20, 20)), methods=(METHODS["cpe-f"],)),
        replace(
            part,
            base=Neighbors("near"),
            methods=(Method("cpe", "CPE-NEAR", "l1"),),
            learning_rates=(None,),
        ),
    )
    plan = replace(plan, parts=parts)
    built = tables.build(Runs(made_up(plan), plan))
    assert {t.name: [label for label, _ in t.rows] for t in built} == {
        "wide": ["URE-GA", "SCL", "Fwd", "CPE-F", "CPE-T", "Mine"],
        "flat": ["CPE-I"],
        "deep": ["CPE-F"],
        "decoders": ["wide MAX", "wide L1", "deep MAX", "deep L1"],
        "traditional": ["CPE-NEAR"],
        "validation-cpe-t": ["wide URE", "wide SCEL"],
        "validation-fwd": ["wide URE", "wide SCEL"],
    }
    assert all(cell.complete and cell.of == 3 for t in built for *_, cell in t.cells())
    assert "L2 (Mine)" in built[0].caption


def test_a_base_called_as_a_table_does_not_hide_it(small):
    plan, entries = small
    (part,) = plan.parts
    plan = replace(plan, parts=(part, replace(part, base=Network("main", (9,)))))
    names = [t.name for t in tables.build(Runs(entries, plan))]
    assert names[:2] == ["main", "main-2"]
    assert len(set(names)) == len(names)


def test_two_methods_of_one_label_are_two_rows(small):
    plan, entries = small
    (part,) = plan.parts
    methods = (METHODS["cpe-t"], replace(METHODS["cpe-f"], label="CPE-T"))
    plan = replace(plan, parts=(replace(part, methods=methods),))
    table = tables.build(Runs(entries, plan))[0]
    first, second = (cells for _, cells in table.rows)
    assert first != second
    for text in (render.markdown(table), printed(table), render.latex(table)):
        for cells in (first, second):
            assert f"{cells[0].mean:.1f}" in text


# Which data


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


# Formats


def printed(table, width=100):
    from rich.console import Console

    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(render.terminal(table))
    return console.file.getvalue()


def rows_of(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def one_cell(cell, label="r", column=("d", "s"), title="T", caption="C"):
    return Table("t", title, caption, (column,), ((label, (cell,)),))


def test_the_same_bytes_whatever_the_order_of_entries(paper, paper_entries, full):
    entries = list(paper_entries)
    random.Random(0).shuffle(entries)
    again = tables.build(Runs(iter(entries), paper))
    assert render.to_csv(again) == render.to_csv(full)
    for ours, theirs in zip(again, full, strict=True):
        for text in (render.markdown, render.latex, printed):
            assert text(ours).encode() == text(theirs).encode()


def test_csv_parses_back_to_the_cells(full):
    header, *rows = rows_of(render.to_csv(full))
    assert header == [
        *("table", "row", "dataset", "setting", "mean", "std", "n", "of", "paper", "paper_std"),
        *("differs", "failed_runs"),
    ]
    cells = [(t.name, *names) for t in full for names in t.cells()]
    assert len(rows) == len(cells) == 468
    for row, (*names, cell) in zip(rows, cells, strict=True):
        assert row[:4] == names
        assert [float(x) for x in row[4:10]] == pytest.approx(
            [cell.mean, cell.std, 5, 5, *cell.paper], abs=0.005
        )
        assert row[10] == str(cell.differs).lower()


def test_the_papers_tables_fit_a_terminal_of_100_columns(paper, paper_entries):
    rng = random.Random(0)
    wild = [  # deviations of two digits take the most room
        replace(
            e,
            scores={k: rng.choice([11.0, 99.0]) if "acc" in k else v for k, v in e.scores.items()},
        )
        for e in paper_entries
    ]
    for table in tables.build(Runs(wild, paper)):
        text = printed(table)
        assert max(map(len, text.splitlines())) <= 100
        cells = re.findall(r"\d\d\.\d±\d+\.\d \(5/5\)", text)
        assert len(cells) == len(table.rows) * len(table.columns)
        assert text.count("±") - 1 == 2 * len(cells)  # one in the caption


def test_a_cell_reads_as_promised(full):
    cell = cell_of(full, "main", "CPE-F", "kmnist", "strong")
    ours = f"{cell.mean:.1f} ± {cell.std:.1f} (5/5)"
    assert f"| {ours} | 75.3 ± 2.6 |" in render.markdown(full[0])
    assert ours.replace("±", r"$\pm$") in render.latex(full[0])
    empty = Cell((), 5, (75.3, 2.6), ())
    assert "| – (0/5) | 75.3 ± 2.6 |" in render.markdown(one_cell(empty))
    assert "–" in printed(one_cell(empty))


def test_captions_say_what_was_chosen(small):
    plan, _ = small
    last = tables.build(Runs([], plan))[0].caption
    best = tables.build(Runs([], plan), epoch="best", ure="uniform")[0].caption
    for said in ("last epoch", "given T (URE-GA, SCL, Fwd)", "SCEL (CPE-F, CPE-T)", "≠", "0.0001"):
        assert said in last
    for said in ("lowest", "uniform T"):
        assert said in best
        assert said not in last


def check_latex(text):
    """Braces, environments, dollars; and as many cells as columns in each line."""
    bare = re.sub(r"\\[\\#$%&_{}]", lambda m: "\\\\" if m[0] == "\\\\" else "", text)
    depth = 0
    for c in bare:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[^\x00-\xff]", text)
    begun = re.findall(r"\\(begin|end){([a-z*]+)}", text)
    assert begun == [
        ("begin", "table*"),
        ("begin", "tabular"),
        ("end", "tabular"),
        ("end", "table*"),
    ]
    columns = len(re.search(r"\\begin{tabular}{(l?r*)}", text)[1])
    body = [line for line in bare.splitlines() if line.endswith("\\\\")]
    for line in body:
        spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn{(\d+)}", line))
        assert line.count("&") + 1 + spans <= columns
        assert not line.startswith(("[", "*"))
    assert all(line.count("\\\\") == 1 for line in body)


def test_latex_is_balanced_and_laid_out_as_the_papers(full):
    for table in full:
        text = render.latex(table)
        check_latex(text)
        blocks = 1 if table.name.startswith("linear") else 2
        assert text.count(r"\toprule") == text.count(r"\bottomrule") == blocks
        assert r"\begin{tabular}{lrrrrrrrrr}" in text
        assert text.count(r"\quad paper") == blocks * len(table.rows)
    check_latex(render.latex(one_cell(Cell())))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_break_no_format(name):
    cell = Cell((75.0, 76.0), 5, (75.3, 2.6), (None, None))
    table = one_cell(cell, name, (name, name), name, name)
    check_latex(render.latex(table))
    *_, header, rule, line = render.markdown(table).splitlines()
    assert [s.count("|") for s in (header, rule, line)] == [5, 5, 5]
    header, row = rows_of(render.to_csv([replace(table, name=name)]))
    assert len(row) == len(header) == 12
    assert not any(
        c.startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")) for c in row
    )
    assert row[4:] == ["75.50", "0.71", "2", "5", "75.30", "2.60", "false", "0"]
    shown = printed(table, width=200)
    assert not set(shown) & set("\x1b\x07\x9b\x00\x08\u202e\u2066\r")


def test_rich_markup_is_shown_not_obeyed():
    table = one_cell(Cell((75.0,), 1), "[red]a[/red]", ("[b]d", ":smile:"), "[/oops]")
    shown = printed(table)
    for name in ("[red]a[/red]", "[b]d", ":smile:", "[/oops]"):
        assert name in shown


def test_missing_rich_is_named_with_its_pip_line(monkeypatch, full):
    monkeypatch.setitem(sys.modules, "rich.table", None)
    with pytest.raises(ImportError, match=r'needs rich.*pip install "ybar\[cli\]"'):
        render.terminal(full[0])
