"""Tables of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from ..utils.checks import shown

Mark: TypeAlias = Literal["", "agrees", "differs", "missing"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    detail : str
        Smaller text below, which may have several lines.
    mark : {"", "agrees", "differs", "missing"}
        Shown as a sign and a colour, and as a word for screen readers.
    """

    text: str
    detail: str = ""
    mark: Mark = ""


@dataclass(frozen=True)
class Column:
    """The head of a column; a column of words is aligned left, and its lines may break."""

    name: str
    words: bool = False


@dataclass(frozen=True)
class Group:
    """A heading across a table, for the rows below it."""

    name: str


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes
    ----------
    columns : sequence of Column
        The first column holds the names of the rows and stays visible when the table scrolls.
    rows : sequence of (sequence of Cell or str) or Group
    notes : sequence of str
        Paragraphs below the table.
    """

    kind: ClassVar = "grid"
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str] | Group]
    title: str = ""
    notes: Sequence[str] = ()

    @property
    def parts(self) -> list[tuple[Group | None, list[list[Cell]]]]:
        """The rows by group."""
        parts: list[tuple[Group | None, list[list[Cell]]]] = []
        for row in self.rows:
            if isinstance(row, Group):
                parts.append((row, []))
                continue
            if len(row) != len(self.columns):
                raise ValueError(
                    f"every row must have a cell for each of {len(self.columns)} columns; got "
                    f"{len(row)} in {shown(row)}"
                )
            if not parts:
                parts.append((None, []))
            parts[-1][1].append([c if isinstance(c, Cell) else Cell(c) for c in row])
        return parts
