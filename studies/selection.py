"""Measure how ``ybar fit`` selects a model, and when it says that the labels show no learning.

Each trial draws a table with uniform complementary labels, fits the candidates of ``ybar fit``
(without boosting and networks, which take longest) as ``ybar fit`` does, and measures the true
accuracy on other rows. It records, on the same held-out labels,

- the choice by SCEL of q, of p T, and of p T with a temperature, which ``ybar fit`` uses;
- the verdict of the permutation test, and that of the rule before it: SCEL of q lower than that of
  smoothed label frequencies by more than two standard errors;
- the expected accuracy.

Writes ``results/selection.csv``, a line per trial as it ends (those in it are not run again), and
``results/selection.md``.

    python studies/selection.py
"""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lines
from ybar import calibration, datasets, labels, transition
from ybar.tables import accuracy, candidates, columns, scoring, verdict
from ybar.tables.labels import ComplementaryLabels
from ybar.tables.training import TrainingTable

RESULTS = Path(__file__).resolve().parent.parent / "results"
FILE = RESULTS / "selection.csv"
METHODS = ("logistic", "kmeans", "knn", "forest")
RULES = ("q", "p T", "tempered p T")
TEST_ROWS = 2000
# Kind of table, classes, rows, trials.
CASES = [
    ("noise", 3, 400, 13),
    ("noise", 10, 400, 13),
    ("noise", 50, 600, 13),
    ("noise", 200, 1000, 13),
    ("digits", 10, 150, 5),
    ("digits", 10, 400, 5),
    ("digits", 10, 1000, 5),
    ("texts", 6, 600, 5),
    ("texts", 6, 2500, 5),
    ("texts", 20, 4000, 3),
    ("blobs", 6, 120, 5),
    ("blobs", 6, 400, 5),
    ("blobs", 20, 1000, 5),
    ("blobs", 20, 4000, 3),
    ("blobs", 50, 4000, 3),
    ("blobs", 50, 12000, 3),
    ("blobs", 200, 4000, 3),
]


