"""Boosted trees in a plan."""

from __future__ import annotations

import numpy as np
import pytest

from ybar import CPEBoostingClassifierCV
from ybar.experiments.plan import jobs as plan
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import run

QUICK = {"learning_rates": [0.1], "n_estimators": [10, 30], "random_state": 0}


def test_a_plan_runs_it_as_the_classifier_does(digits):
    text = """
        datasets = ["digits"]
        settings = ["strong"]
        trials = 1
        [[base]]
        name = "trees"
        kind = "gbdt"
        method = "cpe-f"
        learning_rates = [0.1]
        n_estimators = [10, 30]
        min_data_in_leaf = 50
        feature_fraction = 0.4
        bagging_fraction = 0.5
        """
    parsed = plan_file.parse(text)
    dataset = parsed.parts[0].datasets[0]
    (job,) = plan.jobs(parsed, {dataset: run_data.facts(dataset)})
    (outcome,) = run.run(job)
    trial = run.draw(digits, job.setting, plan.seed_of("digits", "strong", 0), 0.1)
    clf = CPEBoostingClassifierCV(
        **QUICK,
        method="cpe-f",
        decoder="max",
        transition=trial.T,
        classes=range(10),
        cv=[(trial.training, trial.held_out)],
        lightgbm_params={
            "max_bin": 255,
            "min_data_in_leaf": 50,
            "feature_fraction": 0.4,
            "bagging_fraction": 0.5,
            "bagging_freq": 1,
        },
    ).fit(digits.X_train, trial.y_comp)
    right = 100 * np.mean(clf.predict(digits.X_test) == digits.y_test)
    assert outcome.scores["last.accuracy_max"] == pytest.approx(right)
    assert outcome.scores["last.accuracy_likelihood"] == pytest.approx(right)
    assert outcome.scores["last.scel"] == pytest.approx(-clf.best_score_)
    assert right > 60
