"""Write the results of a plan as files: tables, figures and the page."""

from __future__ import annotations

import datetime
import io
import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...report import Page
from ...report import write as write_page
from ...utils.errors import input_errors
from ...utils.extras import require
from ...utils.files import target_folder, write_whole
from ...utils.text import file_name, markdown, plain
from ..plan.model import Network, Plan
from ..runs.entry import Entry
from . import page as summary
from . import plots, render, tables
from .choose import EPOCHS, URES, Runs

_PIXELS_PER_INCH = 144

Drawn = tuple[str, str, Any]
"""A title, a description in words, and the figure."""


class Written(NamedTuple):
    """What was written: the tables, and a line for the terminal."""

    tables: list[tables.Table]
    text: str


def check_folder(folder: Path) -> None:
    """Make the folder, or raise an error before anything is run."""
    for name in ("matplotlib", "jinja2"):
        require(name, "report", "the figures and the page")
    with input_errors():
        target = target_folder(folder, "--output")
    (target / "figures").mkdir(parents=True, exist_ok=True)


def write(runs: Runs, folder: Path, *, epoch: str = "last") -> Written:
    """Write ``tables.md``, ``.tex`` and ``.csv``, ``figures/`` and ``report.html`` to a folder.

    If the paper has any of the cells, ``overview.md`` compares each row with the paper, and
    ``choices.md`` counts how many cells agree under other choices where the paper is silent. Loss
    curves are drawn if the runs have their curves.
    """
    try:
        return _write(runs, folder, epoch)
    except OSError as error:
        raise OSError(
            f"output {folder} could not be written to ({error.strerror or error}). All runs are "
            "in the ledger: make room, then repeat the command with --no-run"
        ) from error


def _write(runs: Runs, folder: Path, epoch: str) -> Written:
    built = tables.build(runs, epoch=epoch)
    agreement = tables.agreement(built)
    texts = {
        "tables.md": "\n".join([f"# {markdown(runs.plan.name)}\n", *map(render.markdown, built)]),
        "tables.tex": "\n".join(map(render.latex, built)),
        "tables.csv": render.to_csv(built),
    }
    if agreement.run:
        texts["overview.md"] = _by_row(built)
        texts["choices.md"] = _choices(runs)
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
    drawn = _draw(runs, built)
    for stem, (*_, figure) in drawn.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_PIXELS_PER_INCH, metadata={"Software": None})
        write_whole(folder / "figures" / f"{stem}.png", buffer.getvalue())
    write_page(_page(runs, built, drawn), folder / "report.html")
    return Written(built, _summary(runs, agreement, folder))


def _summary(runs: Runs, agreement: tables.Agreement, folder: Path) -> str:
    text = ""
    if agreement.run:
        text = (
            f"{agreement.agree} of {agreement.run} cells agree with the paper, which published "
            f"{agreement.published}. "
        )
    if agreement.tested:
        text += (
            f"{agreement.within} of {agreement.tested} cells with five trials are within two "
            "standard errors of the paper. "
        )
    failed = sum(entry.cause is not None for entry in runs.entries)
    if failed:
        text += f"{failed} runs failed: the page shows why; --retry-failed repeats them. "
    return f"{text}Written: {plain(str(folder / 'report.html'))}"


def page(entries: Iterable[Entry], plan: Plan) -> Page:
    """Return the page of all runs."""
    runs = Runs(entries, plan)
    built = tables.build(runs)
    return _page(runs, built, _draw(runs, built))


def _page(runs: Runs, built: Sequence[tables.Table], drawn: Mapping[str, Drawn]) -> Page:
    now = datetime.datetime.now(datetime.UTC)
    return summary.page(runs, built, list(drawn.values()), tables.agreement(built), now)


def _by_row(built: Sequence[tables.Table]) -> str:
    """Return how far each row of each table agrees with the paper, as Markdown."""
    lines = [
        "| table | row | columns run | trials | agree | within 2 errors | ours - paper (range) |",
        "|---|---|---|---|---|---|---|",
    ]
    total = tables.agreement(built)
    for table in built:
        for label, cells in table.rows:
            there = [cell for cell in cells if cell.paper is not None]
            ran = [cell for cell in there if cell.n]
            if not ran:
                continue
            points = [cell.points for cell in ran]
            trials = {cell.n for cell in ran}
            tested = [cell.beyond_errors for cell in ran if cell.beyond_errors is not None]
            within = f"{tested.count(False)} of {len(tested)}" if tested else "–"
            lines.append(
                f"| {markdown(table.name)} | {markdown(label)} | {len(ran)} of {len(there)} "
                f"| {'–'.join(map(str, sorted({min(trials), max(trials)})))} of {ran[0].of} "
                f"| {sum(cell.differs is False for cell in ran)} | {within} "
                f"| {statistics.fmean(points):+.1f} ({min(points):+.1f} to {max(points):+.1f}) |"
            )
    run = f"{total.run} of {total.published}"
    shares = _share(total.agree, total.run), _share(total.within, total.tested)
    lines.append(f"| **all** | | **{run}** | | **{shares[0]}** | **{shares[1]}** | |")
    return "\n".join(lines) + "\n"


def _share(part: int, of: int) -> str:
    return f"{part} of {of} ({100 * part / of:.0f}%)" if of else "–"


def _choices(runs: Runs) -> str:
    """Return how many cells agree under each choice that the paper leaves open, as Markdown."""
    lines = [
        "| epoch | T of the URE | cells run | agree |",
        "|---|---|---|---|",
    ]
    for epoch, ure in itertools.product(EPOCHS, URES):
        total = tables.agreement(tables.build(runs, epoch=epoch, ure=ure))
        T = "the learner's" if ure == "given" else ure
        agree = _share(total.agree, total.run)
        lines.append(f"| {epoch} | {T} | {total.run} | {agree} |")
    return "\n".join(lines) + "\n"


def _draw(runs: Runs, built: Sequence[tables.Table]) -> dict[str, Drawn]:
    """Return the figures that have something to show, by the names of their files."""
    drawn: dict[str, Drawn] = {}
    for part in runs.plan.parts:
        if not isinstance(part.base, Network):
            continue
        base = part.base.name
        for dataset in part.datasets:
            stem = file_name(f"loss-{base}-{dataset.name}")
            while stem in drawn:  # "a-b" on "c" and "a" on "b-c"
                stem += "-2"
            drawn[stem] = (
                f"Loss curves, {base}, {dataset.name}",
                "Training and validation loss of each method by epoch, one panel for each setting",
                plots.loss_curves(runs, part, dataset),
            )
    drawn["accuracy-by-noise"] = (
        "Accuracy by noise",
        "Accuracy of each method against the level of noise, one panel for each data set",
        plots.accuracy_by_noise(built),
    )
    drawn["agreement"] = (
        "Agreement with the paper",
        "Difference of our accuracy from the paper's in points, for each method and column",
        plots.agreement_map(built),
    )
    return {stem: each for stem, each in drawn.items() if each[2] is not None}
