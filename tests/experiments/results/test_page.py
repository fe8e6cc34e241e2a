"""The page of an experiment."""

from __future__ import annotations

import math
from dataclasses import replace

from pages import Parsed
from summary_pages import SHA256, SMALL, entries_of, plan_of, summarise, with_paper
from ybar import report
from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan.model import Network, Plan, Setting
from ybar.experiments.results import tables
from ybar.experiments.results.choose import Runs
from ybar.report import (
    Cell,
    Code,
    Column,
    Group,
    Text,
)


def test_the_summary_counts_the_plans_runs_only():
    # CPE-F and Fwd share a training: two of three methods, rates, data sets, settings and trials.
    entries = entries_of(SMALL)
    assert len(entries) == 2 * 2 * 2 * 2 * 2
    strange = replace(entries[0], hash="0", config={**entries[0].config, "trial": 99})
    page = summarise(SMALL, [*entries[:-2], strange])
    figures, text = page.sections[0].blocks
    assert figures.figures == [
        ("30", "of 32 runs recorded"),
        ("0", "runs failed"),
        ("30.0 min", "time of all runs"),
    ]
    assert text.paragraphs[0].startswith("30 of the 32 runs")


def test_runs_on_data_as_they_were_are_not_counted():
    entries = entries_of(SMALL)
    before = [
        replace(entry, hash=f"{i}", config={**entry.config, "data_sha256": "old"}, finished="2000")
        for i, entry in enumerate(entries)
    ]
    figures, _ = summarise(SMALL, [*before, *entries]).sections[0].blocks
    assert figures.figures[0] == ("32", "of 32 runs recorded")


def sections(page):
    return {section.title: section.blocks for section in page.sections}


def test_every_cell_says_of_how_many_trials_it_is():
    entries = entries_of(SMALL)
    for grid in sections(summarise(SMALL, entries))["Tables"]:
        assert grid.notes[0] == "(2 of 2) in every cell."
    first, *_ = sections(summarise(SMALL, entries[:4]))["Tables"]
    assert first.columns == [Column(n) for n in ("setting", "CPE-F", "Fwd", "DM")]
    assert first.rows[:2] == [
        Group("digits"),
        ["uniform", *[Cell("50.0", "(1 of 2)")] * 3],
    ]
    assert first.rows[2] == ["noise-0.2", *[Cell("no trial", "(0 of 2)", "missing")] * 3]
    assert not any("every cell" in note for note in first.notes)


def test_cells_that_no_plan_has_are_told_from_those_to_come():
    other = replace(SMALL.parts[0], base=Network("wide", (8,)), settings=(Setting("u", "uniform"),))
    plan = Plan("two", (*SMALL.parts, other))
    grid = next(g for g in sections(summarise(plan, []))["Tables"] if "chooses" in g.title)
    texts = {cell.text for row in grid.rows if not isinstance(row, Group) for cell in row[1:]}
    assert texts == {"not planned", "no trial"}


def test_differences_from_the_paper_are_marked_listed_and_counted():
    page = summarise(SMALL, entries_of(SMALL), change=with_paper)
    first = page.sections[1].blocks[0]
    assert first.rows[1] == [
        "uniform",
        Cell("50.5 ± 0.7", "paper 50.0 ± 1.0", "agrees"),
        *[Cell("50.5 ± 0.7", "paper 90.0 ± 1.0", "differs")] * 2,
    ]
    (listed,) = sections(page)["Where we differ"]
    made = [with_paper(table) for table in tables.build(Runs(entries_of(SMALL), SMALL))]
    differing = tables.agreement(made).differing
    assert len(listed.rows) == len(differing) > 0
    assert listed.rows[0][-4:] == ["50.5", "2 of 2", "90.0 ± 1.0", "−39.5"]
    figures, text = page.sections[0].blocks
    n_cells = sum(1 for table in made for _ in table.cells())
    assert figures.figures[1] == (str(n_cells - len(differing)), f"of {n_cells} cells agree")
    assert f"{len(differing)} differ." in text.paragraphs[0]


def test_full_agreement_is_said_and_nothing_of_a_paper_that_is_not_there():
    def agree(table):
        rows = [
            (label, tuple(replace(c, paper=(50.0, 1.0)) for c in cells))
            for label, cells in table.rows
        ]
        return replace(table, rows=tuple(rows))

    (text,) = sections(summarise(SMALL, entries_of(SMALL), change=agree))["Where we differ"]
    assert len(text.paragraphs) == 1
    assert "Where we differ" not in sections(summarise(SMALL, entries_of(SMALL)))


def test_the_cost_is_by_base_with_what_sharing_saves():
    entries = entries_of(SMALL)
    entries[0] = replace(entries[0], seconds=math.nan)
    grid, text = sections(summarise(SMALL, entries))["Cost"]
    assert grid.rows == [["flat", "32", "32", "0", "31.0 min", "58.1 s"]]
    naive = plan_jobs.count_naive(SMALL.parts)
    assert f"{naive} trainings" in text.paragraphs[0]
    assert f"32 are enough: {1 - 32 / naive:.0%} fewer" in text.paragraphs[0]


def test_each_failure_is_listed_and_each_traceback_shown_once():
    entries = entries_of(SMALL)
    died = {"cause": "ValueError: no", "traceback": "run.py:1 in run: raise", "scores": {}}
    for i in (3, 4):
        entries[i] = replace(entries[i], **died)
    entries[5] = replace(entries[5], cause="the loss was not finite", scores={})
    grid, code = sections(summarise(SMALL, entries))["Failures"]
    assert [cause for _, cause in grid.rows] == [died["cause"]] * 2 + ["the loss was not finite"]
    assert grid.rows[0][0] == Cell(
        "flat, dm, digits, uniform",
        f"trial 0, learning rate 0.0001\nrun {entries[3].hash[:12]}",
    )
    assert code == Code("ValueError: no (2 runs)", "run.py:1 in run: raise")


def test_no_failure_is_said_plainly():
    assert sections(summarise(SMALL, entries_of(SMALL)))["Failures"] == [Text(["None."])]


def test_provenance_has_all_versions_and_data_and_nothing_of_the_machine():
    plan = plan_of(["a", "b"], trials=2)
    entries = entries_of(plan)
    entries[0] = replace(entries[0], versions={"ybar": "0.0.9", "torch": "2"})
    page = summarise(plan, entries)
    items, versions, data = sections(page)["Provenance"]
    assert dict(items.items) == {
        "plan": "mine",
        "page made": "2026-01-02 03:04 UTC",
        "runs finished": "2026-01-01 00:00 to 2026-01-01 01:00 UTC",
        "held out for validation": "10% of the rows",
    }
    assert versions.rows == [["torch", "2", "1"], ["ybar", "0.0.9", "1"], ["ybar", "0.1.0", "3"]]
    assert data.rows == [["a", SHA256, "2"], ["b", SHA256, "2"]]
    assert "alice" not in report.render(page)


def test_a_plan_of_which_nothing_was_run_has_a_page():
    page = summarise(SMALL, [])
    assert page.sections[0].blocks[0].figures[0] == ("0", "of 32 runs recorded")
    Parsed(report.render(page))
