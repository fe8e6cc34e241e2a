"""Write the short tables of `results/` that the README and the docs include.

They summarise committed results: `paper/` (the paper's settings, run by us), `choices/` (what the
paper leaves open, run in other ways), `field/` (other methods) and `leaderboard.md` (our recipe).
"""

from __future__ import annotations

import csv
import itertools
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ybar.experiments.plan import model as plan
from ybar.experiments.plan import reading
from ybar.experiments.results import choose, published, tables
from ybar.experiments.runs import transfer

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
(CHOICES,) = ROOT.glob("*/choices/choices.toml")
WIDE = 5  # points
HOLDS = {"false": "yes", "true": "no", "": "–"}  # a criterion, by whether we differ by it
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
    """Return the cells in which we differ from the paper by one criterion or both."""
    rows = []
    for cell in cells_of_the_paper():
        if "true" in (cell["differs"], cell["beyond_errors"]) and cell["repeats"] == "false":
            rows.append(
                (
                    *(cell[name] for name in ("table", "row", "dataset", "setting")),
                    accuracy(cell["mean"], cell["std"]),
                    f"{cell['n']} of {cell['of']}",
                    accuracy(cell["paper"], cell["paper_std"]),
                    HOLDS[cell["differs"]],
                    HOLDS[cell["beyond_errors"]],
                )
            )
    names = ("table", "row", "data", "labels", "ours", "trials", "paper")
    return table((*names, "agrees", "within 2 errors"), *rows)


def spread() -> str:
    """Return the standard deviations over trials of linear models, ours and the paper's."""
    of_row: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells_of_the_paper():
        if cell["table"].startswith("linear") and cell["n"] == cell["of"]:
            pair = float(cell["std"]), float(cell["paper_std"])
            of_row[cell["row"]][cell["setting"]].append(pair)
    settings = dict.fromkeys(setting for by_setting in of_row.values() for setting in by_setting)
    rows = []
    for row, by_setting in of_row.items():
        cells = []
        for setting in settings:
            means = [statistics.fmean(each) for each in zip(*by_setting[setting], strict=True)]
            cells.append("; ".join(f"{mean:.1f}" for mean in means) or "–")
        rows.append((row, *cells))
    return table(("method", *settings), *rows)


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


class Recorded(NamedTuple):
    """The committed runs of a plan."""

    plan: plan.Plan
    runs: choose.Runs

    @classmethod
    def of(cls, source: str | Path, *exports: str) -> Recorded:
        """Read a plan, and the runs of exports, as far as these are there."""
        read = reading.read(source)
        files = (RESULTS / export for export in exports)
        entries = [entry for file in files if file.exists() for entry in transfer.read(file)]
        return cls(read, choose.Runs(entries, read))

    def part(self, base: str) -> plan.Part:
        """Return the part of a base."""
        return next(part for part in self.plan.parts if part.base.name == base)

    def accuracies(
        self,
        base: str,
        method: plan.Method,
        dataset: plan.Dataset,
        setting: plan.Setting,
        rule: choose.Rule | None = None,
    ) -> dict[int, float]:
        """Return the accuracy of the chosen run of each complete trial."""
        part = self.part(base)
        trials = {
            trial: self.runs.choose(part, method, dataset, setting, trial, rule or choose.Rule())
            for trial in range(part.trials)
        }
        return {trial: chosen.accuracy for trial, chosen in trials.items() if chosen}


def gaps(values: Sequence[float]) -> tuple[str, str, str]:
    """Return the mean, the least and the largest difference in points."""
    return f"{statistics.fmean(values):+.1f}", f"{min(values):+.1f}", f"{max(values):+.1f}"


def ure_ga_forms(paper: Recorded, others: Recorded) -> str:
    """Compare each form of linear URE-GA with the paper, over the trials that all forms have."""
    part = others.part("linear")
    columns = {
        where: {
            method: (paper if method.name == "ure-ga" else others).accuracies(
                "linear", method, *where
            )
            for method in part.methods
        }
        for where in itertools.product(part.datasets, part.settings)
    }
    rows = []
    for method in part.methods:
        cells = []
        for (dataset, setting), by_form in columns.items():
            trials = set.intersection(*map(set, by_form.values()))
            known = published.accuracies()["linear", "linear", "URE-GA", dataset.name, setting.name]
            ours = tuple(by_form[method][trial] for trial in sorted(trials))
            cells.append(tables.Cell(ours, part.trials, known))
        run = [cell for cell in cells if cell.n]
        tested = [cell.beyond_errors for cell in run if cell.beyond_errors is not None]
        agree = share([str(cell.differs) for cell in run].count("False"), len(run))
        label = method.label.removeprefix("URE-GA, ").replace("URE-GA", "ours: the paper's formula")
        within = share(tested.count(False), len(tested))
        rows.append((label, span(run), agree, within, *gaps([cell.points for cell in run])))
    criteria = ("within 1 point + 2 deviations", "within 2 standard errors")
    points = ("ours - paper", "least", "largest")
    return table(("form of URE-GA, linear, clean labels", "trials", *criteria, *points), *rows)


