"""Draw, check and encode complementary labels.

Complementary labels come in two forms, and every function and classifier here accepts both:

- one per row: a 1-D array of class names, in any label type that scikit-learn knows;
- several per row: a boolean N×K array, True where a class is ruled out. A row may rule out no
  class, but never all K classes.

If a row has several labels, each counts as a separate draw from T. Labels that were drawn without
replacement follow a different T unless T is uniform: estimate it with
``transition.estimate(y_true, mask)``.

`Evidence` holds more: ordinary labels for some rows, candidate sets, answers to "is it a?",
annotators with a T each.

Inside the package labels are *codes*: class indices 0..K-1, or the same boolean array. `Observed`
is the one internal form of all of these, including evidence (`ybar.labels.observed`).
"""

from __future__ import annotations

from ..utils.encoding import encode, pairs
from .drawing import draw
from .evidence import Evidence

__all__ = ["Evidence", "draw", "encode", "pairs"]
