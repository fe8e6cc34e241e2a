"""
Find out how many labels are enough
===================================

Find out how many labels are enough under different transition matrices T.

You learn to describe T before anyone has answered, and to simulate a learning curve under it. The
more the labels depend on the class (strong T), the fewer labels are needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from ybar import CPEKNeighborsClassifierCV, datasets, labels, transition

d = datasets.load("digits")
matrices = {
    "uniform": transition.uniform(10),
    "weak": transition.weak(10, random_state=0),
    "strong": transition.strong(10, random_state=0),
    "strong, 20% noise": transition.with_uniform_noise(transition.strong(10, 0), 0.2),
}
sizes = [200, 400, 800, 1347]
figure = plt.figure(figsize=(6.5, 4), layout="constrained")
ax = figure.subplots()
for (name, T), style in zip(matrices.items(), ("o:", "s--", "D-", "^-."), strict=True):
    curves = []
    for trial in range(3):
        y_comp = labels.draw(d.y_train, T, random_state=trial)
        clf = CPEKNeighborsClassifierCV(
            transition=T, decoder="likelihood", classes=range(10), random_state=trial
        )
        fits = (clf.fit(d.X_train[:n], y_comp[:n]).predict(d.X_test) for n in sizes)
        curves.append([(y_pred == d.y_test).mean() for y_pred in fits])
    mean = np.mean(curves, axis=0)
    print(f"{name}: gamma {transition.gamma(T):.2f}, accuracy at {sizes[-1]} labels {mean[-1]:.3f}")
    print("  " + transition.describe(T).splitlines()[-1])
    error = np.std(curves, axis=0, ddof=1) / len(curves) ** 0.5
    ax.errorbar(sizes, mean, error, fmt=style, capsize=3, label=name)
ax.set_xscale("log")
ax.set_xticks(sizes, map(str, sizes))
ax.minorticks_off()
ax.set(xlabel="complementary labels", ylabel="accuracy on test images (± standard error)")
ax.set_ylim(0, 1)
ax.grid(alpha=0.3)
ax.legend(loc="lower right", title="T")
plt.show()
