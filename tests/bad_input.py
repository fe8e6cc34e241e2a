"""What every error for bad input must be: one line with the argument and the value that came."""

from __future__ import annotations

import re

import pytest

LONGEST = 400  # characters


def assert_one_clear_line(call, error, *shows):
    """Assert that a call raises this very kind of error, in one line.

    The line must show each of these words: first the name of the argument, then short fragments
    of the value that came.
    """
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    text = str(caught.value)
    assert caught.type is error, f"{caught.type.__name__}: {text}"
    assert not missing(shows, text), text
    assert "\n" not in text, text
    assert len(text) < LONGEST, text
    # Values are shown as the user wrote them: 'cat', not np.str_('cat').
    assert not re.search(r"\bnp\.\w+\(", text), text


def missing(shows, text):
    """Return the words that a text does not show; a number or a name must stand alone."""
    return [part for part in shows if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text)]
