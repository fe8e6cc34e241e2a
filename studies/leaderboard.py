"""Compare our recipe with the paper's best in its 18 columns, and measure each part of the recipe.

Reads ``results/leaderboard/runs.csv`` (``ybar reproduce leaderboard``) and
``results/paper/runs.csv`` (KNN); writes ``leaderboard.md``, ``ablation.md``, ``recipe_choices.md``,
``noise.md`` and ``trees.md`` in ``results/``.

    python studies/leaderboard.py
"""

from __future__ import annotations

import csv
import itertools
import math
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
ACCURACY = "best-scel.accuracy_max"
# What is in the rows of the paper's tables that compare parts of a method.
OF = {"decoders": "CPE-F decoded by", "validation-cpe-t": "CPE-T by", "validation-fwd": "Fwd by"}

Row = dict[str, str]
Cell = tuple[float, ...] | None
"""The value of each trial."""


def rows(name: str) -> list[Row]:
    """Return the runs of a plan's export that ended well, of the first trials."""
    file = ROOT / name / "runs.csv"
    if not file.exists():
        return []
    plan = plan_file.read(name)
    facts = {d: run_data.PUBLISHED[d.name] for part in plan.parts for d in part.datasets}
    hashes = {
        each
        for job in plan_jobs.jobs(plan, facts)
        if job.trial < TRIALS
        for each in plan_jobs.hashes(job)
    }
    with file.open(newline="") as opened:
        recorded = csv.DictReader(opened)
        return [row for row in recorded if not row["cause"] and row["hash"] in hashes]


def best_published(dataset: str, setting: str) -> tuple[float, float, str]:
    """Return the paper's best accuracy in a column, its standard deviation, and the method."""
    in_column = [
        (accuracy, table not in OF, std, f"{OF.get(table, '')} {row}, {base}".strip())
        for (table, base, row, *column), (accuracy, std) in published.accuracies().items()
        if column == [dataset, setting]
    ]
    accuracy, _, std, method = max(in_column)
    return accuracy, std, method


def cell(runs: Iterable[Row], score: str) -> Cell:
    """Return a score of each trial, None without trials."""
    return tuple(float(row[score]) for row in runs if row[score]) or None


def of(runs: list[Row], base: str, method: str, dataset: str, setting: str) -> list[Row]:
    """Return the runs of a cell."""
    wanted = {"base": base, "method": method, "dataset": dataset, "setting": setting}
    return [row for row in runs if all(row[k] == v for k, v in wanted.items())]


def shown(values: Cell, best: float = math.inf) -> str:
    """Return the mean ± standard deviation over trials, in bold if the mean is above the best."""
    if values is None:
        return "–"
    mean = statistics.fmean(values)
    text = f"{mean:.1f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values):.1f}"
    if len(values) < TRIALS:
        text += f" ({len(values)} of {TRIALS})"
    return f"**{text}**" if mean > best else text


def board(ours: list[Row], papers: list[Row]) -> str:
    """Return the leaderboard as Markdown."""
    rivals: dict[str, Callable[[str, str], Cell]] = {
        "same network": lambda d, s: cell(of(ours, "ours", "cpe-n", d, s), ACCURACY),
        "KNN": lambda d, s: cell(of(papers, "knn", "cpe", d, s), "last.accuracy_likelihood"),
        "boosting": lambda d, s: cell(
            of(ours, "boosting", "cpe", d, s), "last.accuracy_likelihood"
        ),
        "small CNN": lambda d, s: cell(of(ours, "cnn", "cpe-n", d, s), ACCURACY),
    }
    lines = [
        f"| data | labels | the paper's best | {' | '.join(rivals)} | same network, true labels |",
        f"|---|---|---|{'---|' * len(rivals)}---|",
    ]
    gains: dict[str, list[float]] = {name: [] for name in rivals}
    for dataset, setting in COLUMNS:
        best, std, method = best_published(dataset, setting)
        cells = {name: rival(dataset, setting) for name, rival in rivals.items()}
        for name, values in cells.items():
            if values is not None:
                gains[name].append(statistics.fmean(values) - best)
        ceiling = cell(of(ours, "ceiling", "cpe-f", dataset, "uniform"), ACCURACY)
        entries = " | ".join(shown(values, best) for values in cells.values())
        paper = f"{best} ± {std} ({method})"
        lines.append(f"| {dataset} | {setting} | {paper} | {entries} | {shown(ceiling)} |")
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
    without = {
        "dropout": ("without dropout", "cpe-n", ACCURACY),
        "averaging": ("without averaging", "cpe-n", ACCURACY),
        "best epoch": ("ours", "cpe-n", "last.accuracy_max"),
        "noise layer": ("without noise layer", "cpe-f", ACCURACY),
        "argmax p (L1 instead)": ("ours", "cpe-n", "best-scel.accuracy_l1"),
    }
    lines = [
        f"| data | labels | whole recipe | without {' | without '.join(without)} |",
        f"|---|---|---|{'---|' * len(without)}",
    ]
    for dataset, setting in COLUMNS:
        whole = {row["trial"]: row for row in of(ours, "ours", "cpe-n", dataset, setting)}
        parts = [
            {row["trial"]: float(row[score]) for row in of(ours, base, method, dataset, setting)}
            for base, method, score in without.values()
        ]
        trials = whole.keys() & set.intersection(*map(set, parts))  # the same in every cell
        if trials:
            of_whole = shown(cell([whole[trial] for trial in trials], ACCURACY))
            gaps = (
                statistics.fmean(part[trial] - float(whole[trial][ACCURACY]) for trial in trials)
                for part in parts
            )
            changes = " | ".join(f"{gap:+.1f}" for gap in gaps)
            lines.append(f"| {dataset} | {setting} | {of_whole} | {changes} |")
    return "\n".join(lines if len(lines) > 2 else ["*Not run yet.*"]) + "\n"


