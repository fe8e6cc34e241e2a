"""A CSV of results that grows by a line as each piece of work ends."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def read(file: Path) -> list[dict[str, str]]:
    """Return what is in the file, nothing where there is none."""
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def add(file: Path, line: dict[str, Any]) -> None:
    """Add a line, and before the first one the names."""
    new = not file.exists()
    with file.open("a", newline="") as opened:
        writer = csv.DictWriter(opened, list(line))
        if new:
            writer.writeheader()
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
