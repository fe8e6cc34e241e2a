"""Set ours beside the paper's best on its 18 columns, and say what each part of the recipe brings.

Reads ``results/leaderboard/runs.csv`` (``ybar reproduce leaderboard``) and
``results/paper/runs.csv`` (KNN); writes ``results/leaderboard.md``,
``results/ablation.md``, ``results/noise.md`` and ``results/trees.md``.

    python studies/leaderboard.py
"""

from __future__ import annotations

import csv
import itertools
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.results import published
from ybar.experiments.runs import data as run_data

ROOT = Path(__file__).resolve().parent.parent / "results"
COLUMNS = list(itertools.product(published.DATASETS, published.SETTINGS))
TRIALS = 3
# What the rows of the paper's tables that compare parts of a method are rows of.
OF = {"decoders": "CPE-F decoded by", "validation-cpe-t": "CPE-T by", "validation-fwd": "Fwd by"}

Row = dict[str, str]
Cell = tuple[float, int] | None


def rows(name: str) -> list[Row]:
    """Return the runs of a plan's export that ended well, of the first trials."""
    file = ROOT / name / "runs.csv"
    if not file.exists():
        return []
    asked = plan_file.read(name)
    facts = {d: run_data.PUBLISHED[d.name] for part in asked.parts for d in part.datasets}
    hashes = {
        each
        for job in plan_jobs.jobs(asked, facts)
        if job.trial < TRIALS
        for each in plan_jobs.hashes(job)
    }
    with file.open(newline="") as opened:
        found = csv.DictReader(opened)
        return [row for row in found if not row["cause"] and row["hash"] in hashes]


def best_published(dataset: str, setting: str) -> tuple[float, str]:
    """Return the paper's best accuracy of any method and base in a column, and whose it is."""
    found = [
        (accuracy, table not in OF, f"{OF.get(table, '')} {row}, {base}".strip())
        for (table, base, row, *column), (accuracy, _) in published.accuracies().items()
        if column == [dataset, setting]
    ]
    accuracy, _, whose = max(found)
    return accuracy, whose


def cell(runs: Iterable[Row], figure: str) -> Cell:
    """Return the mean of a figure over trials and how many there are."""
    values = [float(row[figure]) for row in runs if row[figure]]
    return (statistics.fmean(values), len(values)) if values else None


def of(runs: list[Row], base: str, method: str, dataset: str, setting: str) -> list[Row]:
    """Return the runs of a cell."""
    wanted = {"base": base, "method": method, "dataset": dataset, "setting": setting}
    return [row for row in runs if all(row[k] == v for k, v in wanted.items())]


def shown(value: Cell, best: float | None = None) -> str:
    if value is None:
        return "–"
    mean, n = value
    text = f"{mean:.1f}" if n == TRIALS else f"{mean:.1f} ({n} of {TRIALS})"
    return f"**{text}**" if best is not None and mean > best else text


def board(ours: list[Row], papers: list[Row]) -> str:
    """Return the leaderboard as Markdown."""
    rivals: dict[str, Callable[[str, str], Cell]] = {
        "same network": lambda d, s: cell(
            of(ours, "ours", "cpe-n", d, s), "best-scel.accuracy_max"
        ),
        "KNN": lambda d, s: cell(of(papers, "knn", "cpe", d, s), "last.accuracy_likelihood"),
        "boosting": lambda d, s: cell(
            of(ours, "boosting", "cpe", d, s), "last.accuracy_likelihood"
        ),
        "small CNN": lambda d, s: cell(of(ours, "cnn", "cpe-n", d, s), "best-scel.accuracy_max"),
    }
    lines = [
        f"| data | labels | the paper's best | {' | '.join(rivals)} | same network, true labels |",
        f"|---|---|---|{'---|' * len(rivals)}---|",
    ]
    gains: dict[str, list[float]] = {name: [] for name in rivals}
    for dataset, setting in COLUMNS:
        best, whose = best_published(dataset, setting)
        cells = {name: rival(dataset, setting) for name, rival in rivals.items()}
        for name, found in cells.items():
            if found is not None:
                gains[name].append(found[0] - best)
        ceiling = cell(of(ours, "ceiling", "cpe-f", dataset, "uniform"), "best-scel.accuracy_max")
        figures = " | ".join(shown(found, best) for found in cells.values())
        lines.append(f"| {dataset} | {setting} | {best} ({whose}) | {figures} | {shown(ceiling)} |")
    lines += [
        "",
        "| | columns run | ahead of the paper | mean gain | smallest gain |",
        "|---|---|---|---|---|",
    ]
    for name, values in gains.items():
        if values:
            ahead = sum(value > 0 for value in values)
            lines.append(
                f"| {name} | {len(values)} of {len(COLUMNS)} | {ahead} "
                f"| {statistics.fmean(values):+.1f} | {min(values):+.1f} |"
            )
    return "\n".join(lines) + "\n"


