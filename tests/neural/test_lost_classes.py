"""Classes that a network never predicts: a faster training, and a warning."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ybar import ComplementaryNetClassifier, datasets, labels, transition


@pytest.fixture(scope="module")
def slow():
    """Rows, their classes and their labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=1500)
    X = np.eye(5)[y] + rng.normal(0, 0.2, (1500, 5))
    return X, y, labels.draw(y, transition.uniform(5), 1)


@pytest.fixture(autouse=True)
def _slow_first_rate(monkeypatch):
    monkeypatch.setattr("ybar.neural.classifier._FIRST_RATE", 1e-5)


def net(**settings):
    return ComplementaryNetClassifier(
        "cpe-f", (20,), max_epochs=45, batch_size=64, dropout=0.0, input_dropout=0.0,
        random_state=0, **settings,
    )  # fmt: skip


def test_a_lost_class_is_found_by_a_faster_training(slow):
    X, y, y_comp = slow
    clf = net().fit(X, y_comp)
    assert clf.learning_rate_ == 3e-3
    assert np.bincount(clf.predict(X), minlength=5).min() > 30
    assert np.mean(clf.predict(X) == y) > 0.9


def test_the_training_that_is_kept_is_the_one_of_that_rate_alone(slow):
    X, _, y_comp = slow
    clf = net().fit(X, y_comp)
    alone = net(learning_rate=clf.learning_rate_).fit(X, y_comp)
    np.testing.assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))
    generator = np.random.default_rng(0)
    from_generator = net().set_params(random_state=generator).fit(X, y_comp)
    np.testing.assert_array_equal(clf.predict_proba(X), from_generator.predict_proba(X))


def test_a_learning_rate_of_the_user_is_kept_and_the_lost_class_named(slow):
    X, _, y_comp = slow
    with pytest.warns(ConvergenceWarning, match=r"class \d .*learning_rate"):
        clf = net(learning_rate=1e-5).fit(X, y_comp)
    lost = set(range(5)) - set(clf.predict(X))
    assert lost
    assert clf.learning_rate_ == 1e-5


@pytest.mark.filterwarnings("ignore:class . is hardly ever predicted")
def test_a_training_that_a_callback_ended_is_not_repeated(slow):
    X, _, y_comp = slow
    epochs = []
    net(callbacks=[lambda state: epochs.append(state["epoch"]) or len(epochs) == 2]).fit(X, y_comp)
    assert epochs == [1, 2]


@pytest.mark.slow
def test_a_training_with_all_classes_is_kept_if_its_scel_is_higher_by_chance_only():
    d = datasets.load("digits")
    y_comp = labels.draw(d.y_train, transition.uniform(10), random_state=4)
    clf = ComplementaryNetClassifier(random_state=4).fit(d.X_train, y_comp)
    assert clf.learning_rate_ == 1e-2  # 3e-3 has the lowest SCEL, and never predicts a 9
    assert np.bincount(clf.predict(d.X_test), minlength=10).min() > 10
