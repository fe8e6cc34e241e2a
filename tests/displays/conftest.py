"""Figures are drawn without a screen and closed after each test."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from displays_helpers import NAMES
from ybar import CPEClassifier


@pytest.fixture(autouse=True)
def _close_figures():
    mpl.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def fitted(blobs):
    X, y, y_comp = blobs
    names = np.array(NAMES)
    return CPEClassifier().fit(X, names[y_comp]), X, names[y], names[y_comp]
