"""Tables as text: complete, aligned, and safe whatever the names are."""

from __future__ import annotations

import random
import re
import sys
from dataclasses import replace

import pytest

from experiments_helpers import cell_of, one_cell, printed, rows_of
from hostile_names import HOSTILE
from ybar.experiments.results import render, tables
from ybar.experiments.results.choose import Runs
from ybar.experiments.results.tables import Cell


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
        *("differs", "failed_runs", "beyond_errors", "repeats"),
    ]
    cells = [(t.name, *names) for t in full for names in t.cells()]
    assert len(rows) == len(cells) == 468
    for row, (*names, cell) in zip(rows, cells, strict=True):
        assert row[:4] == names
        assert [float(x) for x in row[4:10]] == pytest.approx(
            [cell.mean, cell.std, 5, 5, *cell.paper], abs=0.005
        )
        assert [row[10], row[12], row[13]] == [
            str(mark).lower() for mark in (cell.differs, cell.beyond_errors, cell.repeats)
        ]


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
    assert len(row) == len(header) == 14
    assert not any(
        c.startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")) for c in row
    )
    assert row[4:] == ["75.50", "0.71", "2", "5", "75.30", "2.60", "false", "0", "", "false"]
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
