"""Evidence in the metrics and scorers."""

import numpy as np
import pytest

from ybar import (
    ComplementaryNetClassifier,
    CPEClassifier,
    datasets,
    labels,
    metrics,
    transition,
)
from ybar.labels import Evidence

K = 4


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


@pytest.fixture
def mask():
    mask = np.random.default_rng(0).random((60, K)) < 0.4
    mask[mask.all(axis=1), 0] = False
    return mask


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def net(**params):
    defaults = {"hidden_layer_sizes": (), "max_epochs": 30, "random_state": 0, "dropout": 0}
    return ComplementaryNetClassifier(**{**defaults, "learning_rate": 1e-2, **params})


def test_scel_of_complementary_evidence_is_scel(T):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(K), 200)
    y_comp = rng.integers(K, size=200)
    evidence = Evidence.complementary(y_comp, T)
    plain = metrics.scel(y_comp, p @ T, return_std_error=True)
    np.testing.assert_allclose(metrics.scel(evidence, p, return_std_error=True), plain)
    more = Evidence.concatenate([evidence, Evidence.nothing(5, classes=K)])
    with_more = metrics.scel(more, np.concatenate([p, p[:5]]))
    assert with_more == pytest.approx(plain[0])
    with pytest.raises(ValueError, match="each of the 4 classes"):
        metrics.scel(evidence, rng.dirichlet(np.ones(3), 200))


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


@pytest.mark.parametrize("method", ["cpe-f", "cpe-n", "cpe-t"])
def test_score_judges_evidence_by_the_T_that_was_learned(method):
    X, evidence, as_labels, y_comp, T = judged(0.4)
    clf = net(method=method, transition=T).fit(X, evidence)
    assert clf.score(X, as_labels) == pytest.approx(clf.score(X, y_comp), rel=1e-12)
    learned = clf.learned_transition_
    slow = [-np.log(p @ learned[:, k]) for p, k in zip(clf.predict_proba(X), y_comp, strict=True)]
    true = np.asarray(evidence)[1900:]
    slow[1900:] = -np.log((clf.predict_proba(X)[1900:] * true).sum(axis=1))
    assert clf.score(X, evidence) == pytest.approx(-np.mean(slow), rel=1e-5)


def test_evidence_is_scored_under_the_T_that_it_has():
    X, _, _, y_comp, T = judged(0.0)
    other = transition.strong(K, random_state=7)
    drawn = labels.draw(np.argmax(X, axis=1), other, random_state=0)
    by_other = Evidence.complementary(drawn, other)
    several = Evidence.complementary(
        np.where(np.arange(2000) % 2, y_comp, drawn),
        {"a": T, "b": other},
        annotator=np.where(np.arange(2000) % 2, "a", "b"),
    )
    fitted = [net(transition=T).fit(X, y_comp), net().fit(X, several)]
    fitted += [net(method="cpe-n", transition=T).fit(X, y_comp)]
    fitted += [CPEClassifier(transition=T).fit(X, y_comp)]
    for clf in fitted:
        expected = -metrics.scel(by_other, clf.predict_proba(X))
        assert clf.score(X, by_other) == pytest.approx(expected)
        expected = metrics.ure_zero_one(drawn, clf.predict(X), other)
        assert metrics.ure_scorer(clf, X, by_other) == pytest.approx(-expected)


def test_evidence_of_labels_alone_is_scored_on_the_scale_of_all_evidence():
    X, _, _, _, T = judged(0.0)
    y = np.argmax(X, axis=1)
    mask = np.zeros((2000, K), dtype=bool)
    for seed in range(3):
        mask[np.arange(2000), labels.draw(y, T, random_state=seed)] = True
    several = Evidence.complementary(mask, T)
    clf = net(transition=T).fit(X, several)
    p = clf.predict_proba(X)
    assert clf.score(X, several) == pytest.approx(-metrics.scel(several, p))
    mixed = Evidence.concatenate([several[1:], Evidence.ordinary(y[:1], classes=K)])
    order = np.r_[1:2000, 0]
    assert clf.score(X[order], mixed) == pytest.approx(clf.score(X, several), abs=0.01)
    q_model = CPEClassifier(transition=T).fit(X, mask)  # it has no likelihood of a row
    assert q_model.score(X, several) == pytest.approx(q_model.score(X, mask))


def test_error_rates_of_labels_in_evidence_are_those_of_the_labels():
    X, _, as_labels, y_comp, T = judged(0.0)
    clf = net(transition=T, max_epochs=3).fit(X, y_comp)
    assert metrics.ure_scorer(clf, X, as_labels) == metrics.ure_scorer(clf, X, y_comp)
    guess = np.zeros(len(X), dtype=int)
    one, other = (
        metrics.compare_error_rates(y, clf.predict(X), guess, T) for y in (y_comp, as_labels)
    )
    assert one == other
