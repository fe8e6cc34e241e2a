"""Evidence: each kind of observation against its own formula."""

import re

import numpy as np
import pandas as pd
import pytest

from ybar import (
    labels,
    metrics,
    transition,
)
from ybar.labels import Evidence

K = 4


NAMES = ["ant", "bee", "cat", "dog"]


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


@pytest.fixture
def mask():
    mask = np.random.default_rng(0).random((60, K)) < 0.4
    mask[mask.all(axis=1), 0] = False
    return mask


def likelihoods(T, mask):
    """Return Π T[y, k] over the labels of each row, by loops."""
    found = np.ones(mask.shape)
    for row, ruled_out in enumerate(mask):
        for y in range(K):
            for k in np.flatnonzero(ruled_out):
                found[row, y] *= T[y, k]
    return found


def test_one_complementary_label_is_a_column_of_T(T):
    y_comp = [2, 0, 3]
    found = Evidence.complementary(y_comp, T)
    np.testing.assert_allclose(np.asarray(found), T[:, y_comp].T)
    named = Evidence.complementary(np.array(NAMES)[y_comp], T, classes=NAMES)
    np.testing.assert_array_equal(np.asarray(named), np.asarray(found))
    assert named.classes.tolist() == NAMES


def test_several_labels_are_the_product_of_their_columns(T, mask):
    found = Evidence.complementary(mask, T)
    np.testing.assert_allclose(np.asarray(found), likelihoods(T, mask))
    assert len(found.log_table) < len(found)
    twice = Evidence.complementary([0, 1], T) & Evidence.complementary([0, 2], T)
    np.testing.assert_allclose(np.asarray(twice), [T[:, 0] ** 2, T[:, 1] * T[:, 2]])
    assert twice.labels() is None


def test_a_set_drawn_at_once_excludes_it_and_says_no_more(mask):
    found = Evidence.excluded(mask)
    np.testing.assert_array_equal(np.asarray(found), ~mask)
    # The chance of such a set is 1 / C(K-1, size) for each class outside it, 0 for those in it:
    # the same but for a factor common to the row, as labels one by one are under uniform T.
    drawn = np.asarray(Evidence.complementary(mask, "uniform"))
    np.testing.assert_allclose(drawn / drawn.max(axis=1, keepdims=True), ~mask)


def test_ordinary_labels_sets_answers_and_nothing():
    unit = np.eye(K)
    np.testing.assert_array_equal(
        np.asarray(Evidence.ordinary(["cat", "ant"], classes=NAMES)), unit[[2, 0]]
    )
    sets = np.array([[True, False, True, False], [False, True, True, True]])
    np.testing.assert_array_equal(np.asarray(Evidence.candidates(sets)), sets)
    said = Evidence.answers([1, 1, 3], np.array([True, False, False]), classes=K)
    np.testing.assert_array_equal(np.asarray(said), [unit[1], 1 - unit[1], 1 - unit[3]])
    none = Evidence.nothing(2, classes=K)
    np.testing.assert_array_equal(np.asarray(none), np.ones((2, K)))
    assert not none.informative.any()


def test_annotators_have_each_their_own_T(T):
    other = transition.weak(K, random_state=3)
    found = Evidence.complementary([0, 0, 3], {"a": T, "b": other}, annotator=["a", "b", "a"])
    np.testing.assert_allclose(np.asarray(found), [T[:, 0], other[:, 0], T[:, 3]])
    assert found.transition is None


def test_parts_are_joined_by_rows_and_by_observation(T, mask):
    labelled = Evidence.complementary(mask, T)
    true = Evidence.ordinary([0, 1, 2], classes=K)
    rows = Evidence.concatenate([labelled, true])
    np.testing.assert_allclose(np.asarray(rows), [*likelihoods(T, mask), *np.eye(K)[[0, 1, 2]]])
    np.testing.assert_array_equal(rows.transition, T)
    sets = Evidence.candidates(np.arange(K) < 1 + np.arange(60)[:, None] % K)
    both = labelled & sets
    np.testing.assert_allclose(np.asarray(both), np.asarray(labelled) * np.asarray(sets))
    other = Evidence.complementary([0, 1], transition.uniform(K))
    mixed = Evidence.concatenate([labelled, other])
    assert mixed.transition is None
    np.testing.assert_allclose(np.asarray(mixed), [*np.asarray(labelled), *np.asarray(other)])