def recipe_choices(ours: list[Row]) -> str:
    """Return how well SCEL decides, column by column, whether a part of the recipe is kept.

    Runs of the first trial with and without the part are compared, as Markdown.
    """
    lines = [
        "| part | columns | SCEL keeps the part | SCEL chooses the more accurate run "
        "| mean gain over the whole recipe | smallest | largest |",
        "|---|---|---|---|---|---|---|",
    ]
    without = {
        "dropout": ("without dropout", "cpe-n"),
        "averaging": ("without averaging", "cpe-n"),
        "noise layer": ("without noise layer", "cpe-f"),
    }
    for part, (base, method) in without.items():
        kept, right, gains = [], [], []
        for column in COLUMNS:
            pair = [
                (float(row["best-scel.scel"]), float(row[ACCURACY]))
                for rows_of in (of(ours, "ours", "cpe-n", *column), of(ours, base, method, *column))
                for row in rows_of
                if row["trial"] == "0"
            ]
            if len(pair) == 2:
                (_, whole), _ = pair
                chosen = min(pair)
                kept.append(chosen == pair[0])
                right.append(chosen[1] == max(accuracy for _, accuracy in pair))
                gains.append(chosen[1] - whole)
        if gains:
            mean, least, most = statistics.fmean(gains), min(gains), max(gains)
            lines.append(
                f"| {part} | {len(gains)} | {sum(kept)} | {sum(right)} "
                f"| {mean:+.1f} | {least:+.1f} | {most:+.1f} |"
            )
    return "\n".join(lines) + "\n"


def noise(ours: list[Row]) -> str:
    """Compare learning the noise level with a T that includes the noise, as Markdown."""
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
            gaps = [
                float(learned[trial][ACCURACY]) - float(aware[trial][ACCURACY]) for trial in both
            ]
            cells = (cell(runs, ACCURACY) for runs in (unaware, learned.values(), aware.values()))
            entries = " | ".join(map(shown, cells))
            gap = statistics.fmean(gaps)
            lines.append(f"| {dataset} | {setting} | {entries} | {gap:+.1f} |")
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
        paper, std = published.accuracies()["traditional", "gbdt", "CPE-GBDT", dataset, setting]
        learn_q = cell(of(papers, "gbdt", "cpe", dataset, setting), "last.accuracy_l1")
        learn_p = cell(of(ours, "boosting", "cpe", dataset, setting), "last.accuracy_l1")
        if learn_p is not None:
            gains.append(statistics.fmean(learn_p) - paper)
            cells = f"{shown(learn_q)} | {shown(learn_p, paper)} | {gains[-1]:+.1f}"
            lines.append(f"| {dataset} | {setting} | {paper} ± {std} | {cells} |")
    if gains:
        lines.append(f"| all | {len(gains)} columns | | | | {statistics.fmean(gains):+.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    ours = rows("leaderboard")
    (ROOT / "leaderboard.md").write_text(board(ours, rows("paper")))
    (ROOT / "ablation.md").write_text(ablation(ours))
    (ROOT / "recipe_choices.md").write_text(recipe_choices(ours))
    (ROOT / "noise.md").write_text(noise(ours))
    (ROOT / "trees.md").write_text(trees(ours, rows("paper")))
