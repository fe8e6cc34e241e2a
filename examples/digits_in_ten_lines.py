"""
Digits in ten lines
===================

Learn handwritten digits from labels that only say what an image is not, in ten lines.

You learn all steps at once: a transition matrix T, complementary labels, a classifier, its ordinary
predictions, and their accuracy, measured with true labels and estimated without them.
"""

import matplotlib.pyplot as plt

from ybar import CPEKNeighborsClassifierCV, datasets, labels, metrics, transition

d = datasets.load("digits")
T = transition.strong(10, random_state=0)  # how likely each wrong class is to be named
y_comp = labels.draw(d.y_train, T, random_state=1)  # replace this by your answers
clf = CPEKNeighborsClassifierCV(transition=T, decoder="likelihood", random_state=0)
clf.fit(d.X_train, y_comp)
y_pred = clf.predict(d.X_test)

y_unseen = labels.draw(d.y_test, T, random_state=2)  # complementary labels of test images
error, std_error = metrics.ure_zero_one(y_unseen, y_pred, T, return_std_error=True)
print(f"{len(y_comp)} images, one complementary label each; k = {clf.n_neighbors_} neighbours")
print(f"accuracy on true labels: {(y_pred == d.y_test).mean():.3f}")
print(f"accuracy estimated without true labels: {1 - error:.2f} ± {std_error:.2f} (standard error)")
print(f"SCEL: {-clf.score(d.X_test, y_unseen):.3f} (a constant guess: 2.303)")

# %%
# First row: training images with their labels. Second row: test images with predictions.

figure = plt.figure(figsize=(9.5, 2.5), layout="constrained")
axes = figure.subplots(2, 10)
for i in range(10):
    axes[0, i].imshow(d.X_train[i].reshape(8, 8), cmap="gray_r")
    axes[0, i].set_title(f"not {y_comp[i]}", fontsize=10)
    axes[1, i].imshow(d.X_test[i].reshape(8, 8), cmap="gray_r")
    right = y_pred[i] == d.y_test[i]
    title = f"{y_pred[i]}" if right else f"{y_pred[i]} (is a {d.y_test[i]})"
    axes[1, i].set_title(title, fontsize=10, color="black" if right else "#D55E00")
for ax, row_name in zip(axes[:, 0], ("training\nlabel", "prediction"), strict=True):
    ax.set_ylabel(row_name, rotation=0, ha="right", va="center", fontsize=10)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
plt.show()
