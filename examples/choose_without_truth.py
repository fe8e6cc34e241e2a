"""Choose among models without a single true label.

You learn two numbers that need complementary labels only: SCEL, a loss, and URE, an unbiased
estimate of the error rate. Both come with standard errors; SCEL tells models apart more surely.
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
    models[f"trees leaf={leaf}"] = ExtraTreesClassifier(200, min_samples_leaf=leaf, random_state=0)

d = datasets.load("digits", test_size=0.4)
T = transition.weak(10, random_state=0)
y_comp = labels.draw(d.y_train, T, random_state=1)
unseen = labels.draw(d.y_test, T, random_state=2)  # all that SCEL and URE may look at
rows = []
for name, base in models.items():
    clf = CPEClassifier(base, transition=T).fit(d.X_train, y_comp)
    q, y_pred = clf.predict_complementary_proba(d.X_test), clf.predict(d.X_test)
    scel = metrics.scel(unseen, q, zero_as=1 / (len(unseen) + 1), return_std_error=True)
    ure = metrics.ure_zero_one(unseen, y_pred, T, return_std_error=True)
    rows.append((name, (y_pred == d.y_test).mean(), *scel, *ure))
    print("{:19} accuracy {:.3f}  SCEL {:.3f} ± {:.3f}  URE {:5.2f} ± {:.2f}".format(*rows[-1]))

names, accuracy, scel, scel_error, ure, ure_error = (np.array(c) for c in zip(*rows, strict=True))
for what, values in (("SCEL", scel), ("URE", ure)):
    i = values.argmin()
    print(f"chosen by {what}: {names[i]}, accuracy {accuracy[i]:.3f} (best {accuracy.max():.3f})")

figure = Figure(figsize=(9.5, 4), layout="constrained")
left, right = figure.subplots(1, 2, sharey=True)
for ax, values, errors, what in ((left, scel, scel_error, "SCEL"), (right, ure, ure_error, "URE")):
    for kind, marker in (("logistic", "o"), ("neighbours", "s"), ("trees", "^")):
        of_kind = np.char.startswith(names, kind)
        points = values[of_kind], accuracy[of_kind]
        ax.errorbar(*points, xerr=errors[of_kind], fmt=marker, capsize=3, label=kind)
    ax.axvline(values.min(), color="0.7", ls=":", zorder=0)
    ax.set_xlabel(f"{what} on unseen complementary labels (± std. error)")
left.set_ylabel("accuracy, by true labels")
left.legend()
output.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(output, dpi=120)
