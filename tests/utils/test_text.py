"""No name that a user gives can do more than be read."""

from __future__ import annotations

import csv
import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_names import HOSTILE
from ybar.utils import text as text

# What GitHub's Markdown gives a meaning to inside a line; HTML's & is checked apart.
MEANT_IN_MARKDOWN = "`*_{}[]~$#<>|"

hostile = pytest.mark.parametrize("name", HOSTILE, ids=[f"{i}" for i in range(len(HOSTILE))])


def test_there_are_enough_hostile_names():
    assert len(set(HOSTILE)) == len(HOSTILE) >= 30


@hostile
def test_a_terminal_shows_what_could_move_its_cursor(name):
    shown = text.plain(name)
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not {unicodedata.category(c) for c in shown} & unseen
    assert len(shown.splitlines()) <= 1
    shown.encode()
    assert len(shown) >= len(name)


@pytest.mark.parametrize("name", ["mnist", "noise-0.1", "Größe", "数据", "🙂", r"a\b"])
def test_ordinary_names_stay_as_they_are(name):
    assert text.plain(name) == name


@hostile
def test_markdown_has_no_markup_from_a_name(name):
    shown = text.markdown(name)
    left = re.sub(r"\\[\\`*_{}\[\]~$#.]|&(amp|lt|gt|#124|#58);", "", shown)
    assert not set(left) & set(MEANT_IN_MARKDOWN + "\\&")
    assert "://" not in left
    assert "www." not in shown.lower()
    assert "\n" not in shown


@hostile
def test_latex_runs_no_command_from_a_name(name):
    shown = text.latex(name)
    ours = (
        r"textbackslash|textasciitilde|textasciicircum|textasciigrave|textless|textgreater|textbar"
    )
    left = re.sub(
        rf"\\({ours}){{}}|\\[#$%&_{{}}]|{{[][*]}}|--|\$\\(pm|neq|times|lambda)\$", "", shown
    )
    assert not set(left) & set('\\#$%&_{}~^`<>|[]*"\n\x00')
    assert not re.search("[^\x20-\xff]", left)


@hostile
def test_no_spreadsheet_takes_a_name_for_a_formula(name):
    cell = text.spreadsheet(name)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow([cell, "after"])
    assert next(csv.reader(io.StringIO(buffer.getvalue(), newline=""))) == [cell, "after"]


@hostile
def test_a_cell_gives_back_the_name_that_was_written(name):
    assert text.from_spreadsheet(text.spreadsheet(name)) == name


@given(st.text())
def test_any_text_comes_back_from_a_cell(name):
    assert text.from_spreadsheet(text.spreadsheet(name)) == name


@hostile
def test_a_file_name_stays_in_its_folder(name):
    shown = text.file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", shown)
    assert len(shown) <= 100
    assert shown.lower() not in {"con", "nul", "aux", "prn"}


def test_different_names_have_different_files():
    assert len({text.file_name(name) for name in HOSTILE}) == len(HOSTILE)
    assert text.file_name("validation-cpe-t") == "validation-cpe-t"
