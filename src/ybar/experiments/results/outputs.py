"""What comes of a plan, as files: tables, figures and the page."""

from __future__ import annotations

import datetime
import io
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...report import Page
from ...report import write as write_page
from ...utils.extras import require
from ...utils.files import target_folder, write_whole
from ...utils.text import file_name, markdown, plain
from ..plan.model import Dataset, Facts, Network, Plan
from ..runs.ledger import Entry
from . import choose, render, tables
from . import page as summary
from . import plots as figures

_PIXELS_AN_INCH = 144

Drawn = tuple[str, str, Any]
"""Title, what is to be seen in words, and the figure."""


class Written(NamedTuple):
    """What to show of it at once."""

    tables: list[tables.Table]
    text: str


def check_folder(folder: Path) -> None:
    """Make the folder, or refuse what cannot be done, before anything is run."""
    for name in ("matplotlib", "jinja2"):
        require(name, "report", "the figures and the page")
    (target_folder(folder, "--output") / "figures").mkdir(parents=True, exist_ok=True)


def write(
    entries: Sequence[Entry],
    plan: Plan,
    folder: Path,
    facts: Mapping[Dataset, Facts] | None = None,
    *,
    epoch: str = "last",
) -> Written:
    """Write ``tables.md``, ``.tex`` and ``.csv``, ``figures/`` and ``report.html`` to a folder.

    Where something is in the paper too, ``overview.md`` says how far we agree, and
    ``choices.md`` what other choices where the paper is silent would give.

    Parameters
    ----------
    entries : sequence of Entry
        With their curves, where loss curves are to be drawn.
    plan : Plan
    folder : path
        See `check_folder`.
    facts : mapping of Dataset to Facts, optional
        Which data the plan means; without them, those that the entries were run on.
    epoch : {"last", "best"}
        Which epoch the tables take.
    """
    try:
        return _write(choose.of_plan(entries, plan, facts), plan, folder, facts, epoch)
    except OSError as error:
        raise OSError(
            f"output {folder} could not be written to ({error.strerror or error}). All runs are "
            "in the ledger: make room, and say --no-run"
        ) from error


def _write(
    entries: Sequence[Entry],
    plan: Plan,
    folder: Path,
    facts: Mapping[Dataset, Facts] | None,
    epoch: str,
) -> Written:
    built = tables.build(entries, plan, epoch=epoch, facts=facts)
    agreement = tables.agreement(built)
    text = [f"# {markdown(plan.name)}\n", *map(render.markdown, built)]
    write_whole(folder / "tables.md", "\n".join(text).encode())
    if agreement.run:
        write_whole(folder / "overview.md", _by_row(built).encode())
        write_whole(folder / "choices.md", _choices(entries, plan, facts).encode())
    write_whole(folder / "tables.tex", "\n".join(map(render.latex, built)).encode())
    write_whole(folder / "tables.csv", render.to_csv(built).encode())
    drawn = _draw(entries, plan, built, facts)
    for stem, (*_, figure) in drawn.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_PIXELS_AN_INCH, metadata={"Software": None})
        write_whole(folder / "figures" / f"{stem}.png", buffer.getvalue())
    write_page(_page(entries, plan, built, drawn), folder / "report.html")
    said = ""
    if agreement.run:
        said = (
            f"{agreement.agree} of {agreement.run} cells agree with the paper "
            f"({agreement.published} are published). "
        )
    failed = sum(entry.cause is not None for entry in entries)
    if failed:
        said += f"{failed} runs have failed, see the page; --retry-failed runs them again. "
    return Written(built, f"{said}Written: {plain(str(folder / 'report.html'))}")


def page(entries: Sequence[Entry], plan: Plan) -> Page:
    """Return the page of all runs."""
    built = tables.build(entries, plan)
    return _page(entries, plan, built, _draw(entries, plan, built, None))


def _page(
    entries: Sequence[Entry],
    plan: Plan,
    built: Sequence[tables.Table],
    drawn: Mapping[str, Drawn],
) -> Page:
    now = datetime.datetime.now(datetime.UTC)
    agreement = tables.agreement(built)
    return summary.page(entries, plan, built, list(drawn.values()), agreement, now)


def _by_row(built: Sequence[tables.Table]) -> str:
    """Return how far each row of each table agrees with the paper, as Markdown."""
    lines = [
        "| table | row | columns run | trials | agree | ours - paper, mean (range) |",
        "|---|---|---|---|---|---|",
    ]
    total = tables.agreement(built)
    for table in built:
        for label, cells in table.rows:
            there = [cell for cell in cells if cell.paper is not None]
            ran = [cell for cell in there if cell.n]
            if not ran:
                continue
            points = [cell.mean - cell.paper[0] for cell in ran if cell.paper is not None]
            trials = {cell.n for cell in ran}
            lines.append(
                f"| {markdown(table.name)} | {markdown(label)} | {len(ran)} of {len(there)} "
                f"| {'–'.join(map(str, sorted({min(trials), max(trials)})))} of {ran[0].of} "
                f"| {sum(cell.differs is False for cell in ran)} "
                f"| {statistics.fmean(points):+.1f} ({min(points):+.1f} to {max(points):+.1f}) |"
            )
    agree = f"{total.agree} ({100 * total.agree / total.run:.0f}%)"
    lines.append(f"| **all** | | **{total.run} of {total.published}** | | **{agree}** | |")
    return "\n".join(lines) + "\n"


def _choices(entries: Sequence[Entry], plan: Plan, facts: Mapping[Dataset, Facts] | None) -> str:
    """Return how far we agree by what the paper leaves open, as Markdown."""
    lines = [
        "| epoch | URE under | cells run | agree | share |",
        "|---|---|---|---|---|",
    ]
    for epoch in choose.EPOCHS:
        for ure in choose.URES:
            built = tables.build(entries, plan, epoch=epoch, ure=ure, facts=facts)
            found = tables.agreement(built)
            share = f"{100 * found.agree / found.run:.0f}%" if found.run else "–"
            under = "the T given" if ure == "given" else "uniform T"
            lines.append(f"| {epoch} | {under} | {found.run} | {found.agree} | {share} |")
    return "\n".join(lines) + "\n"


def _draw(
    entries: Sequence[Entry],
    plan: Plan,
    built: Sequence[tables.Table],
    facts: Mapping[Dataset, Facts] | None,
) -> dict[str, Drawn]:
    """Return all there is to draw, by the name of its file."""
    found: dict[str, Drawn] = {}
    for part in plan.parts:
        if not isinstance(part.base, Network):
            continue
        base = part.base.name
        for dataset in part.datasets:
            stem = file_name(f"loss-{base}-{dataset.name}")
            while stem in found:  # "a-b" on "c" and "a" on "b-c"
                stem += "-2"
            found[stem] = (
                f"Loss curves, {base}, {dataset.name}",
                "Training and validation loss of CPE-I, CPE-F and CPE-T by epoch, one panel for "
                "each setting",
                figures.loss_curves(entries, plan, base, dataset.name, facts=facts),
            )
    found["accuracy-by-noise"] = (
        "Accuracy by noise",
        "Accuracy of each method against the level of noise, one panel for each data set",
        figures.accuracy_by_noise(built),
    )
    found["agreement"] = (
        "Agreement with the paper",
        "Difference of our accuracy from the paper's in points, for each method and column",
        figures.agreement_map(built),
    )
    return {stem: drawn for stem, drawn in found.items() if drawn[2] is not None}
