"""`last_step` finds the classifier of ybar in pipelines and searches, and X as it sees X."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ybar import CPEClassifier
from ybar.utils.estimators import last_step


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(3, 2, size=(60, 2)), np.arange(60) % 3


def search(estimator, name):
    return GridSearchCV(estimator, {name: ["l1", "max"]}, cv=2)


FORMS = {
    "alone": lambda: CPEClassifier(),
    "pipeline": lambda: make_pipeline(StandardScaler(), CPEClassifier()),
    "search": lambda: search(CPEClassifier(), "decoder"),
    "search of pipelines": lambda: search(
        make_pipeline(StandardScaler(), CPEClassifier()), "cpeclassifier__decoder"
    ),
    "pipeline of a search": lambda: make_pipeline(
        StandardScaler(), StandardScaler(), search(CPEClassifier(), "decoder")
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_inner_classifier_predicts_as_the_whole(form, data):
    X, y = data
    estimator = FORMS[form]().fit(X, y)
    inner, X_inner = last_step(estimator, X)
    assert isinstance(inner, CPEClassifier)
    np.testing.assert_array_equal(inner.predict(X_inner), estimator.predict(X))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_fitted_is_said_to_be(form):
    with pytest.raises(NotFittedError):
        last_step(FORMS[form]())


def test_X_is_optional(data):
    estimator = FORMS["pipeline"]().fit(*data)
    assert last_step(estimator)[1] is None


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: make_pipeline(model)])
def test_other_classifiers_are_shown(wrap):
    with pytest.raises(TypeError, match=r"^model .*LogisticRegression"):
        last_step(wrap(LogisticRegression()), name="model")
