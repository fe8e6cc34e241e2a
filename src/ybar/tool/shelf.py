"""``ybar data``: where the data sets lie, and whether they are what was published."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from .. import datasets
from ..utils.checks import shown


def known(names: Sequence[str] | None) -> list[str]:
    """Return the data sets of those names, all without any."""
    for name in names or []:
        if name not in datasets.REGISTRY:
            near = difflib.get_close_matches(name, datasets.REGISTRY, 1)
            raise ValueError(
                f"NAME must be one of {', '.join(datasets.REGISTRY)}; got {shown(name)}"
                + (f". Did you mean {near[0]}?" if near else "")
            )
    return list(names or datasets.REGISTRY)


def listing() -> list[dict[str, Any]]:
    """Return what there is to say of each data set."""
    rows = [{"name": "digits", "classes": 10, "size": "–", "where": "comes with scikit-learn"}]
    for name, source in datasets.REGISTRY.items():
        size = sum(file.size for file in source.files.values()) / 1e6
        folder = datasets.find(name)
        rows.append(
            {
                "name": name,
                "classes": len(source.classes),
                "size": f"{size:.0f} MB",
                "where": str(folder) if folder else "not here: ybar data fetch " + name,
            }
        )
    return rows


def fetch(name: str, mirror: str | None) -> str:
    """Download a data set where it is not here yet, and return where it lies."""
    return str(datasets.fetch(name, mirror=mirror))


def verify(name: str) -> str:
    """Return "verified", or what is wrong."""
    folder = datasets.find(name)
    if folder is None:
        return f"not here: ybar data fetch {name}"
    for file, published in datasets.REGISTRY[name].files.items():
        difference = datasets.difference(folder / file, published)
        if difference:
            return f"{folder / file} {difference}"
    return "verified"
