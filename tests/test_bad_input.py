"""Promise 4: bad input gets one clear line. Promise 3: what is passed in is never changed.

A case is a call, the type of its error, and what the text must say: which argument, what is
allowed or what came, what to do. Calls run in an empty folder of their own.
"""

from __future__ import annotations

import copy
import functools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import ybar
from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKNeighborsClassifierCV,
    decode,
    labels,
    metrics,
    transition,
)


def _frozen(values, dtype=None):
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def _with(array, index, value):
    changed = np.array(array)
    changed[index] = value
    return _frozen(changed)


# Sixty rows of four features and three classes; read-only, so that no case can spoil another.
X = _frozen(np.random.default_rng(0).normal(size=(60, 4)))
Y = _frozen(np.arange(60) % 3)
NAMES = _frozen(np.array(["cat", "cow", "dog"])[Y])
MASK = _frozen(np.eye(3, dtype=bool)[Y])
X_NAN = _with(X, (3, 1), np.nan)
X_INF = _with(X, (3, 1), np.inf)
EXCLUDES_ALL = _with(MASK, 7, True)
NO_LABEL = np.zeros((30, 3), dtype=bool)
U = _frozen(transition.uniform(3))
BIASED = _frozen(transition.weak(3, random_state=0))
TWO = [[0, 1], [1, 0]]
Q = _frozen([[0.1, 0.4, 0.5], [0.5, 0.1, 0.4], [0.4, 0.5, 0.1]])
ONES = _frozen(np.ones(60))


def cpe(*args, **params):
    return CPEClassifier(*args, **params)


def knn(**params):
    return CPEKNeighborsClassifierCV(**{"random_state": 0, "n_neighbors": [3, 5], **params})


def boosting(**params):
    quick = {"random_state": 0, "learning_rates": [0.1], "n_estimators": [2]}
    return CPEBoostingClassifierCV(**{**quick, **params})


def net(*args, **params):
    quick = {"random_state": 0, "max_epochs": 2, "hidden_layer_sizes": (5,)}
    return ComplementaryNetClassifier(*args, **{**quick, **params})


def net_cv(**params):
    quick = {"random_state": 0, "max_epochs": 2, "hidden_layer_sizes": ()}
    return ComplementaryNetClassifierCV(**{**quick, "learning_rates": [0.1, 0.01], **params})


CLASSIFIERS = {"cpe": cpe, "knn": knn, "boosting": boosting, "net": net, "net-cv": net_cv}
NET_RULES = {
    "method": [
        ("cpe-x", ["method must be one of 'ure', 'ure-nn'", "'cpe-n', or a callable", "'cpe-x'"]),
        (None, ["method must be one of", "got None"]),
        (3, ["method must be one of", "got 3"]),
    ],
    "hidden_layer_sizes": [
        (500, ["hidden_layer_sizes must be a tuple", "() for a linear model", "got 500"]),
        ((0,), ["hidden_layer_sizes must be a tuple", "at least 1", "got (0,)"]),
        ((2.5,), ["hidden_layer_sizes must be a tuple", "got (2.5,)"]),
        ("big", ["hidden_layer_sizes must be a tuple", "got 'big'"]),
    ],
    "weight_decay": [(-1, ["weight_decay must be a number of at least 0", "got -1"])],
    "batch_size": [
        (0, ["batch_size must be an int of at least 1", "got 0"]),
        (2.5, ["batch_size must be an int of at least 1", "got 2.5"]),
    ],
    "max_epochs": [(0, ["max_epochs must be an int of at least 1", "got 0"])],
    "patience": [(-1, ["patience must be an int of at least 1", "got -1"])],
    "dropout": [
        (1, ["dropout must be a number from 0 to below 1", "got 1"]),
        (-0.1, ["dropout must be a number from 0 to below 1", "got -0.1"]),
    ],
    "input_dropout": [(np.nan, ["input_dropout must be a number from 0", "got nan"])],
    "weight_averaging": [(1.5, ["weight_averaging must be a number from 0", "got 1.5"])],
    "validation_fraction": [
        (0, ["validation_fraction must be above 0", "got 0"]),
        (1.0, ["validation_fraction must be a float between 0 and 1", "got 1.0"]),
    ],
    "select": [("first", ["select must be 'best' or 'last'", "got 'first'"])],
    "criterion": [("accuracy", ["criterion must be 'scel' or 'ure'", "got 'accuracy'"])],
    "device": [
        ("cuda", ["device must be one that this machine has ('cpu')", "'cuda'", "device='auto'"]),
        ("tpu", ["device must be 'auto', 'cpu', 'cuda' or 'mps'", "got 'tpu'"]),
        (0, ["device must be 'auto', 'cpu', 'cuda' or 'mps'", "got 0"]),
    ],
    "network": [("cnn", ["network must be a callable", "got 'cnn'", "function or a class"])],
    "callbacks": [(print, ["callbacks must be a list of callables", "got <built-in"])],
    "verbose": [(2, ["verbose must be True or False", "got 2"])],
    "decoder": [("l3", ["decoder must be one of 'l1', 'l2', 'max'", "got 'l3'"])],
}


@functools.cache
def fitted(name):
    return CLASSIFIERS[name]().fit(X, NAMES)


class Fails(LogisticRegression):
    """A base estimator whose fit raises."""

    def fit(self, X, y, sample_weight=None):
        raise ZeroDivisionError("the third tree has no root")


