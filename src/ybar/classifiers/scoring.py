"""Warn if scikit-learn compares predicted classes with complementary labels."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any

from ..utils.estimators import last_step


def warn_if_compared_with_labels(classifier: Any) -> None:
    """Warn if a metric of scikit-learn compares this classifier's predictions with its labels.

    Called by `predict`. Cross-validation (``GridSearchCV``, ``cross_val_score``) fits and scores a
    classifier with the same y, here complementary labels, and passes no y to `predict`. So this
    function looks for the scorer among the callers. If scikit-learn renames its scorer, there is
    no warning; nothing else depends on it.
    """
    frame, metric = sys._getframe(1), None
    while (caller := frame.f_back) is not None:
        frame = caller
        module, function = frame.f_globals.get("__name__"), frame.f_code.co_name
        if (module, function) == ("sklearn.metrics._scorer", "_score"):
            metric = _metric_of(classifier, **frame.f_locals)
        elif metric is not None and module == "sklearn.model_selection._validation":
            warnings.warn(
                f"{metric} compares predicted classes with y, which holds complementary labels "
                f"for {type(classifier).__name__}: the better the model, the lower the score. "
                "Leave scoring out, or pass scoring=ybar.metrics.scel_scorer",
                UserWarning,
                stacklevel=2,
            )
            return


def _metric_of(classifier: Any, self: Any = None, estimator: Any = None, **_: Any) -> str | None:
    """Return the name of a scorer's metric, if it is scikit-learn's and scores this classifier."""
    with contextlib.suppress(TypeError):
        metric = getattr(self, "_score_func", None)
        ours = str(getattr(metric, "__module__", "")).startswith("sklearn.")
        if ours and last_step(estimator)[0] is classifier:
            return str(getattr(metric, "__name__", metric))
    return None
