"""Plan a collection of complementary labels before anyone has answered.

`plan` compares *designs*: ways of asking for labels, each with the transition matrix that it makes.
It returns what a label of each design is worth, how many labels are needed, and a recommendation.
With a pilot, rows whose true classes are known, it also simulates the accuracy of a classifier.
"""

from __future__ import annotations

from .designs import Design
from .planning import CollectionPlan, plan

__all__ = ["CollectionPlan", "Design", "plan"]
