"""Tables say what was run: n of N trials, the paper's accuracy beside it, never a silent mean."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from experiments_helpers import cell_of, changed, made_up, one_cell, printed, with_scores
from ybar.experiments.plan.model import (
    METHODS,
    Method,
    Neighbors,
    Network,
)
from ybar.experiments.results import render, tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.results.tables import Cell


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


def test_a_trial_alone_has_no_deviation():
    cell = Cell((75.0,), 5, (75.3, 2.6), (None,))
    assert math.isnan(cell.std)
    assert (
        render.to_csv([one_cell(cell)]).splitlines()[1]
        == "t,r,d,s,75.00,,1,5,75.30,2.60,false,0,,false"
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


@pytest.mark.parametrize(
    ("ours", "paper", "beyond"),
    [
        ((75.0, 76.0, 77.0, 76.0, 76.0), (76.0, 1.0), False),
        ((75.0, 76.0, 77.0, 76.0, 76.0), (77.05, 1.0), False),  # 2 sqrt((0.5 + 1) / 5) = 1.095
        ((75.0, 76.0, 77.0, 76.0, 76.0), (77.1, 1.0), True),
        ((75.0, 76.0, 77.0, 76.0), (79.0, 1.0), None),
        ((75.0, 76.0, 77.0, 76.0, 76.0), None, None),
    ],
)
def test_means_of_five_trials_are_compared_by_their_standard_errors(ours, paper, beyond):
    assert Cell(ours, 5, paper).beyond_errors is beyond


def test_cells_that_repeat_a_row_of_another_table_are_marked(full):
    repeated = {
        (table.name, label) for table in full for label, _, _, cell in table.cells() if cell.repeats
    }
    assert repeated == {
        ("decoders", "L1"),
        *(("validation-cpe-t", f"{base} SCEL") for base in ("linear", "mlp")),
        *(("validation-fwd", f"{base} URE") for base in ("linear", "mlp")),
    }
    for table in full:
        for label, _, _, cell in table.cells():
            if (table.name, label) == ("decoders", "L1"):
                assert cell.repeats


def test_agreement_counts_cells_and_lists_those_that_differ(paper, paper_entries):
    built = tables.build(Runs(paper_entries, paper))
    assert tables.agreement(built)[:4] == (468, 468, 468, 468)
    # The comparisons repeat CPE-F's and CPE-T's rows, and Fwd's: L1 (18), SCEL (36), URE (36).
    assert tables.agreement(built).tested == 468 - 18 - 2 * 36
    assert tables.agreement(built).differing == ()
    knn = {"base": "knn", "dataset": "mnist"}
    off = changed(paper_entries, with_scores({"last.accuracy_l1": 50.0}), knn | {"setting": "weak"})
    off = changed(off, with_scores({"last.accuracy_l1": 70.0}), knn | {"setting": "strong"})
    off = changed(off, None, knn | {"setting": "weak", "trial": 3})
    off = changed(off, None, {"base": "gbdt", "dataset": "mnist", "setting": "weak"})
    found = tables.agreement(tables.build(Runs(off, paper)))
    assert found[:4] == (468, 467, 466, 465)
    listed = [(d.dataset, d.setting, d.cell) for d in found.differing]
    assert [(*names, c.mean, c.n, c.of, c.paper) for *names, c in listed] == [
        ("mnist", "weak", 50.0, 4, 5, (92.6, 0.1)),
        ("mnist", "strong", 70.0, 5, 5, (94.5, 0.4)),
    ]
    assert {d[:2] for d in found.differing} == {("traditional", "CPE-KNN")}


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
