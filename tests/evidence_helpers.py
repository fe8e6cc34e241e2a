"""Evidence of several kinds, and networks that learn from it quickly."""

from __future__ import annotations

import numpy as np

from ybar import ComplementaryNetClassifier, labels, transition
from ybar.labels import Evidence

K = 4


def net(**params):
    defaults = {"hidden_layer_sizes": (), "max_epochs": 30, "random_state": 0, "dropout": 0}
    return ComplementaryNetClassifier(**{**defaults, "learning_rate": 1e-2, **params})


def mixed(digits, T, n_true, seed):
    """Return complementary labels, and for some rows the true one instead."""
    y_comp = labels.draw(digits.y_train, T, random_state=seed)
    known = np.random.default_rng(seed).choice(len(y_comp), n_true, replace=False)
    is_known = np.isin(np.arange(len(y_comp)), known)
    order = np.argsort(is_known, kind="stable")
    evidence = Evidence.concatenate(
        [
            Evidence.complementary(y_comp[~is_known], T),
            Evidence.ordinary(digits.y_train[is_known], classes=10),
        ]
    )
    return evidence[np.argsort(order)]


def judged(noise):
    """Return rows, their mixed evidence under a T without the noise, and labels alone."""
    rng = np.random.default_rng(0)
    T = transition.strong(K, random_state=0)
    y = rng.integers(K, size=2000)
    X = (np.eye(K)[y] + rng.normal(0, 0.3, (2000, K))).astype(np.float32)
    y_comp = labels.draw(y, transition.with_uniform_noise(T, noise), rng)
    parts = [Evidence.complementary(y_comp[:1900], T), Evidence.ordinary(y[1900:], classes=K)]
    return X, Evidence.concatenate(parts), Evidence.complementary(y_comp, T), y_comp, T
