"""Parts of plots that displays share: class names, heat maps, numbers in cells."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..utils.extras import require
from ..utils.text import plain
from ..utils.typing import AnyArray, FloatArray, IntArray
from .inputs import class_names

_MOST_LETTERS = 24
_MOST_WRITTEN = 12  # classes; a matrix of more is a picture only
_SMALLEST_FONT = 4.5
_LETTER = 0.62  # width of a letter, in font sizes
# A name such as "$x$" is neither a formula nor TeX.
AS_IT_IS: dict[str, Any] = {"parse_math": False, "usetex": False}


def drawn_names(names: Iterable[Any]) -> list[str]:
    """Return names in a form that can be drawn: one line, not too long, letters of the font."""
    manager = require("matplotlib.font_manager", "report", "a display")
    fonts = []
    for family in manager.FontProperties().get_family():
        with contextlib.suppress(ValueError):  # a family that is not installed
            one = manager.FontProperties(family=family)
            fonts.append(manager.get_font(manager.findfont(one, fallback_to_default=False)))
    fonts = fonts or [manager.get_font(manager.findfont(manager.FontProperties()))]

    def one_line(name: Any) -> str:
        text = "".join(
            c if any(font.get_char_index(ord(c)) for font in fonts) else f"U+{ord(c):04X}"
            for c in plain(str(name))
        )
        if len(text) <= _MOST_LETTERS:
            return text
        return f"{text[: _MOST_LETTERS - 9]}…{text[-8:]}"  # names often differ at their end

    return [one_line(name) for name in names]


def longest_line(texts: Iterable[str]) -> int:
    """Return the length of the longest of texts."""
    return max(map(len, texts))


def tick_places(n: int, most: int) -> IntArray:
    """Return at most `most` of the places 0..n-1, at steps of 1, 2, 5, 10, …."""
    steps = (s * 10**e for e in itertools.count() for s in (1, 2, 5))
    step = next(s for s in steps if n <= s * most)
    return np.arange(0, n, step)


def new_axes(
    what: str, size: tuple[float, float] | None = None, layout: str = "constrained"
) -> Any:
    """Return axes in a new figure of pyplot, whose size in inches is pyplot's by default."""
    pyplot = require("matplotlib.pyplot", "report", what)
    return pyplot.subplots(figsize=size, layout=layout)[1]


class MatrixDisplay:
    """A heat map with true classes down and other classes across."""

    ax_: Any
    figure_: Any
    im_: Any
    text_: AnyArray | None

    def _draw(
        self, ax: Any, values: FloatArray, classes: ArrayLike | None, shade: str, across: str
    ) -> Any:
        names = drawn_names(class_names(classes, len(values)))
        if ax is None:
            side = 2.4 + 0.36 * min(len(names), _MOST_WRITTEN)
            named = 0.07 * longest_line(names)
            size = (side + named + 1.2, side + 0.7 * named + 0.4)
            # "constrained" cuts off the labels of axes with a fixed aspect.
            ax = new_axes(type(self).__name__, size, "compressed")
        self.ax_, self.figure_ = ax, ax.figure
        self.im_ = _heat_map(ax, values, names, shade)
        ax.set(xlabel=across, ylabel="true class")
        return ax


def _heat_map(ax: Any, values: FloatArray, names: list[str], what: str) -> Any:
    """Draw a matrix in shades of blue, darker for larger values, with the names of its classes."""
    n = len(values)
    im = ax.imshow(values, cmap="Blues", vmin=0, vmax=max(float(values.max()), 1e-12))
    bar = ax.figure.colorbar(
        im, ax=ax, fraction=0.046, pad=0.03, extend="min" if values.min() < -1e-10 else "neither"
    )
    bar.set_label(what, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    ticks = tick_places(n, _MOST_WRITTEN)
    shown = [names[t] for t in ticks]
    room = cell_size(ax, n) * n / len(ticks)
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    turn = slanted if 9 * _LETTER * (longest_line(shown) + 1) > room else {}
    ax.set_xticks(ticks, shown, fontsize=9, **turn, **AS_IT_IS)
    ax.set_yticks(ticks, shown, fontsize=9, **AS_IT_IS)
    return im


def cell_size(ax: Any, n: int) -> float:
    """Return the width of a cell in points."""
    extent = ax.get_window_extent()
    return float(72 / ax.figure.dpi * min(extent.width, extent.height) / n)


def frame_diagonal(ax: Any, n: int) -> Any:
    """Frame the cells on the diagonal."""
    collections = require("matplotlib.collections", "report", "a display")
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    frames = [0.92 * square + i for i in range(n)]
    width = 1.2 if n <= _MOST_WRITTEN else 0.5
    return ax.add_collection(
        collections.LineCollection(frames, colors="black", linewidths=width), autolim=False
    )


def write_values(ax: Any, im: Any, texts: AnyArray) -> AnyArray | None:
    """Write a text in each cell, as large as fits; return None if it would be too small to read."""
    n = len(texts)
    if n > _MOST_WRITTEN:
        return None
    ax.figure.figure.draw_without_rendering()  # the layout sets the size of the axes
    cell = 0.8 * cell_size(ax, n)
    lines = [line for text in texts.flat for line in text.split("\n")]
    n_lines = len(lines) // texts.size
    size = min(10.0, cell / (_LETTER * longest_line(lines)), cell / (1.3 * n_lines))
    if size < _SMALLEST_FONT:
        return None
    # Relative luminance as the WCAG defines it: below 0.18 white has the better contrast.
    luminance = im.to_rgba(im.get_array())[..., :3] ** 2.2 @ (0.2126, 0.7152, 0.0722)
    written, look = np.empty_like(texts), {"ha": "center", "va": "center", "fontsize": size}
    for (y, x), text in np.ndenumerate(texts):
        color = "white" if luminance[y, x] < 0.18 else "black"
        written[y, x] = ax.text(x, y, text, color=color, **look)
    return written


def as_probability(value: float) -> str:
    """Return a probability in at most five characters."""
    if value == 0:
        return "0"
    if value < 0.0005:
        return "<.001"
    return f"{value:.2f}" if value >= 0.01 else f"{value:.3f}"


def as_per_cent(share: float) -> str:
    """Return a share in per cent."""
    return f"{round(100 * share, 1) + 0.0:.1f}"  # no -0.0