class FailsWithoutAWord(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError


class TooNarrow(LogisticRegression):
    """A base estimator that forgets a class."""

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


class GivesNaN(LogisticRegression):
    def predict_proba(self, X):
        return np.full((len(X), 3), np.nan)


def saved(name="model.ybar"):
    """Save a fitted classifier in the case's folder and return the path of the file."""
    ybar.save(fitted("cpe"), name)
    return Path(name)


def load_changed(change):
    """Load a saved file after its bytes have been changed."""
    path = saved()
    path.write_bytes(change(path.read_bytes()))
    return ybar.load(path)


def load_foreign_type():
    with pytest.warns(UserWarning, match="to load this model, name what it holds"):
        ybar.save(cpe(TooNarrow()).fit(X, Y), "model.ybar")
    return ybar.load("model.ybar")


# Each: the call, the type of its error, what the text must say.
CASES = [
    # --- y of fit: the same for every classifier
    *(
        pytest.param(call, error, says, id=f"{name}-{what}")
        for name, make in CLASSIFIERS.items()
        for what, call, error, says in [
            (
                "y-none",
                lambda make=make: make().fit(X, None),
                ValueError,
                ["y is None", "complementary labels", "one for each row of X"],
            ),
            (
                "y-too-short",
                lambda make=make: make().fit(X, Y[:50]),
                ValueError,
                ["X and y must have the same number of rows", "got 60 and 50"],
            ),
            (
                "y-empty",
                lambda make=make: make().fit(X, []),
                ValueError,
                ["y must hold at least one complementary label", "got none"],
            ),
            (
                "y-all-equal",
                lambda make=make: make().fit(X, np.zeros(60, int)),
                ValueError,
                ["y must hold at least two different", "only one class, 0", "other classes"],
            ),
            (
                "y-all-equal-and-named",
                lambda make=make: make(classes=["cat", "cow"]).fit(X, ["cow"] * 60),
                ValueError,
                ["y must hold at least two different", "only one class, 'cow'", "other classes"],
            ),
            (
                "y-outside-classes",
                lambda make=make: make(classes=["cat", "cow"]).fit(X, NAMES),
                ValueError,
                ["y must hold only classes ['cat', 'cow']", "got 'dog' in row 2", "classes="],
            ),
            (
                "y-of-another-type-than-classes",
                lambda make=make: make(classes=["cat", "cow", "dog"]).fit(X, Y),
                ValueError,
                ["y must hold only classes ['cat', 'cow', 'dog']", "got 0 in row 0", "classes="],
            ),
            (
                "y-row-excludes-every-class",
                lambda make=make: make().fit(X, EXCLUDES_ALL),
                ValueError,
                ["y must leave at least one class possible", "row 7", "all 3", "drop it"],
            ),
            (
                "y-excludes-nothing",
                lambda make=make: make().fit(X, np.zeros((60, 3), bool)),
                ValueError,
                ["y must rule out at least one class", "got no True"],
            ),
            (
                "y-boolean-of-wrong-width",
                lambda make=make: make(classes=["cat", "cow"]).fit(X, MASK),
                ValueError,
                ["y must have one column for each class (K = 2)", "got", "shape (60, 3)"],
            ),
            (
                "y-boolean-of-one-column",
                lambda make=make: make().fit(X, MASK[:, :1]),
                ValueError,
                ["y must have one column for each class (K = 2)", "got", "shape (60, 1)"],
            ),
            (
                "y-2d-of-integers",
                lambda make=make: make().fit(X, MASK.astype(int)),
                ValueError,
                ["y must hold one complementary label per row", "shape (60, 3)", ".astype(bool)"],
            ),
            (
                "y-nan",
                lambda make=make: make().fit(X, np.where(Y == 1, np.nan, Y)),
                ValueError,
                ["y must hold", "label in each row", "row 1 contains nan", "Drop such rows"],
            ),
            (
                "y-none-in-a-row",
                lambda make=make: make().fit(X, np.where(Y == 2, None, NAMES)),
                ValueError,
                ["y must hold", "label in each row", "row 2 contains None", "Drop such rows"],
            ),
            (
                "y-continuous",
                lambda make=make: make().fit(X, X[:, 0].round(2)),
                ValueError,
                ["y must hold classes", "continuous", "got 0.13 in row 0", "label column"],
            ),
            (
                "fewer-rows-than-classes",
                lambda make=make: make(classes=range(4)).fit(X[:3], Y[:3]),
                ValueError,
                ["X must have at least as many rows as", "classes (4)", "n_samples = 3", "fewer"],
            ),
            (
                "classes-twice-the-same",
                lambda make=make: make(classes=["cat", "cow", "cat", "dog"]).fit(X, NAMES),
                ValueError,
                ["classes must name each class once", "got 'cat' more than once"],
            ),
            (
                "transition-of-another-K",
                lambda make=make: make(transition=transition.uniform(4)).fit(X, Y),
                ValueError,
                ["transition must have one row and one column", "3 classes", "(4, 4)", "classes="],
            ),
            (
                "transition-not-square",
                lambda make=make: make(transition=U[:2]).fit(X, Y),
                ValueError,
                ["transition must be square", "got shape (2, 3)"],
            ),
            (
                "transition-unknown-name",
                lambda make=make: make(transition="weak").fit(X, Y),
                ValueError,
                ["transition must be 'uniform' or a K×K array", "got 'weak'", "transition.weak"],
            ),
            (
                "decoder-unknown-name",
                lambda make=make: make(decoder="l7").fit(X, Y),
                ValueError,
                ["decoder must be one of 'l1', 'l2', 'max', 'likelihood'", "got 'l7'"],
            ),
            (
                "score-y-of-another-length",
                lambda name=name: fitted(name).score(X, NAMES[:5]),
                ValueError,
                ["X and y must have the same number of rows", "got 60 and 5"],
            ),
            (
                "score-y-none",
                lambda name=name: fitted(name).score(X, None),
                ValueError,
                ["y must hold one complementary label per row", "got None"],
            ),
        ]
    ),
    # --- y, further
    pytest.param(
        lambda: cpe().fit(X, [["cat", "cow"]] * 30 + [["dog"]] * 30),
        ValueError,
        ["y must hold one complementary label per row", "differ in length", "boolean array"],
        id="y-lists-of-different-length",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.zeros((60, 3, 2))),
        ValueError,
        ["y must hold one complementary label per row", "shape (60, 3, 2)"],
        id="y-3d",
    ),
    pytest.param(
        lambda: cpe().fit(X, "cat"),
        ValueError,
        ["y must hold one complementary label per row", "got 'cat'"],
        id="y-a-single-string",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.where(Y == 1, np.inf, Y)),
        ValueError,
        ["y must hold", "label in each row", "row 1 contains inf", "Drop such rows"],
        id="y-infinite",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.where(Y == 1, pd.NA, NAMES)),
        ValueError,
        ["y must hold", "label in each row", "row 1 contains <NA>", "Drop such rows"],
        id="y-pandas-na",
    ),
    pytest.param(
        lambda: labels.encode(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")),
        ValueError,
        ["y must hold", "label in each row", "row 1 contains", "Drop such rows"],
        id="y-not-a-time",
    ),
    pytest.param(
        lambda: cpe().fit(X, np.where(Y == 1, 1, NAMES.astype(object))),
        ValueError,
        ["y must hold class names of one kind", "int and str", ".astype(str)"],
        id="y-of-two-kinds",
    ),
    pytest.param(
        lambda: cpe().fit(X, NAMES.astype("S3")),
        ValueError,
        ["y must hold class names of one kind", "bytes", ".astype(str)"],
        id="y-bytes",
    ),
    # --- classes
    pytest.param(
        lambda: cpe(classes=["cat"]).fit(X, NAMES),
        ValueError,
        ["classes must be a list of at least 2 class names", "got ['cat']"],
        id="classes-only-one",
    ),
    pytest.param(
        lambda: cpe(classes="cat").fit(X, NAMES),
        ValueError,
        ["classes must be a list of at least 2 class names", "got 'cat'"],
        id="classes-a-string",
    ),
    pytest.param(
        lambda: cpe(classes=MASK).fit(X, MASK),
        ValueError,
        ["classes must be a list of at least 2 class names", "got array("],
        id="classes-2d",
    ),
    pytest.param(
        lambda: cpe(classes=["cat", "cow", "dog", None]).fit(X, NAMES),
        ValueError,
        ["classes must", "got None", "missing value out"],
        id="classes-with-none",
    ),
    pytest.param(
        lambda: cpe(classes=[0.0, 1.0, 2.0, np.nan]).fit(X, Y),
        ValueError,
        ["classes must", "got nan", "missing value out"],
        id="classes-with-nan",
    ),
    pytest.param(
        lambda: cpe(classes=np.array(["cat", 1], dtype=object)).fit(X, NAMES),
        ValueError,
        ["classes must hold names of one kind", "got", "'cat', 1"],
        id="classes-of-two-kinds",
    ),
    # --- the base estimator
    pytest.param(
        lambda: cpe(LinearSVC()).fit(X, Y),
        ValueError,
        ["estimator must have predict_proba", "LinearSVC has none", "CalibratedClassifierCV("],
        id="base-without-predict-proba",
    ),
    pytest.param(
        lambda: cpe(make_pipeline(StandardScaler(), LinearSVC())).fit(X, Y),
        ValueError,
        ["estimator must have predict_proba", "Pipeline", "CalibratedClassifierCV(estimator)"],
        id="base-pipeline-without-predict-proba",
    ),
    pytest.param(
        lambda: cpe(LogisticRegression).fit(X, Y),
        TypeError,
        ["estimator must be", "not a class", "got LogisticRegression", "LogisticRegression()"],
        id="base-a-class",
    ),
    pytest.param(
        lambda: cpe("logistic").fit(X, Y),
        TypeError,
        ["estimator must be a classifier", "got 'logistic'", "such as LogisticRegression()"],
        id="base-a-string",
    ),
    pytest.param(
        lambda: cpe(LinearRegression()).fit(X, Y),
        TypeError,
        ["estimator must be a classifier", "got LinearRegression", "such as LogisticRegression()"],
        id="base-a-regressor",
    ),
    pytest.param(
        lambda: cpe(Fails()).fit(X, Y),
        RuntimeError,
        ["estimator Fails could not be fitted", "ZeroDivisionError: the third tree has no root"],
        id="base-that-fails",
    ),
    pytest.param(
        lambda: cpe(FailsWithoutAWord()).fit(X, Y),
        RuntimeError,
        ["estimator FailsWithoutAWord could not be fitted", "AssertionError"],
        id="base-that-fails-without-a-word",
    ),
    pytest.param(
        lambda: cpe(LogisticRegression(C=-1.0)).fit(X, Y),
        ValueError,
        ["estimator LogisticRegression could not be fitted", "'C' parameter", "Got -1.0"],
        id="base-with-a-wrong-parameter",
    ),
    pytest.param(
        lambda: cpe(TooNarrow()).fit(X, Y).predict(X),
        ValueError,
        ["estimator TooNarrow must return", "3 classes", "predict_proba", "shape (60, 2)"],
        id="base-forgets-a-class",
    ),
    pytest.param(
        lambda: cpe(GivesNaN()).fit(X, Y).predict(X),
        ValueError,
        ["finite probabilities", "row 0 has NaN", "Check the model that made it"],
        id="base-gives-nan",
    ),
    pytest.param(
        lambda: cpe(KNeighborsClassifier()).fit(X, Y, sample_weight=ONES),
        ValueError,
        ["sample_weight", "KNeighborsClassifier has no sample weights", "Leave them out"],
        id="base-takes-no-weights",
    ),
    pytest.param(
        lambda: cpe(make_pipeline(StandardScaler(), KNeighborsClassifier())).fit(X, Y, ONES),
        ValueError,
        ["sample_weight", "KNeighborsClassifier has no sample weights", "Leave them out"],
        id="base-pipeline-takes-no-weights",
    ),
    pytest.param(
        lambda: cpe().fit(None, Y),
        TypeError,
        ["X must be", "got None"],
        id="X-none",
    ),
    # --- sample_weight
    *(
        pytest.param(call, ValueError, says, id=f"{name}-{what}")
        for name, make in (("cpe", cpe), ("boosting", boosting))
        for what, call, says in [
            (
                "weights-too-few",
                lambda make=make: make().fit(X, Y, sample_weight=ONES[:5]),
                ["sample_weight must have one number for each of the 60 rows", "got shape (5,)"],
            ),
            (
                "weights-negative",
                lambda make=make: make().fit(X, Y, sample_weight=_with(ONES, 4, -2)),
                ["sample_weight must be", "not negative", "got -2 in row 4"],
            ),
            (
                "weights-nan",
                lambda make=make: make().fit(X, Y, sample_weight=_with(ONES, 4, np.nan)),
                ["sample_weight must be finite", "got nan in row 4"],
            ),
            (
                "weights-all-zero",
                lambda make=make: make().fit(X, Y, sample_weight=0 * ONES),
                ["sample_weight must", "not", "all", "zero"],
            ),
            (
                "weights-words",
                lambda make=make: make().fit(X, Y, sample_weight=["much"] * 60),
                ["sample_weight must be numbers, one for each row", "got ['much'"],
            ),
        ]
    ),
    pytest.param(
        lambda: cpe().fit(X, _with(MASK, 0, False), sample_weight=np.eye(60)[0]),
        ValueError,
        ["sample_weight must", "row that has a label", "got 0"],
        id="weights-only-where-no-label-is",
    ),
    pytest.param(
        lambda: boosting(cv=[(np.arange(30), np.arange(30, 60))]).fit(X, Y, np.arange(60) < 30),
        ValueError,
        ["cv must leave", "weight to validate on", "got none in 30 rows", "Choose other"],
        id="weights-zero-where-held-out",
    ),
    pytest.param(
        lambda: boosting(cv=[(np.arange(30), np.arange(30, 60))]).fit(X, Y, np.arange(60) >= 30),
        ValueError,
        ["cv must leave", "weight to train on", "got none in 30 rows", "Choose other"],
        id="weights-zero-where-trained",
    ),
    # --- what the classifiers that select share
    *(
        pytest.param(call, ValueError, says, id=f"{name}-{what}")
        for name, make in (("knn", knn), ("boosting", boosting))
        for what, call, says in [
            (
                "validation-fraction-zero",
                lambda make=make: make(validation_fraction=0.0).fit(X, Y),
                ["validation_fraction must be a float between 0 and 1", "got 0.0"],
            ),
            (
                "validation-fraction-one",
                lambda make=make: make(validation_fraction=1.0).fit(X, Y),
                ["validation_fraction must be a float between 0 and 1", "got 1.0"],
            ),
            (
                "validation-fraction-a-string",
                lambda make=make: make(validation_fraction="10%").fit(X, Y),
                ["validation_fraction must be a float between 0 and 1", "got '10%'"],
            ),
            (
                "validation-fraction-leaves-no-row",
                lambda make=make: make(validation_fraction=0.999).fit(X, Y),
                ["validation_fraction must leave rows", "got 0.999 of 60 rows", "fewer"],
            ),
            (
                "cv-one-part",
                lambda make=make: make(cv=1).fit(X, Y),
                ["cv must be an int from 2", "got 1"],
            ),
            (
                "cv-more-parts-than-rows",
                lambda make=make: make(cv=100).fit(X, Y),
                ["cv must be an int from 2 to the 60 rows", "got 100"],
            ),
            (
                "cv-a-string",
                lambda make=make: make(cv="five").fit(X, Y),
                ["cv must be an int", "a splitter", "row indices", "got 'five'"],
            ),
            (
                "cv-no-split",
                lambda make=make: make(cv=[]).fit(X, Y),
                ["cv must have at least one", "got none"],
            ),
            (
                "cv-rows-that-do-not-exist",
                lambda make=make: make(cv=[(range(30), [600])]).fit(X, Y),
                ["cv must be", "row indices", "600", "60"],
            ),
            (
                "cv-three-parts",
                lambda make=make: make(cv=[([0, 1], [2], [3])]).fit(X, Y),
                ["cv must be", "(train, validation) row indices", "got [([0, 1], [2], [3])]"],
            ),
            (
                "cv-an-empty-part",
                lambda make=make: make(cv=[(range(30), [])]).fit(X, Y),
                ["cv must leave", "rows", "validate on", "got"],
            ),
            (
                "cv-no-label-held-out",
                lambda make=make: make(cv=[(range(30), range(30, 60))]).fit(
                    X, np.concatenate([MASK[:30], NO_LABEL])
                ),
                ["cv must leave labelled rows", "validate on", "got none in 30 rows"],
            ),
            (
                "cv-no-label-to-train-on",
                lambda make=make: make(cv=[(range(30), range(30, 60))]).fit(
                    X, np.concatenate([NO_LABEL, MASK[:30]])
                ),
                ["cv must leave labelled rows", "train on", "got none in 30 rows"],
            ),
            (
                "random-state-a-string",
                lambda make=make: make(random_state="seed").fit(X, Y),
                ["random_state must be None, a non-negative int", "Generator", "got 'seed'"],
            ),
            (
                "n-jobs-zero",
                lambda make=make: make(n_jobs=0).fit(X, Y),
                ["n_jobs must be None or an int other than 0", "got 0", "-1 for all cores"],
            ),
            (
                "n-jobs-a-string",
                lambda make=make: make(n_jobs="all").fit(X, Y),
                ["n_jobs must be None or an int", "got 'all'", "-1 for all cores"],
            ),
        ]
    ),
    # --- neighbours
    pytest.param(
        lambda: knn(n_neighbors=[10, 1000]).fit(X, Y),
        ValueError,
        ["n_neighbors must not exceed", "54", "got 1000", "Leave out larger values"],
        id="n-neighbors-more-than-rows",
    ),
    pytest.param(
        lambda: knn(n_neighbors=[5, 0]).fit(X, Y),
        ValueError,
        ["n_neighbors must be a list", "whole numbers of at least 1", "got 0"],
        id="n-neighbors-zero",
    ),
    pytest.param(
        lambda: knn(n_neighbors=np.array([5, 2.5])).fit(X, Y),
        ValueError,
        ["n_neighbors must be a list", "whole numbers of at least 1", "got 5.0"],
        id="n-neighbors-not-whole",
    ),
    pytest.param(
        lambda: knn(n_neighbors=[True]).fit(X, Y),
        ValueError,
        ["n_neighbors must be a list", "whole numbers of at least 1", "got True"],
        id="n-neighbors-a-boolean",
    ),
    pytest.param(
        lambda: knn(n_neighbors=[]).fit(X, Y),
        ValueError,
        ["n_neighbors must be a list", "whole numbers of at least 1", "got []"],
        id="n-neighbors-empty",
    ),
    pytest.param(
        lambda: knn(n_neighbors=5).fit(X, Y),
        ValueError,
        ["n_neighbors must be a list", "got 5", "[5]"],
        id="n-neighbors-not-a-list",
    ),
    pytest.param(
        lambda: knn(n_components=0).fit(X, Y),
        ValueError,
        ["n_components must be an int of at least 1, or None", "got 0"],
        id="n-components-zero",
    ),
    pytest.param(
        lambda: knn(n_components=0.9).fit(X, Y),
        ValueError,
        ["n_components must be an int of at least 1, or None", "got 0.9"],
        id="n-components-a-fraction",
    ),
    pytest.param(
        lambda: knn(n_components="mle").fit(X, Y),
        ValueError,
        ["n_components must be an int of at least 1, or None", "got 'mle'"],
        id="n-components-a-string",
    ),
    # --- boosting
    pytest.param(
        lambda: boosting(learning_rates=[0.1, 0]).fit(X, Y),
        ValueError,
        ["learning_rates must be a list", "numbers above 0", "got 0"],
        id="learning-rates-zero",
    ),
    pytest.param(
        lambda: boosting(learning_rates=[np.nan]).fit(X, Y),
        ValueError,
        ["learning_rates must be a list", "numbers above 0", "got nan"],
        id="learning-rates-nan",
    ),
    pytest.param(
        lambda: boosting(learning_rates=[np.inf]).fit(X, Y),
        ValueError,
        ["learning_rates must be a list", "finite", "got inf"],
        id="learning-rates-infinite",
    ),
    pytest.param(
        lambda: boosting(learning_rates=["fast"]).fit(X, Y),
        ValueError,
        ["learning_rates must be a list", "numbers above 0", "got 'fast'"],
        id="learning-rates-a-word",
    ),
    pytest.param(
        lambda: boosting(learning_rates=0.1).fit(X, Y),
        ValueError,
        ["learning_rates must be a list", "got 0.1", "[0.1]"],
        id="learning-rates-not-a-list",
    ),
    pytest.param(
        lambda: boosting(n_estimators=[10, -5]).fit(X, Y),
        ValueError,
        ["n_estimators must be a list", "whole numbers of at least 1", "got -5"],
        id="n-estimators-negative",
    ),
    pytest.param(
        lambda: boosting(n_estimators=100).fit(X, Y),
        ValueError,
        ["n_estimators must be a list", "got 100", "[100]"],
        id="n-estimators-not-a-list",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"learning_rate": 0.2}).fit(X, Y),
        ValueError,
        ["lightgbm_params must not set 'learning_rate'", "use its own", "learning_rates"],
        id="lightgbm-params-clash",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"objective": "binary"}).fit(X, Y),
        ValueError,
        ["lightgbm_params must not set 'objective'", "the classifier sets itself"],
        id="lightgbm-params-objective",
    ),
    *(
        pytest.param(
            lambda alias=alias: boosting(lightgbm_params={alias: 1}).fit(X, Y),
            ValueError,
            [f"lightgbm_params must not set '{alias}'", "the classifier sets itself"],
            id=f"lightgbm-params-clash-by-alias-{alias}",
        )
        for alias in ("eta", "num_trees", "n_estimators", "random_state", "n_jobs", "application")
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"nm_leaves": 7}).fit(X, Y),
        ValueError,
        ["lightgbm_params must", "got 'nm_leaves'", "'num_leaves'"],
        id="lightgbm-params-misspelt",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params={"num_leaves": 1}).fit(X, Y),
        ValueError,
        ["lightgbm_params must", "got {'num_leaves': 1}", "LightGBM"],
        id="lightgbm-params-wrong-value",
    ),
    pytest.param(
        lambda: boosting(lightgbm_params=["num_leaves"]).fit(X, Y),
        ValueError,
        ["lightgbm_params must be a dict", "got ['num_leaves']"],
        id="lightgbm-params-a-list",
    ),
    # --- networks
    *(
        pytest.param(
            lambda make=make, name=name, value=value: make(**{name: value}).fit(X, Y),
            ValueError,
            says,
            id=f"{kind}-{name}-{value}",
        )
        for name, cases in NET_RULES.items()
        for value, says in cases
        for kind, make in (("net", net), ("net-cv", net_cv))
    ),
    *(
        pytest.param(
            lambda value=value: net(learning_rate=value).fit(X, Y),
            ValueError,
            ["learning_rate must be a number above 0", f"got {value!r}"],
            id=f"net-learning-rate-{value}",
        )
        for value in (0, -1, "fast", True)
    ),
    pytest.param(
        lambda: net_cv(learning_rates=0.1).fit(X, Y),
        ValueError,
        ["learning_rates must be a list", "got 0.1", "[0.1]"],
        id="net-cv-learning-rates-not-a-list",
    ),
    pytest.param(
        lambda: net_cv(n_jobs=0).fit(X, Y),
        ValueError,
        ["n_jobs must be None or an int other than 0", "got 0"],
        id="net-cv-n-jobs-zero",
    ),
    pytest.param(
        lambda: net(transition=[[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]]).fit(X, Y),
        ValueError,
        ["y must hold only labels that transition allows", "2 occurs", "column", "all 0"],
        id="net-label-that-never-occurs",
    ),
    pytest.param(
        lambda: net().fit(np.zeros((60, 2, 2)), Y),
        ValueError,
        ["Found array with dim 3", "dim <= 2 is required"],
        id="net-images-without-a-network",
    ),
    pytest.param(
        lambda: net(learning_rate=1e38, method="ure").fit(X, Y),
        FloatingPointError,
        ["no longer finite", "epoch 1, batch 1", "lower learning_rate", "StandardScaler"],
        id="net-loss-not-finite",
    ),
    # --- labels.draw
    pytest.param(
        lambda: labels.draw([0, 1, 3], U),
        ValueError,
        ["y must hold class indices 0..2", "got 3", "T"],
        id="draw-y-too-large",
    ),
    pytest.param(
        lambda: labels.draw([0, -1], U),
        ValueError,
        ["y must hold class indices 0..2", "got -1"],
        id="draw-y-negative",
    ),
    pytest.param(
        lambda: labels.draw([0.0, 1.0], U),
        ValueError,
        ["y must hold class indices 0..2 as integers", "got float64", "astype(int)"],
        id="draw-y-floats",
    ),
    pytest.param(
        lambda: labels.draw(["cat", "dog"], U),
        ValueError,
        ["y must hold class indices 0..2 as integers", "labels.draw takes classes="],
        id="draw-y-names-without-classes",
    ),
    pytest.param(
        lambda: labels.draw([], U),
        ValueError,
        ["y must hold", "got no"],
        id="draw-y-empty",
    ),
    pytest.param(
        lambda: labels.draw([], TWO, classes=["cat", "dog"]),
        ValueError,
        ["y must hold", "got no"],
        id="draw-y-empty-with-classes",
    ),
    pytest.param(
        lambda: labels.draw(MASK, U),
        ValueError,
        ["y must hold class indices 0..2", "shape (60, 3)"],
        id="draw-y-2d",
    ),
    pytest.param(
        lambda: labels.draw(["cat", "cow"], TWO, classes=["cat", "dog"]),
        ValueError,
        ["y must hold only classes ['cat', 'dog']", "got 'cow' in row 1", "classes="],
        id="draw-y-outside-classes",
    ),
    pytest.param(
        lambda: labels.draw(["cat", "dog"], U, classes=["cat", "dog"]),
        ValueError,
        ["T must have one row for each of the 2 classes", "got shape (3, 3)"],
        id="draw-T-of-another-K-than-classes",
    ),
    *(
        pytest.param(
            lambda seed=seed: labels.draw([0, 1], U, random_state=seed),
            ValueError,
            ["random_state must be None, a non-negative int", "Generator", f"got {shown}"],
            id=f"random-state-{what}",
        )
        for what, seed, shown in [
            ("negative", -1, "-1"),
            ("a-float", 1.5, "1.5"),
            ("a-boolean", True, "True"),
            ("a-long-array", np.arange(99), "array("),
        ]
    ),
    # --- labels.pairs
    pytest.param(
        lambda: labels.pairs([0, 1], "3"),
        ValueError,
        ["n_classes must be an int of at least 2", "got '3'"],
        id="pairs-n-classes-a-string",
    ),
    # --- T
    pytest.param(
        lambda: transition.check([[0, 0.5, 0.5], [1, 0, 0]]),
        ValueError,
        ["T must be square", "one row and one column for each class", "got shape (2, 3)"],
        id="T-not-square",
    ),
    pytest.param(
        lambda: transition.check([0.5, 0.5]),
        ValueError,
        ["T must be square", "got shape (2,)"],
        id="T-1d",
    ),
    pytest.param(
        lambda: transition.check(U, 4),
        ValueError,
        ["T must have one row and one column", "4 classes", "got shape (3, 3)", "classes="],
        id="T-of-another-K",
    ),
    pytest.param(
        lambda: transition.check([[1.0]]),
        ValueError,
        ["T must have at least 2 classes", "got shape (1, 1)"],
        id="T-of-one-class",
    ),
    pytest.param(
        lambda: transition.check(_with(U, (1, 2), -0.5)),
        ValueError,
        ["T must hold probabilities", "none below 0", "got -0.5 at row 1, column 2"],
        id="T-negative",
    ),
    pytest.param(
        lambda: transition.check([[0, 8], [3, 0]]),
        ValueError,
        ["T must have rows that sum to 1", "row 0 sums to 8", "transition.from_counts"],
        id="T-rows-not-summing-to-one",
    ),
    pytest.param(
        lambda: transition.check(_with(U, (1, 2), np.nan)),
        ValueError,
        ["T must hold finite numbers", "got nan at row 1, column 2", "smoothing"],
        id="T-nan",
    ),
    pytest.param(
        lambda: transition.check([[0, 1], [1]]),
        ValueError,
        ["T must be a K×K array of numbers", "got [[0, 1], [1]]", "differ in length"],
        id="T-ragged",
    ),
    pytest.param(
        lambda: transition.check([["a", "b"], ["c", "d"]]),
        ValueError,
        ["T must be a K×K array of numbers", "got [['a', 'b'], ['c', 'd']]", "not all numbers"],
        id="T-words",
    ),
    pytest.param(
        lambda: transition.check(None),
        ValueError,
        ["T must be a K×K array of numbers", "got None"],
        id="T-none",
    ),
    pytest.param(
        lambda: transition.gamma("uniform"),
        ValueError,
        ["T must be a K×K array", "got 'uniform'", "transition.uniform(K)"],
        id="T-uniform-without-K",
    ),
    pytest.param(
        lambda: cpe(transition=None).fit(X, Y),
        ValueError,
        ["transition must be 'uniform' or a K×K array", "got None"],
        id="transition-none",
    ),
    pytest.param(
        lambda: transition.epsilon(U, transition.uniform(4)),
        ValueError,
        ["T must have one row and one column", "3 classes", "got shape (4, 4)"],
        id="epsilon-two-K",
    ),
    pytest.param(
        lambda: transition.gamma(U, "manhatan"),
        ValueError,
        ["distance must be 'l1', 'l2'", "callable of two vectors", "got 'manhatan'"],
        id="distance-unknown",
    ),
    pytest.param(
        lambda: transition.gamma(U, lambda a, b: "far"),
        ValueError,
        ["distance must return a number", "got 'far'"],
        id="distance-returns-a-word",
    ),
    # --- n_classes, masses, level, counts, smoothing
    *(
        pytest.param(
            lambda K=K: transition.uniform(K),
            ValueError,
            ["n_classes must be an int of at least 2", f"got {K!r}"],
            id=f"n-classes-{what}",
        )
        for what, K in [("one", 1), ("a-float", 10.0), ("a-string", "10"), ("a-boolean", True)]
    ),
    pytest.param(
        lambda: transition.strong(1),
        ValueError,
        ["n_classes must be an int of at least 2", "got 1"],
        id="n-classes-of-strong",
    ),
    *(
        pytest.param(
            lambda masses=masses: transition.biased(4, masses),
            ValueError,
            ["masses must be non-negative numbers that sum to 1", f"got {masses!r}"],
            id=f"masses-{what}",
        )
        for what, masses in [
            ("not-summing-to-one", (0.5, 0.6)),
            ("negative", (-0.5, 1.5)),
            ("nan", (float("nan"), 1.0)),
            ("empty", []),
            ("none", None),
            ("a-word", "half"),
            ("words", ["half", "half"]),
        ]
    ),
    *(
        pytest.param(
            lambda level=level: transition.with_uniform_noise(U, level),
            ValueError,
            ["level must be a number from 0 (no noise) to 1 (only noise)", f"got {shown}"],
            id=f"level-{what}",
        )
        for what, level, shown in [
            ("above-one", 1.5, "1.5"),
            ("negative", -0.1, "-0.1"),
            ("nan", np.float64("nan"), "nan"),
            ("a-string", "0.5", "'0.5'"),
            ("none", None, "None"),
            ("a-boolean", True, "True"),
            ("a-matrix", np.eye(30), "array("),
        ]
    ),
    *(
        pytest.param(
            lambda smoothing=smoothing: transition.from_counts(TWO, smoothing),
            ValueError,
            ["smoothing must be a finite number of at least 0", f"got {smoothing!r}"],
            id=f"smoothing-{what}",
        )
        for what, smoothing in [
            ("negative", -1),
            ("infinite", float("inf")),
            ("a-string", "1/K"),
            ("none", None),
            ("a-boolean", True),
        ]
    ),
    pytest.param(
        lambda: transition.from_counts([[0, 8, 2], [5, 0, 5]]),
        ValueError,
        ["counts must be square", "got shape (2, 3)"],
        id="counts-not-square",
    ),
    pytest.param(
        lambda: transition.from_counts([["few", 8], [5, 0]]),
        ValueError,
        ["counts must be a K×K array of numbers", "got [['few', 8], [5, 0]]"],
        id="counts-words",
    ),
    pytest.param(
        lambda: transition.from_counts([[0, -1], [5, 0]]),
        ValueError,
        ["counts must be", "not negative", "got -1 at row 0, column 1"],
        id="counts-negative",
    ),
    pytest.param(
        lambda: transition.from_counts([[0, 1], [np.nan, 0]]),
        ValueError,
        ["counts must be finite", "got nan at row 1, column 0"],
        id="counts-nan",
    ),
    pytest.param(
        lambda: transition.from_counts([[0, 3], [0, 0]]),
        ValueError,
        ["counts has no count in row 1", "smoothing="],
        id="counts-none-in-a-row",
    ),
    # --- transition.estimate
    pytest.param(
        lambda: transition.estimate([0, 1], [1]),
        ValueError,
        ["y_true and y_comp must have the same number of rows", "got shapes (2,) and (1,)"],
        id="estimate-two-lengths",
    ),
    pytest.param(
        lambda: transition.estimate([], []),
        ValueError,
        ["y_true must hold at least one label", "got none"],
        id="estimate-empty",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [1, 5], classes=[0, 1]),
        ValueError,
        ["y_comp must hold only classes [0, 1]", "got 5"],
        id="estimate-y-comp-outside-classes",
    ),
    pytest.param(
        lambda: transition.estimate([0, 7], [1, 0], classes=[0, 1]),
        ValueError,
        ["y_true must hold only classes [0, 1]", "got 7"],
        id="estimate-y-true-outside-classes",
    ),
    pytest.param(
        lambda: transition.estimate(["cat", "dog"], ["dog", None]),
        ValueError,
        ["y_comp must hold a label in each row", "row 1 contains None", "Drop such rows"],
        id="estimate-y-comp-none",
    ),
    pytest.param(
        lambda: transition.estimate([0, np.nan], [1, 0]),
        ValueError,
        ["y_true must hold a label in each row", "row 1 contains nan", "Drop such rows"],
        id="estimate-y-true-nan",
    ),
    pytest.param(
        lambda: transition.estimate([0.5, 1.5], [1, 0]),
        ValueError,
        ["y_true must hold classes", "got 0.5"],
        id="estimate-y-true-continuous",
    ),
    pytest.param(
        lambda: transition.estimate(["cat", "dog"], [0, 1]),
        ValueError,
        ["y_true and y_comp must hold labels of one kind", "got 'cat' and 0"],
        id="estimate-names-and-indices",
    ),
    pytest.param(
        lambda: transition.estimate([0, 0], [0, 0]),
        ValueError,
        ["y_true and y_comp must hold at least 2 classes", "got only 0", "classes="],
        id="estimate-one-class",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [1, 0], classes=[0, 0, 1]),
        ValueError,
        ["classes must name", "0"],
        id="estimate-classes-twice-the-same",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], [[0, 1], [1, 0]]),
        ValueError,
        [
            "y_comp must hold one complementary label per row, or several as a boolean array",
            "int64 of shape (2, 2)",
        ],
        id="estimate-y-comp-2d-of-integers",
    ),
    # --- decode
    *(
        pytest.param(
            lambda method=method: decode.decode(Q, U, method),
            ValueError,
            ["method must be one of 'l1', 'l2', 'max', 'likelihood'", f"got {method!r}"],
            id=f"method-{what}",
        )
        for what, method in [("unknown", "l3"), ("none", None), ("a-list", ["l1"])]
    ),
    pytest.param(
        lambda: decode.decode(Q, BIASED, lambda q, t: np.nan),
        ValueError,
        ["method", "must return a number", "got nan"],
        id="method-returns-nan",
    ),
    pytest.param(
        lambda: decode.decode(Q, BIASED, lambda q, t: None),
        ValueError,
        ["method", "must return a number", "got None"],
        id="method-returns-none",
    ),
    *(
        pytest.param(
            lambda function=function, q=q: function(q, U), ValueError, says, id=f"{name}-q-{what}"
        )
        for name, function in (
            ("decode", decode.decode),
            ("class-probabilities", decode.class_probabilities),
        )
        for what, q, says in [
            ("of-another-K", [[0.4, 0.6]], ["q must have shape (N, 3)", "got (1, 2)"]),
            ("1d", [0.2, 0.3, 0.5], ["q must have shape (N, 3)", "got (3,)"]),
            ("empty", [], ["q must have shape (N, 3)", "got (0,)"]),
            ("none", None, ["q must be an N×K array of probabilities", "got None"]),
            ("words", [["a", "b", "c"]], ["q must be an N×K array", "got [['a', 'b', 'c']]"]),
            ("ragged", [[1, 0, 0], [1]], ["q must be an N×K array", "differ in length"]),
            ("complex", [[1, 0, 0j]], ["q must be an N×K array", "real numbers"]),
            ("nan", _with(Q, (1, 1), np.nan), ["q must hold finite", "row 1 has NaN", "model"]),
            (
                "both-infinities",
                [[np.inf, -np.inf, 1]],
                ["q must hold finite", "row 0 has NaN or infinity", "model"],
            ),
            (
                "negative",
                [[0.2, 0.3, 0.5], [-0.2, 0.7, 0.5]],
                ["q must hold probabilities, so none below 0", "got -0.2 in row 1", "softmax"],
            ),
            (
                "not-summing-to-one",
                [[0.2, 0.3, 0.5], [0.2, 0.7, 0.5]],
                ["q must have rows that sum to 1", "row 1 sums to 1.4", "Divide each row"],
            ),
        ]
    ),
    pytest.param(
        lambda: decode.inverse(U[:2]),
        ValueError,
        ["T must be square", "got shape (2, 3)"],
        id="inverse-T-not-square",
    ),
    # --- metrics: complementary labels
    *(
        pytest.param(
            lambda measure=measure, y_comp=y_comp: measure(y_comp),
            ValueError,
            says,
            id=f"{name}-y-comp-{what}",
        )
        for name, measure in (
            ("scel", lambda y_comp: metrics.scel(y_comp, Q)),
            ("ure", lambda y_comp: metrics.ure_zero_one(y_comp, [0, 1, 2], U)),
        )
        for what, y_comp, says in [
            ("too-large", [0, 1, 3], ["y_comp must hold class indices 0..2", "got 3"]),
            ("negative", [0, -1, 2], ["y_comp must hold class indices 0..2", "got -1"]),
            (
                "floats",
                [0.0, 1.0, 2.0],
                ["y_comp must hold class indices", "integers", "got float64", "astype(int)"],
            ),
            (
                "names",
                ["cat", "cow", "dog"],
                ["y_comp must hold class indices 0..2 as integers", "labels.encode"],
            ),
            ("none", None, ["y_comp must hold class indices 0..2", "got None"]),
            ("empty", [], ["y_comp must hold", "got no"]),
            ("too-short", [0, 1], ["y_comp and", "same number of rows", "got 2 and 3"]),
            (
                "2d-of-integers",
                [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
                ["y_comp must hold class indices 0..2", "shape (3, 3)", "astype(bool)"],
            ),
            (
                "boolean-of-wrong-width",
                MASK[:3, :2],
                ["y_comp must have", "column", "each class", "boolean array of shape (3, 2)"],
            ),
            (
                "excludes-nothing",
                NO_LABEL[:3],
                ["y_comp must rule out at least one class", "got no True"],
            ),
            (
                "row-excludes-every-class",
                EXCLUDES_ALL[6:9],
                ["y_comp must leave at least one class possible", "row 1", "all 3"],
            ),
        ]
    ),
    # --- metrics: the other arguments
    pytest.param(
        lambda: metrics.scel([0, 1, 2], [0.2, 0.3, 0.5]),
        ValueError,
        ["q must have shape (N, K)", "got (3,)"],
        id="scel-q-1d",
    ),
    pytest.param(
        lambda: metrics.scel([0, 0], [[1.0], [1.0]]),
        ValueError,
        ["q must have shape (N, K)", "got (2, 1)"],
        id="scel-q-of-one-class",
    ),
    pytest.param(
        lambda: metrics.scel([0, 1, 2], 2 * Q),
        ValueError,
        ["q must have rows that sum to 1", "sums to 2", "Divide each row"],
        id="scel-q-not-summing-to-one",
    ),
    *(
        pytest.param(
            lambda zero_as=zero_as: metrics.scel([0, 1, 2], Q, zero_as=zero_as),
            ValueError,
            ["zero_as must be a probability, from 0 to 1", f"got {zero_as!r}"],
            id=f"zero-as-{what}",
        )
        for what, zero_as in [
            ("negative", -1),
            ("above-one", 2),
            ("nan", float("nan")),
            ("a-string", "eps"),
            ("none", None),
        ]
    ),
    *(
        pytest.param(
            lambda weights=weights: metrics.scel([0, 1, 2], Q, sample_weight=weights),
            ValueError,
            says,
            id=f"scel-weights-{what}",
        )
        for what, weights, says in [
            ("too-few", [1, 2], ["sample_weight must have one", "3 rows", "got shape (2,)"]),
            ("a-number", 1.0, ["sample_weight must have one", "3 rows", "got shape ()"]),
            ("negative", [1, 2, -1], ["sample_weight must be", "not neg", "got -1 in row 2"]),
            ("nan", [1, np.nan, 1], ["sample_weight must be finite", "got nan in row 1"]),
            ("words", ["a", "b", "c"], ["sample_weight must be numbers", "got ['a', 'b', 'c']"]),
        ]
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], [0, 3], U),
        ValueError,
        ["y_pred must hold class indices 0..2", "got 3"],
        id="ure-y-pred-too-large",
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], ["cat", "dog"], U),
        ValueError,
        ["y_pred must hold class indices 0..2 as integers", "labels.encode"],
        id="ure-y-pred-names",
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], MASK[:2], U),
        ValueError,
        ["y_pred must hold class indices 0..2", "bool of shape (2, 3)"],
        id="ure-y-pred-boolean",
    ),
    pytest.param(
        lambda: metrics.ure_zero_one([0, 1], [0, 1], U[:2]),
        ValueError,
        ["T must be square", "got shape (2, 3)"],
        id="ure-T-not-square",
    ),
    pytest.param(
        lambda: metrics.complementary_estimation_loss([0, 1, 2], Q, U, loss="k1"),
        ValueError,
        ["loss", "must be", "'kl'", "'l1'", "got 'k1'"],
        id="estimation-loss-unknown",
    ),
    pytest.param(
        lambda: metrics.complementary_estimation_loss(MASK[:3], Q, U),
        ValueError,
        ["y_true must hold class indices 0..2", "bool of shape (3, 3)"],
        id="estimation-loss-y-true-boolean",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 3], Q, U),
        ValueError,
        ["y_true must hold class indices 0..2", "got 3"],
        id="bound-y-true-too-large",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 2], Q, U, T_true=transition.uniform(4)),
        ValueError,
        ["T_true must have one row and one column", "3 classes", "got shape (4, 4)"],
        id="bound-T-true-of-another-K",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 2], Q, U, distance=1),
        ValueError,
        ["distance must be 'l1', 'l2'", "got 1"],
        id="bound-distance-a-number",
    ),
    # --- scorers
    *(
        pytest.param(
            lambda scorer=scorer, model=model: scorer(model.fit(X, Y), X, Y),
            TypeError,
            ["estimator must be", "got LogisticRegression", "Wrap it"],
            id=f"{scorer.__name__}-of-a-foreign-{what}",
        )
        for scorer in (metrics.scel_scorer, metrics.ure_scorer)
        for what, model in [
            ("estimator", LogisticRegression()),
            ("pipeline", make_pipeline(StandardScaler(), LogisticRegression())),
        ]
    ),
    *(
        pytest.param(
            lambda scorer=scorer: scorer(fitted("cpe"), X, NAMES[:5]),
            ValueError,
            ["X and y must have the same number of rows", "got 60 and 5"],
            id=f"{scorer.__name__}-two-lengths",
        )
        for scorer in (metrics.scel_scorer, metrics.ure_scorer)
    ),
    pytest.param(
        lambda: metrics.scel_scorer(fitted("cpe"), X, Y),
        ValueError,
        ["y must hold only classes ['cat', 'cow', 'dog']", "got 0 in row 0"],
        id="scorer-y-outside-classes",
    ),
    # --- save and load
    pytest.param(
        lambda: ybar.save(cpe(), "model.ybar"),
        NotFittedError,
        ["model must be fitted", "CPEClassifier is not", "Call fit"],
        id="save-unfitted",
    ),
    pytest.param(
        lambda: ybar.save({"weights": [1, 2]}, "model.ybar"),
        TypeError,
        ["model must be a fitted classifier", "got dict"],
        id="save-not-an-estimator",
    ),
    pytest.param(
        lambda: ybar.save(fitted("cpe"), "models/today/model.ybar"),
        FileNotFoundError,
        ["path must lie in a folder that exists", "models/today does not", "Make it first"],
        id="save-into-missing-folder",
    ),
    pytest.param(
        lambda: ybar.save(fitted("cpe"), "."),
        IsADirectoryError,
        ["path must be", "file", "is a folder", "file name"],
        id="save-onto-a-folder",
    ),
    pytest.param(
        lambda: ybar.save(fitted("cpe"), None),
        TypeError,
        ["path must be", "got None"],
        id="save-path-none",
    ),
    pytest.param(
        lambda: ybar.save(cpe(decoder=lambda q, t: abs(q - t).sum(-1)).fit(X, Y), "model.ybar"),
        ValueError,
        ["model must be", "imported again", "<lambda>", "top level of a module"],
        id="save-what-could-never-be-loaded",
    ),
    pytest.param(
        lambda: ybar.load("model.ybar"),
        FileNotFoundError,
        ["path must be a model file that ybar.save wrote", "model.ybar does not exist"],
        id="load-missing",
    ),
    pytest.param(
        lambda: ybar.load("."),
        FileNotFoundError,
        ["path must be a model file that ybar.save wrote", "is a folder"],
        id="load-a-folder",
    ),
    pytest.param(
        lambda: ybar.load(None),
        TypeError,
        ["path must be", "got None"],
        id="load-path-none",
    ),
    pytest.param(
        lambda: load_changed(lambda data: b"a,b\n1,2\n"),
        ValueError,
        ["model.ybar is not a model file of ybar", "path of a file that ybar.save wrote"],
        id="load-foreign-file",
    ),
    pytest.param(
        lambda: load_changed(lambda data: b""),
        ValueError,
        ["model.ybar is not a model file of ybar", "path of a file that ybar.save wrote"],
        id="load-empty-file",
    ),
    pytest.param(
        lambda: load_changed(lambda data: data[:-100]),
        ValueError,
        ["model.ybar is damaged", "length or sha256", "Copy it again or save the model anew"],
        id="load-truncated",
    ),
    pytest.param(
        lambda: load_changed(lambda data: data[:-100] + bytes(100)),
        ValueError,
        ["model.ybar is damaged", "length or sha256", "Copy it again or save the model anew"],
        id="load-mutated",
    ),
    pytest.param(
        lambda: load_changed(lambda data: data.replace(b"ybar-model 1 ", b"ybar-model 99 ", 1)),
        ValueError,
        ["model.ybar has format 99", "reads up to 1", "pip install -U ybar"],
        id="load-newer-format",
    ),
    pytest.param(
        load_foreign_type,
        ValueError,
        ["model.ybar holds types that are not trusted", "TooNarrow", "trusted=["],
        id="load-untrusted-type",
    ),
    pytest.param(
        lambda: ybar.load(saved(), trusted=None),
        TypeError,
        ["trusted must be a list of type names", "got None"],
        id="load-trusted-none",
    ),
    pytest.param(
        lambda: ybar.load(saved(), trusted="lightgbm.sklearn.LGBMClassifier"),
        TypeError,
        ["trusted must be a list", "got 'lightgbm.sklearn.LGBMClassifier'", "trusted=["],
        id="load-trusted-a-string",
    ),
]

