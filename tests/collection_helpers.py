"""Plans with a small pilot, the flowers of iris."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from ybar import CPEClassifier, collection

X, Y = load_iris(return_X_y=True)
PAIRS = np.kron(np.eye(3), [[0, 1], [1, 0]])  # 0 and 1, 2 and 3, 4 and 5, in either order
SAME = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0, 0.5, 0.5]]  # no label tells class 0 from class 2


def bayes():
    """Return a cheap classifier, for tests that are not about accuracy."""
    return CPEClassifier(GaussianNB(), decoder="likelihood")


def simulated(**changes):
    arguments = {"X": X, "y": Y, "budget": 100, "random_state": 0, "classifier": bayes()}
    return collection.plan(3, **arguments | changes)


def words(plan):
    return " ".join(str(plan).split())
