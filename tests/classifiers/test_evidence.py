"""Evidence in the classifiers: labels alone are those labels, the rest is refused or learned."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from evidence_helpers import mixed, net
from ybar import (
    CPEClassifier,
    CPEKNeighborsClassifierCV,
    labels,
    metrics,
    transition,
)
from ybar.labels import Evidence

K = 4


@pytest.fixture
def T():
    return transition.with_uniform_noise(transition.strong(K, random_state=0), 0.1)


def test_evidence_of_labels_alone_is_those_labels_to_the_bit(digits):
    T = transition.strong(10, random_state=0)
    y_comp = labels.draw(digits.y_train, T, random_state=0)
    plain = net(transition=T, max_epochs=3).fit(digits.X_train, y_comp)
    wrapped = net(max_epochs=3).fit(digits.X_train, Evidence.complementary(y_comp, T))
    for one, other in zip(plain.coefs_, wrapped.coefs_, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(plain.transition_, wrapped.transition_)
    for make in (
        lambda T: CPEClassifier(LogisticRegression(max_iter=50), transition=T),
        lambda T: CPEKNeighborsClassifierCV([10, 20], transition=T, random_state=0),
    ):
        plain = make(T).fit(digits.X_train / 16, y_comp)
        wrapped = make("uniform").fit(digits.X_train / 16, Evidence.complementary(y_comp, T))
        one, other = (clf.predict_proba(digits.X_test / 16) for clf in (plain, wrapped))
        np.testing.assert_array_equal(one, other)


def test_what_cannot_be_learned_from_is_said(digits):
    X, T = digits.X_train[:300], transition.strong(10, random_state=1)
    evidence = mixed(digits, T, 100, 0)[:300]
    both = {1: T, 2: transition.uniform(10)}
    per_annotator = Evidence.complementary([0] * 300, both, annotator=[1, 2] * 150)
    cases = [
        (CPEClassifier(), evidence, "one T and nothing else for CPEClassifier"),
        (CPEKNeighborsClassifierCV(), evidence, "nothing else for CPEKNeighborsClassifierCV"),
        (net(method="scl-nl"), evidence, "method must be 'cpe-f'"),
        (net(method="cpe-n"), per_annotator, "learn it; got evidence without any"),
        (net(criterion="ure"), evidence, "criterion must be 'scel'"),
        (net(classes=list("abcdefghij")), evidence, "classes must be those of the evidence"),
        (net(transition=transition.uniform(10)), evidence, "transition must be the T of"),
        (net(), Evidence.nothing(300, classes=10), "evidence of nothing"),
        (net(), evidence[:10], "same number of rows"),
        (net(transition="weak"), evidence, "transition must be"),
    ]
    for clf, y, message in cases:
        with pytest.raises(ValueError, match=message):
            clf.fit(X, y)
    half = Evidence.concatenate([evidence[:150], Evidence.nothing(150, classes=10)])
    with pytest.raises(ValueError, match="zero for every row that has a label"):
        net().fit(X, half, sample_weight=~half.informative)
    fitted = net(max_epochs=1).fit(X, evidence)
    for judge in (
        lambda: metrics.ure_scorer(fitted, X, evidence),
        lambda: metrics.compare_error_rates(evidence, [0] * 300, [1] * 300, T),
    ):
        with pytest.raises(ValueError, match="one T and nothing else for URE"):
            judge()
    with pytest.raises(ValueError, match="classes of the classifier"):
        fitted.score(X, Evidence.nothing(300, classes=3))
