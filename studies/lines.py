"""A CSV of results, to which each piece of work adds a line as it ends."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def read(file: Path) -> list[dict[str, str]]:
    """Return the lines of the file, none if it does not exist."""
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def add(file: Path, line: dict[str, Any]) -> None:
    """Add a line to the file; a new file starts with the names of the columns."""
    new = not file.exists()
    with file.open("a", newline="") as opened:
        writer = csv.DictWriter(opened, list(line))
        if new:
            writer.writeheader()
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
