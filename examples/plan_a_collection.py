"""
Compare ways to ask
===================

Plan a collection: which question to ask, and how many answers to buy.

You learn to compare designs before anyone has answered: by the information in a label, and by
simulation on a pilot of your own. Some informative transition matrices cannot be enforced.
"""

import matplotlib.pyplot as plt

from ybar import CPEKNeighborsClassifierCV, collection, datasets

d = datasets.load("digits")
plan = collection.plan(
    10,
    noise=0.05,
    budget=3600,
    X=d.X_train,
    y=d.y_train,
    target=0.75,
    classifier=CPEKNeighborsClassifierCV(decoder="likelihood"),
    random_state=0,
)
print(plan)

# %%
# The information in a label of each design, and the simulated accuracy:

figure = plt.figure(figsize=(9, 4), layout="constrained")
left, right = figure.subplots(1, 2)
for design, marker in zip(plan.designs, "osPD^v", strict=True):
    color, line = ("C0", "-") if design.enforceable else ("C1", "--")
    left.barh(design.name, design.information, color=color)
    left.text(design.information + 0.02, design.name, f"γ = {design.gamma:.2f}", va="center")
    mean = design.accuracies.mean(axis=0)
    error = design.accuracies.std(axis=0, ddof=1) / len(design.accuracies) ** 0.5
    style = {"marker": marker, "color": color, "ls": line, "capsize": 3}
    right.errorbar(plan.sizes, mean, error, label=design.name, **style)
left.invert_yaxis()
left.set(xlabel="bits per label", xlim=(0, 1.8))
left.set_title("blue: can be enforced; orange: cannot")
right.axhline(plan.target, color="gray", lw=1)
right.set(xlabel="complementary labels", ylabel="accuracy (± standard error)", ylim=(0, 1))
right.set_xscale("log")
right.set_xticks(plan.sizes, map(str, plan.sizes))
right.minorticks_off()
right.set_title("simulated; the line is the target")
right.legend(loc="lower right", ncols=2)
right.grid(alpha=0.3)
plt.show()
