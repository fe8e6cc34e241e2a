"""Displays show T, decisions and confusion as they are, with true labels or without."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hostile_names import HOSTILE
from ybar import (
    ComplementaryNetClassifier,
    CPEClassifier,
    decode,
    displays,
    labels,
    metrics,
    transition,
)
from ybar.displays import ConfusionDisplay, DecoderDisplay, TransitionDisplay
from ybar.metrics.losses import mean_and_error
from ybar.utils.text import plain

NAMES = ["ant", "bee", "cat"]
UNIFORM = transition.uniform(3)
BIASED = np.array([[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [0.1, 0.9, 0.0]])
NOISY = transition.with_uniform_noise(BIASED, 0.2)
SINGULAR = np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
MATRICES = {"uniform": UNIFORM, "biased": BIASED, "noisy": NOISY}


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


def one_line(error):
    assert "\n" not in str(error.value)


# The module


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


@pytest.mark.parametrize("start", range(0, len(HOSTILE), 12))
def test_names_are_drawn_as_they_are_and_never_as_formulas(start):
    # numpy itself drops a NUL at the end of a string.
    names = np.array([*HOSTILE[start : start + 12], "more", "most"]).tolist()
    T = transition.uniform(len(names))
    one = drawn(TransitionDisplay.from_matrix(T, classes=names))
    two = drawn(DecoderDisplay.from_probabilities(T[0], T, "l1", names, y_true=names[1]))
    left = two.axes_[0, 0]
    for axis, shown in (
        (one.ax_.xaxis, names[::2] if len(names) > 12 else names),
        (one.ax_.yaxis, names[::2] if len(names) > 12 else names),
        (left.yaxis, names),
    ):
        for name, label in zip(shown, axis.get_ticklabels(), strict=True):
            text = label.get_text()
            assert not label.get_parse_math()
            assert not label.get_usetex()
            assert "\n" not in text
            assert len(text) <= 24
            if len(plain(name)) <= 24 and name.isascii():
                assert text == plain(name)
    (title,) = left.findobj(lambda a: isinstance(a, mpl.text.Text) and "decoded: " in a.get_text())
    assert not title.get_parse_math()


def test_dollars_are_drawn_as_dollars(ax):
    names = ["$a_b$", "$$", r"\$c$"]
    display = drawn(TransitionDisplay.from_matrix(UNIFORM, classes=names, ax=ax))
    assert ticks(display.ax_.xaxis) == ticks(display.ax_.yaxis) == names


def test_long_names_that_differ_at_their_end_still_differ(ax):
    names = [f"the department of odd things, {side}" for side in ("east", "west", "north")]
    shown = ticks(TransitionDisplay.from_matrix(UNIFORM, classes=names, ax=ax).ax_.yaxis)
    assert len(set(shown)) == 3
    assert all(len(name) == 24 and "…" in name for name in shown)


def test_a_second_font_of_the_family_draws_what_the_first_lacks(ax):
    families = {"font.family": ["STIXNonUnicode", "DejaVu Sans", "not installed"]}
    with mpl.rc_context(families):
        display = drawn(TransitionDisplay.from_matrix(UNIFORM, classes=["ж", "b", "c"], ax=ax))
    assert ticks(display.ax_.xaxis)[0] == "ж"


# TransitionDisplay


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


# DecoderDisplay


Q = np.array([[0.5, 0.1, 0.4], [0.05, 0.55, 0.4], [0.2, 0.7, 0.1]])


def l3(u, v):
    return (np.abs(u - v) ** 3).sum(axis=-1) ** (1 / 3)


SCORES = {
    "l1": lambda q, T: np.abs(q[:, None] - T).sum(axis=2),
    "l2": lambda q, T: np.sqrt(((q[:, None] - T) ** 2).sum(axis=2)),
    "max": lambda q, T: q @ np.linalg.inv(T),
    "likelihood": decode.class_probabilities,
    l3: lambda q, T: l3(q[:, None], T),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("decoder", SCORES, ids=lambda d: getattr(d, "__name__", d))
def test_the_class_marked_is_the_one_decoded_and_the_scores_say_why(decoder, matrix):
    T = MATRICES[matrix]
    display = drawn(DecoderDisplay.from_probabilities(Q, T, decoder, NAMES))
    expected = decode.decode(Q, T, decoder)
    assert display.decoded_.tolist() == [NAMES[k] for k in expected]
    np.testing.assert_allclose(display.scores_, SCORES[decoder](Q, T), atol=1e-12)
    best = display.scores_.argmax if decoder in ("max", "likelihood") else display.scores_.argmin
    np.testing.assert_array_equal(best(axis=1), expected)
    assert display.axes_.shape == (3, 2)
    for (left, right), k, q, scores in zip(
        display.axes_, expected, Q, display.scores_, strict=True
    ):
        np.testing.assert_allclose(bars(left), q)
        np.testing.assert_array_equal(lines(left)["decoded"].get_xdata(), T[k])
        np.testing.assert_allclose(bars(right), scores)
        greys = [patch.get_facecolor() for patch in right.patches]
        assert [c == greys[k] for c in greys] == [j == k for j in range(3)]
        (word,) = right.texts
        assert word.get_text() == f" {scores[k]:.3g} decoded"
        assert word.get_position()[1] == k
        assert left.get_title(loc="left") == f"decoded: {NAMES[k]}"


def test_the_true_class_is_marked_where_another_was_decoded():
    display = drawn(
        DecoderDisplay.from_probabilities(Q[:2], UNIFORM, "l1", NAMES, y_true=["cat", "ant"])
    )
    assert display.decoded_.tolist() == ["bee", "ant"]
    wrong, right = display.axes_
    assert wrong[0].get_title(loc="left") == "decoded: bee, true: cat"
    assert right[0].get_title(loc="left") == "decoded: ant, which is true"
    np.testing.assert_array_equal(lines(wrong[0])["true"].get_xdata(), UNIFORM[2])
    assert "true" not in lines(right[0])
    assert [text.get_text() for text in wrong[1].texts] == [" 0.2 decoded", " 0.8 true"]
    assert [patch.get_hatch() for patch in wrong[1].patches] == [None, None, "////"]
    assert "circles: T, true class" in display.axes_[-1, 0].get_xlabel()


def test_markers_differ_without_colour():
    display = DecoderDisplay.from_probabilities(Q[0], UNIFORM, y_true=2)
    marks = lines(display.axes_[0, 0])
    assert (marks["decoded"].get_marker(), marks["true"].get_marker()) == ("D", "o")
    assert marks["true"].get_markerfacecolor() == "none"


@pytest.mark.parametrize(
    ("decoder", "label"),
    [
        ("l1", "L1 distance to rows of T\n(smallest wins)"),
        ("l2", "L2 distance to rows of T\n(smallest wins)"),
        ("max", "p, by the inverse of T\n(largest wins)"),
        ("likelihood", "p, by likelihood\n(largest wins)"),
        (l3, "l3 of q and rows of T\n(smallest wins)"),
    ],
)
def test_the_axis_says_what_is_compared_and_which_wins(ax, decoder, label):
    display = DecoderDisplay.from_probabilities(Q, BIASED, decoder, ax=ax)
    left, right = display.axes_[-1]
    assert right.get_xlabel() == label
    assert left.get_xlabel() == "bars: q\ndiamonds: T, decoded class"


def test_the_first_class_is_on_top_and_classes_are_named_once(ax):
    (left, right), *_ = DecoderDisplay.from_probabilities(Q, UNIFORM, "l1", NAMES, ax=ax).axes_
    assert ticks(left.yaxis) == NAMES
    assert left.get_ylim()[0] > left.get_ylim()[1]
    assert left.get_ylim() == right.get_ylim()
    assert not any(label.get_visible() for label in right.yaxis.get_ticklabels())


@pytest.mark.parametrize("decoder", ["l1", "l2", "max", "likelihood"])
def test_a_classifier_shows_the_classes_that_it_predicts(blobs, decoder):
    X, y, y_comp = blobs
    names = np.array(NAMES)
    clf = make_pipeline(StandardScaler(), CPEClassifier(transition=NOISY, decoder=decoder))
    clf.fit(X, names[y_comp])
    display = drawn(DecoderDisplay.from_estimator(clf, X[:4], y_true=names[y[:4]]))
    assert display.decoded_.tolist() == clf.predict(X[:4]).tolist()
    q = clf[-1].predict_complementary_proba(clf[:-1].transform(X[:4]))
    np.testing.assert_allclose([bars(left) for left in display.axes_[:, 0]], q)


@pytest.mark.parametrize("method", ["fwd", "cpe-i", "cpe-f", "cpe-n"])
def test_a_network_shows_the_classes_that_it_predicts(blobs, method):
    X, _, y_comp = blobs
    clf = ComplementaryNetClassifier(
        method=method, transition=NOISY, hidden_layer_sizes=(), max_epochs=2, random_state=0
    ).fit(X, y_comp)
    display = drawn(DecoderDisplay.from_estimator(clf, X[:5]))
    assert display.decoded_.tolist() == clf.predict(X[:5]).tolist()
    if method in ("fwd", "cpe-n"):
        np.testing.assert_allclose(display.scores_, clf.predict_proba(X[:5]))
        assert display.axes_[-1, 1].get_xlabel().startswith("p, the network's own")


def test_infinite_and_equal_distances_are_drawn(ax):
    def divergence(q, t):
        with np.errstate(divide="ignore"):
            return float(np.sum(q * np.log(q / t)))

    display = drawn(DecoderDisplay.from_probabilities(Q[1], BIASED, divergence, ax=ax, y_true=1))
    assert np.isinf(display.scores_[0, 1:]).any()
    assert any("inf" in text.get_text() for text in display.axes_[0, 1].texts)
    same = np.full((3, 3), 1 / 3)
    display = drawn(DecoderDisplay.from_probabilities(same[0], same, ax=Figure().subplots()))
    np.testing.assert_allclose(display.scores_, 0, atol=1e-15)


def test_thirty_classes_are_all_named_and_more_have_fewer_ticks():
    rng = np.random.default_rng(0)
    for n, step in ((30, 1), (60, 2)):
        q = rng.dirichlet(np.ones(n))
        display = drawn(DecoderDisplay.from_probabilities(q, transition.uniform(n)))
        assert ticks(display.axes_[0, 0].yaxis) == [str(k) for k in range(0, n, step)]
        assert len(bars(display.axes_[0, 1])) == n


def test_panels_take_the_place_of_the_axis_given():
    figure = Figure(layout="constrained")
    first, second = figure.subplots(1, 2)
    display = drawn(DecoderDisplay.from_probabilities(Q, UNIFORM, ax=second))
    assert display.ax_ is second
    assert not second.axison
    assert first.axison
    middle = first.get_position().x1
    assert all(panel.get_position().x0 > middle for panel in display.axes_.flat)


# ConfusionDisplay


def sample(T, n=400, seed=0, wrong=0.4):
    """True, predicted and complementary labels of three classes, with their joint distribution."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    predicted = np.where(rng.random(n) < wrong, rng.choice(3, n, p=[0.2, 0.2, 0.6]), y)
    joint = np.outer([0.5, 0.3, 0.2], wrong * np.array([0.2, 0.2, 0.6]))
    joint[np.diag_indices(3)] += (1 - wrong) * np.array([0.5, 0.3, 0.2])
    return y, predicted, labels.draw(y, T, rng), joint


