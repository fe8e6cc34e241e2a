"""Plan a collection of complementary labels before anyone has answered.

`plan` compares *designs*: ways to ask for labels, each with the transition matrix that it produces.
It returns the information in a label of each design, the number of labels needed, and a
recommendation. With a pilot (rows whose true classes are known), it also simulates the accuracy of
a classifier.
"""

from __future__ import annotations

from .designs import Design
from .planning import CollectionPlan, plan

__all__ = ["CollectionPlan", "Design", "plan"]
