"""What all classifiers have in common."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold

from ybar import (
    ComplementaryNetClassifier,
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKMeansClassifierCV,
    CPEKNeighborsClassifierCV,
    labels,
    metrics,
    transition,
)

EVERY = {
    "cpe": CPEClassifier(),
    "knn": CPEKNeighborsClassifierCV(random_state=0),
    "kmeans": CPEKMeansClassifierCV(random_state=0),
    "boosting": CPEBoostingClassifierCV([0.1], [10, 20], random_state=0),
    "network": ComplementaryNetClassifier(
        hidden_layer_sizes=(30,), learning_rate=0.01, max_epochs=60, random_state=0
    ),
}


def make(name, **params):
    return clone(EVERY[name]).set_params(**params)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "names",
    [
        np.array(["cat", "cow", "dog"]),
        np.array([3, 10, 700]),
        np.array(["a", "b", "c"], dtype=object),
    ],
    ids=["strings", "gaps", "objects"],
)
def test_classes_of_any_label_type_come_back_as_they_were(name, names, blobs):
    X, y, y_comp = blobs
    clf = make(name).fit(X, names[y_comp])
    np.testing.assert_array_equal(clf.classes_, names)
    assert np.mean(clf.predict(X) == names[y]) > 0.97


@pytest.mark.parametrize("name", EVERY)
def test_the_order_of_classes_is_that_of_the_rows_of_T(name):
    """T is not symmetric here, so a silent sorting of `classes` would decode wrongly."""
    rng = np.random.default_rng(0)
    names = np.array(["zebra", "ant", "mole"])
    T = np.array([[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]])
    y = rng.integers(0, 3, 900)
    X = np.array([[0.0, 0], [8, 0], [0, 8]])[y] + rng.normal(size=(900, 2))
    y_comp = labels.draw(names[y], T, random_state=0, classes=names)
    clf = make(name, transition=T, classes=names)
    clf.fit(X, y_comp)
    np.testing.assert_array_equal(clf.classes_, names)
    assert np.mean(clf.predict(X) == names[y]) > 0.97
    assert np.mean(names[clf.predict_proba(X).argmax(axis=1)] == names[y]) > 0.97


@pytest.mark.parametrize("name", EVERY)
def test_a_class_that_never_occurs_as_a_complementary_label_can_be_predicted(name, blobs):
    X, y, _ = blobs
    T = np.array([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]])
    y_comp = labels.draw(y, T, random_state=0)
    assert set(y_comp) == {0, 1}
    clf = make(name, transition=T, classes=[0, 1, 2])
    clf.fit(X, y_comp)
    q = clf.predict_complementary_proba(X)
    assert q.shape == (len(X), 3)
    assert not q[:, 2].any()
    assert np.mean(clf.predict(X) == y) > 0.85
    assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.parametrize("name", EVERY)
def test_two_classes_work(name):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = 6.0 * y[:, None] + rng.normal(size=(300, 2))
    clf = make(name).fit(X, 1 - y)
    assert np.mean(clf.predict(X) == y) > 0.97


@pytest.mark.parametrize("name", EVERY)
def test_several_labels_a_row_carry_more_than_one(name, digits):
    """Three distinct labels a row against the first of them alone."""
    rng = np.random.default_rng(0)
    n = len(digits.X_train)
    order = rng.permuted(np.tile(np.arange(9), (n, 1)), axis=1)[:, :3]
    excluded = order + (order >= digits.y_train[:, None])
    mask = np.zeros((n, 10), dtype=bool)
    mask[np.arange(n)[:, None], excluded] = True
    several = make(name).fit(digits.X_train, mask).predict(digits.X_test)
    one = make(name).fit(digits.X_train, excluded[:, 0]).predict(digits.X_test)
    assert np.mean(several == digits.y_test) > np.mean(one == digits.y_test) + 0.03


@pytest.mark.parametrize("name", EVERY)
def test_a_boolean_array_with_one_label_a_row_gives_the_same_as_the_labels(name, blobs):
    X, _, y_comp = blobs
    mask = y_comp[:, None] == np.arange(3)
    one = make(name).fit(X, y_comp).predict_complementary_proba(X)
    several = make(name).fit(X, mask)
    np.testing.assert_array_equal(several.predict_complementary_proba(X), one)
    assert several.score(X, mask) == several.score(X, y_comp)


@pytest.mark.parametrize("name", EVERY)
def test_rows_that_rule_out_nothing_say_nothing(name, blobs):
    X, y, y_comp = blobs
    mask = y_comp[:, None] == np.arange(3)
    mask[::4] = False
    clf = make(name).fit(X, mask)
    assert np.mean(clf.predict(X) == y) > 0.97
    assert np.isfinite(clf.score(X, mask))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_keep_their_feature_names(name, frame, blobs):
    X, y, y_comp = blobs
    table = frame({"left": X[:, 0], "right": X[:, 1]})
    series = pd.Series(y_comp) if frame is pd.DataFrame else pl.Series(y_comp)
    clf = make(name).fit(table, series)
    assert clf.feature_names_in_.tolist() == ["left", "right"]
    assert clf.n_features_in_ == 2
    assert np.mean(clf.predict(table) == y) > 0.97
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(
            table.rename({"left": "wrong"})
            if frame is pl.DataFrame
            else table.rename(columns={"left": "wrong"})
        )


@pytest.mark.parametrize("name", EVERY)
def test_score_is_minus_scel(name, digits_strong, strong_T):
    X, y_comp, X_test, y_test = digits_strong
    held_out = labels.draw(y_test, strong_T, random_state=1)
    clf = make(name, transition=strong_T).fit(X, y_comp)
    q = clf.predict_complementary_proba(X_test)
    exact = -metrics.scel(held_out, q, zero_as=1 / (len(held_out) + 1))
    assert clf.score(X_test, held_out) == pytest.approx(exact, abs=1e-12)
    assert metrics.scel_scorer(clf, X_test, held_out) == clf.score(X_test, held_out)
    weight = np.arange(len(X_test)) % 3
    assert clf.score(X_test, held_out, sample_weight=weight) != clf.score(X_test, held_out)


@pytest.mark.parametrize("name", EVERY)
def test_every_decoder_works_in_every_classifier(name, digits_strong, strong_T):
    X, y_comp, X_test, y_test = digits_strong
    clf = make(name, transition=strong_T).fit(X, y_comp)
    accuracy = {}
    for decoder in ("l1", "l2", "max", "likelihood", lambda q, t: np.abs(q - t).sum(-1)):
        predicted = clf.set_params(decoder=decoder).predict(X_test)
        accuracy[decoder] = np.mean(predicted == y_test)
        if decoder == "likelihood":
            assert np.array_equal(clf.predict_proba(X_test).argmax(axis=1), predicted)
    assert min(accuracy.values()) > 0.4
    own = next(v for k, v in accuracy.items() if callable(k))
    assert own == pytest.approx(accuracy["l1"], abs=0.01)  # but for ties


@pytest.mark.parametrize("name", EVERY)
def test_the_same_seed_gives_the_same_bits_with_any_number_of_jobs(name, digits_strong, strong_T):
    X, y_comp, X_test, _ = digits_strong
    clf = make(name, transition=strong_T)
    before = np.random.get_state()[1].copy()
    first = clf.fit(X, y_comp).predict_complementary_proba(X_test)
    np.testing.assert_array_equal(clf.fit(X, y_comp).predict_complementary_proba(X_test), first)
    if "n_jobs" in clf.get_params(deep=False):
        for n_jobs in (1, 2):
            clf.set_params(n_jobs=n_jobs).fit(X, y_comp)
            np.testing.assert_array_equal(clf.predict_complementary_proba(X_test), first)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("name", EVERY)
def test_a_failed_fit_leaves_the_old_model(name, blobs):
    X, _, y_comp = blobs
    clf = make(name).fit(X, np.array(["a", "b", "c"])[y_comp])
    before = clf.predict(X)
    with pytest.raises(ValueError, match="same number of rows"):
        clf.fit(X[:50], y_comp)
    np.testing.assert_array_equal(clf.predict(X), before)


@pytest.mark.parametrize("name", ["knn", "kmeans", "boosting"])
def test_a_fit_to_other_features_that_fails_leaves_the_old_model(name, blobs):
    X, _, y_comp = blobs
    clf = make(name).fit(X, y_comp)
    before = clf.predict(X)
    with pytest.raises(ValueError, match="at least two different"):
        clf.fit(X[:, :1], np.zeros(len(X), dtype=int))
    np.testing.assert_array_equal(clf.predict(X), before)


@pytest.mark.parametrize("name", EVERY)
def test_names_of_data_frames_are_minded(name, blobs):
    X, y, y_comp = blobs
    names = ["zebra", "ant", "mole"]
    mask = pd.DataFrame(y_comp[:, None] == np.arange(3), columns=names)
    clf = make(name).fit(X, mask)
    assert clf.classes_.tolist() == names
    assert np.mean(clf.predict(X) == np.array(names)[y]) > 0.97
    with pytest.raises(ValueError, match="columns named and ordered as classes"):
        make(name, classes=sorted(names)).fit(X, mask)
    T = pd.DataFrame(transition.uniform(3), index=names, columns=names)
    assert make(name, transition=T).fit(X, mask).classes_.tolist() == names
    with pytest.raises(ValueError, match="index named and ordered as classes"):
        make(name, transition=T).fit(X, np.array(names)[y_comp])


def test_numbers_that_pandas_did_not_make_up_are_names(blobs):
    X, _, y_comp = blobs
    mask = pd.get_dummies(pd.Series(y_comp)).astype(bool)  # its columns are an Index, 0 to 2
    for classes in (None, [0, 1, 2]):
        CPEClassifier(classes=classes).fit(X, mask)
    CPEClassifier(classes=["a", "b", "c"]).fit(X, mask)  # which these numbers do not name
    CPEClassifier(classes=[2, 0, 1]).fit(X, pd.DataFrame(mask.to_numpy()))  # by position
    with pytest.raises(ValueError, match=r"columns named and ordered as classes, \[2, 0, 1\]"):
        CPEClassifier(classes=[2, 0, 1]).fit(X, mask)
    T = pd.crosstab(pd.Series([0, 0, 1, 1, 2, 2]), pd.Series([1, 2, 0, 2, 0, 1])) / 2
    with pytest.raises(ValueError, match="transition must have its index named"):
        CPEClassifier(transition=T, classes=[2, 0, 1]).fit(X, y_comp)


def test_whole_numbers_as_objects_are_whole_numbers(blobs):
    X, _, y_comp = blobs
    clf = CPEClassifier().fit(X, y_comp.astype(object))
    assert clf.classes_.dtype.kind == "i"
    np.testing.assert_array_equal(clf.predict(X), CPEClassifier().fit(X, y_comp).predict(X))


def test_classes_are_a_copy_of_what_was_given(blobs):
    X, _, y_comp = blobs
    given = np.array([0, 1, 2])
    clf = CPEClassifier(classes=given).fit(X, y_comp)
    given[0] = 99
    assert clf.classes_.tolist() == [0, 1, 2]


WEIGHTED = {
    "logistic": CPEClassifier(),
    "forest": CPEClassifier(RandomForestClassifier(n_estimators=5, random_state=0)),
    "cpe-i": CPEBoostingClassifierCV([0.1], [10, 20], random_state=0),
    "cpe-f": CPEBoostingClassifierCV([0.1], [10, 20], method="cpe-f", random_state=0),
}
SELECTIONS = [{"cv": 3}, {"cv": KFold(3)}, {"select": "one-std-error"}]


@pytest.mark.parametrize("weights", ["equal", "different"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in WEIGHTED),
        *((name, options) for name in ("cpe-i", "cpe-f") for options in SELECTIONS),
    ],
)
def test_a_row_of_weight_0_equals_a_row_that_is_not_there(name, weights, options, digits, strong_T):
    rng = np.random.default_rng(0)
    X, K = digits.X_train[:600], 10
    y_comp = labels.draw(digits.y_train[:600], strong_T, random_state=0)
    absent = rng.random(600) < 0.3
    weight = np.ones(600) if weights == "equal" else rng.random(600) + 0.5
    X_fit, y_fit = X.copy(), y_comp.copy()
    X_fit[absent] = 100 * rng.normal(size=(absent.sum(), X.shape[1]))
    y_fit[absent] = rng.integers(0, K, absent.sum())
    clf = clone(WEIGHTED[name]).set_params(transition=strong_T, classes=range(K), **options)
    clf.fit(X_fit, y_fit, np.where(absent, 0, weight))
    q = clf.predict_complementary_proba(X)
    clf.fit(X[~absent], y_comp[~absent], weight[~absent])
    np.testing.assert_allclose(q, clf.predict_complementary_proba(X), rtol=1e-9, atol=1e-12)
