"""Evidence in the classifiers: labels alone are those labels, the rest is refused or learned."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bad_input import assert_one_clear_line
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
    nothing = Evidence.nothing(300, classes=10)
    half = Evidence.concatenate([evidence[:150], nothing[:150]])
    fitted = net(max_epochs=1).fit(X, evidence)
    both = {1: T, 2: transition.uniform(10)}
    per_annotator = Evidence.complementary([0] * 300, both, annotator=[1, 2] * 150)
    letters = list("abcdefghij")
    cases = [
        (lambda: CPEClassifier().fit(X, evidence), "y", "CPEClassifier", "evidence"),
        (lambda: CPEKNeighborsClassifierCV().fit(X, evidence), "y", "evidence"),
        (lambda: net(method="scl-nl").fit(X, evidence), "method", "evidence"),
        (lambda: net(method="cpe-n").fit(X, per_annotator), "y", "several T"),
        (lambda: net(criterion="ure").fit(X, evidence), "criterion", "'ure'"),
        (lambda: net(classes=letters).fit(X, evidence), "classes", str(letters)),
        (lambda: net(transition=both[2]).fit(X, evidence), "transition", "another one"),
        (lambda: net().fit(X, nothing), "y", "evidence of nothing"),
        (lambda: net().fit(X, evidence[:10]), "y", "300", "10"),
        (lambda: net(transition="weak").fit(X, evidence), "transition", "'weak'"),
        (lambda: net().fit(X, half, sample_weight=~half.informative), "sample_weight", "0"),
        (lambda: metrics.ure_scorer(fitted, X, evidence), "y_comp", "URE", "evidence"),
        (
            lambda: metrics.compare_error_rates(evidence, [0] * 300, [1] * 300, T),
            "y_comp",
            "URE",
            "evidence",
        ),
        (lambda: fitted.score(X, Evidence.nothing(300, classes=3)), "y", "[0, 1, 2]"),
    ]
    for call, *shows in cases:
        assert_one_clear_line(call, ValueError, *shows)
