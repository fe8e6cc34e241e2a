"""Write the short tables of `results/` that the README and the docs include.

They summarise committed results: `paper/` (the paper's settings, run by us), `choices/` (what the
paper leaves open, run in other ways) and `leaderboard.md` (our own recipe).
"""

from __future__ import annotations

import csv
import itertools
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ybar.experiments.plan import model as plan
from ybar.experiments.plan import reading
from ybar.experiments.results import choose, published
from ybar.experiments.runs import transfer

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
(CHOICES,) = ROOT.glob("*/choices/choices.toml")
WIDE = 5  # points
NAMES = {
    "same network": "our recipe, with the paper's network",
    "KNN": "nearest neighbours, likelihood decoder",
    "boosting": "boosted trees that learn p",
    "small CNN": "small CNN, trained on shifted images",
}


def rows_of(text: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the Markdown tables of a text."""
    for line in text.splitlines():
        if line.startswith("|"):
            yield [cell.strip(" *") for cell in line.strip("|").split("|")]


def table(*rows: tuple[object, ...]) -> str:
    """Return a Markdown table; the first row is its header."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def model_of(cell: dict[str, str]) -> str:
    """Return the kind of model that a cell of the paper's tables is about."""
    if cell["table"] == "traditional":
        return {"CPE-KNN": "nearest neighbours", "CPE-GBDT": "boosted trees"}[cell["row"]]
    return "linear models" if "linear" in cell["table"] + cell["row"] else "MLPs"


def cells_of_the_paper() -> list[dict[str, str]]:
    """Return the cells of the paper's tables, with our results."""
    with (RESULTS / "paper" / "tables.csv").open() as file:
        return list(csv.DictReader(file))


def agreement(name: str, cells: list[dict[str, str]]) -> tuple[str, ...]:
    """Return a row of the summary: how many cells were run, and how many agree by each criterion.

    Cells that repeat a row of another table are left out.
    """
    cells = [cell for cell in cells if cell["repeats"] == "false"]
    run = [cell for cell in cells if cell["n"] != "0"]
    trials = sorted({int(cell["n"]) for cell in run})
    span = "–".join(str(n) for n in dict.fromkeys((trials[0], trials[-1])))
    tested = [cell["beyond_errors"] for cell in run if cell["beyond_errors"]]
    wide = sum(1 + 2 * float(cell["paper_std"]) > WIDE for cell in run)
    return (
        name,
        f"{len(run)} of {len(cells)}",
        f"{span} of {cells[0]['of']}",
        share([cell["differs"] for cell in run].count("false"), len(run)),
        share(tested.count("false"), len(tested)),
        str(wide),
    )


def share(part: int, of: int) -> str:
    """Return a share in words, and in percent."""
    return f"{part} of {of} ({part / of:.0%})" if of else "–"


def summary() -> str:
    """Return what was run, and how it compares with the paper."""
    cells = cells_of_the_paper()
    by_model: dict[str, list[dict[str, str]]] = defaultdict(list)
    for cell in cells:
        by_model[model_of(cell)].append(cell)
    rows = [agreement(f"the paper's {model}", of_model) for model, of_model in by_model.items()]
    rows.append(agreement("**the paper's tables, in all**", cells))
    ours = []
    for name, *figures in rows_of((RESULTS / "leaderboard.md").read_text()):
        if name in NAMES and len(figures) == 4:
            columns, ahead, mean, least = figures
            ours.append((NAMES[name], columns, ahead, mean, least))
    criteria = ("within 1 point + 2 deviations", "within 2 standard errors")
    return (
        table(
            ("the paper's experiments", "cells run", "trials", *criteria, f"tolerance > {WIDE}"),
            *rows,
        )
        + "\n"
        + table(
            ("our own", "columns", "ahead of the paper", "mean (points)", "lowest (points)"), *ours
        )
    )


def accuracy(mean: str, std: str) -> str:
    """Return an accuracy, with its standard deviation where there are two trials or more."""
    return f"{float(mean):.1f}" + (f" ± {float(std):.1f}" if std else "")


def differences() -> str:
    """Return the cells in which we differ from the paper."""
    cells = [cell for cell in cells_of_the_paper() if cell["differs"] == "true"]
    return table(
        ("table", "row", "data", "labels", "ours", "trials", "paper"),
        *(
            (
                *(cell[name] for name in ("table", "row", "dataset", "setting")),
                accuracy(cell["mean"], cell["std"]),
                f"{cell['n']} of {cell['of']}",
                accuracy(cell["paper"], cell["paper_std"]),
            )
            for cell in cells
        ),
    )


def accuracies(name: str) -> str:
    """Return a table of the paper, ours beside the paper's, for the columns that were run."""
    cells = [cell for cell in cells_of_the_paper() if cell["table"] == name]
    columns: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in cells:
        ours = f"{accuracy(cell['mean'], cell['std'])} ({cell['n']})" if cell["n"] != "0" else "–"
        paper = accuracy(cell["paper"], cell["paper_std"])
        columns[cell["dataset"], cell["setting"]].append(f"{ours}; {paper}")
    labels = dict.fromkeys(cell["row"] for cell in cells)
    run = {(cell["dataset"], cell["setting"]) for cell in cells if cell["n"] != "0"}
    return table(
        ("data", "labels", *labels),
        *((*column, *texts) for column, texts in columns.items() if column in run),
    )


class PaperRuns:
    """The committed runs of the plans `paper` and `choices`."""

    def __init__(self) -> None:
        self.plan = reading.read("paper")
        self.runs = choose.Runs(transfer.read(RESULTS / "paper" / "runs.csv"), self.plan)
        (self.linear,) = (part for part in self.plan.parts if part.base.name == "linear")
        sys.path.insert(0, str(CHOICES.parent))  # for the losses of the plan
        self.other_plan = reading.read(CHOICES)
        self.others = choose.Runs(transfer.read(RESULTS / "choices" / "runs.csv"), self.other_plan)

    def linear_choices(self, method: str, dataset: plan.Dataset, setting: plan.Setting) -> list:
        """Return the chosen run of each trial of a linear model."""
        rule = choose.Rule()
        return self.runs.choose_all(self.linear, plan.METHODS[method], dataset, setting, rule)


def ure_ga_trials(paper: PaperRuns) -> str:
    """Return by how much linear URE-GA is ahead of the paper, trial by trial."""
    gaps = defaultdict(list)
    for dataset, setting in itertools.product(paper.linear.datasets, paper.linear.settings):
        cell = ("linear", "linear", "URE-GA", dataset.name, setting.name)
        published_mean, _ = published.accuracies()[cell]
        chosen = paper.linear_choices("ure-ga", dataset, setting)
        kind = "noise" if setting.noise else setting.name
        gaps[kind] += [run.accuracy - published_mean for run in chosen]
    return table(
        ("labels", "trials", "ahead of the paper", "least", "most"),
        *(
            (kind, len(each), sum(g > 0 for g in each), f"{min(each):+.1f}", f"{max(each):+.1f}")
            for kind, each in gaps.items()
        ),
    )


def ure_ga_forms() -> str:
    """Return in how many columns each form of linear URE-GA agrees with the paper."""
    agree: dict[str, list[bool]] = defaultdict(list)
    for _, label, *cells in rows_of((RESULTS / "choices" / "tables.md").read_text()):
        if not label.startswith("URE-GA") or len(cells) != 2 * len(published.DATASETS):
            continue
        name = label.removeprefix("URE-GA, ").replace("URE-GA", "ours: the paper's formula")
        if label == "URE-GA":  # its row has the paper's figures, for all forms
            papers = [[float(number) for number in re.findall(r"[\d.]+", c)] for c in cells[1::2]]
        for ours, (mean, std) in zip(cells[::2], papers, strict=True):
            agree[name].append(abs(float(ours.split()[0]) - mean) <= 1 + 2 * std)
    rows = [(name, f"{sum(each)} of {len(each)}") for name, each in agree.items()]
    return table(("form of URE-GA, linear, first trial", "columns that agree"), *rows)


def batch_sizes(paper: PaperRuns) -> str:
    """Return how far accuracies with other batch sizes are from those with 256."""
    rows = []
    for part in paper.other_plan.parts:
        if not part.base.name.startswith("batches of "):
            continue
        for setting in part.settings:
            where = plan.Dataset("kmnist"), setting, 0, choose.Rule()
            gaps = {
                method.label: paper.others.choose(part, method, *where).accuracy
                - paper.runs.choose(paper.linear, method, *where).accuracy
                for method in part.methods
            }
            size = part.base.name.removeprefix("batches of ")
            rows.append((size, setting.name, *(f"{gap:+.1f}" for gap in gaps.values())))
    return table(("batch size", "labels", *gaps), *rows)


def pages() -> dict[str, str]:
    """Return the text of each file of `results/` that this module writes."""
    paper = PaperRuns()
    return {
        "summary.md": summary(),
        "differences.md": differences(),
        "main_table.md": accuracies("main"),
        "decoder_table.md": accuracies("decoders"),
        "ure_ga.md": ure_ga_trials(paper) + "\n" + ure_ga_forms(),
        "batch_sizes.md": batch_sizes(paper),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (RESULTS / name).write_text(text)
