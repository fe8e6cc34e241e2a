"""The tables of a plan, and what each of their rows shows.

Every plan has the same kinds of tables. If the paper has a table for a base of that name, the table
has the paper's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..plan.model import METHODS, Method, Network, Part, Plan, Setting
from .choose import Rule

__all__ = ["COMPARISONS", "Layout", "Row", "caption", "layouts"]

COMPARISONS = ("decoders", "validation-", "tuning-")
"""How the names of tables begin whose rows compare uses of one training, not methods."""

# The rows of those tables, and what each row changes in the method.
_DECODERS = {"MAX": {"decoder": "max"}, "L1": {"decoder": "l1"}}
_CRITERIA = {"URE": {"criterion": "ure"}, "SCEL": {"criterion": "scel"}}
_EVERY_CRITERION = _CRITERIA | {"true labels": {"criterion": "true"}}

_DECODER_NAMES = {"l1": "L1", "l2": "L2"}


class Row(NamedTuple):
    """What a row shows; `name` is that of the paper's row, None if the paper has no such row."""

    label: str
    name: str | None
    part: Part
    method: Method


class Layout(NamedTuple):
    """A table before its cells; `source` is the name of the published one."""

    name: str
    source: str
    title: str
    rows: list[Row]
    keep: Callable[[Setting], bool] = lambda _: True


def layouts(plan: Plan) -> Iterable[Layout]:
    """Yield all tables in reading order."""
    networks = [part for part in plan.parts if isinstance(part.base, Network)]
    for part in sorted(networks, key=lambda part: part.base.name != "mlp"):
        yield from _of_methods(part)
    # As in the paper, which compares decoders only for networks with a hidden layer.
    with_layers = [p for p in networks if isinstance(p.base, Network) and p.base.hidden_layer_sizes]
    yield _compare("decoders", "Decoders of CPE-F", "cpe-f", with_layers, _DECODERS)
    yield Layout(
        "traditional",
        "traditional",
        "CPE with traditional models",
        [
            Row(m.label, m.label, part, m)
            for part in plan.parts
            if part not in networks
            for m in part.methods
        ],
    )
    for name in ("cpe-t", "fwd"):
        title = f"What chooses the learning rate of {METHODS[name].label}"
        yield _compare(f"validation-{name}", title, name, networks, _CRITERIA)
    for part in networks:
        if part.every_criterion:
            yield _by_every_criterion(part)


def _of_methods(part: Part) -> Iterable[Layout]:
    """Yield the table of a network's methods; two tables for the linear one, as in the paper."""
    base = part.base.name
    rows = [Row(m.label, _published_row(m), part, m) for m in part.methods]
    if base == "linear":
        title = "Methods with linear networks"
        yield Layout("linear-clean", base, title, rows, lambda s: not s.noise)
        yield Layout("linear-noisy", base, f"{title}, noisy labels", rows, lambda s: bool(s.noise))
    else:
        name = "main" if base == "mlp" else base
        yield Layout(name, name, f"Methods with {base} networks", rows)


def _published_row(method: Method) -> str | None:
    known = METHODS.get(method.name)
    if known is None or replace(method, label=known.label) != known:
        return None
    return known.label


def _compare(
    name: str, title: str, method: str, parts: list[Part], ways: Mapping[str, Mapping[str, str]]
) -> Layout:
    """Return the table that compares ways to use the training of a method, for each base."""
    having = [
        part for part in parts if any(m.name == method and m.loss is None for m in part.methods)
    ]
    named = ways is _CRITERIA or len(having) > 1
    rows = [
        Row(f"{part.base.name} {way}" if named else way, way, part, replace(METHODS[method], **how))  # type: ignore[arg-type]
        for part in having
        for way, how in ways.items()
    ]
    return Layout(name, name, title, rows)


def _by_every_criterion(part: Part) -> Layout:
    """Return the table of what tuning by complementary labels costs each method."""
    rows = [
        Row(f"{method.label} by {way}", None, part, replace(method, **how))  # type: ignore[arg-type]
        for method in part.methods
        for way, how in _EVERY_CRITERION.items()
    ]
    name = f"tuning-{part.base.name}"
    return Layout(name, name, f"What tuning without true labels costs, {part.base.name}", rows)


def caption(rows: Sequence[Row], rule: Rule, compared: bool) -> str:
    """Return what a reader must know: how the numbers were chosen, and what the marks mean."""
    uniform = "uniform" if rule.ure == "uniform" else "given"
    criteria = {"scel": "SCEL", "ure": f"URE of the zero-one loss under the {uniform} T"}
    tuning = any(row.method.criterion == "true" for row in rows)  # its rows name the criteria
    by = " or ".join(criteria.values())
    if not tuning:
        by = _shared({row.label: criteria[row.method.criterion] for row in rows})
    names = [row.method.label if tuning else row.label for row in rows]
    of_rows = (_DECODER_NAMES.get(row.method.decoder, row.method.decoder) for row in rows)
    decoders = _shared(dict(zip(names, of_rows, strict=True)))
    sentences = [
        "Test accuracy in percent, mean ± standard deviation over trials, in brackets how many of "
        "the planned trials are complete."
    ]
    rates = dict.fromkeys(row.part.learning_rates for row in rows)
    if (None,) in rates:
        sentences.append(f"Hyper-parameters chosen by {by} on held-out complementary labels.")
    else:
        grid = " or ".join(", ".join(f"{rate:g}" for rate in sorted(r)) for r in rates)  # type: ignore[type-var]
        epoch = "the last epoch" if rule.epoch == "last" else "the epoch of its lowest value"
        sentences.append(
            f"Learning rate out of {grid}, chosen by {by} on held-out complementary labels at "
            f"{epoch}, at which the accuracy is taken too."
        )
    if tuning:
        sentences.append("Rows by true labels choose by the test accuracy itself.")
    sentences.append(
        f"Decoded by {decoders}. † marks cells of which a run failed and was no choice."
    )
    if compared:
        sentences.append(
            "The paper's figures stand beside; ≠ marks those that differ from ours by more than 1 "
            "point + two of the paper's standard deviations."
        )
    return " ".join(sentences)


def _shared(values: Mapping[str, str]) -> str:
    """Return each value with the rows that have it, or the only value."""
    labels: dict[str, list[str]] = {}
    for label, value in values.items():
        labels.setdefault(value, []).append(label)
    if len(labels) < 2:
        return "".join(labels)
    return " and ".join(f"{value} ({', '.join(rows)})" for value, rows in labels.items())
