"""T and its intervals are estimated from rows with both labels."""

from __future__ import annotations

import importlib.resources
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.exceptions import DataConversionWarning

from bad_input import assert_one_clear_line
from matrices import build
from ybar import labels, transition

quick = settings(deadline=None, max_examples=40)
GUESSED = pytest.mark.filterwarnings("ignore:y_true has no row")


@quick
@given(data=st.data(), n=st.integers(2, 5), smoothing=st.floats(0.01, 10))
def test_from_counts_is_the_smoothed_share_of_each_cell(data, n, smoothing):
    cells = st.lists(st.integers(0, 50), min_size=n, max_size=n)
    counts = [data.draw(cells) for _ in range(n)]
    T = transition.from_counts(counts, smoothing, diagonal=True)
    for y in range(n):
        total = sum(count + smoothing for count in counts[y])
        for k in range(n):
            assert math.isclose(T[y, k], (counts[y][k] + smoothing) / total, rel_tol=1e-12)


@quick
@given(data=st.data(), n=st.integers(2, 5), smoothing=st.floats(0.01, 10))
def test_smoothing_keeps_a_diagonal_of_zeros_and_no_other(data, n, smoothing):
    cells = st.lists(st.integers(0, 50), min_size=n, max_size=n)
    counts = np.array([data.draw(cells) for _ in range(n)])
    np.fill_diagonal(counts, 0)
    off = ~np.eye(n, dtype=bool)
    T = transition.from_counts(counts, smoothing)
    np.testing.assert_array_equal(T, transition.from_counts(counts, smoothing, diagonal=False))
    assert not np.diag(T).any()
    smoothed = counts[off].reshape(n, n - 1) + smoothing
    expected = smoothed / smoothed.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(T[off].reshape(n, n - 1), expected, rtol=1e-12)
    counts[0, 0] = 1  # a single wrong label: others may be wrong as well
    T = transition.from_counts(counts, smoothing)
    np.testing.assert_array_equal(T, transition.from_counts(counts, smoothing, diagonal=True))
    assert np.diag(T).all()


@quick
@given(data=st.data(), n=st.integers(2, 5), factor=st.integers(1, 1000))
def test_unsmoothed_counts_keep_zeros_and_only_their_shares_matter(data, n, factor):
    cells = st.lists(st.integers(0, 50), min_size=n, max_size=n).filter(any)
    counts = np.array([data.draw(cells) for _ in range(n)])
    T = transition.from_counts(counts)
    np.testing.assert_array_equal(T == 0, counts == 0)
    np.testing.assert_allclose(transition.from_counts(counts * factor), T, atol=1e-15)
    np.testing.assert_allclose(T.sum(axis=1), 1, atol=1e-12)


def test_a_row_without_counts_needs_smoothing_and_then_is_flat():
    counts = np.array([[0, 3, 1], [0, 0, 0], [2, 2, 0]])
    kept = counts.copy()
    with pytest.raises(ValueError, match=r"^counts .*row 1.*smoothing="):
        transition.from_counts(counts)
    np.testing.assert_allclose(transition.from_counts(counts, 1 / 3)[1], [0.5, 0, 0.5])
    np.testing.assert_allclose(transition.from_counts(counts, 1 / 3, diagonal=True)[1], 1 / 3)
    np.testing.assert_array_equal(counts, kept)


def estimate_by_loops(y_true, y_comp_sets, names, smoothing):
    counts = {(y, k): smoothing for y in names for k in names}
    for y, ruled_out in zip(y_true, y_comp_sets, strict=True):
        for k in ruled_out:
            counts[y, k] += 1
    return np.array(
        [[counts[y, k] / sum(counts[y, j] for j in names) for k in names] for y in names]
    )


