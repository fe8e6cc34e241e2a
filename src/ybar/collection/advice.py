"""A plan as text: a table of the designs, and a recommendation."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ..utils.text import plain
from .designs import Design, choose
from .pilot import std_error

if TYPE_CHECKING:
    from .planning import CollectionPlan

_WIDTH = 92  # width of the text below the table


def as_text(plan: CollectionPlan) -> str:
    """Return the table of a plan and its recommendation."""
    advice = (textwrap.fill(line, _WIDTH) for line in _advice(plan))
    note = ["± is one standard error over the simulations."] if plan.sizes else []
    return "\n".join([_title(plan), *_table(plan), *note, *advice])


def _title(plan: CollectionPlan) -> str:
    parts = [f"plan for {plan.n_classes} classes"]
    if plan.noise:
        parts.append(f"noise {plan.noise:g}")
    if plan.budget is not None:
        parts.append(f"{plan.budget:,} labels")
    return ", ".join(parts)


def _table(plan: CollectionPlan) -> list[str]:
    """Return the lines of a table with a column for each design."""
    rows = [
        ["", *(plain(d.name) for d in plan.designs)],
        ["can be enforced", *("yes" if d.enforceable else "no" for d in plan.designs)],
        ["gamma", *(f"{d.gamma:.3g}" for d in plan.designs)],
        ["condition number", *(f"{d.condition_number:.3g}" for d in plan.designs)],
        ["bits per label", *(f"{d.information:.3f}" for d in plan.designs)],
        ["questions per label", *(f"{d.questions_per_label:.3g}" for d in plan.designs)],
        ["labels per class for 90%", *(_count(d.labels_90) for d in plan.designs)],
        ["labels per class for 99%", *(_count(d.labels_99) for d in plan.designs)],
    ]
    for i, size in enumerate(plan.sizes):
        at_size = [d.accuracies[:, i] for d in plan.designs if d.accuracies is not None]
        cells = (f"{a.mean():.3f} ± {std_error(a):.3f}" for a in at_size)
        rows.append([f"accuracy, {size:,} labels", *cells])
    if plan.target is not None:
        rows.append(
            [f"labels for accuracy {plan.target:g}", *(_needed(plan, d) for d in plan.designs)]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()
        for first, *others in rows
    ]


def _count(labels: int | None) -> str:
    return "never" if labels is None else f"{labels:,}"


def _needed(plan: CollectionPlan, design: Design) -> str:
    if design.labels_for_target is None:
        return "not reached"
    least = "≤ " if design.labels_for_target == plan.sizes[0] else ""
    return f"{least}{design.labels_for_target:,}"


def _advice(plan: CollectionPlan) -> list[str]:
    best = plan.recommended
    if best is None:
        return ["No design identifies all classes, for any number of labels."]
    lines = [
        f"Recommended: {plain(best.name)}. {best.how[0].upper()}{best.how[1:]}.",
        _enough(plan, best),
    ]
    if plan.pilot_rows is not None and plan.sizes[-1] > plan.pilot_rows:
        lines.append(
            f"The simulation trains on {plan.pilot_rows:,} rows of the pilot; further labels are "
            "second labels of the same rows. Labels of new rows would be worth more."
        )
    if best.singular:
        lines.append(
            "Its T has no inverse: overlapping classes may never be identified, and URE is "
            "undefined."
        )
    if not best.enforceable:
        lines.append(
            "These numbers hold only if the answers follow its T. Estimate T, then plan again."
        )
    others = [d for d in plan.designs if not d.enforceable and d.labels_99 is not None]
    rival = choose([d for d in others if d is not best])
    if best.enforceable and rival is not None and _value(rival) > _value(best):
        lines.append(
            f"The design '{plain(rival.name)}' would be better, {_worth(rival)}, if the labels "
            "followed its T. You cannot enforce its T: only annotators who know the class can draw "
            "from it."
        )
    return lines


def _enough(plan: CollectionPlan, best: Design) -> str:
    """Return how many labels are needed, or how many groups the budget is enough for."""
    if best.accuracies is None:
        needed = f"{best.labels_99:,} labels identify the class of examples that look alike (99%)"
        if plan.budget is None or best.labels_99 is None:
            return f"{needed}."
        groups = plan.budget // best.labels_99
        return f"{needed}; {plan.budget:,} are enough for {groups:,} such groups."
    if plan.target is None:
        return f"Expect {_worth(best)} with {plan.budget:,} labels."
    if best.labels_for_target is None:
        return (
            f"{plan.budget:,} labels do not reach {plan.target:g}: expect {_worth(best)}. Plan "
            "with a larger budget to see how many are needed."
        )
    is_bound = best.labels_for_target == plan.sizes[0]
    return (
        f"Accuracy {plan.target:g} needs {'at most' if is_bound else 'about'} "
        f"{best.labels_for_target:,} labels."
    )


def _value(design: Design) -> float:
    return design.information if design.accuracy is None else design.accuracy


def _worth(design: Design) -> str:
    if design.accuracy is None:
        return f"{design.information:.3f} bits per label"
    return f"accuracy {design.accuracy:.3f} ± {design.std_error:.3f}"