def several(y, T, seed=0):
    """Two draws a row, as a boolean array; some rows have none."""
    mask = np.zeros((len(y), 3), dtype=bool)
    for i in range(2):
        mask[np.arange(len(y)), labels.draw(y, T, seed + i)] = True
    mask[::7] = False
    mask[mask.all(axis=1), 0] = False
    return mask


def estimate(y_comp, predicted, T):
    return ConfusionDisplay._estimated(y_comp, predicted, T, None)


def test_with_true_labels_it_is_the_confusion_matrix_in_per_cent(ax):
    y, predicted, _, _ = sample(UNIFORM)
    names = np.array(NAMES)
    display = drawn(ConfusionDisplay.from_true(names[y], names[predicted], ax=ax))
    counts = confusion_matrix(y, predicted)
    np.testing.assert_allclose(display.matrix, counts / 400)
    np.testing.assert_allclose(display.im_.get_array(), counts / 4)
    assert written(display) == [[f"{c / 4:.1f}" for c in row] for row in counts]
    wrong = np.mean(y != predicted)
    assert display.error_rate == pytest.approx(wrong)
    assert display.error_std_error == pytest.approx(np.std(y != predicted, ddof=1) / 20)
    assert ax.get_title() == f"error rate {100 * wrong:.1f} ± {100 * display.error_std_error:.1f} %"
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("true class", "predicted class")
    assert ticks(ax.xaxis) == ticks(ax.yaxis) == NAMES


