"""Matplotlib figures for files and pages, without a window."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from ..utils.extras import require
from .blocks import Picture

_LEAST_SIDE = 4.5


def figure(plot: Callable[[Any], Any], width: float, height: float) -> Any:
    """Return a figure with one pair of axes, on which ``plot(axes)`` was called."""
    figures = require("matplotlib.figure", "report", "a picture")
    # "constrained" cuts off labels of axes with a fixed aspect, as those of matrices have.
    drawn = figures.Figure(figsize=(width, height), layout="compressed")
    plot(drawn.subplots())
    return drawn


def matrix_figure(plot: Callable[[Any], Any], n_classes: int) -> Any:
    """Return a figure whose size suits a matrix of this many classes."""
    # The label of the colour bar of a small matrix needs the height.
    side = min(12.0, max(_LEAST_SIDE, 2.5 + 0.35 * n_classes))
    return figure(plot, side + 0.8, side)


def picture(figure: Any, alt: str, title: str = "", caption: str = "") -> Picture:
    """Return a matplotlib figure as a picture: SVG, with the same bytes for the same figure."""
    matplotlib = require("matplotlib", "report", "report.picture")
    buffer = io.BytesIO()
    # Outlines of letters look the same everywhere. Without the salt, ids are random.
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "ybar"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(buffer.getvalue(), alt, title, caption, round(96 * figure.get_figwidth()))
