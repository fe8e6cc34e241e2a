"""
Explain predictions
===================

Explain predictions, and estimate the confusion matrix without true labels.

You learn to read two displays. The first shows the complementary probabilities q of an image beside
the rows of T: the class of the nearest row is predicted. The second is a confusion matrix from
complementary labels alone, with a standard error per cell, beside the one from true labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from ybar import CPEClassifier, datasets, labels, transition
from ybar.displays import ConfusionDisplay, DecoderDisplay

d = datasets.load("digits", test_size=0.5)
train, test = d.y_train < 5, d.y_test < 5  # five digits, so that the cells can be read
X, y, X_test, y_test = d.X_train[train], d.y_train[train], d.X_test[test], d.y_test[test]
T = transition.uniform(5)
forest = ExtraTreesClassifier(200, min_samples_leaf=10, random_state=0)
clf = CPEClassifier(forest, transition=T).fit(X, labels.draw(y, T, random_state=1))
y_unseen = labels.draw(y_test, T, random_state=2)

wrong = np.flatnonzero(clf.predict(X_test) != y_test)
right = np.flatnonzero(clf.predict(X_test) == y_test)
examples = [right[0], wrong[0]]

figure = plt.figure(figsize=(10, 8.5), layout="constrained")
grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.15))
top = figure.add_subplot(grid[0, :])
DecoderDisplay.from_estimator(clf, X_test[examples], y_true=y_test[examples], ax=top)
left, right = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
true = ConfusionDisplay.from_estimator(clf, X_test, y_test, ax=left)
estimated = ConfusionDisplay.from_estimator_complementary(clf, X_test, y_unseen, ax=right)
print(f"accuracy on true labels: {1 - true.error_rate:.3f}")
error = f"{estimated.error_std_error:.3f} (standard error)"
print(f"estimated without them: {1 - estimated.error_rate:.3f} ± {error}")
distance = np.abs(estimated.matrix - true.matrix) / estimated.std_error
print(f"cells within two standard errors of the truth: {(distance <= 2).mean():.0%}")
plt.show()
