"""A page as HTML.

The texts of a page may come from untrusted files. All are escaped, and so are invisible characters.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..utils.extras import require
from ..utils.files import target_file, write_whole
from ..utils.text import plain
from .blocks import Block


@dataclass(frozen=True)
class Section:
    """A part of the page with an entry in the table of contents."""

    title: str
    blocks: Sequence[Block]

    @property
    def contents(self) -> list[tuple[int, str]]:
        """The positions, from 1, and titles of the blocks that have a title."""
        titles = [getattr(block, "title", "") for block in self.blocks]
        return [(place, title) for place, title in enumerate(titles, start=1) if title]


@dataclass(frozen=True)
class Page:
    """A page: a title, one or two sentences about its subject, and sections."""

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""


def render(page: Page) -> str:
    """Return a page as HTML.

    Examples
    --------
    >>> from ybar.report import Page, Section, Text, render
    >>> html = render(Page("Mine", "What it is.", [Section("Results", [Text(["<b>"])])]))
    >>> "<p>&lt;b&gt;</p>" in html
    True
    """
    jinja2 = require("jinja2", "report", "report.render")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ybar", "report"),
        autoescape=True,
        finalize=_plain,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html: str = environment.get_template("page.html.j2").render(page=page)
    return html


def write(page: Page, path: str | os.PathLike[str]) -> None:
    """Write a page to an HTML file, completely or not at all; an existing file is replaced."""
    target = target_file(path)
    write_whole(target, render(page).encode())


def _plain(value: Any) -> Any:
    """Escape invisible characters and those that reverse text, such as ESC or U+202E.

    Jinja calls this for every value in the page, so that none can be forgotten.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return plain(value, keep="\n\t")
