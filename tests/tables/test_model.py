"""The predictions of a table's model, computed together, are those of its three methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from ybar import (
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKMeansClassifierCV,
    CPEKNeighborsClassifierCV,
    labels,
    transition,
)
from ybar.tables.columns import Columns
from ybar.tables.model import TableClassifier

MODELS = {
    "l1": lambda T: CPEClassifier(LogisticRegression(), transition=T),
    "likelihood": lambda T: CPEClassifier(LogisticRegression(), transition=T, decoder="likelihood"),
    "knn": lambda T: CPEKNeighborsClassifierCV(transition=T, random_state=0),
    "kmeans": lambda T: CPEKMeansClassifierCV(transition=T, random_state=0),
    "boosting": lambda T: CPEBoostingClassifierCV([0.1], [10], transition=T, random_state=0),
}


@pytest.mark.parametrize("T", [transition.strong(4, 0), transition.uniform(4)], ids=["strong", "u"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_single_methods(name, T):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    frame = pd.DataFrame(rng.normal(size=(300, 2)) + 3 * np.c_[y % 2, y // 2], columns=["a", "b"])
    y_comp = labels.draw(y, T, 1)
    model = TableClassifier(MODELS[name](T)).fit(frame, y_comp, Columns(["a", "b"], [], [], {}))
    p, predicted, q = model.predictions(frame)
    np.testing.assert_array_equal(p, model.predict_proba(frame))
    np.testing.assert_array_equal(model.classes_[predicted], model.predict(frame))
    assert (q is not None) == model.estimates_q
    if q is not None:
        np.testing.assert_array_equal(q, model.predict_complementary_proba(frame))