# The same, but scikit-learn's own text, passed on: it may have several lines.
PASSED_ON = [
    pytest.param(
        lambda: cpe().fit(X_NAN, Y),
        ValueError,
        ["estimator LogisticRegression could not be fitted", "X contains NaN", "imputer"],
        id="cpe-X-nan",
    ),
    pytest.param(
        lambda: knn().fit(X_NAN, Y),
        ValueError,
        ["X contains NaN", "CPEKNeighborsClassifierCV does not accept", "imputer"],
        id="knn-X-nan",
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X_INF, Y),
            ValueError,
            ["X contains inf"],
            id=f"{name}-X-inf",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:, 0], Y),
            ValueError,
            ["Expected 2D array, got 1D array", "Reshape your data"],
            id=f"{name}-X-1d",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:, :0], Y),
            ValueError,
            ["0 feature(s)", "shape=(60, 0)", "minimum of 1"],
            id=f"{name}-X-without-columns",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda make=make: make().fit(X[:1], Y[:1]),
            ValueError,
            ["1 sample(s)", "minimum of 2"],
            id=f"{name}-X-one-row",
        )
        for name, make in (("knn", knn), ("boosting", boosting))
    ),
    *(
        pytest.param(
            lambda make=make, method=method: getattr(make(), method)(X),
            NotFittedError,
            [f"This {type(make()).__name__} instance is not fitted yet", "Call 'fit'"],
            id=f"{name}-unfitted-{method}",
        )
        for name, make in CLASSIFIERS.items()
        for method in ("predict", "predict_proba", "predict_complementary_proba")
    ),
    *(
        pytest.param(
            lambda make=make: make().score(X, Y),
            NotFittedError,
            [f"This {type(make()).__name__} instance is not fitted yet", "Call 'fit'"],
            id=f"{name}-unfitted-score",
        )
        for name, make in CLASSIFIERS.items()
    ),
    *(
        pytest.param(
            lambda scorer=scorer: scorer(cpe(), X, Y),
            NotFittedError,
            ["This CPEClassifier instance is not fitted yet", "Call 'fit'"],
            id=f"{scorer.__name__}-of-unfitted",
        )
        for scorer in (metrics.scel_scorer, metrics.ure_scorer)
    ),
    *(
        pytest.param(
            lambda name=name: fitted(name).predict(X[:, :2]),
            ValueError,
            ["X has 2 features", "expecting 4 features"],
            id=f"{name}-predict-feature-count",
        )
        for name in CLASSIFIERS
    ),
    *(
        pytest.param(
            lambda name=name: fitted(name).predict(X[:0]),
            ValueError,
            ["0 sample(s)", "shape=(0, 4)", "minimum of 1"],
            id=f"{name}-predict-no-row",
        )
        for name in CLASSIFIERS
    ),
    pytest.param(
        lambda: (
            knn()
            .fit(pd.DataFrame(X, columns=list("abcd")), Y)
            .predict(pd.DataFrame(X, columns=list("abce")))
        ),
        ValueError,
        ["feature names should match", "- e", "- d"],
        id="knn-predict-feature-names",
    ),
]