def blobs(n: int, n_classes: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Return rows of one normal distribution per class, whose centres are far apart."""
    y = rng.integers(n_classes, size=n)
    X = rng.normal(0, 2, (n_classes, 10))[y] + rng.normal(size=(n, 10))
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(10)]), y


def noise(n: int, n_classes: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Return rows that do not depend on their class."""
    X, _ = blobs(n, 5, rng)
    return X, rng.integers(n_classes, size=n)


def digits(n: int, _: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Return images of digits; there are 1,797, so that fewer rows may remain to test on."""
    d = datasets.load("digits")
    X, y = np.concatenate([d.X_train, d.X_test]), np.concatenate([d.y_train, d.y_test])
    chosen = rng.permutation(len(y))[:n]
    return pd.DataFrame(X[chosen], columns=[f"x{i}" for i in range(X.shape[1])]), y[chosen]


def texts(n: int, n_classes: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Return texts in which a quarter of the words are of 40 words of the class."""
    n_words = 3000
    y = rng.integers(n_classes, size=n)
    frequency = 1 / np.arange(1, n_words + 1)
    words = rng.permutation(n_words)[: n_classes * 40].reshape(n_classes, 40)
    rows = []
    for own in words[y]:
        length = rng.poisson(20) + 3
        any_word = rng.choice(n_words, size=length, p=frequency / frequency.sum())
        ids = np.where(rng.random(length) < 0.25, rng.choice(own, length), any_word)
        rows.append(" ".join(f"w{i}" for i in ids))
    return pd.DataFrame({"text": rows}), y


MAKERS = {"blobs": blobs, "noise": noise, "digits": digits, "texts": texts}


def measured(kind: str, n_classes: int, n: int, trial: int) -> dict[str, Any]:
    """Return the line of a trial."""
    rng = np.random.default_rng([n_classes, n, trial])
    frame, y = MAKERS[kind](n + TEST_ROWS, n_classes, rng)
    T = transition.uniform(n_classes)
    mask = np.eye(n_classes, dtype=bool)[labels.draw(y[:n], T, rng)]
    names = [str(k) for k in range(n_classes)]
    rows, test = frame.iloc[:n].reset_index(drop=True), frame.iloc[n:]
    table = TrainingTable(
        rows, columns.classify(rows, []), ComplementaryLabels(mask, names), T, "uniform"
    )
    build = functools.partial(candidates.build, table=table)
    training, held_out = candidates.split(mask, trial)
    tried = []
    for method in METHODS:
        for settings in candidates.SETTINGS.get(method, [{}]):
            model = build(method, **settings)
            model.fit(rows.iloc[training], table.y_comp.as_y()[training], table.columns)
            tried.append(scored(method, model, rows.iloc[held_out], mask[held_out], test, y[n:]))
    chosen = {rule: min(tried, key=lambda one: one[rule]) for rule in RULES}
    # The candidates and the rule of before: one logistic regression and neighbours, by SCEL of q.
    before = min((tried[0], *(t for t in tried if t["method"] == "knn")), key=lambda one: one["q"])
    smoothed = (mask[training].sum(axis=0) + 1) / (len(training) + n_classes)
    guess = scoring.label_losses(np.broadcast_to(smoothed, mask[held_out].shape), mask[held_out])
    gain, error = scoring.mean_and_std_error(guess - before["losses of q"], mask[held_out])
    selected = chosen["tempered p T"]
    check = accuracy.check(mask[held_out], T, selected["predicted"], names)
    absent = accuracy.absent_classes(mask, T)
    estimate = accuracy.summary(
        *scoring.error_rate(selected["predicted"], T, mask[held_out]),
        check,
        [names[k] for k in absent],
    )
    value = estimate["expected_accuracy"]
    low, high = estimate["expected_accuracy_interval"] or (np.nan, np.nan)
    outputs = [one["p T of the rows"] for one in tried]
    return {
        "kind": kind,
        "classes": n_classes,
        "rows": n,
        "trial": trial,
        "best": max(one["accuracy"] for one in tried),
        **{f"accuracy by SCEL of {rule}": chosen[rule]["accuracy"] for rule in RULES},
        "selected": selected["method"],
        "before": before["method"],
        "accuracy before": before["accuracy"],
        "informative before": int(gain > 2 * error),
        "p value": verdict.p_value(outputs, mask[held_out], trial),
        "expected accuracy": np.nan if value is None else value,
        "low": low,
        "high": high,
    }


def scored(
    method: str, model: Any, rows: pd.DataFrame, mask: Any, test: pd.DataFrame, y: Any
) -> dict[str, Any]:
    """Return the three losses of a model on held-out labels, and its accuracy."""
    q, p = model.predict_complementary_proba(rows), model.predict_proba(rows)
    T = model.label_transition_
    losses = scoring.label_losses(q, mask)
    y_comp = ComplementaryLabels(mask, [str(k) for k in range(mask.shape[1])])
    tempered = calibration.temper(p, scoring.temperature(p, T, y_comp))
    return {
        "method": method,
        "losses of q": losses,
        "q": losses.mean(),
        "p T": scoring.label_losses(p @ T, mask).mean(),
        "tempered p T": scoring.label_losses(tempered @ T, mask).mean(),
        "p T of the rows": p @ T,
        "predicted": scoring.predicted_indices(model, rows),
        "accuracy": float(np.mean(model.predict(test).astype(int) == y)),
    }


def tables(found: pd.DataFrame) -> str:
    """Return the trials as Markdown."""
    parts = ["Verdicts: shares of the trials.\n"]
    parts.append(
        "| table | classes | rows | trials | true accuracy, before | verdict “informative”, before "
        "| true accuracy | verdict “informative” | expected accuracy | in its interval |"
    )
    parts.append("|---|---|---|---|---|---|---|---|---|---|")
    found["informative"] = found["p value"] <= verdict.LEVEL
    truth = found["accuracy by SCEL of tempered p T"]
    known = found["expected accuracy"].notna() & found["informative"]  # others are not quoted
    found["expected accuracy"] = found["expected accuracy"].where(known)
    found["inside"] = ((found["low"] <= truth) & (truth <= found["high"])).where(known)
    for (kind, n_classes, n), part in found.groupby(["kind", "classes", "rows"], sort=False):
        cells = [
            *(kind, n_classes, n, len(part)),
            _percent(part["accuracy before"]),
            _percent(part["informative before"]),
            _percent(part["accuracy by SCEL of tempered p T"]),
            _percent(part["informative"]),
            _percent(part["expected accuracy"]),
            _percent(part["inside"]),
        ]
        parts.append(f"| {' | '.join(map(str, cells))} |")
    parts.append(
        f"\nSelection in the {int((found['kind'] != 'noise').sum())} trials with information: "
        "points of accuracy behind the best candidate.\n"
    )
    useful = found[found["kind"] != "noise"]
    shown = useful["informative"]
    parts.append(
        f"| choice by | mean | largest | mean of the {shown.sum()} “informative” | largest |"
    )
    parts.append("|---|---|---|---|---|")
    for rule in RULES:
        behind = 100 * (useful["best"] - useful[f"accuracy by SCEL of {rule}"])
        values = [f(part) for part in (behind, behind[shown]) for f in (pd.Series.mean, max)]
        parts.append(f"| SCEL of {rule} | {' | '.join(f'{value:.1f}' for value in values)} |")
    return "\n".join(parts) + "\n"


def _percent(values: Any) -> str:
    mean = values.astype(float).mean()
    return "–" if np.isnan(mean) else f"{100 * mean:.1f}%"


def main() -> None:
    """Run the trials that are missing, round by round, and write both files."""
    names = ("kind", "classes", "rows", "trial")
    done = {tuple(line[name] for name in names) for line in lines.read(FILE)}
    longest = max(trials for *_, trials in CASES)
    for trial, (*case, trials) in itertools.product(range(longest), CASES):
        if trial < trials and tuple(map(str, (*case, trial))) not in done:
            lines.add(FILE, measured(*case, trial))
    found = pd.read_csv(FILE)
    (RESULTS / "selection.md").write_text(tables(found))


if __name__ == "__main__":
    main()
