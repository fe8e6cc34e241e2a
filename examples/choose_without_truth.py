"""Choose among models without a single true label.

You learn two numbers that need complementary labels only, with standard errors. URE estimates the
error rate itself, but inverts T: under this strong T its error bars drown it. SCEL inverts nothing;
it judges the probabilities q, so that it prefers a calibrated model to one that merely ranks well.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ybar import CPEClassifier, datasets, labels, metrics, transition

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output" / "choose.png")
output = parser.parse_args().output

models = {f"logistic C={C:g}": LogisticRegression(C=C, max_iter=2000) for C in (0.001, 0.1, 10)}
models |= {f"neighbours k={k}": KNeighborsClassifier(k) for k in (10, 40, 150, 600)}
for leaf in (5, 20, 80):
    models[f"trees leaf={leaf}"] = ExtraTreesClassifier(100, min_samples_leaf=leaf, random_state=0)

d = datasets.load("digits", test_size=0.4)
figure = Figure(figsize=(9.5, 6.5), layout="constrained")
axes = figure.subplots(2, 2, sharey="row")
for pair, kind in zip(axes, ("uniform", "strong"), strict=True):
    T = transition.uniform(10) if kind == "uniform" else transition.strong(10, random_state=1)
    y_comp = labels.draw(d.y_train, T, random_state=11)
    unseen = labels.draw(d.y_test, T, random_state=21)  # all that SCEL and URE may look at
    values, accuracy = [], []
    for base in models.values():
        clf = CPEClassifier(base, transition=T).fit(d.X_train, y_comp)
        q, y_pred = clf.predict_complementary_proba(d.X_test), clf.predict(d.X_test)
        scel = metrics.scel(unseen, q, zero_as=1 / (len(unseen) + 1), return_std_error=True)
        values.append((scel, metrics.ure_zero_one(unseen, y_pred, T, return_std_error=True)))
        accuracy.append((y_pred == d.y_test).mean())
    print(f"{kind} T, condition number {transition.condition_number(T):.0f}")
    print(f"  the best by true labels: accuracy {max(accuracy):.3f}")
    for ax, name, (value, error) in zip(pair, ("SCEL", "URE"), np.moveaxis(values, 0, 2)[:, :]):
        chosen = value.argmin()
        print(f"  by {name}: {list(models)[chosen]}, accuracy {accuracy[chosen]:.3f}")
