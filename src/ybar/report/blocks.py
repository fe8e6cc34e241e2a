"""The blocks of a page, except tables."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from .grid import Grid


@dataclass(frozen=True)
class Text:
    """Paragraphs."""

    kind: ClassVar = "text"
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class KeyFigures:
    """The most important numbers, in large type, as pairs of value and label."""

    kind: ClassVar = "key_figures"
    figures: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Definitions:
    """Pairs of a term and its description."""

    kind: ClassVar = "definitions"
    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Picture:
    """A picture that is part of the page, always on a white background.

    Attributes
    ----------
    data : bytes
        A PNG or SVG file.
    alt : str
        A description of the picture for readers who cannot see it.
    width : int or None
        In CSS pixels: half the width of a PNG for screens of high resolution. By default the width
        of the file.
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
    """Preformatted text, hidden until its summary is clicked."""

    kind: ClassVar = "code"
    summary: str
    text: str


#: What a section of a page can hold.
Block: TypeAlias = Text | KeyFigures | Definitions | Grid | Picture | Code
