"""
Choose a model without true labels
==================================

Choose among models without a single true label.

You learn two criteria that need complementary labels only. URE estimates the error rate, but it
inverts the transition matrix T: if T is nearly singular, its error bars are too wide. SCEL, the log
loss of the complementary labels, inverts nothing, and prefers calibrated models.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ybar import CPEClassifier, datasets, labels, metrics, transition

models = {f"logistic C={C:g}": LogisticRegression(C=C, max_iter=2000) for C in (0.01, 0.1, 1)}
models |= {f"neighbours k={k}": KNeighborsClassifier(k) for k in (20, 40, 150, 600)}
for leaf in (5, 20, 80):
    models[f"trees leaf={leaf}"] = ExtraTreesClassifier(100, min_samples_leaf=leaf, random_state=0)
markers = ["o"] * 3 + ["s"] * 4 + ["^"] * 3

d = datasets.load("digits", test_size=0.4)
figure = plt.figure(figsize=(9.5, 6.5), layout="constrained")
axes = figure.subplots(2, 2, sharey="row")
for i, T in enumerate((transition.uniform(10), transition.strong(10, random_state=1))):
    y_comp = labels.draw(d.y_train, T, random_state=11)
    y_unseen = labels.draw(d.y_test, T, random_state=21)  # SCEL and URE use only these labels
    criteria, accuracy = {"SCEL": [], "URE": []}, []
    for base in models.values():
        clf = CPEClassifier(base, transition=T).fit(d.X_train, y_comp)
        q, y_pred = clf.predict_complementary_proba(d.X_test), clf.predict(d.X_test)
        scel = metrics.scel(y_unseen, q, zero_as=1 / (len(y_unseen) + 1), return_std_error=True)
        criteria["SCEL"].append(scel)
        criteria["URE"].append(metrics.ure_zero_one(y_unseen, y_pred, T, return_std_error=True))
        accuracy.append((y_pred == d.y_test).mean())
    heading = f"{['uniform', 'strong'][i]} T, condition number {transition.condition_number(T):.0f}"
    print(f"{heading}: the best model has accuracy {max(accuracy):.3f}")
    for ax, (name, pairs) in zip(axes[i], criteria.items(), strict=True):
        chosen = int(np.argmin(pairs, axis=0)[0])
        print(f"  {name} chooses {list(models)[chosen]}: accuracy {accuracy[chosen]:.3f}")
        for j, (value, error) in enumerate(pairs):
            color = "#D55E00" if j == chosen else "0.5"
            ax.errorbar(value, accuracy[j], xerr=error, fmt=markers[j], color=color, capsize=3)
        ax.set(xlabel=f"{name} (± standard error); orange: the lowest, chosen", title=heading)
    axes[i, 0].set_ylabel("accuracy on true labels")
for marker, kind in zip("os^", ("logistic regression", "neighbours", "trees"), strict=True):
    axes[1, 0].plot([], [], marker, color="0.5", label=kind)
axes[1, 0].legend(loc="lower left")
plt.show()
