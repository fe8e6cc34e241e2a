"""
Train a convolutional network
=============================

Pass a torch module as the network of a classifier.

You learn to pass any torch module as `network=`: the library trains it with its own loop. These
images have 8 × 8 pixels. With ``datasets.load("mnist")``, which downloads MNIST once, and
``small_cnn(28, 10)`` the same program trains on images of 28 × 28 pixels.
"""

import matplotlib.pyplot as plt

from ybar import ComplementaryNetClassifier, datasets, labels, transition
from ybar.displays import TrainingCurveDisplay
from ybar.neural.networks import small_cnn


def network():
    """Return a new network; it shifts training images by up to one pixel."""
    return small_cnn(side=8, n_classes=10, shift=1)


d = datasets.load("digits")
T = transition.strong(10, random_state=0)
y_comp = labels.draw(d.y_train, T, random_state=0)
clf = ComplementaryNetClassifier(network=network, transition=T, max_epochs=100, random_state=0)
clf.fit(d.X_train, y_comp)
accuracy = (clf.predict(d.X_test) == d.y_test).mean()
print(f"epoch {clf.best_epoch_} of {clf.n_epochs_} kept, accuracy {accuracy:.3f}")

figure = plt.figure(figsize=(6.5, 3.8), layout="constrained")
TrainingCurveDisplay.from_estimator(clf, ax=figure.subplots())
plt.show()
