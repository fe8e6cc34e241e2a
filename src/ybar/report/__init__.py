"""One self-contained HTML page: no outside request, no script, readable on a phone and on paper."""

from .blocks import Block, Code, Definitions, KeyFigures, Picture, Text
from .figures import figure, matrix_figure, picture
from .grid import Cell, Column, Grid, Group
from .page import Page, Section, render, write

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
