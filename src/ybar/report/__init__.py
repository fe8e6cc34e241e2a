"""One self-contained HTML page: no outside request, no script, readable on a phone and on paper."""

from .page import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Grid,
    Group,
    KeyFigures,
    Page,
    Picture,
    Section,
    Text,
    picture,
    render,
    write,
)

__all__ = [
    "Block",
    "Cell",
    "Code",
    "Column",
    "Definitions",
    "Grid",
    "Group",
    "KeyFigures",
    "Page",
    "Picture",
    "Section",
    "Text",
    "picture",
    "render",
    "write",
]
