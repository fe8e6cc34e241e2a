"""Measure how often 95% intervals under an estimated T hold the true value.

``cpe-n`` learns the noise level λ of its labels, and ``cpe-t`` with trust learns T. Each trial
draws rows and labels, trains a network, and notes which intervals hold the truth: that of λ, that
of the error rate on the held-out rows (``history_``), and on as many fresh rows that of the error
rate and those of the cells of the confusion matrix. The truth of digits is exact, because rows are
drawn with replacement from the 1,797 digits; that of blobs is measured on 200,000 rows. Writes
``results/error_bars.csv``, one line per trial (trials in the file are not run again), and
``results/error_bars.md``.

    python studies/error_bars.py [trials per case]
"""

from __future__ import annotations

import functools
import math
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import lines
from ybar import ComplementaryNetClassifier, labels, metrics, transition
from ybar.displays import ConfusionDisplay
from ybar.utils.typing import AnyArray, FloatArray, IntArray

RESULTS = Path(__file__).resolve().parent.parent / "results"
FILE = RESULTS / "error_bars.csv"
TRIALS, Z = 100, 1.959964
QUANTITIES = {
    "noise held": "noise level",
    "history held": "error rate, held-out rows",
    "fresh held": "error rate, fresh rows",
    "cells held": "confusion matrix, fresh rows",
}


class Case(NamedTuple):
    """Data, number of rows (a tenth of them are held out), T, its noise level, and the method."""

    data: str
    n: int
    T: str
    noise: float
    method: str = "cpe-n"
    trust: float = 0.0


CASES = (
    Case("blobs", 20_000, "uniform", 0.2),
    Case("digits", 6_000, "uniform", 0.2),
    Case("digits", 6_000, "strong", 0.5),
    Case("digits", 1_800, "uniform", 0.2),
    Case("blobs", 1_800, "strong", 0.3),
    Case("blobs", 20_000, "uniform", 0.2, "cpe-t", 1000.0),
    Case("digits", 6_000, "strong", 0.5, "cpe-t", 1000.0),
)


@functools.cache
def population(data: str) -> tuple[FloatArray, IntArray]:
    """Return the rows and classes that the truth is measured on."""
    if data == "digits":
        digits = load_digits()
        return (digits.data / 16).astype(np.float32), digits.target
    return blobs(np.random.default_rng(1), 200_000)


def blobs(rng: np.random.Generator, n: int) -> tuple[FloatArray, IntArray]:
    y = rng.integers(5, size=n)
    return (np.eye(5)[y] + rng.normal(0, 0.6, (n, 5))).astype(np.float32), y


def rows(data: str, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    if data == "blobs":
        return blobs(rng, n)
    X, y = population(data)
    drawn = rng.integers(len(y), size=n)
    return X[drawn], y[drawn]


def measured(case: Case, trial: int) -> dict[str, Any]:
    """Return which intervals of a trial hold the truth; NaN where there is no interval."""
    rng = np.random.default_rng([trial, CASES.index(case)])
    n_classes = 10 if case.data == "digits" else 5
    T = transition.uniform(n_classes)
    if case.T == "strong":
        T = transition.strong(n_classes, trial)
    noisy = transition.with_uniform_noise(T, case.noise)
    X, y = rows(case.data, case.n, rng)
    clf = ComplementaryNetClassifier(
        case.method,
        (50,),
        learning_rate=1e-3,
        transition=T,
        transition_trust=case.trust,
        classes=range(n_classes),
        dropout=0.2,
        input_dropout=0.0,
        random_state=trial,
    ).fit(X, labels.draw(y, noisy, rng))
    X_all, y_all = population(case.data)
    predicted = clf.predict(X_all)
    truth = float(np.mean(predicted != y_all))
    at = clf.best_epoch_ - 1
    X_new, y_new = rows(case.data, case.n // 10, rng)
    unseen = labels.draw(y_new, noisy, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fresh = metrics.ure_zero_one(
            unseen,
            clf.predict(X_new),
            clf.label_transition_,
            profile=clf.transition_profile_,
            return_std_error=True,
        )
        ax = Figure().subplots()
        shown = ConfusionDisplay.from_estimator_complementary(clf, X_new, unseen, ax=ax)
    joint = np.zeros((n_classes, n_classes))
    np.add.at(joint, (y_all, predicted), 1 / len(y_all))
    used = shown.std_error != 0  # there is nothing to estimate where a class is never predicted
    low, high = getattr(clf, "noise_interval_", (math.nan, math.nan))
    return {
        **case._asdict(),
        "trial": trial,
        "level": getattr(clf, "noise_", math.nan),
        "low": low,
        "high": high,
        "truth": truth,
        "noise held": _holds(case.noise, low, high),
        "history held": _within(truth, clf.history_["ure"][at], clf.history_["ure_std_error"][at]),
        "fresh held": _within(truth, *fresh),
        "cells held": float(np.mean(_within(joint, shown.matrix, shown.std_error)[used])),
    }


def _within(truth: AnyArray | float, value: AnyArray | float, std_error: AnyArray | float) -> Any:
    return _holds(truth, value - Z * std_error, value + Z * std_error)


def _holds(truth: Any, low: Any, high: Any) -> Any:
    held = (
        ((low <= truth) & (truth <= high)).astype(float)
        if np.ndim(low)
        else float(low <= truth <= high)
    )
    return np.where(np.isnan(low), math.nan, held)[()]


def table(found: list[dict[str, str]]) -> str:
    """Return coverage in per cent ± its Monte Carlo standard error, as Markdown."""
    text = [
        f"| data | rows | T | noise | method | trials | {' | '.join(QUANTITIES.values())} "
        "| no interval |",
        "|---" * (7 + len(QUANTITIES)) + "|",
    ]
    for case in CASES:
        key = _written(case)
        trials = [line for line in found if [line[name] for name in Case._fields] == key]
        if not trials:
            continue
        cells = [_coverage([float(line[name]) for line in trials]) for name in QUANTITIES]
        none = 100 * np.mean([math.isnan(float(line["history held"])) for line in trials])
        method = case.method + (f", trust {case.trust:,.0f}" if case.trust else "")
        text.append(
            f"| {case.data} | {case.n:,} | {case.T} | {case.noise} | {method} | {len(trials)} "
            f"| {' | '.join(cells)} | {none:.0f}% |"
        )
    return "\n".join(text) + "\n"


def _written(case: Case) -> list[str]:
    """Return the fields of a case as they stand in the file."""
    return [f"{value:g}" if isinstance(value, float) else str(value) for value in case]


def _coverage(held: list[float]) -> str:
    values = np.array([value for value in held if not math.isnan(value)])
    if len(values) < 2:
        return "–"
    error = values.std(ddof=1) / math.sqrt(len(values))
    return f"{100 * values.mean():.1f}% ± {100 * error:.1f}"


def main(trials: int) -> None:
    done = {(*(line[name] for name in Case._fields), line["trial"]) for line in lines.read(FILE)}
    for trial in range(trials):
        for case in CASES:
            if (*_written(case), str(trial)) not in done:
                lines.add(FILE, measured(case, trial))
        (RESULTS / "error_bars.md").write_text(table(lines.read(FILE)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
