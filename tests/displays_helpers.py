"""Matrices of three classes, and what tests read off a display."""

from __future__ import annotations

import io

import numpy as np

from ybar import transition

NAMES = ["ant", "bee", "cat"]
UNIFORM = transition.uniform(3)
BIASED = np.array([[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [0.1, 0.9, 0.0]])
NOISY = transition.with_uniform_noise(BIASED, 0.2)
SINGULAR = np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
MATRICES = {"uniform": UNIFORM, "biased": BIASED, "noisy": NOISY}
Q = np.array([[0.5, 0.1, 0.4], [0.05, 0.55, 0.4], [0.2, 0.7, 0.1]])


def drawn(display):
    """Whatever cannot be drawn fails here, and warnings are errors."""
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, format="png", dpi=50)
    assert buffer.getvalue().startswith(b"\x89PNG")
    return display


def written(display):
    return [[text.get_text() for text in row] for row in display.text_]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def bars(ax):
    return np.array([patch.get_width() for patch in ax.patches])


def lines(ax):
    return {line.get_label(): line for line in ax.lines if line.get_label()[0] != "_"}
