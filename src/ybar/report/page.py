"""What a page is made of, and the page itself as HTML.

Blocks are plain data. Every text in them may come from a stranger: it is escaped, and characters
that cannot be seen are written out.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from ..utils.checks import shown
from ..utils.extras import require
from ..utils.files import target_file, write_whole
from ..utils.text import plain

Mark: TypeAlias = Literal["", "agrees", "differs", "missing"]


@dataclass(frozen=True)
class Text:
    """Paragraphs."""

    kind: ClassVar = "text"
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class KeyFigures:
    """The few numbers that matter most, large, as pairs of value and label."""

    kind: ClassVar = "key_figures"
    figures: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Definitions:
    """Pairs of a term and what is to be said of it."""

    kind: ClassVar = "definitions"
    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    detail : str
        What stands below the text, smaller; it may have several lines.
    mark : {"", "agrees", "differs", "missing"}
        Shown by a sign and a colour, and said in words to who listens.
    """

    text: str
    detail: str = ""
    mark: Mark = ""


@dataclass(frozen=True)
class Column:
    """The head of a column; one of words is set flush left and may break its lines."""

    name: str
    words: bool = False


@dataclass(frozen=True)
class Group:
    """A line across a table, the heading of those below it."""

    name: str


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes
    ----------
    columns : sequence of Column
        The first one heads the names of the lines and stays in sight.
    rows : sequence of (sequence of Cell or str) or Group
    notes : sequence of str
        Paragraphs below.
    """

    kind: ClassVar = "grid"
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str] | Group]
    title: str = ""
    notes: Sequence[str] = ()

    @property
    def parts(self) -> list[tuple[Group | None, list[list[Cell]]]]:
        """The rows by group."""
        found: list[tuple[Group | None, list[list[Cell]]]] = []
        for row in self.rows:
            if isinstance(row, Group):
                found.append((row, []))
                continue
            if len(row) != len(self.columns):
                raise ValueError(
                    f"every row must have a cell for each of {len(self.columns)} columns; got "
                    f"{len(row)} in {shown(row)}"
                )
            if not found:
                found.append((None, []))
            found[-1][1].append([c if isinstance(c, Cell) else Cell(c) for c in row])
        return found


@dataclass(frozen=True)
class Picture:
    """A picture that the page holds in itself, always on white.

    Attributes
    ----------
    data : bytes
        A PNG or SVG file.
    alt : str
        What it shows, for who cannot see it.
    width : int or None
        In CSS pixels; half of a PNG's own for screens with twice as many. None is the file's own.
    """

    kind: ClassVar = "picture"
    data: bytes
    alt: str
    title: str = ""
    caption: str = ""
    width: int | None = None

    @property
    def source(self) -> str:
        """The picture as a data: URI."""
        if self.data.startswith(b"\x89PNG\r\n\x1a\n"):
            kind = "png"
        elif self.data.lstrip().startswith((b"<?xml", b"<svg")):
            kind = "svg+xml"
        else:
            raise ValueError(
                f"data must be a PNG or SVG file; got bytes that begin with {self.data[:8]!r}"
            )
        return f"data:image/{kind};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True)
class Code:
    """Preformatted text, folded away under its summary."""

    kind: ClassVar = "code"
    summary: str
    text: str


Block: TypeAlias = Text | KeyFigures | Definitions | Grid | Picture | Code


@dataclass(frozen=True)
class Section:
    """A part of the page that the table of contents names."""

    title: str
    blocks: Sequence[Block]

    @property
    def contents(self) -> list[tuple[int, str]]:
        """The places, from 1, and titles of the blocks that have one."""
        titles = [getattr(block, "title", "") for block in self.blocks]
        return [(place, title) for place, title in enumerate(titles, start=1) if title]


@dataclass(frozen=True)
class Page:
    """A page: what it is about in a title and a sentence, then its sections."""

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""


def render(page: Page) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    page : Page

    Returns
    -------
    str

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
    """Write a page to a file, whole or not at all.

    Parameters
    ----------
    page : Page
    path : path-like
        Of the HTML file; what was there is replaced.
    """
    target = target_file(path)
    write_whole(target, render(page).encode())


def _plain(value: Any) -> Any:
    """Write out what cannot be seen or turns text round, such as ESC or U+202E.

    Jinja calls this for everything that it puts into the page, so that nothing can be forgotten.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return plain(value, keep="\n\t")