CASES += [
    pytest.param(
        lambda: transition.from_counts(pd.crosstab(pd.Series(list("aabbcc")), list("bcdcdb"))),
        ValueError,
        ["counts must have the same classes", "['a', 'b', 'c'] and ['b', 'c', 'd']", "reindex"],
        id="counts-of-other-names",
    ),
    pytest.param(
        lambda: transition.check(pd.DataFrame(U, index=list("abc"), columns=list("cba"))),
        ValueError,
        ["T must have the same classes", "['a', 'b', 'c'] and ['c', 'b', 'a']"],
        id="T-of-other-names",
    ),
    pytest.param(
        lambda: metrics.scel([[0], [1, 2]], [[0.5, 0.5]] * 2),
        ValueError,
        ["y_comp must hold class indices 0..1", "differ in length"],
        id="scel-ragged",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1, 2], [[1], [0, 2], [1]]),
        ValueError,
        ["y_comp must hold one complementary label a row", "differ in length"],
        id="estimate-ragged",
    ),
    pytest.param(
        lambda: labels.encode(pd.cut([1, 2, 3], 2)),
        ValueError,
        ["y must hold a number or a string", "Interval"],
        id="labels-intervals",
    ),
    pytest.param(
        lambda: transition.credible_intervals([0, 1], [1, 0], smoothing=1e-20),
        ValueError,
        ["smoothing must be at least 1e-06", "got 1e-20", "for 0.5"],
        id="intervals-tiny-smoothing",
    ),
    pytest.param(
        lambda: labels.Evidence.candidates([[0, 1], [2]]),
        ValueError,
        ["sets must be a boolean array", "differ in length", "True where a class is in the row's"],
        id="evidence-candidates-ragged",
    ),
    pytest.param(
        lambda: labels.Evidence.candidates([[True, False], [False, False]]),
        ValueError,
        ["sets must leave some class possible", "row 1", "if nothing is known"],
        id="evidence-candidates-none",
    ),
    pytest.param(
        lambda: labels.Evidence.ordinary([0, np.nan], classes=3),
        ValueError,
        ["y must hold a label in each row", "row 1", "Drop such rows"],
        id="evidence-ordinary-nan",
    ),
    pytest.param(
        lambda: transition.estimate([0, 1], labels.Evidence.complementary([1, 0], U)),
        ValueError,
        ["y_comp must hold one complementary label", "got Evidence", "evidence.labels()"],
        id="estimate-evidence",
    ),
    pytest.param(
        lambda: labels.Evidence.complementary([0], {"ann": 2 * U, "bob": U}, annotator=["bob"]),
        ValueError,
        ["T['ann'] must have rows that sum to 1", "sums to 2"],
        id="evidence-first-annotator",
    ),
    pytest.param(
        lambda: labels.Evidence.complementary([[1, 2], [0, 1]], U),
        ValueError,
        ["y_comp must hold", "of shape (2, 2)", "each column holds a label", "&"],
        id="evidence-label-columns",
    ),
    pytest.param(
        lambda: metrics.one_standard_error([2, 1], [np.inf, 0.1]),
        ValueError,
        ["std_error must be finite", "got inf"],
        id="one-standard-error-infinite",
    ),
    pytest.param(
        lambda: metrics.error_bound([0, 1, 2], U, U, distance="mahalanobis"),
        ValueError,
        ["distance must be", "needs no variances", "'mahalanobis'"],
        id="bound-distance-with-variances",
    ),
]

