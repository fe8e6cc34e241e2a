"""Data and settings that several test files share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import ybar
from ybar import datasets, labels, transition


@pytest.fixture(scope="session", autouse=True)
def _processes_import_this_tree():
    """Let processes that tests start import the ybar under test, installed or not."""
    tree = str(Path(ybar.__file__).parents[1])
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([tree, *filter(None, [before])])
    yield
    os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="session")
def digits():
    return datasets.load("digits")


@pytest.fixture(scope="session")
def strong_T():
    return transition.strong(10, random_state=0)


@pytest.fixture(scope="session")
def digits_strong(digits, strong_T):
    """Digits with one complementary label per row, drawn under a strongly biased T."""
    y_comp = labels.draw(digits.y_train, strong_T, random_state=0)
    return digits.X_train, y_comp, digits.X_test, digits.y_test


@pytest.fixture
def blobs():
    """Three classes far apart, so that any sensible learner gets them all right."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    X = centres[y] + rng.normal(size=(900, 2))
    return X, y, labels.draw(y, transition.uniform(3), random_state=1)


@pytest.fixture
def interrupts_heard():
    """Handle Ctrl-C here and in processes started from here.

    A shell that starts the tests in the background makes them ignore it otherwise.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
