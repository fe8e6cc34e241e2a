"""Run a job of CPE-KNN or CPE-GBDT: one path of candidates, chosen by SCEL."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ... import decode
from ...classifiers.boosting import CPEBoostingClassifierCV
from ...classifiers.neighbors import CPEKNeighborsClassifierCV
from ..plan.jobs import Job
from ..plan.model import Boosting, Neighbors
from .data import Progress, Trial
from .entry import Entry, entry_of


def neighbors(job: Job, data: Bunch, trial: Trial, _: Progress) -> list[Entry]:
    """Return the outcome of CPE-KNN, k chosen by SCEL."""
    base = job.base
    assert isinstance(base, Neighbors)  # noqa: S101
    clf = CPEKNeighborsClassifierCV(
        [k for k in base.n_neighbors if k <= len(trial.training)],
        n_components=base.n_components or None,
        n_jobs=1,
        **_shared(job, data, trial),
    ).fit(data.X_train, trial.y_comp)
    return [_of_path(job, data, trial, clf, ["n_neighbors"])]


def boosting(job: Job, data: Bunch, trial: Trial, _: Progress) -> list[Entry]:
    """Return the outcome of CPE-GBDT, learning rate and rounds chosen by SCEL."""
    base = job.base
    assert isinstance(base, Boosting)  # noqa: S101
    clf = CPEBoostingClassifierCV(
        base.learning_rates,
        base.n_estimators,
        method=base.method,
        early_stopping=base.early_stopping,
        lightgbm_params={
            name: value
            for name in ("max_bin", "min_data_in_leaf", "feature_fraction", "bagging_fraction")
            if (value := getattr(base, name)) is not None
        }
        | ({"bagging_freq": 1} if base.bagging_fraction is not None else {}),
        n_jobs=1,
        **_shared(job, data, trial),
    ).fit(data.X_train, trial.y_comp)
    return [_of_path(job, data, trial, clf, ["learning_rate", "n_estimators"])]


def _shared(job: Job, data: Bunch, trial: Trial) -> dict[str, Any]:
    return {
        "transition": trial.T,
        "classes": np.arange(len(data.classes)),
        "cv": [(trial.training, trial.held_out)],
        "random_state": job.trial,
    }


def _of_path(job: Job, data: Bunch, trial: Trial, clf: Any, names: list[str]) -> Entry:
    """Return the losses of all candidates, and the test accuracies of the chosen one."""
    curves = {name: np.asarray(clf.cv_results_[f"param_{name}"]) for name in names}
    curves |= {name: np.asarray(clf.cv_results_[name]) for name in ("scel", "scel_std_error")}
    scores = {f"last.{name}": float(clf.best_params_[name]) for name in names}
    scores["last.scel"] = -float(clf.best_score_)
    q = clf.predict_complementary_proba(data.X_test)
    for decoder in ("l1", "max", "likelihood"):
        right = decode.decode(q, trial.T, decoder) == data.y_test
        scores[f"last.accuracy_{decoder}"] = 100 * float(np.mean(right))
    return entry_of(job, job.trainings[0], curves=curves, scores=scores)
