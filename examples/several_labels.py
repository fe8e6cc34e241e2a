"""
Use several labels per example
==============================

Use several complementary labels per example, as a boolean array.

You learn how to pass them, and their effect: more labels per image increase the accuracy, and
make the estimate of the accuracy without true labels more precise.
"""

import matplotlib.pyplot as plt
import numpy as np

from ybar import CPEKNeighborsClassifierCV, datasets, metrics, transition


def rule_out(y, n_labels, rng):
    """Return a boolean array, True for `n_labels` random wrong classes per row."""
    order = rng.random((len(y), 10))
    order[np.arange(len(y)), y] = 2  # the true class comes last
    return order.argsort(axis=1).argsort(axis=1) < n_labels


d = datasets.load("digits", test_size=0.5)
T = transition.uniform(10)  # labels drawn without replacement follow uniform T too
rng = np.random.default_rng(0)
counts = [1, 2, 3, 5, 7, 9]
accuracy, estimate, std_error = [], [], []
for n_labels in counts:
    clf = CPEKNeighborsClassifierCV(range(5, 100, 5), transition=T, random_state=0)
    y_pred = clf.fit(d.X_train, rule_out(d.y_train, n_labels, rng)).predict(d.X_test)
    y_unseen = rule_out(d.y_test, n_labels, rng)
    error, error_std = metrics.ure_zero_one(y_unseen, y_pred, T, return_std_error=True)
    accuracy.append((y_pred == d.y_test).mean())
    estimate.append(1 - error)
    std_error.append(error_std)
    print(
        f"{n_labels} labels per image: accuracy {accuracy[-1]:.3f}, "
        f"estimated without true labels {estimate[-1]:.3f} ± {std_error[-1]:.3f} (standard error)"
    )

# %%
# Bars are one standard error to both sides.

figure = plt.figure(figsize=(6, 3.8), layout="constrained")
ax = figure.subplots()
ax.plot(counts, accuracy, "o-", color="#0072B2", label="on true labels")
bars = ax.errorbar(counts, estimate, std_error, fmt="D", capsize=4, color="#D55E00")
bars.set_label("estimated without true labels (± standard error)")
ax.set(xlabel="complementary labels per image", ylabel="accuracy on test images")
ax.set_xticks(counts)
ax.grid(alpha=0.3)
ax.legend(loc="lower right")
plt.show()