def test_many_labels_of_a_row_do_not_underflow(T):
    found = Evidence.complementary([1], T)
    for _ in range(10):
        found = found & found
    assert np.isfinite(found.log_table).all()
    np.testing.assert_allclose(found.log_table[0], 1024 * np.log(T[:, 1]))


def test_rows_can_be_taken_as_scikit_learn_takes_them(T, mask):
    found = Evidence.complementary(mask, T)
    dense = np.asarray(found)
    for rows in ([3, 1], np.array([3, 1]), slice(2, 5), np.arange(60) % 2 == 0):
        np.testing.assert_array_equal(np.asarray(found[rows]), dense[rows])
        np.testing.assert_array_equal(np.asarray(found[rows, ...]), dense[rows])
    assert found[4].shape == (1, K)
    assert found[[]].shape == (0, K)
    assert repr(found).startswith("<Evidence of 60 rows")
    with pytest.raises(IndexError, match="rows only"):
        found[0, 1]


def test_rows_that_were_left_behind_do_not_matter():
    y = np.arange(30) % 3
    parts = [Evidence.ordinary(y, classes=3), Evidence.complementary(y, "uniform", classes=3)]
    both = Evidence.concatenate(parts)
    assert both.labels() is None
    np.testing.assert_array_equal(both[30:].labels(), y)


def test_whole_floats_are_indices_as_well():
    found = Evidence.complementary([0.0, 1.0], transition.strong(3, 0))
    np.testing.assert_array_equal(found.classes, [0, 1, 2])


def test_labels_come_back_where_there_is_nothing_else(T, mask):
    y_comp = np.array([0, 3, 1])
    np.testing.assert_array_equal(Evidence.complementary(y_comp, T).labels(), y_comp)
    np.testing.assert_array_equal(Evidence.complementary(mask, T).labels(), mask)
    assert Evidence.ordinary([0], classes=K).labels() is None
    some = Evidence.concatenate([Evidence.complementary(y_comp, T), Evidence.nothing(1, classes=K)])
    np.testing.assert_array_equal(some.labels(), [*np.eye(K, dtype=bool)[y_comp], [False] * K])


