"""Evidence in the metrics and scorers."""

import numpy as np
import pytest

from evidence_helpers import K, judged, net
from ybar import (
    CPEClassifier,
    labels,
    metrics,
    transition,
)
from ybar.labels import Evidence


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


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
