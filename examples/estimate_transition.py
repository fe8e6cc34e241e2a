"""
Estimate T from a few true labels
=================================

Estimate the transition matrix T from a few true labels.

You learn what to do if T is unknown: an expert labels a few examples, and T is estimated from their
pairs of labels. Epsilon is the largest L1 distance between a row of the true T and of the estimate.
Assuming a uniform T fails here.
"""

import matplotlib.pyplot as plt

from ybar import CPEKNeighborsClassifierCV, datasets, labels, transition
from ybar.displays import TransitionDisplay

d = datasets.load("digits")
T = transition.strong(10, random_state=0)  # unknown in practice
y_comp = labels.draw(d.y_train, T, random_state=1)

matrices = {"uniform": transition.uniform(10)}
for n in (50, 100, 200, 400):  # training images with both labels
    matrices[n] = transition.estimate(d.y_train[:n], y_comp[:n], classes=range(10))
matrices["true"] = T

accuracy = {}
for name, matrix in matrices.items():
    clf = CPEKNeighborsClassifierCV(transition=matrix, decoder="likelihood", random_state=0)
    accuracy[name] = (clf.fit(d.X_train, y_comp).predict(d.X_test) == d.y_test).mean()
    source = f"{name} true labels" if isinstance(name, int) else f"the {name} T"
    epsilon = transition.epsilon(T, matrix)
    print(f"{source}: epsilon {epsilon:.2f}, accuracy {accuracy[name]:.3f}")

# %%
# The true T, an estimate of it, and the accuracy with each matrix:

figure = plt.figure(figsize=(12.5, 4), layout="constrained")
left, middle, right = figure.subplots(1, 3, width_ratios=(1.1, 1.1, 1))
for ax, name, title in (
    (left, "true", "the true T"),
    (middle, 200, "from 200 true labels"),
):
    TransitionDisplay.from_matrix(matrices[name], ax=ax)
    ax.set_title(title, fontsize=11)
bars = ["none", *map(str, list(matrices)[1:-1]), "true T"]
right.bar(bars, accuracy.values(), color=["0.7", *["#0072B2"] * 4, "0.4"])
for bar, value in zip(bars, accuracy.values(), strict=True):
    right.annotate(f"{value:.2f}", (bar, value), ha="center", va="bottom", fontsize=9)
right.set(ylim=(0, 1), ylabel="accuracy", xlabel="true labels (none: uniform T)")
plt.show()