WRONG = {
    "T in another order": (
        lambda: Evidence.complementary(
            ["ant"], pd.DataFrame(transition.uniform(4), NAMES[::-1], NAMES[::-1]), classes=NAMES
        ),
        "T must have its index",
        "'dog'",
    ),
    "T of an annotator in another order": (
        lambda: Evidence.complementary(
            ["ant"],
            {"a": pd.DataFrame(transition.uniform(4), columns=NAMES[::-1])},
            annotator=["a"],
            classes=NAMES,
        ),
        "T['a'] must have its columns",
        "'dog'",
    ),
    "sets as lists of names": (
        lambda: Evidence.candidates([["ant"], ["bee", "cat"]], classes=NAMES),
        "sets",
        "differ in length",
    ),
    "zero row": (lambda: Evidence([[1, 0.0], [0, 0]]), "evidence", "row 1"),
    "negative": (lambda: Evidence([[1, -0.5]]), "values", "-0.5 in row 0, column 1"),
    "nan": (lambda: Evidence([[1, np.nan]]), "values", "nan in row 0, column 1"),
    "infinite": (lambda: Evidence([[1, np.inf]]), "values", "inf in row 0, column 1"),
    "ragged": (lambda: Evidence([[1, 0], [1]]), "values", "[[1, 0], [1]]"),
    "flat": (lambda: Evidence([1, 0]), "values", "(2,)"),
    "names": (lambda: Evidence([[1, 0]], classes=NAMES), "values", "(1, 2)"),
    "words": (lambda: Evidence([["a", "b"]]), "values", "[['a', 'b']]"),
    "unknown class": (
        lambda: Evidence.ordinary(["emu"], classes=NAMES),
        "y must",
        "'emu' in row 0",
    ),
    "empty set": (lambda: Evidence.candidates(np.zeros((1, 3), bool)), "sets", "row 0"),
    "all excluded": (lambda: Evidence.excluded(np.ones((1, 3), bool)), "sets", "row 0"),
    "sets of numbers": (lambda: Evidence.candidates([[0, 1]]), "sets", "int64 of shape (1, 2)"),
    "sets of too few": (
        lambda: Evidence.candidates(np.ones((1, 3), bool), classes=NAMES),
        "sets",
        "(1, 3)",
    ),
    "excluded numbers": (lambda: Evidence.excluded([[0, 1]]), "sets", "int64 of shape (1, 2)"),
    "answers of words": (lambda: Evidence.answers([0], ["yes"], classes=3), "yes", "<U3"),
    "answers too few": (
        lambda: Evidence.answers([0, 1], np.array([True]), classes=3),
        "yes",
        "(1,)",
    ),
    "contradiction": (
        lambda: Evidence.ordinary([0], classes=3) & Evidence.ordinary([1], classes=3),
        "evidence",
        "row 0",
    ),
    "lengths": (
        lambda: Evidence.ordinary([0], classes=3) & Evidence.nothing(2, classes=3),
        "evidence",
        "1 and 2 rows",
    ),
    "other classes": (
        lambda: Evidence.concatenate(
            [Evidence.nothing(1, classes=3), Evidence.nothing(1, classes=4)]
        ),
        "evidence",
        "[0, 1, 2] and [0, 1, 2, 3]",
    ),
    "not evidence": (lambda: Evidence.concatenate([[0, 1]]), "part", "[0, 1]"),
    "no parts": (lambda: Evidence.concatenate([]), "parts", "none"),
    "annotator without T": (
        lambda: Evidence.complementary(
            [0, 1], {"a": transition.uniform(3)}, annotator=["a", "zoe"]
        ),
        "T must",
        "'zoe' (row 1)",
    ),
    "annotators and one T": (
        lambda: Evidence.complementary([0], transition.uniform(3), annotator=["a"]),
        "T must",
        "annotator=['a']",
    ),
    "T of annotators and no annotator": (
        lambda: Evidence.complementary([0], {"a": transition.uniform(3)}),
        "T must",
        "annotator=None",
    ),
    "annotators of other rows": (
        lambda: Evidence.complementary([0, 1], {"a": transition.uniform(3)}, annotator=["a"]),
        "y_comp and annotator",
        "2 and 1",
    ),
    "several by annotators": (
        lambda: Evidence.complementary(
            np.eye(3, dtype=bool), {"a": transition.uniform(3)}, annotator=["a"] * 3
        ),
        "y_comp",
        "several",
    ),
    "labels that cannot be": (
        lambda: Evidence.complementary([0], [[0, 1], [0, 1]]),
        "evidence",
        "row 0",
    ),
    "one class": (lambda: Evidence.nothing(1, classes=1), "classes", "got 1"),
    "sets in another order": (
        lambda: Evidence.candidates(
            pd.DataFrame([[True] * 3 + [False]], columns=NAMES[::-1]), classes=NAMES
        ),
        "sets must have its columns",
        "'dog'",
    ),
    "excluded in another order": (
        lambda: Evidence.excluded(
            pd.DataFrame([[True] * 3 + [False]], columns=NAMES[::-1]), classes=NAMES
        ),
        "sets must have its columns",
        "'dog'",
    ),
    "likelihoods in another order": (
        lambda: Evidence(pd.DataFrame([[1, 0, 0, 0.5]], columns=NAMES[::-1]), classes=NAMES),
        "values must have its columns",
        "'dog'",
    ),
    "labels that differ in length": (
        lambda: Evidence.complementary([["cat"], ["ant", "bee"]], classes=NAMES),
        "y_comp",
        "differ in length",
    ),
    "answers that differ in length": (
        lambda: Evidence.answers([0, 1], [[True], [True, False]], classes=3),
        "yes",
        "differ in length",
    ),
    "annotators that differ in length": (
        lambda: Evidence.complementary(
            [0, 1], {"a": transition.uniform(3)}, annotator=[["a"], ["a", "b"]]
        ),
        "annotator",
        "[['a'], ['a', 'b']]",
    ),
    "one label for all": (lambda: Evidence.complementary(["x", "x"]), "y_comp", "'x'"),
    "None for parts": (lambda: Evidence.concatenate(None), "parts", "None"),
    "scel of nothing": (
        lambda: metrics.scel(Evidence.nothing(2, classes=2), [[0.5, 0.5]] * 2),
        "y_comp",
        "nothing",
    ),
    "annotators in a column": (
        lambda: Evidence.complementary([0], {"a": transition.uniform(3)}, annotator=[["a"]]),
        "annotator",
        "[['a']]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_the_argument_and_shows_its_value(case):
    make, argument, value = WRONG[case]
    with pytest.raises((ValueError, TypeError), match=re.escape(value)) as caught:
        make()
    assert argument in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_of_data_frames_are_the_classes_and_annotators_keep_their_kind():
    frame = pd.DataFrame([[True, False, False]], columns=["bee", "ant", "cat"])
    for made in (Evidence(frame.astype(float)), Evidence.candidates(frame)):
        assert made.classes.tolist() == ["bee", "ant", "cat"]
        np.testing.assert_array_equal(made, [[1, 0, 0]])
    np.testing.assert_array_equal(Evidence.excluded(frame), [[0, 1, 1]])
    by_kind = {"a": "uniform", 1: np.full((3, 3), 1 / 3)}
    made = Evidence.complementary([0, 0], by_kind, annotator=["a", 1], classes=3)
    np.testing.assert_allclose(made, [[0, 0.5, 0.5], [1 / 3] * 3])


def test_a_single_annotator_is_a_T_like_any_other():
    T = transition.strong(3, random_state=0)
    made = Evidence.complementary([0, 2], {"ann": T}, annotator=["ann", "ann"])
    np.testing.assert_array_equal(made.transition, T)
    np.testing.assert_array_equal(made.labels(), [0, 2])


def test_sets_may_be_booleans_of_pandas():
    frame = pd.DataFrame({"a": [True, False], "b": [True, True]}, dtype="boolean")
    np.testing.assert_array_equal(Evidence.candidates(frame), [[1, 1], [0, 1]])


def test_hundreds_of_labels_are_judged_and_joined_without_underflow():
    n = 200
    mask = np.ones((3, n), dtype=bool)
    mask[np.arange(3), [5, 6, 7]] = False  # 199 labels, each of probability 1/199
    many = Evidence.complementary(mask, transition.uniform(n))
    p = np.full((3, n), 1 / n)
    assert metrics.scel(many, p) == pytest.approx(np.log(n) + 199 * np.log(199))
    other = Evidence.complementary([0], transition.with_uniform_noise(transition.uniform(n), 0.5))
    both = Evidence.concatenate([many, other])
    assert both.informative.all()
    np.testing.assert_array_equal(np.asarray(both)[:3].argmax(axis=1), [5, 6, 7])


def test_evidence_that_is_hardly_a_float_can_be_joined():
    tiny = labels.Evidence([[1e-200, 2e-200]]) & labels.Evidence([[1e-200, 1e-200]])
    np.testing.assert_allclose(np.exp(tiny.log_table[0] - tiny.log_table[0, 1]), [0.5, 1])
    one = transition.uniform(3)
    other = transition.with_uniform_noise(transition.strong(3, random_state=0), 0.9)
    joined = labels.Evidence.complementary([0], one, classes=[0, 1, 2])
    for _ in range(700):
        joined &= labels.Evidence.complementary([1], other, classes=[0, 1, 2])
    expected = np.log(one[1:, 0]) + 700 * np.log(other[1:, 1])
    np.testing.assert_allclose(np.diff(joined.log_table[0, 1:]), np.diff(expected), rtol=1e-9)
