"""The accuracy estimated without true labels, unless the labels refute the transition matrix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import metrics
from ..utils.typing import BoolArray, FloatArray, IntArray
from . import answers

_N_STD_ERRORS = 2.0
_WIDE_INTERVAL = 0.5
_LEVEL = 0.01
_MOST_NAMED = 5

ESTIMATES = ("expected_accuracy", "expected_accuracy_std_error", "expected_accuracy_interval")

_MEASURE = "What to do: measure the accuracy on a few true labels with ybar evaluate --true COLUMN."


def check(
    mask: BoolArray,
    T: FloatArray,
    y_pred: IntArray | None,
    classes: Sequence[str],
    free_q: FloatArray | None = None,
    free_p: FloatArray | None = None,
    n_free: int = 1,
) -> metrics.TransitionCheck:
    """Test whether the labels of held-out rows refute T.

    Parameters
    ----------
    y_pred : ndarray of shape (N,) or None
        None where T was estimated: the test of the error rate would treat it as exact.
    free_q : ndarray of shape (N, K), optional
        Complementary probabilities of a model that does not know T.
    free_p : ndarray of shape (N, K), optional
        The class probabilities that they have under T, if known.
    n_free : int
        The number of such models among which `free_q` was selected by these labels. The level of
        the test is divided by it, so that the selection refutes no more correct matrices.
    """
    single = (mask.sum(axis=1) == 1).all()  # for which the test of label shares is exact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # URE has already warned that T is nearly singular
        return metrics.check_transition(
            mask.argmax(axis=1) if single else mask,
            T,
            q=free_q,
            p=free_p,
            y_pred=y_pred,
            classes=classes,
            level=_LEVEL / n_free,
        )


def absent_classes(mask: BoolArray, T: FloatArray) -> list[int]:
    """Return the classes that T expects as labels and that no label names."""
    return [int(k) for k in np.flatnonzero((T.sum(axis=0) > 0) & ~mask.any(axis=0))]


def summary(
    error: float,
    std_error: float,
    result: metrics.TransitionCheck,
    absent: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the estimated accuracy and the check of T in values that JSON has.

    The accuracy is None in these cases: T is refuted or singular; the standard error is not known;
    no value or every value between 0 and 1 lies within two standard errors of the estimate; some
    classes are `absent` among the labels. No label rules out an absent class, so a model predicts
    it for almost every row.
    """
    margin = _N_STD_ERRORS * std_error
    low, high = 1 - error - margin, 1 - error + margin
    reasons = list(result.reasons)
    outside = math.isfinite(error) and (high < 0 or low > 1)
    if outside and not result.refuted:
        side = "below 0%" if high < 0 else "above 100%"
        reasons.append(
            f"the estimated accuracy would lie {side}, by more than two standard errors; either "
            "T is wrong or there are too few labels"
        )
    if absent:
        names = ", ".join(absent[:_MOST_NAMED])
        more = f" and {len(absent) - _MOST_NAMED} more" if len(absent) > _MOST_NAMED else ""
        reasons.append(
            f"no complementary label names {names}{more}, although T expects such labels; a model "
            "predicts such a class for almost every row, because no label rules it out. If your "
            "annotators could not name it, pass a matrix that says so with --transition; otherwise "
            "collect more labels"
        )
    elif math.isfinite(error) and not math.isfinite(std_error) and not result.refuted:
        reasons.append(
            "its standard error is unknown: too few labels are held out, or the interval of the "
            "learned noise level reaches 1"
        )
    elif low <= 0 and high >= 1 and not result.refuted:
        reasons.append("its interval would reach from 0% to 100%; more labels make it narrower")
    known = math.isfinite(error) and math.isfinite(std_error) and (low > 0 or high < 1)
    known = known and not outside and not absent and not result.refuted
    return {
        "expected_accuracy": _clip(1 - error) if known else None,
        "expected_accuracy_std_error": std_error if known else None,
        "expected_accuracy_interval": [_clip(low), _clip(high)] if known else None,
        "transition": {
            "refuted": result.refuted,
            "p_value": result.p_value,
            "level": result.level,
            "reasons": reasons,
        },
    }


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))


def percentages(scores: dict[str, Any]) -> tuple[str, str]:
    """Return the accuracy of `summary`, which must not be None, and its interval as text."""
    low, high = scores["expected_accuracy_interval"]
    value = scores["expected_accuracy"]
    interval = f"two standard errors: {100 * low:.1f}% to {100 * high:.1f}%"
    return f"{100 * value:.1f}%", interval


def explain(scores: dict[str, Any], account: dict[str, Any]) -> list[str]:
    """Return sentences on the accuracy of `summary`, or on why there is none.

    Parameters
    ----------
    account : dict
        What ``ybar fit`` knew about the model: see `fitting.Selection.summary`.
    """
    if "answers" in scores:
        return answers.explain(scores)
    result, method, source = (
        scores["transition"],
        account["method"],
        account["transition"]["source"],
    )
    if account["transition"]["noise_learned"]:
        source += f", with the noise level that {method} learned"
    if scores["expected_accuracy"] is not None:
        value, interval = percentages(scores)
        lines = [
            f"Expected accuracy: {value} ({interval}), estimated without true labels. It holds if "
            f"T is right ({source})."
        ]
        low, high = scores["expected_accuracy_interval"]
        if high - low > _WIDE_INTERVAL:
            lines.append("This interval is too wide to be useful; more labels make it narrower.")
        return lines
    if result["refuted"]:
        return [
            "No accuracy can be estimated: the labels refute the transition matrix T "
            f"({source}; p = {result['p_value']:.2g}). The predicted classes depend on the same T.",
            *(f"Reason: {reason}." for reason in result["reasons"]),
            f"{_MEASURE} {_remedy(method)}",
        ]
    if result["reasons"]:
        return [
            f"No accuracy can be estimated under this transition matrix T ({source}).",
            *(f"Reason: {reason}." for reason in result["reasons"]),
            f"{_MEASURE} {_remedy(method)}",
        ]
    if not scores.get("informative", True):
        return [
            "No accuracy is estimated: no model has shown that it learned anything, and the "
            "estimate for the best of several such models would be too high by chance."
        ]
    return [
        "The accuracy cannot be estimated without true labels: the transition matrix is singular, "
        "so the labels do not distinguish some classes."
    ]


def _remedy(method: str) -> str:
    learn = "" if method == "cpe-n" else " --method cpe-n learns how many labels are wrong."
    return (
        "If T may be wrong, estimate it from a few rows with true labels (--transition "
        f"estimate:COLUMN, or ybar transition estimate).{learn}"
    )
