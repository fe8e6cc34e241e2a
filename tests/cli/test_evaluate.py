"""``ybar evaluate``: scores on new rows."""

import json

import numpy as np
import pytest

import ybar
from animals import accuracy, run, table


def test_a_model_is_evaluated_by_true_and_by_complementary_labels(fitted):
    place, _ = fitted
    arguments = ["evaluate", place / "model.ybar", place / "test.csv", "--true", "label"]
    done = run(*arguments, "--label", "not", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    model = ybar.load(place / "model.ybar")
    assert found["accuracy"] == pytest.approx(accuracy(model, table(200, 1)))
    assert np.trace(found["confusion"]) == round(200 * found["accuracy"])
    sure = 4 * found["expected_accuracy_std_error"]
    assert abs(found["expected_accuracy"] - found["accuracy"]) < sure
    assert found["scel"] < found["scel_of_the_best_constant_guess"]
    text = run(*arguments, "--label", "not").stdout
    for word in ("Accuracy", "SCEL", "without true labels", "bird"):
        assert word in text


def test_no_accuracy_is_estimated_if_new_labels_refute_the_matrix(biased):
    shared = ["biased.csv", "--label", "not"]
    assert run("fit", *shared, "--method", "logistic").exit_code == 0
    found = json.loads(run("evaluate", "model.ybar", *shared, "--json").stdout)
    assert found["transition"]["refuted"]
    assert found["expected_accuracy"] is found["expected_accuracy_std_error"] is None
    assert any("does not know T" in reason for reason in found["transition"]["reasons"])
    text = run("evaluate", "model.ybar", *shared).stdout
    assert "Expected accuracy" not in text
    assert found["transition"]["reasons"][0] in text
    assert "estimate:COLUMN" in text
