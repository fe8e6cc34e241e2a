"""Tables of a page."""

from __future__ import annotations

import re

import pytest

from ybar import report
from ybar.report import (
    Cell,
    Column,
    Grid,
    Page,
    Section,
)


def test_a_row_of_another_length_raises_an_error():
    grid = Grid([Column("a"), Column("b")], [["1"]])
    with pytest.raises(ValueError, match="2 columns; got 1"):
        report.render(Page("t", "l", [Section("s", [grid])]))


def test_marks_are_shown_as_signs_and_as_words_for_screen_readers():
    cells = [Cell("1", mark="agrees"), Cell("2", mark="differs"), Cell("3", mark="missing")]
    grid = Grid([Column(str(i)) for i in range(4)], [["name", *cells]])
    html = report.render(Page("t", "l", [Section("s", [grid])]))
    for cell, sign in zip(cells, "✓≠·", strict=True):
        assert re.search(rf'"true">{sign}</span>{cell.text}<span class="heard"> {cell.mark}<', html)
