"""``ybar evaluate``: scores on new rows."""

import json

import numpy as np
import pandas as pd
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
    fit = ["fit", "biased.csv", "--label", "not", "--method", "logistic"]
    assert run(*fit).exit_code == 0
    shared = ["new.csv", "--label", "not"]
    found = json.loads(run("evaluate", "model.ybar", *shared, "--json").stdout)
    assert found["transition"]["refuted"]
    assert found["expected_accuracy"] is found["expected_accuracy_std_error"] is None
    assert any("does not know T" in reason for reason in found["transition"]["reasons"])
    text = run("evaluate", "model.ybar", *shared).stdout
    assert "Expected accuracy" not in text
    assert found["transition"]["reasons"][0] in text
    assert "estimate:COLUMN" in text


def scores_of(model, data, *arguments):
    done = run("evaluate", model, data, "--label", "not", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_labels_of_rows_that_the_model_was_fitted_to_are_not_scored(fitted, folder):
    place, _ = fitted
    arguments = [place / "model.ybar", place / "answers.csv"]
    found = scores_of(*arguments)
    assert found["rows"] == found["rows_of_the_training_data"] == 600
    assert found["complementary_labels"] == 0
    assert found["scel"] is found["expected_accuracy"] is None
    text = run("evaluate", *arguments, "--label", "not").stdout
    assert "600 of the 600 rows" in text
    assert "%" not in text
    new = pd.read_csv(place / "test.csv")
    pd.concat([new, pd.read_csv(place / "answers.csv")]).to_csv("both.csv", index=False)
    both, alone = (scores_of(arguments[0], data) for data in ("both.csv", place / "test.csv"))
    assert (both["rows_of_the_training_data"], alone["rows_of_the_training_data"]) == (600, 0)
    assert both["complementary_labels"] == 200
    assert both["scel"] == alone["scel"]


def test_rows_are_recognised_in_any_order_and_with_any_types(fitted):
    model = ybar.load(fitted[0] / "model.ybar")
    frame = table().sample(frac=1, random_state=0)
    assert model.recognised(frame[frame.columns[::-1]]).all()
    assert model.recognised(frame.astype({"length": object, "noise": "float64"})).all()
    assert not model.recognised(frame.assign(noise=frame["noise"] + 1e-9)).any()
    assert model.row_hashes_.nbytes <= 4 * 600


def test_rows_of_a_table_of_like_rows_are_not_taken_for_training_rows(folder):
    frame = table()[["colour", "not"]]
    frame.to_csv("few.csv", index=False)
    assert run("fit", "few.csv", "--label", "not", "--method", "logistic").exit_code == 0
    found = scores_of("model.ybar", "few.csv")
    assert found["rows_of_the_training_data"] == 0