@GUESSED
@quick
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
    smoothing=st.none() | st.floats(0.01, 5),
    order=st.permutations([0, 1, 2, 3]),
    as_strings=st.booleans(),
)
def test_estimate_counts_pairs_in_the_order_of_the_classes(rows, smoothing, order, as_strings):
    words = ["dog", "ant", "cow", "bee"]
    name = (lambda k: words[k]) if as_strings else (lambda k: 10 * k - 7)
    names = [name(k) for k in order]
    y_true, y_comp = [name(y) for y, _ in rows], [name(k) for _, k in rows]
    T = transition.estimate(y_true, y_comp, classes=names, smoothing=smoothing)
    expected = estimate_by_loops(
        y_true, [[k] for k in y_comp], names, 1 / 4 if smoothing is None else smoothing
    )
    np.testing.assert_allclose(T, expected, atol=1e-12)


def test_estimate_warns_of_classes_without_rows():
    with pytest.warns(UserWarning, match=r"^y_true .*2 of the 3 .*class 1 .*smoothing="):
        T = transition.estimate(["a", "a"], ["b", "c"])
    np.testing.assert_allclose(T[1:], 1 / 3)
    np.testing.assert_array_equal(transition.estimate(["a", "a"], ["b", "c"], smoothing=1 / 3), T)


def test_estimate_takes_the_sorted_values_of_both_labels_as_classes():
    T = transition.estimate(["b", "b", "c"], ["a", "c", "b"], smoothing=1)
    expected = estimate_by_loops(["b", "b", "c"], [["a"], ["c"], ["b"]], ["a", "b", "c"], 1)
    np.testing.assert_allclose(T, expected)


@GUESSED
@quick
@given(data=st.data(), n=st.integers(2, 5), rows=st.integers(1, 20))
def test_estimate_counts_every_label_of_a_boolean_row(data, n, rows):
    y_true = data.draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows))
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    mask = np.array([data.draw(flags) for _ in range(rows)])
    mask[:, -1] &= ~mask[:, :-1].all(axis=1)  # no row rules out every class
    mask[0] = np.arange(n) == 0
    sets = [[k for k in range(n) if row[k]] for row in mask]
    np.testing.assert_allclose(
        transition.estimate(y_true, mask),
        estimate_by_loops(y_true, sets, range(n), 1 / n),
        atol=1e-12,
    )
    names = [f"class {n - k}" for k in range(n)]
    np.testing.assert_allclose(
        transition.estimate([names[y] for y in y_true], mask, classes=names, smoothing=0.5),
        estimate_by_loops(y_true, sets, range(n), 0.5),
        atol=1e-12,
    )


@pytest.mark.parametrize("kind", ["uniform", "weak", "strong"])
def test_estimate_converges_to_the_T_that_drew_the_labels(kind):
    n, rows = 5, 200_000
    T = transition.with_uniform_noise(build(kind, n), 0.05)
    y = np.arange(rows) % n
    estimate = transition.estimate(y, labels.draw(y, T, random_state=0))
    error = np.sqrt(T * (1 - T) / (rows / n))
    assert (np.abs(estimate - T) < 5 * error).all()


def test_estimate_minds_the_column_names_of_a_data_frame():
    """A frame in another order than `classes` would give a T with its columns swapped."""
    y_true = ["ant", "zebra", "mole", "ant"]
    names = ["zebra", "ant", "mole"]
    ruled_out = [["zebra"], ["mole"], ["ant"], ["mole"]]
    mask = pd.DataFrame([[k in row for k in names] for row in ruled_out], columns=names)
    expected = transition.estimate(y_true, [row[0] for row in ruled_out], classes=names)
    np.testing.assert_array_equal(transition.estimate(y_true, mask), expected)
    with pytest.raises(ValueError, match=r"columns .*classes"):
        transition.estimate(y_true, mask, classes=sorted(names))


def test_a_column_of_labels_is_as_good_as_a_row_of_them():
    y_true, y_comp = [0, 1, 2, 2], np.array([1, 0, 1, 0])
    expected = transition.estimate(y_true, y_comp)
    with pytest.warns(DataConversionWarning):
        found = transition.estimate(y_true, y_comp[:, None])
    np.testing.assert_array_equal(found, expected)
    assert expected.shape == (3, 3)


# --- credible intervals --------------------------------------------------------------------------


intervals = transition.credible_intervals


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


