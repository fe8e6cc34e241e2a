"""Draw the picture of README: digits with complementary labels, and predictions for other digits.

python studies/picture.py
"""

from __future__ import annotations

import io
from pathlib import Path

from ybar import ComplementaryNetClassifier, datasets
from ybar.cli import demo_models, demo_page
from ybar.utils.files import write_whole

FILE = Path(__file__).resolve().parent.parent / "results" / "digits.png"


def main() -> None:
    data, T = datasets.load("digits"), demo_models.matrices()["strong T"]
    y_comp = demo_models.training_labels(data, T)
    clf = ComplementaryNetClassifier(transition=T, random_state=0).fit(data.X_train, y_comp)
    buffer = io.BytesIO()
    figure = demo_page.draw_examples(data, y_comp, clf.predict(data.X_test))
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    write_whole(FILE, buffer.getvalue())


if __name__ == "__main__":
    main()
