"""Estimates of T: near the truth where T can be told, and a clear line where it cannot."""

from __future__ import annotations

import importlib.resources
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import make_blobs

from ybar import CPEKNeighborsClassifierCV, decode, estimation, labels, transition

quick = settings(deadline=None, max_examples=10)
SEEDS = st.integers(0, 2**32 - 1)
METHODS = ["anchors", "vertices", "volume"]


def random_T(n, rng, noise=0.0):
    """Return a T that can be told: far from singular, its diagonal smallest by far."""
    while True:
        T = rng.dirichlet(np.full(n, 2.0), n)
        np.fill_diagonal(T, 0)
        T /= T.sum(axis=1, keepdims=True)
        T = T + 0.3 * transition.uniform(n)
        T /= T.sum(axis=1, keepdims=True)
        T = transition.with_uniform_noise(T, noise)
        if np.linalg.cond(T) < 30 and transition.gamma(T) > 0.2:
            return T


def mixtures(n, rows, rng, concentration=0.3):
    return rng.dirichlet(np.full(n, concentration), rows)


def with_certain_rows(n, rows, rng):
    """Return p of which n rows, somewhere, are certain, one of each class."""
    p = mixtures(n, rows, rng)
    p[rng.choice(rows, n, replace=False)] = np.eye(n)
    return p


def error(T, found):
    return np.abs(T - found).sum(axis=1).mean()


# --- rows with both labels -----------------------------------------------------------------------


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Exact for entries drawn from the prior: 1,200 rows of T, 12 labels each."""
    rng = np.random.default_rng(0)
    n, labels_a_class = 4, 12
    for level, smoothing in [(0.95, 1.0), (0.5, 1.0), (0.8, 0.25)]:
        inside = []
        for _ in range(300):
            T = rng.dirichlet(np.full(n, smoothing), n)
            y = np.repeat(np.arange(n), labels_a_class)
            low, high = transition.credible_intervals(
                y,
                labels.draw(y, T, rng),
                classes=range(n),
                smoothing=smoothing,
                level=level,
            )
            inside.append((low <= T) & (high >= T))
        # Entries of one row depend on each other: the error of the mean is taken over matrices.
        share = np.mean(inside, axis=(1, 2))
        # Those that begin at 0, or end at 1, hold a little more.
        above, error = share.mean() - level, share.std() / np.sqrt(len(share))
        assert -4 * error < above < 0.05 + 4 * error, (level, smoothing)


@pytest.mark.parametrize("rows", [5, 10, 20, 50])
def test_intervals_hold_entries_of_a_T_that_no_prior_drew(rows):
    y = np.repeat(np.arange(10), rows)
    for T in (
        transition.uniform(10),
        transition.weak(10, random_state=0),
        transition.strong(10, random_state=0),
        transition.annotators("clcifar10"),
    ):
        inside = []
        for seed in range(40):
            low, high = transition.credible_intervals(
                y, labels.draw(y, T, random_state=seed), classes=range(10)
            )
            inside.append((low <= T) & (high >= T))
        assert np.mean(inside) > 0.87


def test_a_class_without_rows_may_have_any_entries():
    low, high = transition.credible_intervals([0, 0, 1], [1, 2, 0], classes=range(3))
    np.testing.assert_array_equal(low[2], 0)
    np.testing.assert_array_equal(high[2], 1)


def test_intervals_are_those_of_the_beta_distribution_and_hold_the_estimate():
    rng = np.random.default_rng(1)
    y, y_comp = rng.integers(3, size=50), rng.integers(3, size=50)
    low, high = transition.credible_intervals(y, y_comp, level=0.9)
    T = transition.estimate(y, y_comp)
    assert ((low < T) & (high > T)).all()
    for a in range(3):
        for b in range(3):
            here, row = ((y == a) & (y_comp == b)).sum() + 0.5, (y == a).sum() + 1.5
            expected = stats.beta(here, row - here).ppf([0.05, 0.95])
            np.testing.assert_allclose([low[a, b], high[a, b]], expected, rtol=1e-9, atol=1e-12)


def test_intervals_narrow_with_the_root_of_the_number_of_rows_and_widen_with_the_level():
    y, y_comp = np.arange(300) % 3, np.repeat([1, 2, 0, 2, 0, 1], 50)
    widths = []
    for times in (1, 16):
        low, high = transition.credible_intervals(np.tile(y, times), np.tile(y_comp, times))
        widths.append((high - low)[low > 0.01].mean())
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.1)
    low, high = transition.credible_intervals(y, y_comp)
    wider = transition.credible_intervals(y, y_comp, level=0.99)
    assert (wider[0] <= low).all()
    assert (wider[1] >= high).all()


def test_intervals_take_names_and_several_labels_a_row():
    mask = np.array([[False, True, True], [True, False, False], [True, True, False]])
    low, high = transition.credible_intervals(["a", "b", "c"], mask, classes=["a", "b", "c"])
    T = transition.estimate(["a", "b", "c"], mask, classes=["a", "b", "c"])
    assert ((low <= T) & (high >= T)).all()


# --- is q good enough? ---------------------------------------------------------------------------


def of_blobs(alike, n=9000, n_classes=6):
    """Return q of rows not fitted and their labels; classes 4 and 5 may look alike, or all."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    place = {"none": y, "two": np.minimum(y, 4), "all": 0 * y}[alike]
    X = 4 * np.eye(n_classes)[place] + rng.normal(size=(n, n_classes))
    T = transition.strong(n_classes, random_state=0)
    y_comp = labels.draw(y, T, random_state=0)
    model = CPEKNeighborsClassifierCV(random_state=0).fit(X[:6000], y_comp[:6000])
    return model.predict_complementary_proba(X[6000:]), y_comp[6000:], T


