"""Put the tables of ``results/`` into README and the docs, each between its two comments.

python studies/fill_tables.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"(<!-- (results/[\w./-]+\.md) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Return README and the pages of the docs that have a place for a table."""
    candidates = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in candidates if PLACE.search(page.read_text())]


def filled(text: str) -> str:
    """Return the text with the content of its file in each marked place."""
    return PLACE.sub(lambda place: place[1] + (ROOT / place[2]).read_text() + place[3], text)


if __name__ == "__main__":
    for page in pages():
        page.write_text(filled(page.read_text()))