TABLE = [
    *(pytest.param(*case.values, False, id=case.id) for case in CASES),
    *(pytest.param(*case.values, True, id=case.id) for case in PASSED_ON),
]


@pytest.mark.parametrize(("call", "error", "says", "passed_on"), TABLE)
def test_bad_input_gets_one_clear_line(call, error, says, passed_on, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    text = str(caught.value)
    assert caught.type is error, f"{caught.type.__name__}: {text}"
    assert not [part for part in says if part not in text], text
    if not passed_on:
        assert "\n" not in text, text
        assert len(text) < 400, text
        # Values stand there as the user wrote them: 'cat', not np.str_('cat').
        assert not re.search(r"\bnp\.\w+\(", text), text


def test_the_table_is_large_enough_and_its_names_are_unique():
    names = [case.id for case in TABLE]
    assert len(names) >= 60
    assert len(set(names)) == len(names)
    # Which argument, what came, what is allowed or to do: a case looks for more than one of them.
    few = [case.id for case in TABLE if len(case.values[2]) < 2]
    assert set(few) <= {f"{name}-X-inf" for name in CLASSIFIERS}


# --- Nothing passed in is changed: by form of the input, by use, and whether the call fails.

FORMS = {
    "array": np.array,
    "read-only": _frozen,
    "list": lambda values: np.asarray(values).tolist(),
    "pandas": lambda values: (
        pd.DataFrame(values) if np.ndim(values) == 2 else pd.Series(np.array(values))
    ),
}
COUNTS = np.array([[0, 8, 2], [5, 0, 5], [3, 7, 0]])
K_NAMES = np.array(["dog", "cat", "cow"])


def _fit_and_use(model, X, y, sample_weight=None):
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    model.fit(X, y, **weights)
    model.predict(X)
    model.predict_proba(X)
    model.predict_complementary_proba(X)
    model.score(X, y, sample_weight)


def _cpe(X, y, T, classes, sample_weight):
    _fit_and_use(cpe(transition=T, classes=classes), X, y, sample_weight)


def _knn(X, y, T, classes, n_neighbors):
    model = knn(transition=T, classes=classes, n_neighbors=n_neighbors, n_components=2)
    _fit_and_use(model, X, y)


def _boosting(X, y, T, classes, sample_weight, learning_rates, n_estimators, lightgbm_params):
    model = boosting(
        transition=T,
        classes=classes,
        learning_rates=learning_rates,
        n_estimators=n_estimators,
        lightgbm_params=lightgbm_params,
    )
    _fit_and_use(model, X, y, sample_weight)


def _net(X, y, T, classes, sample_weight):
    _fit_and_use(net(transition=T, classes=classes), X, y, sample_weight)


_FIT = {"X": X, "T": BIASED, "classes": K_NAMES}
_CPE = {**_FIT, "sample_weight": 1 + Y}
_KNN = {**_FIT, "n_neighbors": np.array([7, 3, 5])}
_BOOSTING = {
    **_CPE,
    "learning_rates": np.array([0.1, 0.2]),
    "n_estimators": np.array([3, 2]),
    "lightgbm_params": {"num_leaves": 7},
}
_BAD_T = {"T": -BIASED}

# Each: the call, what it is given, and what makes it fail.
USES = {
    "cpe": (_cpe, {**_CPE, "y": NAMES}, _BAD_T),
    "cpe-several": (_cpe, {**_CPE, "y": MASK}, {"y": EXCLUDES_ALL}),
    "cpe-late": (_cpe, {**_CPE, "y": NAMES}, {"X": X_NAN}),
    "knn": (_knn, {**_KNN, "y": NAMES}, _BAD_T),
    "knn-several": (_knn, {**_KNN, "y": MASK}, {"y": EXCLUDES_ALL}),
    "knn-late": (_knn, {**_KNN, "y": NAMES}, {"n_neighbors": np.array([3, 99])}),
    "boosting": (_boosting, {**_BOOSTING, "y": NAMES}, _BAD_T),
    "boosting-several": (_boosting, {**_BOOSTING, "y": MASK}, {"y": EXCLUDES_ALL}),
    "boosting-late": (_boosting, {**_BOOSTING, "y": NAMES}, {"lightgbm_params": {"seed": 1}}),
    "net": (_net, {**_CPE, "y": NAMES}, _BAD_T),
    "net-several": (_net, {**_CPE, "y": MASK}, {"y": EXCLUDES_ALL}),
    "net-pixels": (_net, {**_CPE, "y": NAMES, "X": (X * 9).astype(np.uint8)}, {"X": X_NAN}),
    "draw": (
        lambda y, T: labels.draw(y, T, random_state=0),
        {"y": Y, "T": BIASED},
        {"y": Y + 1},
    ),
    "draw-names": (
        lambda y, T, classes: labels.draw(y, T, 0, classes=classes),
        {"y": NAMES, "T": BIASED, "classes": K_NAMES},
        {"classes": K_NAMES[:2]},
    ),
    "encode": (labels.encode, {"y_comp": NAMES, "classes": K_NAMES}, {"classes": K_NAMES[:2]}),
    "encode-several": (labels.encode, {"y_comp": MASK}, {"y_comp": EXCLUDES_ALL}),
    "pairs": (lambda codes: labels.pairs(codes, 3), {"codes": Y}, {"codes": Y - 1}),
    "check": (transition.check, {"T": BIASED}, _BAD_T),
    "biased": (
        lambda masses: transition.biased(5, masses, random_state=0),
        {"masses": np.array([0.5, 0.5])},
        {"masses": np.array([0.5, 0.6])},
    ),
    "noise": (lambda T: transition.with_uniform_noise(T, 0.5), {"T": BIASED}, _BAD_T),
    "counts": (
        lambda counts: transition.from_counts(counts, 0.5),
        {"counts": COUNTS},
        {"counts": -COUNTS},
    ),
    "estimate": (
        transition.estimate,
        {"y_true": Y, "y_comp": np.roll(Y, 1), "classes": np.array([2, 0, 1])},
        {"classes": np.array([0, 1])},
    ),
    "gamma": (transition.gamma, {"T": BIASED}, _BAD_T),
    "epsilon": (transition.epsilon, {"T_true": U, "T": BIASED}, _BAD_T),
    "describe": (transition.describe, {"T": BIASED}, _BAD_T),
    **{
        f"decode-{method}": (
            lambda q, T, method=method: decode.decode(q, T, method),
            {"q": Q, "T": BIASED},
            {"q": -Q},
        )
        for method in ("l1", "l2", "max", "likelihood")
    },
    "decode-uniform": (decode.decode, {"q": Q, "T": U}, {"q": -Q}),
    "decode-float32": (decode.decode, {"q": Q.astype(np.float32), "T": BIASED}, {"q": -Q}),
    "class-probabilities": (decode.class_probabilities, {"q": Q, "T": BIASED}, {"q": -Q}),
    "class-probabilities-uniform": (decode.class_probabilities, {"q": Q, "T": U}, {"q": 2 * Q}),
    "inverse": (decode.inverse, {"T": BIASED}, _BAD_T),
    "scel": (
        metrics.scel,
        {"y_comp": Y[:3], "q": Q, "sample_weight": np.array([0.5, 1, 2])},
        {"sample_weight": np.array([0.5, 1, -2])},
    ),
    "scel-several": (metrics.scel, {"y_comp": MASK[:3], "q": Q}, {"q": 2 * Q}),
    "ure": (
        metrics.ure_zero_one,
        {"y_comp": Y[:3], "y_pred": Y[1:4], "T": BIASED, "sample_weight": np.array([0.5, 1, 2])},
        {"y_pred": Y[1:4] + 1},
    ),
    "ure-several": (
        metrics.ure_zero_one,
        {"y_comp": MASK[:3], "y_pred": Y[1:4], "T": BIASED},
        _BAD_T,
    ),
    "estimation-loss": (
        metrics.complementary_estimation_loss,
        {"y_true": Y[:3], "q": Q, "T": BIASED},
        {"y_true": Y[:3] + 1},
    ),
    "bound": (
        metrics.error_bound,
        {"y_true": Y[:3], "q": Q, "T": BIASED, "T_true": U},
        {"q": Q[:2]},
    ),
}


def _given(form, values):
    return {
        name: FORMS[form](value) if isinstance(value, np.ndarray) else dict(value)
        for name, value in values.items()
    }


def _assert_same(name, now, before):
    assert type(now) is type(before), name
    if isinstance(now, (pd.DataFrame, pd.Series)):
        (pd.testing.assert_frame_equal if now.ndim == 2 else pd.testing.assert_series_equal)(
            now, before
        )
    else:
        np.testing.assert_equal(now, before, err_msg=name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
def test_calls_that_succeed_change_nothing_passed_in(use, form):
    call, values, _ = USES[use]
    given = _given(form, values)
    before = copy.deepcopy(given)
    call(**given)
    for name in given:
        _assert_same(name, given[name], before[name])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
def test_calls_that_fail_change_nothing_passed_in(use, form):
    call, values, spoilt = USES[use]
    given = _given(form, {**values, **spoilt})
    before = copy.deepcopy(given)
    # Read-only arrays are refused for what they hold, not for being read-only.
    with pytest.raises(ValueError, match=r"^(?!.*read-only)"):
        call(**given)
    for name in given:
        _assert_same(name, given[name], before[name])


def test_the_base_estimator_is_left_unfitted_and_its_parameters_alone():
    base = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    before = repr(base.get_params())
    cpe(base).fit(X, Y)
    with pytest.raises(ValueError, match="y must hold"):
        cpe(base).fit(X, [])
    assert repr(base.get_params()) == before
    assert not hasattr(base[-1], "coef_")
    assert not hasattr(base[0], "mean_")
