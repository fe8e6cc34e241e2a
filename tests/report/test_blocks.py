"""Blocks of a page."""

from __future__ import annotations

import pytest

from pages import PNG, SVG, page_of
from ybar import report
from ybar.report import (
    Picture,
)


@pytest.mark.parametrize(
    ("data", "kind"), [(PNG, "png"), (SVG, "svg+xml"), (b"\n<?xml version='1.0'?>", "svg+xml")]
)
def test_pictures_are_part_of_the_page(data, kind):
    assert Picture(data, "seen").source.startswith(f"data:image/{kind};base64,")


def test_other_data_than_pictures_raises_an_error():
    with pytest.raises(ValueError, match=r"data must .*GIF89a"):
        report.render(page_of("name", b"GIF89a..."))
