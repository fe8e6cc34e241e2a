"""Figures that belong to no window, for files and pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils.extras import require


def figure(plot: Callable[[Any], Any], width: float, height: float) -> Any:
    """Return a figure with one pair of axes, on which something was plotted."""
    figures = require("matplotlib.figure", "report", "a picture")
    made = figures.Figure(figsize=(width, height), layout="constrained")
    plot(made.subplots())
    return made


def square(plot: Callable[[Any], Any], n_classes: int) -> Any:
    """Return a figure of a size for a matrix of so many classes."""
    side = min(12.0, 2.5 + 0.35 * n_classes)
    return figure(plot, side + 0.8, side)