def test_classes_may_be_given_in_an_order_and_need_not_occur(ax):
    display = ConfusionDisplay.from_true([1, 1], [2, 1], [3, 2, 1], ax=ax)
    np.testing.assert_array_equal(display.matrix, [[0, 0, 0], [0, 0, 0], [0, 0.5, 0.5]])
    assert ticks(ax.xaxis) == ["3", "2", "1"]


def test_any_fitted_classifier_has_a_confusion_matrix(fitted, blobs):
    X, y, _ = blobs
    clf, _, names, _ = fitted
    for classifier, true in ((clf, names), (LogisticRegression().fit(X, y), y)):
        display = ConfusionDisplay.from_estimator(classifier, X, true, ax=Figure().subplots())
        expected = confusion_matrix(true, classifier.predict(X), normalize="all")
        np.testing.assert_allclose(display.matrix, expected)


@pytest.mark.parametrize("matrix", MATRICES)
def test_from_the_true_distribution_of_labels_the_joint_distribution_is_recovered(matrix):
    # Rows whose (true, predicted, complementary) counts are exactly proportional to their
    # probabilities, so that no chance is left.
    T = MATRICES[matrix]
    joint = np.array([[3, 1, 0], [0, 2, 1], [1, 0, 2]]) / 10
    counts = np.rint(joint[:, :, None] * T[:, None, :] * 6000).astype(int)
    y, predicted, y_comp = (
        np.repeat(i, counts.ravel()) for i in np.indices((3, 3, 3)).reshape(3, -1)
    )
    assert len(y) == 6000
    np.testing.assert_allclose(estimate(y_comp, predicted, T).matrix, joint, atol=1e-12)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_estimate_is_unbiased_and_its_standard_errors_are_right(matrix):
    T = MATRICES[matrix]
    draws = 400
    found, errors, wrong, wrong_errors = [], [], [], []
    for seed in range(draws):
        _, predicted, y_comp, joint = sample(T, n=250, seed=seed)
        display = estimate(y_comp, predicted, T)
        found.append(display.matrix)
        errors.append(display.std_error)
        wrong.append(display.error_rate)
        wrong_errors.append(display.error_std_error)
    spread = np.std(found, axis=0, ddof=1)
    off = np.mean(found, axis=0) - joint
    assert (np.abs(off) < 4 * spread / np.sqrt(draws)).all()
    assert np.abs(off / spread * np.sqrt(draws)).mean() < 2
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(errors), axis=0)), spread, rtol=0.15)
    assert abs(np.mean(wrong) - (1 - joint.trace())) < 4 * np.std(wrong) / np.sqrt(draws)
    assert np.mean(wrong_errors) == pytest.approx(np.std(wrong), rel=0.15)


