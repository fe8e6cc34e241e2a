"""Draw, check and encode complementary labels.

Complementary labels come in two forms, and every function and classifier here takes both:

- one a row: a 1-D array of class names, in any label type that scikit-learn knows;
- several a row: a boolean N×K array, True where a class is ruled out. A row may rule out none
  (it says nothing) but never all K classes.

Each of several labels counts as one drawn from T. Labels that were drawn without putting back
follow a T of their own unless T is uniform: estimate it with ``transition.estimate(y_true, mask)``.

`Evidence` has room for more than that: ordinary labels for some rows, sets of candidates, answers
to "is it a?", annotators each with a T of their own.

Inside the package labels are *codes*: class indices 0..K-1, or the same boolean array.
"""

from __future__ import annotations

from ..utils.encoding import encode, pairs
from .drawing import draw
from .evidence import Evidence

__all__ = ["Evidence", "draw", "encode", "pairs"]
