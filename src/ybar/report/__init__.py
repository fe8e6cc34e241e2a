"""One self-contained HTML page: no outside request, no script, readable on a phone and on paper."""

from .figures import figure, matrix_figure, picture
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
    "figure",
    "matrix_figure",
    "picture",
    "render",
    "write",
]
