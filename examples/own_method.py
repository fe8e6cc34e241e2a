"""A method of your own: one short function, trained by the library's loop.

You learn to write a loss of the logits, the complementary labels and log T, to register it under a
name, and to compare it with others. This one bounds the forward loss: a label that the model finds
impossible costs at most 1/a, so that wrong labels pull less.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ybar import ComplementaryNetClassifier, datasets, labels, transition
from ybar.neural import losses


def bounded_forward(logits, y_comp, log_T, a=0.7):
    """Return (1 - q[ȳ]^a)/a with q = Tᵀp; as a falls to 0 this becomes -log q[ȳ]."""
    log_p = logits.log_softmax(-1)
    log_q = (log_p[..., None] + log_T).logsumexp(-2)  # over the ordinary classes
    of_label = log_q.gather(-1, y_comp.expand(log_q.shape[:-1])[..., None])[..., 0]
    return (1 - (a * of_label).exp()) / a


losses.register("bounded", bounded_forward)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output" / "own.png")
output = parser.parse_args().output

d = datasets.load("digits")
X, y = np.repeat(d.X_train, 3, axis=0), np.repeat(d.y_train, 3)  # three people see each image
T = transition.strong(10, random_state=0)
y_comp = labels.draw(y, transition.with_uniform_noise(T, 0.3), random_state=1)  # T is not told

figure = Figure(figsize=(6.5, 3.8), layout="constrained")
ax = figure.subplots()
styles = {"bounded": "-", "cpe-f": "--", "cpe-n": "-.", "scl-nl": ":"}
for method, style in styles.items():
    clf = ComplementaryNetClassifier(method, (100,), transition=T, max_epochs=60, random_state=0)
    clf.fit(X, y_comp)
    accuracy = (clf.predict(d.X_test) == d.y_test).mean()
    print(f"{method:8} accuracy {accuracy:.3f}, epoch {clf.best_epoch_} of {clf.n_epochs_}")
    ax.plot(1 + np.arange(clf.n_epochs_), clf.history_["scel"], style, label=method)
ax.set(xlabel="epoch", ylabel="SCEL on held-out labels")
ax.grid(alpha=0.3)
ax.legend()
output.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(output, dpi=120)
