"""Bad input to a display raises one line with the argument and the value."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bad_input import assert_one_clear_line
from displays_helpers import NAMES, UNIFORM, Q
from ybar import ComplementaryNetClassifier, CPEClassifier
from ybar.displays import ConfusionDisplay, DecoderDisplay, TransitionDisplay

transition_of = TransitionDisplay.from_matrix
decoder_of = DecoderDisplay.from_probabilities
true_of = ConfusionDisplay.from_true
complementary_of = ConfusionDisplay.from_complementary
# Each: the call, the argument that the error names, and what it shows of the value.
BAD = [
    (lambda: transition_of(np.ones((2, 3))), "T", "(2, 3)"),
    (lambda: transition_of(np.ones((3, 3))), "T", "row 0", "3"),
    (lambda: transition_of("uniform"), "T", "'uniform'"),
    (lambda: transition_of(UNIFORM, classes=["a", "b"]), "classes", "3", "['a', 'b']"),
    (lambda: transition_of(UNIFORM, classes=["a", "b", "a"]), "classes", "'a'"),
    (lambda: TransitionDisplay.from_labels([0, 1], [1]), "y_comp", "y_true", "2", "1"),
    (lambda: decoder_of(Q[:, :2], UNIFORM), "q", "(3, 2)"),
    (lambda: decoder_of(Q[None], UNIFORM), "q", "(1, 3, 3)"),
    (lambda: decoder_of(2 * Q, UNIFORM), "q", "row 0", "2"),
    (lambda: decoder_of("q", UNIFORM), "q", "'q'"),
    (lambda: decoder_of(np.tile(Q, (7, 1)), UNIFORM), "q", "20", "21"),
    (lambda: decoder_of(Q[:0], UNIFORM), "q", "20", "0"),
    (lambda: decoder_of(Q, UNIFORM, "l7"), "decoder", "'l1'", "'l7'"),
    (lambda: decoder_of(Q, UNIFORM, None), "decoder", "'l1'", "None"),
    (lambda: decoder_of(Q, UNIFORM, "l1", NAMES[:2]), "classes", "3", "['ant', 'bee']"),
    (lambda: decoder_of(Q, UNIFORM, y_true=[0, 1]), "y_true", "q", "2", "3"),
    (
        lambda: decoder_of(Q, UNIFORM, "l1", NAMES, y_true=["ant", "bee", "cow"]),
        "y_true",
        "'cow'",
        "row 2",
    ),
    (lambda: decoder_of(Q[0], UNIFORM, y_true=3), "y_true", "[0, 1, 2]", "3"),
    (lambda: decoder_of(Q, UNIFORM, ax=Figure().add_axes((0, 0, 1, 1))), "ax", "add_axes"),
    (lambda: DecoderDisplay(Q, UNIFORM, p=Q[:1]).plot(), "p", "q", "1", "3"),
    (lambda: true_of([0, 1], [0]), "y_true", "y_pred", "2", "1"),
    (lambda: true_of([0, 1], ["a", "b"]), "y_true", "y_pred", "0", "'a'"),
    (lambda: true_of([0, 0], [0, 0]), "y_true", "[0]", "classes="),
    (lambda: true_of([], [], NAMES), "y_true", "none"),
    (lambda: true_of(np.eye(2, dtype=bool), [0, 1]), "y_true", "(2, 2)"),
    (lambda: true_of([0, 3], [0, 1], [0, 1]), "y_true", "[0, 1]", "3"),
    (lambda: true_of([0.5, 1], [0, 1]), "y_true", "0.5"),
    (lambda: true_of(["a", None], ["a", "b"]), "y_true", "row 1", "None"),
    (lambda: complementary_of([0, 1], [0], UNIFORM), "y_comp", "y_pred", "2", "1"),
    (lambda: complementary_of([0, 3], [0, 1], UNIFORM), "y_comp", "[0, 1, 2]", "3", "row 1"),
    (lambda: complementary_of([0, 1], ["a", "b"], UNIFORM), "y_pred", "'a'", "row 0"),
    (lambda: complementary_of(np.ones((2, 3), dtype=bool), [0, 1], UNIFORM), "y_comp", "row 0"),
    (lambda: complementary_of(np.eye(4, dtype=bool), [0] * 4, UNIFORM), "y_comp", "(4, 4)"),
    (lambda: complementary_of([0, 1], [0, 1], UNIFORM, NAMES[:2]), "classes", "3", "2"),
    (lambda: complementary_of([0, 1], [0, 1], UNIFORM[:2]), "T", "(2, 3)"),
    (lambda: ConfusionDisplay(np.ones(3)).plot(), "matrix", "(3,)"),
    (lambda: ConfusionDisplay([[0, np.nan], [0, 1]]).plot(), "matrix", "[[0, nan], [0, 1]]"),
    (lambda: ConfusionDisplay(UNIFORM, std_error=[0.1]).plot(), "std_error", "(3, 3)", "(1,)"),
]


@pytest.mark.parametrize("case", BAD, ids=range(len(BAD)))
def test_bad_input_gets_one_clear_line(case):
    call, *shows = case
    assert_one_clear_line(call, ValueError, *shows)


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
def test_an_unfitted_classifier_raises_one_line_that_names_it(how, classifier):
    names = [type(classifier).__name__, type(getattr(classifier, "steps", [[0]])[-1][-1]).__name__]
    with pytest.raises(NotFittedError, match="|".join(names)) as caught:
        FROM_ESTIMATOR[how](classifier)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("how", FROM_ESTIMATOR)
@pytest.mark.parametrize("classifier", [None, "clf", LinearRegression().fit(X2, [0, 1])], ids=str)
def test_what_is_no_classifier_raises_one_line_that_shows_it(how, classifier):
    shown = repr(classifier) if isinstance(classifier, (str, type(None))) else "LinearRegression"
    assert_one_clear_line(lambda: FROM_ESTIMATOR[how](classifier), TypeError, "classifier", shown)


def test_an_ordinary_classifier_has_no_transition_matrix():
    clf = LogisticRegression().fit([[0], [1]], [0, 1])
    for how in ("transition", "decoder", "complementary"):
        call = FROM_ESTIMATOR[how]
        assert_one_clear_line(
            lambda call=call: call(clf), TypeError, "classifier", "LogisticRegression"
        )
