"""
Train a convolutional network
=============================

Train a small convolutional network from complementary labels.

You learn to pass any torch module as `network=`; the library trains it with its own loop.

``python examples/cnn.py`` downloads MNIST once. ``--data digits`` needs no download.
"""

from __future__ import annotations

import argparse
import functools
import math

from ybar import ComplementaryNetClassifier, datasets, labels, transition
from ybar.neural.networks import small_cnn


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small CNN.")
    parser.add_argument("--data", default="mnist", help="digits, mnist, fashion-mnist or kmnist")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()

    data = datasets.load(arguments.data)
    X, y = data.X_train[: arguments.rows], data.y_train[: arguments.rows]
    side, n_classes = math.isqrt(X.shape[1]), len(data.classes)
    T = transition.strong(n_classes, random_state=0)
    y_comp = labels.draw(y, T, random_state=0)
    clf = ComplementaryNetClassifier(
        network=functools.partial(small_cnn, side, n_classes),
        transition=T,
        max_epochs=arguments.epochs,
        random_state=0,
        verbose=True,
    ).fit(X, y_comp)
    accuracy = (clf.predict(data.X_test) == data.y_test).mean()
    print(f"epoch {clf.best_epoch_} of {clf.n_epochs_} kept, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
