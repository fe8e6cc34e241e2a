"""A table of three kinds of animals, and the command line, for the tests of both."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ybar import labels, transition

CLASSES = ["bird", "cat", "dog"]
WORDS = [["sings", "flies", "nests"], ["purrs", "sleeps", "climbs"], ["barks", "runs", "digs"]]


def run(*arguments, stdin=None):
    """Run ``ybar`` with these arguments."""
    from typer.testing import CliRunner  # typer is an optional extra

    from ybar.cli import app

    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def table(n=600, seed=0, T=None):
    """Rows whose numbers, categories and texts depend on the class, with complementary labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    T = transition.uniform(3) if T is None else T
    length = y + rng.normal(0, 0.4, n)
    length[rng.random(n) < 0.1] = np.nan
    colour = np.array(["red", "grey", "brown"])[np.where(rng.random(n) < 0.8, y, rng.integers(3))]
    frame = pd.DataFrame(
        {
            "id": [f"animal {i}" for i in range(n)],
            "length": length,
            "noise": rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.05, None, colour),
            "text": [
                "it " + " ".join(rng.choice(WORDS[c] + ["is", "seen"], 4)) + " here" for c in y
            ],
            "constant": 1,
            "label": np.array(CLASSES)[y],
        }
    )
    frame["not"] = np.array(CLASSES)[labels.draw(y, T, random_state=seed)]
    return frame


def accuracy(model, frame):
    return np.mean(model.predict(frame) == frame["label"].to_numpy())