@pytest.mark.parametrize("rows", [5, 20])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_intervals_hold_each_entry_of_any_T_at_least_as_often_as_they_say(rows, level):
    """Exact: the count of an entry is binomial, and its interval depends on nothing else."""
    T = np.unique([0.0, 1 / 9, 0.25, *transition.annotators("clcifar10").ravel(), 0.999, 1.0])
    held = np.zeros(len(T))
    for count in range(rows + 1):
        low, high = intervals([0] * rows, [1] * count + [0] * (rows - count), classes=[0, 1],
                              level=level)  # fmt: skip
        held += stats.binom.pmf(count, rows, T) * ((low[0, 1] <= T) & (high[0, 1] >= T))
    assert (held >= level - 1e-12).all()


@pytest.mark.parametrize(("kind", "rows", "least"), [("uniform", 20, 0.1), ("strong", 5, 0.2)])
def test_intervals_hold_large_entries_with_few_rows(kind, rows, least):
    y = np.repeat(np.arange(10), rows)
    T = build(kind, 10)
    inside = []
    for seed in range(60):
        low, high = intervals(y, labels.draw(y, T, random_state=seed), classes=range(10))
        inside.append(((low <= T) & (high >= T))[least < T].mean())
    assert np.mean(inside) + 3 * np.std(inside) / math.sqrt(60) >= 0.95


def test_a_class_without_rows_may_have_any_entries():
    low, high = transition.credible_intervals([0, 0, 1], [1, 2, 0], classes=range(3))
    np.testing.assert_array_equal(low[2], 0)
    np.testing.assert_array_equal(high[2], 1)


def test_intervals_are_clopper_and_pearsons_or_with_a_prior_those_of_its_beta_distribution():
    rng = np.random.default_rng(1)
    y, y_comp = rng.integers(3, size=50), rng.integers(3, size=50)
    exact, credible = intervals(y, y_comp, level=0.9), intervals(y, y_comp, level=0.9, smoothing=2)
    T = transition.estimate(y, y_comp)
    assert ((exact[0] < T) & (exact[1] > T)).all()
    for a in range(3):
        for b in range(3):
            here, row = int(((y == a) & (y_comp == b)).sum()), int((y == a).sum())
            expected = stats.binomtest(here, row).proportion_ci(0.9, method="exact")
            found = [exact[0][a, b], exact[1][a, b]]
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)
            expected = stats.beta(here + 2, row - here + 4).ppf([0.05, 0.95])
            found = [credible[0][a, b], credible[1][a, b]]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


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


# --- annotators ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n", "wrong", "entry"),
    [
        ("clcifar10", 10, 0.04058, 288 / 5000),
        ("clcifar20", 20, 0.02815, 201 / 7500),
        ("aclcifar10", 10, 0.00225, 17 / 15000),
    ],
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
    source = r"arXiv 2305\.08295.*MIT" if name != "aclcifar10" else "PAKDD_ACLImage.*licence"
    assert re.match(rf"# {name.upper()}, labels of .*{source}", lines[0])
    assert len(set(lines[1].split(","))) == n


# Each: the call, and what the error must show.
BAD = [
    (lambda: transition.from_counts([[1, 2], [3, 0]], diagonal=False), "diagonal", "1", "row 0"),
    (lambda: transition.from_counts([[0, 2], [3, 0]], diagonal="no"), "diagonal", "'no'"),
    (lambda: intervals([], []), "y_true", "none"),
    (lambda: intervals([0, 1], [1]), "y_true", "y_comp", "2", "1"),
    (lambda: intervals([0, 1], [1, 0], level=1), "level", "1"),
    (lambda: intervals([0, 1], [1, 0], level=95), "level", "95"),
    (lambda: intervals([0, 1], [1, 0], smoothing=0), "smoothing", "0"),
    (lambda: intervals([0, 1], [1, 0], smoothing=-1), "smoothing", "-1"),
    (lambda: transition.annotators("cifar"), "name", "'clcifar10'", "'clcifar20'", "'cifar'"),
    (lambda: transition.annotators(10), "name", "'clcifar10'", "10"),
]


@pytest.mark.parametrize("case", BAD, ids=range(len(BAD)))
def test_bad_input_raises_one_line(case):
    call, *shows = case
    assert_one_clear_line(call, ValueError, *shows)