def ablation(ours: list[Row]) -> str:
    """Return what is lost without each part of the recipe, in points, as Markdown."""
    best, last = "best-scel.accuracy_max", "last.accuracy_max"
    without = {
        "dropout": ("without dropout", "cpe-n", best),
        "averaging": ("without averaging", "cpe-n", best),
        "best epoch": ("ours", "cpe-n", last),
        "noise layer": ("without noise layer", "cpe-f", best),
        "argmax p (L1 instead)": ("ours", "cpe-n", "best-scel.accuracy_l1"),
    }
    lines = [
        f"| data | labels | whole recipe | without {' | without '.join(without)} |",
        f"|---|---|---|{'---|' * len(without)}",
    ]
    for dataset, setting in COLUMNS:
        whole = {row["trial"]: row for row in of(ours, "ours", "cpe-n", dataset, setting)}
        parts = [
            {row["trial"]: float(row[figure]) for row in of(ours, base, method, dataset, setting)}
            for base, method, figure in without.values()
        ]
        trials = whole.keys() & set.intersection(*map(set, parts))  # the same in every cell
        if trials:
            figure_of_all = shown(cell([whole[trial] for trial in trials], best))
            gaps = (
                statistics.fmean(part[trial] - float(whole[trial][best]) for trial in trials)
                for part in parts
            )
            found = " | ".join(f"{gap:+.1f}" for gap in gaps)
            lines.append(f"| {dataset} | {setting} | {figure_of_all} | {found} |")
    return "\n".join(lines if len(lines) > 2 else ["*Not run yet.*"]) + "\n"


def noise(ours: list[Row]) -> str:
    """Compare learning the noise level with a T that includes the noise, as Markdown."""
    best = "best-scel.accuracy_max"
    lines = [
        "| data | labels | cpe-f, T without noise | cpe-n | cpe-f, noisy T | difference |",
        "|---|---|---|---|---|---|",
    ]
    by_level: dict[str, list[float]] = {}
    for dataset, setting in COLUMNS:
        aware = {row["trial"]: row for row in of(ours, "told", "cpe-f", dataset, setting)}
        learned = {row["trial"]: row for row in of(ours, "ours", "cpe-n", dataset, setting)}
        unaware = of(ours, "without noise layer", "cpe-f", dataset, setting)
        if not setting.startswith("noise"):  # the T of both is the same
            aware = {row["trial"]: row for row in unaware}
        both = aware.keys() & learned.keys()
        if both:
            gaps = [float(learned[trial][best]) - float(aware[trial][best]) for trial in both]
            cells = (cell(runs, best) for runs in (unaware, learned.values(), aware.values()))
            figures = " | ".join(map(shown, cells))
            gap = statistics.fmean(gaps)
            lines.append(f"| {dataset} | {setting} | {figures} | {gap:+.1f} |")
            level = setting.removeprefix("noise-") if setting.startswith("noise") else "0"
            by_level.setdefault(level, []).append(gap)
    if not by_level:
        return "*Not run yet.*\n"
    lines += ["", "| noise | columns | mean difference | smallest |", "|---|---|---|---|"]
    for level, gaps in sorted(by_level.items()):
        mean, least = statistics.fmean(gaps), min(gaps)
        lines.append(f"| {level} | {len(gaps)} | {mean:+.2f} | {least:+.2f} |")
    return "\n".join(lines) + "\n"


def trees(ours: list[Row], papers: list[Row]) -> str:
    """Return trees that learn q beside those that learn p, as Markdown."""
    lines = [
        "| data | labels | CPE-GBDT, the paper | CPE-GBDT, ours | trees that learn p | ahead by |",
        "|---|---|---|---|---|---|",
    ]
    gains = []
    for dataset, setting in COLUMNS:
        paper, _ = published.accuracies()["traditional", "gbdt", "CPE-GBDT", dataset, setting]
        learn_q = cell(of(papers, "gbdt", "cpe", dataset, setting), "last.accuracy_l1")
        learn_p = cell(of(ours, "boosting", "cpe", dataset, setting), "last.accuracy_l1")
        if learn_p is not None:
            gains.append(learn_p[0] - paper)
            cells = f"{shown(learn_q)} | {shown(learn_p, paper)} | {gains[-1]:+.1f}"
            lines.append(f"| {dataset} | {setting} | {paper} | {cells} |")
    if gains:
        lines.append(f"| all | {len(gains)} columns | | | | {statistics.fmean(gains):+.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    ours = rows("leaderboard")
    (ROOT / "leaderboard.md").write_text(board(ours, rows("paper")))
    (ROOT / "ablation.md").write_text(ablation(ours))
    (ROOT / "noise.md").write_text(noise(ours))
    (ROOT / "trees.md").write_text(trees(ours, rows("paper")))
