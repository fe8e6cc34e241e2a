"""Learn from suggestions that users accepted or rejected: as evidence, or as complementary labels.

A weak model, logistic regression on 30 rows of the digits, suggests a class for every training
row; users accept the right ones. Each trial trains ``cpe-f`` on the rejected suggestions as
complementary labels, under uniform T and under the T that counts of the true classes give, and on
all answers as `labels.Evidence`. Writes ``results/suggestions.md``.

    python studies/suggestions.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from ybar import ComplementaryNetClassifier, datasets, labels, transition

FILE = Path(__file__).resolve().parent.parent / "results" / "suggestions.md"
N_TRIALS = 5
ROWS = (
    "the model that suggested",
    "rejected suggestions as complementary labels, uniform T",
    "the same, T estimated from the true classes of all rejected rows",
    "accepted and rejected suggestions as evidence",
)


def measured(trial: int) -> list[float]:
    """Return the accuracies of a trial, in the order of `ROWS`."""
    d = datasets.load("digits", random_state=trial)
    weak = LogisticRegression(max_iter=1000).fit(d.X_train[:30], d.y_train[:30])
    suggested = weak.predict(d.X_train)
    accepted = suggested == d.y_train
    rejected, y = suggested[~accepted], d.y_train[~accepted]
    counts = transition.estimate(y, rejected, classes=range(10), smoothing=0.1)

    def accuracy(X, y_comp, T="uniform"):
        clf = ComplementaryNetClassifier(transition=T, classes=range(10), random_state=trial)
        return np.mean(clf.fit(X, y_comp).predict(d.X_test) == d.y_test)

    evidence = labels.Evidence.answers(suggested, accepted, classes=range(10))
    return [
        np.mean(weak.predict(d.X_test) == d.y_test),
        accuracy(d.X_train[~accepted], rejected),
        accuracy(d.X_train[~accepted], rejected, counts),
        accuracy(d.X_train, evidence),
    ]


def main() -> None:
    table = 100 * np.array([measured(trial) for trial in range(N_TRIALS)])
    lines = [f"| learned from | accuracy in %, mean and standard deviation of {N_TRIALS} trials |"]
    lines += ["|---|---|"]
    for name, mean, std in zip(ROWS, table.mean(axis=0), table.std(axis=0, ddof=1), strict=True):
        lines.append(f"| {name} | {mean:.1f} ± {std:.1f} |")
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
