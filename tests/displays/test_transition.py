"""`TransitionDisplay` shows the matrix as it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from displays_helpers import BIASED, NAMES, NOISY, UNIFORM, drawn, ticks, written
from ybar import CPEClassifier, labels, metrics, transition
from ybar.displays import TransitionDisplay


def test_cells_hold_the_matrix(ax):
    display = drawn(TransitionDisplay.from_matrix(BIASED, classes=NAMES, ax=ax))
    np.testing.assert_array_equal(display.im_.get_array(), BIASED)
    assert written(display) == [["0", "0.75", "0.25"], ["0.50", "0", "0.50"], ["0.10", "0.90", "0"]]
    for (y, x), text in np.ndenumerate(display.text_):
        assert text.get_position() == (x, y)


def test_rows_are_true_classes_and_columns_complementary_labels(ax):
    TransitionDisplay.from_matrix(BIASED, classes=NAMES, ax=ax)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("true class", "complementary label")
    assert ticks(ax.yaxis) == ticks(ax.xaxis) == NAMES
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first class on top


def test_the_diagonal_is_framed(ax):
    display = TransitionDisplay.from_matrix(NOISY, ax=ax)
    frames = display.diagonal_.get_segments()
    np.testing.assert_allclose(
        [frame[:-1].mean(axis=0) for frame in frames], [[0, 0], [1, 1], [2, 2]]
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.50"), (0.01, "0.01"), (0.0033, "0.003"), (1e-5, "<.001"), (1e-300, "<.001")],
)
def test_small_probabilities_are_told_from_none(ax, value, text):
    T = [[value, 1 - value], [1, 0]]
    assert written(TransitionDisplay.from_matrix(T, ax=ax))[0][0] == text
    assert written(TransitionDisplay.from_matrix(T, ax=ax))[1][1] == "0"


@pytest.mark.parametrize("n", [2, 3, 10, 12])
def test_up_to_twelve_classes_every_text_fits_its_cell(n):
    T = transition.with_uniform_noise(transition.strong(n, random_state=0), 0.05)
    display = drawn(TransitionDisplay.from_matrix(T))
    cell = display.ax_.get_window_extent().width / n
    assert display.text_.shape == (n, n)
    for text in display.text_.flat:
        extent = text.get_window_extent()
        assert extent.width < cell
        assert extent.height < cell
    assert ticks(display.ax_.xaxis) == [str(k) for k in range(n)]


@pytest.mark.parametrize(("n", "step"), [(13, 2), (30, 5), (100, 10), (130, 20)])
def test_beyond_twelve_classes_it_is_a_picture_with_fewer_ticks(n, step):
    T = transition.uniform(n)
    display = drawn(TransitionDisplay.from_matrix(T))
    assert display.text_ is None
    assert ticks(display.ax_.xaxis) == [str(k) for k in range(0, n, step)]
    assert ticks(display.ax_.yaxis) == ticks(display.ax_.xaxis)
    assert len(display.diagonal_.get_segments()) == n


def test_where_no_text_could_be_read_none_is_written():
    ax = Figure(figsize=(1, 1)).subplots()
    assert TransitionDisplay.from_matrix(transition.strong(10, 0), ax=ax).text_ is None


def test_darker_is_more_without_colour_too(ax):
    display = TransitionDisplay.from_matrix(BIASED, ax=ax)
    colours = display.im_.cmap(np.linspace(0, 1, 50))[:, :3]
    assert (np.diff(colours @ (0.299, 0.587, 0.114)) < 0).all()
    colour = {text.get_text(): text.get_color() for text in display.text_.flat}
    assert colour["0.90"] == "white"
    assert colour["0"] == colour["0.10"] == "black"


def test_a_classifier_shows_its_own_matrix(fitted, ax):
    clf, X, _, y_comp = fitted
    search = GridSearchCV(
        make_pipeline(StandardScaler(), CPEClassifier(transition=NOISY)),
        {"cpeclassifier__decoder": ["l1"]},
        scoring=metrics.scel_scorer,
        cv=2,
    ).fit(X, y_comp)
    for classifier, T in ((clf, UNIFORM), (search, NOISY), (search.best_estimator_, NOISY)):
        display = TransitionDisplay.from_estimator(classifier, ax=Figure().subplots())
        np.testing.assert_allclose(display.im_.get_array(), T)
        assert ticks(display.ax_.xaxis) == NAMES


def test_labels_show_the_estimated_matrix(ax):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    names = np.array(NAMES)
    y_comp = labels.draw(y, BIASED, random_state=0)
    expected = transition.estimate(y, y_comp)
    display = TransitionDisplay.from_labels(names[y], names[y_comp], ax=ax)
    np.testing.assert_array_equal(display.im_.get_array(), expected)
    assert ticks(ax.xaxis) == NAMES
    turned = TransitionDisplay.from_labels(names[y], names[y_comp], NAMES[::-1])
    np.testing.assert_array_equal(turned.im_.get_array(), expected[::-1, ::-1])
    assert ticks(turned.ax_.xaxis) == NAMES[::-1]


@pytest.mark.filterwarnings("ignore:y_true has no row")
def test_labels_may_be_several_a_row_or_lack_a_class(ax):
    mask = pd.DataFrame([[False, True, True], [True, False, True]], columns=NAMES)
    display = TransitionDisplay.from_labels(["ant", "bee"], mask, ax=ax)
    np.testing.assert_array_equal(
        display.im_.get_array(), transition.estimate(["ant", "bee"], mask)
    )
    assert ticks(ax.xaxis) == NAMES
    display = TransitionDisplay.from_labels(["ant", "dog"], ["bee", "ant"])
    assert ticks(display.ax_.xaxis) == ["ant", "bee", "dog"]