@pytest.mark.parametrize("method", ["anchors", "vertices", "volume"])
def test_labels_held_out_tell_a_q_that_is_noise(method):
    q, y_comp, T = of_blobs("none")
    found = estimation.estimate_from_probabilities(q, method=method, y_comp=y_comp)
    assert error(T, found) < 0.2
    np.testing.assert_array_equal(found, estimation.estimate_from_probabilities(q, method=method))
    mask = np.eye(6, dtype=bool)[y_comp]
    np.testing.assert_array_equal(
        found, estimation.estimate_from_probabilities(q, method=method, y_comp=mask)
    )
    for alike in ("two", "all"):
        q, y_comp, _ = of_blobs(alike)
        with pytest.raises(ValueError, match=r"bears out [0-4] of them.*transition.estimate"):
            estimation.estimate_from_probabilities(q, method=method, y_comp=y_comp)


def test_labels_must_be_of_the_rows_of_q():
    q, y_comp, _ = of_blobs("none")
    with pytest.raises(ValueError, match="same number of rows; got 3000 and 2999"):
        estimation.estimate_from_probabilities(q, y_comp=y_comp[1:])


# --- complementary labels alone ------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["uniform", "weak", "strong"])
def test_vertices_are_exact_for_an_exact_q_with_one_certain_row_of_each_class(n, kind):
    rng = np.random.default_rng(n)
    T = transition.uniform(n) if kind == "uniform" else getattr(transition, kind)(n, rng)
    if transition.gamma(T) < 0.05 or transition.condition_number(T) > 1e3:
        pytest.skip("this T has nearly equal rows")
    q = with_certain_rows(n, 300, rng) @ T
    found = estimation.estimate_from_probabilities(q, method="vertices", share=1e-6)
    np.testing.assert_allclose(found, T, rtol=0, atol=1e-9)


