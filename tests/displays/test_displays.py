"""Every display needs matplotlib only to draw, and returns itself with its axes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from displays_helpers import UNIFORM, drawn
from ybar import displays, transition
from ybar.displays import ConfusionDisplay, DecoderDisplay, TransitionDisplay


def test_importing_displays_loads_neither_matplotlib_nor_torch():
    code = (
        "import sys, ybar.displays\n"
        "print([m for m in ('matplotlib', 'torch', 'lightgbm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_with_an_axis_given_no_pyplot_is_needed():
    code = (
        "import sys\nfrom matplotlib.figure import Figure\nfrom ybar import transition\n"
        "from ybar.displays import *\nT = transition.uniform(3)\n"
        "TransitionDisplay.from_matrix(T, ax=Figure().subplots())\n"
        "DecoderDisplay.from_probabilities(T[0], T, ax=Figure().subplots())\n"
        "ConfusionDisplay.from_true([0, 1], [0, 1], ax=Figure().subplots())\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_training_curves_are_here_too():
    assert sorted(displays.__all__) == [
        "ConfusionDisplay",
        "DecoderDisplay",
        "TrainingCurveDisplay",
        "TransitionDisplay",
    ]


@pytest.mark.parametrize(
    "plot",
    [
        lambda: TransitionDisplay.from_matrix(UNIFORM),
        lambda: DecoderDisplay.from_probabilities(UNIFORM[0], UNIFORM),
        lambda: ConfusionDisplay.from_true([0, 1], [0, 1]),
    ],
)
def test_missing_matplotlib_is_named_with_its_pip_line(monkeypatch, plot):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "ybar\[report\]"'):
        plot()


@pytest.mark.parametrize(
    "display",
    [
        TransitionDisplay(UNIFORM),
        DecoderDisplay(UNIFORM[0], UNIFORM),
        ConfusionDisplay(UNIFORM / 3),
    ],
    ids=lambda display: type(display).__name__,
)
def test_plot_returns_the_display_with_its_axis_and_figure(display, ax):
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert drawn(display.plot()).figure_ is not ax.figure


# Names


@pytest.mark.parametrize("n_classes", [2, 10, 30])
def test_a_new_figure_cuts_off_no_label(n_classes):
    display = TransitionDisplay.from_matrix(transition.uniform(n_classes))
    display.figure_.draw_without_rendering()
    labels, figure = display.ax_.get_tightbbox(), display.figure_.bbox
    assert labels.x0 >= figure.x0
    assert labels.y0 >= figure.y0
    assert labels.x1 <= figure.x1
    assert labels.y1 <= figure.y1
