"""``ybar simulate``: complementary labels from true classes."""

import io

import numpy as np
import pandas as pd

from animals import CLASSES, run
from ybar.transition.reading import read_matrix


def test_simulated_labels_have_the_frequencies_of_the_matrix(folder):
    n = 30_000
    frame = pd.DataFrame({"x": np.arange(n), "label": np.array(CLASSES * (n // 3))})
    frame.to_csv("true.csv", index=False)
    arguments = ["--target", "label", "--transition", "strong", "--write-transition", "T.csv"]
    done = run("simulate", "true.csv", *arguments, "--noise", 0.3, "--keep-true", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    T = read_matrix("T.csv")
    assert T.classes == CLASSES
    drawn = pd.read_csv("out.csv")
    counts = pd.crosstab(drawn["label"], drawn["not_label"], normalize="index")
    np.testing.assert_allclose(counts, 0.7 * T.T + 0.1, atol=0.015)
    done = run("simulate", "true.csv", "--target", "label", "--labels", 3)
    cells = pd.read_csv(io.StringIO(done.stdout))
    assert "label" not in cells
    assert cells["not_label"].str.contains("|", regex=False).any()
