"""
Learn from labels that are sometimes wrong
==========================================

Learn from labels that are sometimes wrong, although T says that they never are.

You learn that `cpe-n` learns the noise level together with the network. Both methods receive the T
without noise. `cpe-f` loses accuracy as the noise increases; `cpe-n` is about as accurate as a
network that knows the noise level.
"""

import matplotlib.pyplot as plt
import numpy as np

from ybar import ComplementaryNetClassifier, datasets, labels, transition

SETTINGS = {"max_epochs": 50, "batch_size": 512, "learning_rate": 2e-3, "random_state": 0}


d = datasets.load("digits")
X, y = np.repeat(d.X_train, 4, axis=0), np.repeat(d.y_train, 4)  # four labels per image
T = transition.strong(10, random_state=0)
levels = [0.0, 0.3, 0.6]  # share of labels drawn regardless of the class
accuracy = {"cpe-f": [], "cpe-n": [], "cpe-f with the noisy T": []}
estimates = []
for level in levels:
    T_noisy = transition.with_uniform_noise(T, level)
    y_comp = labels.draw(y, T_noisy, random_state=1)
    for name, results in accuracy.items():
        assumed = T_noisy if "noisy" in name else T
        clf = ComplementaryNetClassifier(name[:5], (100,), transition=assumed, **SETTINGS)
        clf.fit(X, y_comp)
        results.append((clf.predict(d.X_test) == d.y_test).mean())
        if name == "cpe-n":
            estimates.append((clf.noise_, *clf.noise_interval_))
    accuracies = ", ".join(f"{name} {results[-1]:.3f}" for name, results in accuracy.items())
    noise, low, high = estimates[-1]
    print(f"noise {level:.1f}: {accuracies}; estimated noise {noise:.2f} ({low:.2f} to {high:.2f})")

# %%
# Bars are 95% intervals of the estimated noise level.

figure = plt.figure(figsize=(9, 3.6), layout="constrained")
left, right = figure.subplots(1, 2)
styles = [("o-", "#D55E00"), ("s-", "#0072B2"), ("^:", "0.4")]
for (name, results), (style, color) in zip(accuracy.items(), styles, strict=True):
    left.plot(levels, results, style, color=color, label=name)
left.set(xlabel="noise in the labels, λ", ylabel="accuracy on test images")
left.legend(loc="lower left")
right.plot(levels, levels, ":", color="0.4", label="the true λ")
noise, low, high = np.transpose(estimates)
errors = [noise - low, high - noise]  # 95% intervals
right.errorbar(levels, noise, errors, fmt="s-", color="#0072B2", capsize=3, label="of cpe-n")
right.set(xlabel="noise in the labels, λ", ylabel="λ")
right.legend()
for ax in (left, right):
    ax.set_xticks(levels)
    ax.grid(alpha=0.3)
plt.show()