def span(cells: Sequence[tables.Cell]) -> str:
    """Return how many trials cells have, the fewest and the most."""
    trials = sorted({cell.n for cell in cells})
    return "–".join(map(str, dict.fromkeys((trials[0], trials[-1]))))


def transition_layers(paper: Recorded, ours: Recorded) -> str:
    """Return CPE-T trained in both ways, over the trials that both have."""
    method, rows, by_base = plan.METHODS["cpe-t"], [], defaultdict(list)
    for part in ours.plan.parts:
        for dataset, setting in itertools.product(part.datasets, part.settings):
            where = part.base.name, method, dataset, setting
            both = [each.accuracies(*where) for each in (ours, paper)]
            trials = sorted(both[0].keys() & both[1].keys())
            if not trials:
                continue
            means = [statistics.fmean(each[trial] for trial in trials) for each in both]
            table_of = "main" if part.base.name == "mlp" else part.base.name
            known = published.accuracies()[table_of, part.base.name, "CPE-T", dataset.name,
                                           setting.name]  # fmt: skip
            by_base[part.base.name].append(means[0] - means[1])
            means_text = (f"{mean:.1f}" for mean in means)
            names = (part.base.name, dataset.name, setting.name, len(trials))
            rows.append((*names, *means_text, accuracy(*map(str, known))))
    ways = ("ybar's default", "as the paper describes")
    header = ("model", "data", "labels", "trials", *ways, "the paper's accuracy")
    counts = [
        (base, len(each), sum(gap > 0 for gap in each), *gaps(each))
        for base, each in by_base.items()
    ]
    ahead = ("model", "columns", "the default is ahead", "mean (points)", "least", "largest")
    return table(header, *rows) + "\n" + table(ahead, *counts)


def batch_sizes(paper: Recorded, others: Recorded) -> str:
    """Return how far accuracies with other batch sizes are from those with 256."""
    rows = []
    parts = [part for part in others.plan.parts if part.base.name.startswith("batches of ")]
    for part, setting in ((each, setting) for each in parts for setting in each.settings):
        where = plan.Dataset("kmnist"), setting
        differences = (
            others.accuracies(part.base.name, method, *where)[0]
            - paper.accuracies("linear", method, *where)[0]
            for method in part.methods
        )
        size = part.base.name.removeprefix("batches of ")
        rows.append((size, setting.name, *(f"{gap:+.1f}" for gap in differences)))
    return table(("batch size", "labels", *(method.label for method in parts[0].methods)), *rows)


def tuning(field: Recorded) -> str:
    """Return how many points each method of the field loses if SCEL or URE tunes it."""
    rows = []
    for part, method in ((each, method) for each in field.plan.parts for method in each.methods):
        best, lost, n_trials = [], defaultdict(list), set()
        for dataset, setting in itertools.product(part.datasets, part.settings):
            by = {
                criterion: field.accuracies(
                    part.base.name, replace(method, criterion=criterion), dataset, setting
                )
                for criterion in ("true", "scel", "ure")
            }
            trials = set.intersection(*map(set, by.values()))
            if trials:
                n_trials.add(len(trials))
                best.append(statistics.fmean(by["true"][trial] for trial in trials))
                for criterion in ("scel", "ure"):
                    gaps_of_column = (by["true"][t] - by[criterion][t] for t in trials)
                    lost[criterion].append(statistics.fmean(gaps_of_column))
        if best:
            of = len(part.datasets) * len(part.settings)
            counts = f"{len(best)} of {of}", "–".join(map(str, sorted(n_trials)))
            costs = (f"{statistics.fmean(each):.1f}; {max(each):.1f}" for each in lost.values())
            rows.append(
                (part.base.name, method.label, *counts, f"{statistics.fmean(best):.1f}", *costs)
            )
    names = ("model", "method", "columns run", "trials", "accuracy, tuned by true labels")
    return table((*names, "lost by SCEL (mean; most)", "lost by URE (mean; most)"), *rows)


def pages() -> dict[str, str]:
    """Return the text of each file of `results/` that this module writes."""
    sys.path.insert(0, str(CHOICES.parent))  # for the losses of the plan
    files = "paper/runs.csv", "choices/transition_layer.csv"
    paper = Recorded.of("paper", files[0])
    others = Recorded.of(CHOICES, "choices/runs.csv")
    layer = Recorded.of(CHOICES.with_name("transition_layer.toml"), files[1])
    return {
        "summary.md": summary(),
        "differences.md": differences(),
        "spread.md": spread(),
        "main_table.md": accuracies("main"),
        "decoder_table.md": accuracies("decoders"),
        "ure_ga.md": ure_ga_forms(paper, others),
        "batch_sizes.md": batch_sizes(paper, others),
        "transition_layer.md": transition_layers(paper, layer),
        "field.md": tuning(Recorded.of("field", "field/runs.csv", *files)),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (RESULTS / name).write_text(text)
