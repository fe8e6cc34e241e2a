"""
Learn from a stream
===================

Learn from a stream of answers with `partial_fit`.

You learn to test, then train: each part of the stream first evaluates the model by SCEL, the log
loss of complementary labels, and then trains it. The curve shows when the model no longer improves.
"""

import matplotlib.pyplot as plt
import numpy as np

from ybar import ComplementaryNetClassifier, datasets, labels, transition

d = datasets.load("digits")
T = transition.strong(10, random_state=0)
rng = np.random.default_rng(0)
clf = ComplementaryNetClassifier(
    hidden_layer_sizes=(100,),
    transition=T,
    classes=range(10),  # the first part need not contain all classes
    batch_size=32,
    learning_rate=3e-3,
    weight_averaging=0.98,  # about the mean of the last fifty steps
    random_state=0,
)
seen, scel, accuracy = [], [], []
for part in range(80):
    rows = rng.integers(len(d.X_train), size=256)  # the next answers
    y_comp = labels.draw(d.y_train[rows], T, random_state=rng)
    if part:
        scel.append(-clf.score(d.X_train[rows], y_comp))
        accuracy.append((clf.predict(d.X_test) == d.y_test).mean())
        seen.append(256 * part)
    clf.partial_fit(d.X_train[rows], y_comp)
for i in (0, 9, 39, -1):
    print(f"after {seen[i]:5} labels: SCEL {scel[i]:.3f}, accuracy {accuracy[i]:.3f}")

# %%
# SCEL falls while the model improves:

figure = plt.figure(figsize=(6.5, 3.8), layout="constrained")
ax = figure.subplots()
ax.plot(seen, scel, color="#D55E00", lw=1)
ax.set_xlabel("complementary labels seen")
ax.set_ylabel("SCEL of the next 256 labels", color="#D55E00")
ax.grid(alpha=0.3)
right = ax.twinx()
right.plot(seen, accuracy, "--", color="#0072B2")
right.set_ylabel("accuracy on test images (dashed)", color="#0072B2")
plt.show()
