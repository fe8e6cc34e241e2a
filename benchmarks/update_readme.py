"""Put the tables of ``results/`` into README and the docs, each between its two comments."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PLACE = re.compile(r"(<!-- (results/[\w./-]+\.md) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return the text with each marked place holding its file."""
    return PLACE.sub(lambda m: m[1] + (ROOT / m[2]).read_text() + m[3], text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text()))
