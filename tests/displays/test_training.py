"""The plot of a training shows the history, whole and labelled, in colour or without."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from bad_input import assert_one_clear_line
from ybar import CPEClassifier
from ybar.displays import TrainingCurveDisplay
from ybar.neural import ComplementaryNetClassifier, ComplementaryNetClassifierCV

HISTORY = {
    "loss": np.array([0.9, 0.6, 0.4, 0.3]),
    "scel": np.array([2.2, 2.0, 1.9, 2.1]),
    "scel_std_error": np.array([0.1, 0.1, 0.2, 0.1]),
    "ure": np.array([0.8, 0.7, 0.5, 0.6]),
}


def fit(blobs, cls=ComplementaryNetClassifier, **params):
    X, _, y_comp = blobs
    return cls(hidden_layer_sizes=(), max_epochs=4, random_state=0, **params).fit(X, y_comp)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def epochs(line):
    return line.get_xdata().tolist()


def test_lines_hold_the_history_on_two_axes():
    display = TrainingCurveDisplay.from_history(HISTORY, best_epoch=3)
    criterion, loss = display.lines_
    for line, name in ((criterion, "scel"), (loss, "loss")):
        np.testing.assert_array_equal(line.get_ydata(), HISTORY[name])
        assert epochs(line) == [1, 2, 3, 4]
    assert criterion.axes is display.ax_
    assert loss.axes is display.loss_ax_ is not display.ax_
    assert display.loss_ax_.yaxis.get_label_position() == "right"
    assert display.figure_.axes == [display.ax_, display.loss_ax_]


def test_everything_is_labelled():
    display = TrainingCurveDisplay.from_history(HISTORY, best_epoch=3)
    assert display.ax_.get_xlabel() == "epoch"
    assert display.ax_.get_ylabel() == "SCEL (held out)"
    assert display.loss_ax_.get_ylabel() == "training loss (dashed)"
    lines = ["SCEL (held out)", "training loss"]
    assert texts(display.ax_) == [*lines, "± standard error", "epoch kept: 3"]


def test_lines_differ_without_colour():
    display = TrainingCurveDisplay.from_history(HISTORY)
    assert [line.get_linestyle() for line in display.lines_] == ["-", "--"]


def test_the_kept_epoch_is_marked_if_known():
    display = TrainingCurveDisplay.from_history(HISTORY, best_epoch=3)
    (mark,) = [line for line in display.ax_.lines if line not in display.lines_]
    assert list(mark.get_xdata()) == [3, 3]
    assert mark.get_linewidth() < min(line.get_linewidth() for line in display.lines_)
    display = TrainingCurveDisplay.from_history(HISTORY)
    assert list(display.ax_.lines) == [display.lines_[0]]


def test_the_band_is_one_standard_error():
    display = TrainingCurveDisplay.from_history(HISTORY)
    (band,) = display.ax_.collections
    corners = band.get_paths()[0].vertices
    for epoch, (mean, error) in enumerate(
        zip(HISTORY["scel"], HISTORY["scel_std_error"], strict=True), start=1
    ):
        y = corners[corners[:, 0] == epoch, 1]
        assert (y.min(), y.max()) == pytest.approx((mean - error, mean + error))


def test_without_standard_errors_there_is_no_band():
    display = TrainingCurveDisplay.from_history(HISTORY, criterion="ure")
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), HISTORY["ure"])
    assert display.ax_.get_ylabel() == "URE (held out)"
    assert len(display.ax_.collections) == 0


@pytest.mark.parametrize("history", [{"loss": [2.0, 1.0]}, {"loss": [2, 1], "scel": [np.nan] * 2}])
def test_without_validation_only_the_loss_is_plotted(history):
    display = TrainingCurveDisplay.from_history(history)
    (line,) = display.lines_
    assert line.get_ydata().tolist() == [2, 1]
    assert display.loss_ax_ is display.ax_
    assert display.figure_.axes == [display.ax_]
    assert display.ax_.get_ylabel() == "training loss"


def test_one_epoch_is_a_point_that_can_be_seen():
    display = TrainingCurveDisplay.from_history({"loss": [1.0], "scel": [2.0]})
    assert [line.get_marker() for line in display.lines_] == ["o", "o"]


def test_the_legend_covers_no_curve():
    display = TrainingCurveDisplay.from_history(HISTORY, best_epoch=3)
    display.figure_.canvas.draw()
    bottom = display.ax_.get_legend().get_window_extent().y0
    for line in display.lines_:
        assert line.get_window_extent().y1 < bottom


def test_a_given_axis_is_used_and_no_other_figure_made(ax):
    from matplotlib import pyplot

    display = TrainingCurveDisplay(HISTORY, best_epoch=3)
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert pyplot.get_fignums() == []


def test_from_estimator_plots_what_was_learned(blobs, ax):
    clf = fit(blobs, method="scl-nl")
    display = TrainingCurveDisplay.from_estimator(clf, ax=ax)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), clf.history_["scel"])
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), clf.history_["loss"])
    assert texts(ax)[-1] == f"epoch kept: {clf.best_epoch_}"
    assert display.loss_ax_ is not ax
    assert len(ax.collections) == 1


@pytest.mark.parametrize(("criterion", "shared"), [("scel", True), ("ure", False)])
def test_a_loss_that_is_scel_shares_its_axis(criterion, shared, blobs, ax):
    display = TrainingCurveDisplay.from_estimator(fit(blobs), criterion=criterion, ax=ax)
    assert (display.loss_ax_ is ax) == shared
    assert len(display.lines_) == 2


def test_a_fit_without_validation_can_be_plotted(blobs, ax):
    clf = fit(blobs, validation_fraction=0, select="last")
    (line,) = TrainingCurveDisplay.from_estimator(clf, ax=ax).lines_
    np.testing.assert_array_equal(line.get_ydata(), clf.history_["loss"])


def test_a_search_shows_the_criterion_of_every_rate_the_best_one_thicker(blobs, ax):
    clf = fit(blobs, ComplementaryNetClassifierCV, learning_rates=[1e-1, 1e-2, 1e-5])
    display = TrainingCurveDisplay.from_estimator(clf, ax=ax)
    for line, rate in zip(display.lines_, clf.histories_, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), clf.histories_[rate]["scel"])
        assert line.get_label() == f"learning rate {rate:g}"
    widths = dict(
        zip(clf.histories_, [line.get_linewidth() for line in display.lines_], strict=True)
    )
    assert max(widths, key=widths.get) == clf.learning_rate_
    assert sorted(widths.values())[-2] < widths[clf.learning_rate_]
    assert len({str(line.get_linestyle()) for line in display.lines_}) == 3
    assert display.loss_ax_ is None
    assert len(ax.collections) == 1


def test_a_rate_that_failed_at_once_is_left_out(ax):
    display = TrainingCurveDisplay(HISTORY, histories={0.1: HISTORY, 9.0: {}}).plot(ax)
    assert [line.get_label() for line in display.lines_] == ["learning rate 0.1"]


@pytest.mark.parametrize(
    ("classifier", "shows"),
    [
        (LogisticRegression(), "LogisticRegression"),
        (CPEClassifier(), "CPEClassifier"),
        (None, "None"),
    ],
)
def test_what_has_no_history_raises_one_line_that_shows_it(classifier, shows):
    call = functools.partial(TrainingCurveDisplay.from_estimator, classifier)
    assert_one_clear_line(call, TypeError, "classifier", shows)


def test_an_unfitted_network_has_no_history():
    with pytest.raises(NotFittedError, match="ComplementaryNetClassifier"):
        TrainingCurveDisplay.from_estimator(ComplementaryNetClassifier())


@pytest.mark.parametrize("history", [None, [1.0, 2.0], {"scel": [1.0]}], ids=str)
def test_what_is_no_history_raises_one_line_that_shows_it(history):
    call = functools.partial(TrainingCurveDisplay.from_history, history)
    assert_one_clear_line(call, ValueError, "history", "'loss'", str(history))


def test_an_unknown_criterion_raises_one_line_that_shows_it():
    call = functools.partial(TrainingCurveDisplay.from_history, HISTORY, criterion="accuracy")
    assert_one_clear_line(call, ValueError, "criterion", "'scel'", "'ure'", "'accuracy'")


def test_missing_matplotlib_is_named_with_its_pip_line(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "ybar\[report\]"'):
        TrainingCurveDisplay.from_history(HISTORY)
