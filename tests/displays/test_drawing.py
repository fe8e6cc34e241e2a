"""Names of classes are drawn as they are, never as formulas."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from displays_helpers import UNIFORM, drawn, ticks
from hostile_names import HOSTILE
from ybar import transition
from ybar.displays import DecoderDisplay, TransitionDisplay
from ybar.utils.text import plain


@pytest.mark.parametrize("start", range(0, len(HOSTILE), 12))
def test_names_are_drawn_as_they_are_and_never_as_formulas(start):
    # numpy itself drops a NUL at the end of a string.
    names = np.array([*HOSTILE[start : start + 12], "more", "most"]).tolist()
    T = transition.uniform(len(names))
    one = drawn(TransitionDisplay.from_matrix(T, classes=names))
    two = drawn(DecoderDisplay.from_probabilities(T[0], T, "l1", names, y_true=names[1]))
    left = two.axes_[0, 0]
    for axis, shown in (
        (one.ax_.xaxis, names[::2] if len(names) > 12 else names),
        (one.ax_.yaxis, names[::2] if len(names) > 12 else names),
        (left.yaxis, names),
    ):
        for name, label in zip(shown, axis.get_ticklabels(), strict=True):
            text = label.get_text()
            assert not label.get_parse_math()
            assert not label.get_usetex()
            assert "\n" not in text
            assert len(text) <= 24
            if len(plain(name)) <= 24 and name.isascii():
                assert text == plain(name)
    (title,) = left.findobj(lambda a: isinstance(a, mpl.text.Text) and "decoded: " in a.get_text())
    assert not title.get_parse_math()


def test_dollars_are_drawn_as_dollars(ax):
    names = ["$a_b$", "$$", r"\$c$"]
    display = drawn(TransitionDisplay.from_matrix(UNIFORM, classes=names, ax=ax))
    assert ticks(display.ax_.xaxis) == ticks(display.ax_.yaxis) == names


def test_long_names_that_differ_at_their_end_still_differ(ax):
    names = [f"the department of odd things, {side}" for side in ("east", "west", "north")]
    shown = ticks(TransitionDisplay.from_matrix(UNIFORM, classes=names, ax=ax).ax_.yaxis)
    assert len(set(shown)) == 3
    assert all(len(name) == 24 and "…" in name for name in shown)


def test_a_second_font_of_the_family_draws_what_the_first_lacks(ax):
    families = {"font.family": ["STIXNonUnicode", "DejaVu Sans", "not installed"]}
    with mpl.rc_context(families):
        display = drawn(TransitionDisplay.from_matrix(UNIFORM, classes=["ж", "b", "c"], ax=ax))
    assert ticks(display.ax_.xaxis)[0] == "ж"
