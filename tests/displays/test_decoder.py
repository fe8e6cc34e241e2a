"""`DecoderDisplay` shows which class is decoded, and why."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from displays_helpers import BIASED, MATRICES, NAMES, NOISY, UNIFORM, Q, bars, drawn, lines, ticks
from ybar import ComplementaryNetClassifier, CPEClassifier, decode, transition
from ybar.displays import DecoderDisplay


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
