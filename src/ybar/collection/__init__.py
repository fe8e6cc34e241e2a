"""Plan a collection of complementary labels before anyone has answered."""

from __future__ import annotations

from .planning import CollectionPlan, Design, plan

__all__ = ["CollectionPlan", "Design", "plan"]