@quick
@given(SEEDS, st.integers(2, 8), st.sampled_from([0.0, 0.2]))
def test_vertices_are_exact_for_any_such_T_with_or_without_noise(seed, n, noise):
    rng = np.random.default_rng(seed)
    T = random_T(n, rng, noise) if n > 2 else transition.with_uniform_noise([[0, 1], [1, 0]], noise)
    q = with_certain_rows(n, 200, rng) @ T
    found = estimation.estimate_from_probabilities(q, method="vertices", share=1e-6)
    np.testing.assert_allclose(found, T, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_anchors_bear_the_noise_of_counted_frequencies(kind, seed):
    """Rows nearly certain, q counted from 250 labels each, as nearest neighbours do."""
    rng = np.random.default_rng(seed)
    T = getattr(transition, kind)(10, rng)
    q = rng.multinomial(250, mixtures(10, 1500, rng, 0.02) @ T) / 250
    found = {m: estimation.estimate_from_probabilities(q, method=m) for m in METHODS[:2]}
    assert error(T, found["anchors"]) < 0.06
    assert error(T, found["anchors"]) < error(T, found["vertices"])


def test_volume_bears_noise_of_the_size_that_its_weight_is_for():
    rng = np.random.default_rng(0)
    T = transition.strong(6, rng)
    q = rng.multinomial(250, mixtures(6, 500, rng, 0.05) @ T) / 250
    found = estimation.estimate_from_probabilities(q, method="volume", volume=2e-3)
    assert error(T, found) < 0.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_volume_needs_no_certain_rows(noise, seed):
    """No row's class is more likely than 0.85; the others find the corners of what they see."""
    rng = np.random.default_rng(seed)
    T = random_T(5, rng, noise)
    p = mixtures(5, 4000, rng)
    q = p[p.max(axis=1) < 0.85][:1000] @ T
    errors = {
        method: error(T, estimation.estimate_from_probabilities(q, method=method, volume=1e-4))
        for method in METHODS
    }
    assert errors["volume"] < 0.05
    assert errors["volume"] < errors["vertices"] / 2
    assert errors["volume"] < errors["anchors"] / 2


def test_a_larger_weight_makes_a_smaller_volume_and_the_diagonal_stays_below_guessing():
    rng = np.random.default_rng(0)
    T = transition.weak(5, rng)
    q = rng.multinomial(100, mixtures(5, 500, rng, 0.1) @ T) / 100
    sizes = []
    for weight in (1e-4, 1e-3, 1e-2, 1e-1):
        found = estimation.estimate_from_probabilities(q, method="volume", volume=weight)
        assert (np.diag(found) < 1 / 5).all()
        sizes.append(np.linalg.slogdet(found @ found.T + np.eye(5) / 16)[1])
    assert sizes == sorted(sizes, reverse=True)


@quick
@given(SEEDS, st.sampled_from(METHODS))
def test_the_result_is_a_transition_matrix_and_the_input_is_left_alone(seed, method):
    rng = np.random.default_rng(seed)
    T = random_T(4, rng, 0.1)
    q = rng.multinomial(60, mixtures(4, 300, rng, 0.1) @ T) / 60
    before = q.copy()
    found = estimation.estimate_from_probabilities(q, method=method)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(q, before)
    np.testing.assert_array_equal(
        estimation.estimate_from_probabilities(q, method=method), found, err_msg="not repeatable"
    )


@quick
@given(SEEDS, st.sampled_from(METHODS))
def test_other_names_for_the_classes_give_the_same_T_under_these_names(seed, method):
    rng = np.random.default_rng(seed)
    T = random_T(4, rng)
    q = mixtures(4, 200, rng, 0.1) @ T
    order = rng.permutation(4)
    found = estimation.estimate_from_probabilities(q, method=method)
    renamed = estimation.estimate_from_probabilities(q[:, order], method=method)
    tolerance = 5e-3 if method == "volume" else 1e-8  # where the search stops depends on rounding
    np.testing.assert_allclose(renamed, found[np.ix_(order, order)], rtol=0, atol=tolerance)


def test_from_labels_to_T_to_classes_without_a_true_label():
    X, y = make_blobs(8000, centers=6, random_state=0)
    T = transition.strong(6, random_state=0)
    y_comp = labels.draw(y, T, random_state=1)
    clf = CPEKNeighborsClassifierCV(random_state=0).fit(X[:6000], y_comp[:6000])
    q = clf.predict_complementary_proba(X[6000:])
    found = estimation.estimate_from_probabilities(q)
    assert error(T, found) < 0.15
    accuracy = {}
    for name, matrix in {"true": T, "found": found, "uniform": transition.uniform(6)}.items():
        accuracy[name] = (decode.decode(q, matrix, "likelihood") == y[6000:]).mean()
    assert accuracy["found"] > accuracy["true"] - 0.02
    assert accuracy["found"] > accuracy["uniform"] + 0.1


# --- annotators ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n", "wrong", "entry"),
    [("clcifar10", 10, 0.04058, 288 / 5000), ("clcifar20", 20, 0.02815, 201 / 7500)],
)
def test_annotators_err_and_are_far_from_uniform(name, n, wrong, entry):
    T = transition.annotators(name)
    assert T.shape == (n, n)
    assert T[0, 0] == pytest.approx(entry)
    assert np.diag(T).mean() == pytest.approx(wrong, abs=1e-5)
    assert (np.diag(T) < 1 / n).all()
    np.testing.assert_allclose(T.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert not transition.is_singular(T)
    file = importlib.resources.files("ybar.transition") / "annotators" / f"{name}.csv"
    lines = file.read_text("utf-8").splitlines()
    assert re.match(r"# CLCIFAR.*labels of people.*arXiv 2305\.08295.*MIT", lines[0])
    assert len(set(lines[1].split(","))) == n


# --- bad input -----------------------------------------------------------------------------------

Q = mixtures(3, 50, np.random.default_rng(0), 0.1) @ transition.weak(3, random_state=0)
# Neither of two classes is ever ruled out for examples of the other: their names can be swapped.
SWAP = np.array([[0, 0, 0.6, 0.4], [0, 0, 0.4, 0.6], [0.5, 0.2, 0, 0.3], [0.2, 0.5, 0.3, 0]])
from_q = estimation.estimate_from_probabilities
intervals = transition.credible_intervals


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: from_q([0.2, 0.8]), ["q must be an N×K array", "got shape (2,)"]),
        (lambda: from_q(np.ones((9, 1))), ["at least 2 classes", "got shape (9, 1)"]),
        (lambda: from_q([["a", "b"]]), ["q must be an N×K array", "not all numbers"]),
        (lambda: from_q(np.zeros((0, 3))), ["at least one row for each of the 3", "got 0"]),
        (
            lambda: from_q(Q[:2]),
            ["one row for each of the 3 classes", "got 2", "more rows", "estimate("],
        ),
        (lambda: from_q(Q - 0.5), ["q must hold probabilities", "none below 0"]),
        (lambda: from_q(2 * Q), ["rows that sum to 1", "sums to 2"]),
        (lambda: from_q(np.full((9, 3), np.nan)), ["finite", "NaN or infinity"]),
        (
            lambda: from_q(np.full((50, 3), 1 / 3)),
            ["q must have rank 3", "got rank 1", "all its rows are the same", "estimate(y_true"],
        ),
        (
            lambda: from_q(np.tile(np.eye(3)[[0, 1]], (20, 1))),
            ["q must have rank 3", "got rank 2", "some classes look alike", "estimate(y_true"],
        ),
        (
            lambda: from_q(np.repeat(SWAP, 20, axis=0)),
            ["which row of T belongs to which class", "could as well be", "estimate(y_true"],
        ),
        (lambda: from_q(Q, method="magic"), ["method must be one of 'anchors'", "got 'magic'"]),
        (lambda: from_q(Q, method=None), ["method must be one of", "got None"]),
        (lambda: from_q(Q, share=0), ["share must be a number above 0", "got 0"]),
        (lambda: from_q(Q, share=1.5), ["share must be a number above 0, at most 1", "got 1.5"]),
        (lambda: from_q(Q, volume=-1), ["volume must be a finite number", "got -1"]),
        (lambda: from_q(Q, volume=np.nan), ["volume must be a finite number", "got nan"]),
        (lambda: intervals([], []), ["y_true must hold at least one label"]),
        (lambda: intervals([0, 1], [1]), ["the same number of rows", "(2,) and (1,)"]),
        (lambda: intervals([0, 1], [1, 0], level=1), ["level must be", "below 1", "got 1"]),
        (lambda: intervals([0, 1], [1, 0], level=95), ["level must be", "below 1", "got 95"]),
        (lambda: intervals([0, 1], [1, 0], smoothing=0), ["smoothing must be", "got 0", "for 0.5"]),
        (lambda: intervals([0, 1], [1, 0], smoothing=-1), ["smoothing must be", "got -1"]),
        (lambda: transition.annotators("cifar"), ["'clcifar10' or 'clcifar20'", "got 'cifar'"]),
        (lambda: transition.annotators(10), ["'clcifar10' or 'clcifar20'", "got 10"]),
    ],
)
def test_what_cannot_be_told_or_is_wrong_gets_one_clear_line(call, says):
    with pytest.raises(ValueError, match="must") as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    for part in says:
        assert part in text
