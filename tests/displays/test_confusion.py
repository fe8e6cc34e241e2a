"""`ConfusionDisplay` estimates the confusion matrix without bias, with true labels or without."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from displays_helpers import (
    BIASED,
    MATRICES,
    NAMES,
    NOISY,
    SINGULAR,
    UNIFORM,
    Q,
    drawn,
    ticks,
    written,
)
from ybar import CPEClassifier, labels, metrics, transition
from ybar.displays import ConfusionDisplay, DecoderDisplay, TransitionDisplay
from ybar.metrics.losses import mean_and_error


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
    assert f"{100 * wrong:.1f} ± {100 * display.error_std_error:.1f} %" in ax.get_title()
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