def test_standard_errors_are_over_rows_where_labels_of_a_row_depend():
    found, errors = [], []
    for seed in range(300):
        y, predicted, y_comp, joint = sample(UNIFORM, n=250, seed=seed)
        # Both other classes are ruled out, or one at random: labels of a row are not independent.
        mask = np.eye(3, dtype=bool)[y_comp]
        both = np.random.default_rng(1000 + seed).random(250) < 0.5
        mask[both] = ~np.eye(3, dtype=bool)[y[both]]
        display = estimate(mask, predicted, UNIFORM)
        found.append(display.matrix)
        errors.append(display.std_error)
    spread = np.std(found, axis=0, ddof=1)
    assert (np.abs(np.mean(found, axis=0) - joint) < 4 * spread / np.sqrt(300)).all()
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(errors), axis=0)), spread, rtol=0.15)


@pytest.mark.parametrize("form", ["one", "several"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_off_the_diagonal_it_sums_to_the_unbiased_error_rate(matrix, form):
    T = MATRICES[matrix]
    y, predicted, y_comp, _ = sample(T)
    y_comp = y_comp if form == "one" else several(y, T)
    display = estimate(y_comp, predicted, T)
    rate, error = metrics.ure_zero_one(y_comp, predicted, T, return_std_error=True)
    assert display.error_rate == pytest.approx(rate, abs=1e-12)
    assert display.matrix[~np.eye(3, dtype=bool)].sum() == pytest.approx(rate, abs=1e-12)
    assert display.error_std_error == pytest.approx(error, abs=1e-12)
    assert np.sum(display.matrix) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("form", ["one", "several"])
def test_each_entry_is_a_mean_over_labels_with_its_error_over_rows(form):
    y, predicted, y_comp, _ = sample(NOISY)
    y_comp = y_comp if form == "one" else several(y, NOISY)
    display = estimate(y_comp, predicted, NOISY)
    inverse = np.linalg.inv(NOISY)
    rows, k = labels.pairs(y_comp, 3)
    for true, j in np.ndindex(3, 3):
        values = inverse[k, true] * (predicted[rows] == j)
        mean, error = mean_and_error(values, rows, len(y), None)
        assert display.matrix[true, j] == pytest.approx(mean, abs=1e-12)
        assert display.std_error[true, j] == pytest.approx(error, abs=1e-12)


def test_standard_errors_are_the_delta_method_on_multinomial_counts():
    _, predicted, y_comp, _ = sample(BIASED, n=300)
    display = estimate(y_comp, predicted, BIASED)
    shares = np.zeros(9)
    np.add.at(shares, 3 * y_comp + predicted, 1 / 300)
    covariance = (np.diag(shares) - np.outer(shares, shares)) / 299
    to_joint = np.kron(np.linalg.inv(BIASED).T, np.eye(3))
    np.testing.assert_allclose(display.matrix, (to_joint @ shares).reshape(3, 3), atol=1e-12)
    expected = np.sqrt(np.diag(to_joint @ covariance @ to_joint.T)).reshape(3, 3)
    np.testing.assert_allclose(display.std_error, expected, atol=1e-12)


def test_with_the_identity_as_transition_it_is_the_confusion_matrix():
    y, predicted, _, _ = sample(UNIFORM)
    found = estimate(y, predicted, np.eye(3)).matrix
    np.testing.assert_allclose(found, confusion_matrix(y, predicted, normalize="all"), atol=1e-15)


def test_estimated_shares_are_written_with_their_errors(ax):
    _, predicted, y_comp, _ = sample(BIASED)
    display = drawn(ConfusionDisplay.from_complementary(y_comp, predicted, BIASED, ax=ax))
    for (y, x), text in np.ndenumerate(display.text_):
        share, error = text.get_text().split("\n±")
        assert float(share) == pytest.approx(100 * display.matrix[y, x], abs=0.051)
        assert float(error) == pytest.approx(100 * display.std_error[y, x], abs=0.051)
    most = f"{100 * display.std_error.max():.1f}"
    assert (
        f", by complementary labels\n(± standard error, in cells {most} at most" in ax.get_title()
    )


def test_negative_entries_are_shown_and_said_to_be_chance(ax):
    y = np.arange(300) % 3
    y_comp = labels.draw(y, NOISY, random_state=0)
    display = drawn(ConfusionDisplay.from_complementary(y_comp, y, NOISY, ax=ax))
    assert display.matrix.min() < -0.001
    np.testing.assert_array_equal(
        [[text.startswith("-") for text in row] for row in written(display)],
        display.matrix < -0.0005,
    )
    assert "below 0: by chance" in ax.get_title()
    assert display.figure_.axes[1]._colorbar.extend == "min"


def test_where_nothing_is_negative_nothing_is_said_of_it(ax):
    matrix = [[0.5, 1e-17], [-1e-17, 0.5]]
    display = ConfusionDisplay(matrix, std_error=np.full((2, 2), 0.1)).plot(ax)
    assert "below 0" not in ax.get_title()
    assert written(display) == [["50.0\n±10.0", "0.0\n±10.0"], ["0.0\n±10.0", "50.0\n±10.0"]]


def test_beyond_twelve_classes_negative_entries_have_a_minus_sign():
    rng = np.random.default_rng(0)
    y, T = rng.integers(0, 20, 3000), transition.strong(20, random_state=0)
    y_comp = labels.draw(y, T, random_state=0)
    display = drawn(ConfusionDisplay.from_complementary(y_comp, y, T))
    assert display.text_ is None
    expected = np.argwhere(np.asarray(display.matrix) < -1e-12)[:, ::-1]
    np.testing.assert_array_equal(display.negative_.get_offsets(), expected)
    assert len(expected) > 20
    assert ConfusionDisplay.from_true(y, y).negative_ is None


@pytest.mark.parametrize("n", [3, 10, 12])
def test_up_to_twelve_classes_shares_and_errors_fit_their_cells(n):
    rng = np.random.default_rng(0)
    y, T = rng.integers(0, n, 500), transition.strong(n, random_state=0)
    names = [f"the class with number {k}" for k in range(n)]
    codes = labels.draw(y, T, random_state=0)
    named = np.array(names)
    display = drawn(ConfusionDisplay.from_complementary(named[codes], named[y], T, names))
    cell = display.ax_.get_window_extent().width / n
    for text in display.text_.flat:
        extent = text.get_window_extent()
        assert max(extent.width, extent.height) < cell


def test_a_classifier_needs_no_true_labels(fitted):
    clf, X, y, y_comp = fitted
    display = ConfusionDisplay.from_estimator_complementary(clf, X, y_comp, ax=Figure().subplots())
    predicted = clf.predict(X)
    expected = ConfusionDisplay.from_complementary(y_comp, predicted, UNIFORM, NAMES)
    np.testing.assert_array_equal(display.matrix, expected.matrix)
    assert display.error_rate == pytest.approx(-metrics.ure_scorer(clf, X, y_comp), abs=1e-12)
    true = confusion_matrix(y, predicted, normalize="all")
    assert (np.abs(display.matrix - true) < 4 * display.std_error).all()
    assert ticks(display.ax_.xaxis) == NAMES


def test_a_pipeline_and_a_search_need_no_true_labels(fitted):
    _, X, _, y_comp = fitted
    pipe = make_pipeline(StandardScaler(), CPEClassifier(transition=NOISY)).fit(X, y_comp)
    search = GridSearchCV(
        pipe, {"cpeclassifier__decoder": ["l1"]}, scoring=metrics.scel_scorer, cv=2
    ).fit(X, y_comp)
    for classifier in (pipe, search):
        display = ConfusionDisplay.from_estimator_complementary(classifier, X, y_comp)
        expected = ConfusionDisplay.from_complementary(y_comp, classifier.predict(X), NOISY, NAMES)
        np.testing.assert_array_equal(display.matrix, expected.matrix)


def test_several_labels_a_row_count_once_each_and_may_be_a_data_frame(ax):
    y, predicted, _, _ = sample(UNIFORM)
    mask = several(y, UNIFORM)
    names = np.array(NAMES)
    frame = pd.DataFrame(mask, columns=NAMES)
    display = ConfusionDisplay.from_complementary(frame, names[predicted], UNIFORM, ax=ax)
    rows, k = np.nonzero(mask)
    expected = estimate(k, predicted[rows], UNIFORM)
    np.testing.assert_allclose(display.matrix, expected.matrix, atol=1e-12)
    assert ticks(ax.xaxis) == NAMES


def test_of_a_single_row_no_error_is_known(ax):
    display = drawn(ConfusionDisplay.from_complementary([0], [1], UNIFORM, ax=ax))
    assert np.isnan(display.std_error).all()
    assert written(display) == [
        ["0.0", "-100.0", "0.0"],
        ["0.0", "100.0", "0.0"],
        ["0.0", "100.0", "0.0"],
    ]
    assert "nan" not in ax.get_title()


# Bad input


@pytest.mark.parametrize(
    "call",
    [
        lambda: ConfusionDisplay.from_complementary([0, 1], [0, 1], SINGULAR),
        lambda: DecoderDisplay.from_probabilities(Q, SINGULAR, "max"),
    ],
)
def test_a_singular_matrix_is_warned_of_once_where_it_was_called(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (warning,) = caught
    assert "T is singular, so its pseudo-inverse is used" in str(warning.message)
    assert warning.filename == __file__


def test_nothing_given_is_changed():
    q, T, mask = Q.copy(), NOISY.copy(), several(np.arange(9) % 3, UNIFORM)
    before = mask.copy()
    TransitionDisplay.from_matrix(T)
    DecoderDisplay.from_probabilities(q, T, y_true=[0, 1, 2])
    ConfusionDisplay.from_complementary(mask, np.arange(9) % 3, T)
    np.testing.assert_array_equal(q, Q)
    np.testing.assert_array_equal(T, NOISY)
    np.testing.assert_array_equal(mask, before)


transition_of = TransitionDisplay.from_matrix
decoder_of = DecoderDisplay.from_probabilities
true_of = ConfusionDisplay.from_true
complementary_of = ConfusionDisplay.from_complementary
BAD = [
    (lambda: transition_of(np.ones((2, 3))), r"T must be square.*got shape \(2, 3\)"),
    (lambda: transition_of(np.ones((3, 3))), "T must have rows that sum to 1; row 0 sums to 3"),
    (lambda: transition_of("uniform"), "T must be a K×K array; got 'uniform'"),
    (
        lambda: transition_of(UNIFORM, classes=["a", "b"]),
        r"classes must name each of the 3 classes; got 2 names, \['a', 'b'\]",
    ),
    (
        lambda: transition_of(UNIFORM, classes=["a", "b", "a"]),
        "classes must name each class once; got 'a' more than once",
    ),
    (
        lambda: TransitionDisplay.from_labels([0, 1], [1]),
        "y_true and y_comp must have the same number of rows",
    ),
    (lambda: decoder_of(Q[:, :2], UNIFORM), r"q must have shape \(N, 3\).*got \(3, 2\)"),
    (lambda: decoder_of(Q[None], UNIFORM), r"q must have shape \(N, 3\).*got \(1, 3, 3\)"),
    (lambda: decoder_of(2 * Q, UNIFORM), "q must have rows that sum to 1; row 0 sums to 2"),
    (lambda: decoder_of("q", UNIFORM), "q must be a K or N×K array of numbers; got 'q'"),
    (lambda: decoder_of(np.tile(Q, (7, 1)), UNIFORM), "q must have 1 to 20 rows.*got 21. Choose"),
    (lambda: decoder_of(Q[:0], UNIFORM), "q must have 1 to 20 rows.*got 0"),
    (lambda: decoder_of(Q, UNIFORM, "l7"), "decoder must be one of 'l1'.*got 'l7'"),
    (lambda: decoder_of(Q, UNIFORM, None), "decoder must be one of 'l1'.*got None"),
    (lambda: decoder_of(Q, UNIFORM, "l1", NAMES[:2]), "classes must name each of the 3 classes"),
    (
        lambda: decoder_of(Q, UNIFORM, y_true=[0, 1]),
        "y_true and q must have the same number of rows; got 2 and 3",
    ),
    (
        lambda: decoder_of(Q, UNIFORM, "l1", NAMES, y_true=["ant", "bee", "cow"]),
        "y_true must hold only classes .*got 'cow' in row 2",
    ),
    (lambda: decoder_of(Q[0], UNIFORM, y_true=3), r"y_true must hold only classes \[0, 1, 2\]"),
    (
        lambda: decoder_of(Q, UNIFORM, ax=Figure().add_axes((0, 0, 1, 1))),
        "ax must be in a grid.*got one from add_axes. Make it with subplots",
    ),
    (
        lambda: DecoderDisplay(Q, UNIFORM, p=Q[:1]).plot(),
        "p and q must have the same number of rows; got 1 and 3",
    ),
    (lambda: true_of([0, 1], [0]), "y_true and y_pred must have the same .*; got 2 and 1"),
    (lambda: true_of([0, 1], ["a", "b"]), "of one kind; got 0 and 'a'"),
    (lambda: true_of([0, 0], [0, 0]), r"at least 2 classes; got \[0\]. Name all with classes="),
    (lambda: true_of([], [], NAMES), "y_true must hold at least one class; got none"),
    (lambda: true_of(np.eye(2, dtype=bool), [0, 1]), "y_true must hold one label a row"),
    (lambda: true_of([0, 3], [0, 1], [0, 1]), r"y_true must hold only classes \[0, 1\]; got 3"),
    (lambda: true_of([0.5, 1], [0, 1]), "y_true must hold classes, not continuous values"),
    (lambda: true_of(["a", None], ["a", "b"]), "y_true must hold a label in each row"),
    (
        lambda: complementary_of([0, 1], [0], UNIFORM),
        "y_comp and y_pred must have the same number of rows; got 2 and 1",
    ),
    (
        lambda: complementary_of([0, 3], [0, 1], UNIFORM),
        r"y_comp must hold only classes \[0, 1, 2\]; got 3 in row 1",
    ),
    (
        lambda: complementary_of([0, 1], ["a", "b"], UNIFORM),
        r"y_pred must hold only classes \[0, 1, 2\]; got 'a' in row 0",
    ),
    (
        lambda: complementary_of(np.ones((2, 3), dtype=bool), [0, 1], UNIFORM),
        "y_comp must leave at least one class possible",
    ),
    (
        lambda: complementary_of(np.eye(4, dtype=bool), [0, 1, 2, 0], UNIFORM),
        r"y_comp must have one column for each class \(K = 3\)",
    ),
    (
        lambda: complementary_of([0, 1], [0, 1], UNIFORM, NAMES[:2]),
        "classes must name each of the 3 classes; got 2 names",
    ),
    (lambda: complementary_of([0, 1], [0, 1], UNIFORM[:2]), "T must be square"),
    (lambda: ConfusionDisplay(np.ones(3)).plot(), r"matrix must be a K×K array.*got shape \(3,\)"),
    (lambda: ConfusionDisplay([[0, np.nan], [0, 1]]).plot(), "matrix must be .* finite .*got"),
    (
        lambda: ConfusionDisplay(UNIFORM, std_error=[0.1]).plot(),
        r"std_error must have the shape of matrix, \(3, 3\); got \(1,\)",
    ),
]


@pytest.mark.parametrize(("call", "text"), BAD, ids=range(len(BAD)))
def test_bad_input_gets_one_clear_line(call, text):
    with pytest.raises(ValueError, match=text) as caught:
        call()
    one_line(caught)


X2 = np.zeros((2, 2))
FROM_ESTIMATOR = {
    "transition": TransitionDisplay.from_estimator,
    "decoder": lambda clf: DecoderDisplay.from_estimator(clf, X2),
    "complementary": lambda clf: ConfusionDisplay.from_estimator_complementary(clf, X2, [0, 1]),
    "true": lambda clf: ConfusionDisplay.from_estimator(clf, X2, [0, 1]),
}
UNFITTED = [
    CPEClassifier(),
    ComplementaryNetClassifier(),
    make_pipeline(StandardScaler(), CPEClassifier()),
    GridSearchCV(CPEClassifier(), {"decoder": ["l1"]}),
]


@pytest.mark.parametrize("how", FROM_ESTIMATOR)
@pytest.mark.parametrize("classifier", UNFITTED, ids=lambda c: type(c).__name__)
def test_an_unfitted_classifier_is_refused_in_one_line(how, classifier):
    text = "classifier must be fitted before it is plotted; this .* is not. Call fit first"
    with pytest.raises(NotFittedError, match=text) as caught:
        FROM_ESTIMATOR[how](classifier)
    one_line(caught)


@pytest.mark.parametrize("how", FROM_ESTIMATOR)
@pytest.mark.parametrize("classifier", [None, "clf", LinearRegression().fit(X2, [0, 1])], ids=str)
def test_what_is_no_classifier_is_refused_in_one_line(how, classifier):
    with pytest.raises(TypeError, match=r"classifier must be a fitted .*; got ") as caught:
        FROM_ESTIMATOR[how](classifier)
    one_line(caught)


def test_an_ordinary_classifier_has_no_transition_matrix():
    clf = LogisticRegression().fit([[0], [1]], [0, 1])
    for how in ("transition", "decoder", "complementary"):
        with pytest.raises(TypeError, match=r"classifier of ybar.*; got LogisticRegression"):
            FROM_ESTIMATOR[how](clf)
