"""What every error for bad input must be, and small data and classifiers to provoke it with."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKMeansClassifierCV,
    CPEKNeighborsClassifierCV,
    transition,
)

LONGEST = 400  # characters


def assert_one_clear_line(call, error, *shows):
    """Assert that a call raises this very kind of error, in one line.

    The line must show each of these words: first the name of the argument, then fragments of the
    value that came. One of the fragments stands after "got", so a digit of the rule is not enough;
    in a line without "got" it has three characters or more.
    """
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type and text come next
        call()
    text = str(caught.value)
    assert caught.type is error, f"{caught.type.__name__}: {text}"
    assert not missing(shows, text), text
    _, got, came = text.partition("got ")
    fragments = [part for part in shows[1:] if got or len(part) > 2]
    assert len(missing(fragments, came if got else text)) < len(fragments), text
    assert "\n" not in text, text
    assert len(text) < LONGEST, text
    # Values are shown as the user wrote them: 'cat', not np.str_('cat').
    assert not re.search(r"\bnp\.\w+\(", text), text


def missing(shows, text):
    """Return the words that a text does not show; a number or a name must stand alone."""
    return [part for part in shows if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text)]


def frozen(values, dtype=None):
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def changed(array, index, value):
    copy = np.array(array)
    copy[index] = value
    return frozen(copy)


# Sixty rows of four features and three classes; read-only, so that no case can spoil another.
X = frozen(np.random.default_rng(0).normal(size=(60, 4)))
Y = frozen(np.arange(60) % 3)
NAMES = frozen(np.array(["cat", "cow", "dog"])[Y])
MASK = frozen(np.eye(3, dtype=bool)[Y])
X_NAN = changed(X, (3, 1), np.nan)
X_INF = changed(X, (3, 1), np.inf)
EXCLUDES_ALL = changed(MASK, 7, True)
NO_LABEL = np.zeros((30, 3), dtype=bool)
U = frozen(transition.uniform(3))
BIASED = frozen(transition.weak(3, random_state=0))
TWO = [[0, 1], [1, 0]]
Q = frozen([[0.1, 0.4, 0.5], [0.5, 0.1, 0.4], [0.4, 0.5, 0.1]])
ONES = frozen(np.ones(60))


def cpe(*args, **params):
    return CPEClassifier(*args, **params)


def knn(**params):
    return CPEKNeighborsClassifierCV(**{"random_state": 0, "n_neighbors": [3, 5], **params})


def kmeans(**params):
    return CPEKMeansClassifierCV(**{"random_state": 0, "cluster_counts": [3, 5], **params})


def boosting(**params):
    quick = {"random_state": 0, "learning_rates": [0.1], "n_estimators": [2]}
    return CPEBoostingClassifierCV(**{**quick, **params})


def net(*args, **params):
    quick = {"random_state": 0, "max_epochs": 2, "hidden_layer_sizes": (5,)}
    return ComplementaryNetClassifier(*args, **{**quick, **params})


def net_cv(**params):
    quick = {"random_state": 0, "max_epochs": 2, "hidden_layer_sizes": ()}
    return ComplementaryNetClassifierCV(**{**quick, "learning_rates": [0.1, 0.01], **params})


CLASSIFIERS = {
    "cpe": cpe,
    "knn": knn,
    "kmeans": kmeans,
    "boosting": boosting,
    "net": net,
    "net-cv": net_cv,
}


@functools.cache
def fitted(name):
    return CLASSIFIERS[name]().fit(X, NAMES)


class TooNarrow(LogisticRegression):
    """A base estimator that forgets a class."""

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)
