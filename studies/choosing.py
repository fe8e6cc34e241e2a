"""Hold choices made without true labels against the best by true labels, on the paper's runs.

Reads ``results/paper/runs.csv``, ``results/choices/transition_layer.csv`` (``cpe-t`` as ybar trains
it by default) and ``results/choosing_neighbors.csv`` (every k, see ``choosing_neighbors.py``);
writes ``results/choosing.csv`` (one line per choice) and ``results/choosing.md``. A trial counts if
all CPE runs of a base are there; a column is the mean of its trials.
"""

from __future__ import annotations

import collections
import csv
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ybar import metrics
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.jobs import trainings
from ybar.experiments.plan.model import Plan
from ybar.experiments.results import published
from ybar.experiments.runs import transfer
from ybar.experiments.runs.entry import Entry

RESULTS = Path(__file__).resolve().parent.parent / "results"
CLOSE = 0.5  # points
EPOCHS = ("last", "best-scel")
ESTIMATE_Q = ("cpe-i", "cpe-f", "cpe-t", "cpe-n")
JUDGES = {"scel": "SCEL of q", "scel_p": "SCEL of p T", "ure": "URE"}
DECODERS = {"l1": "L1", "p": "argmax p"}
FIELDS = (
    *("candidates", "decoder", "dataset", "setting", "trial", "judge", "n_candidates"),
    *("chosen", "accuracy", "best", "best_accuracy", "gap"),
)

Columns = dict[tuple[str, str], float]
"""A number for each data set and setting."""


class Trial(NamedTuple):
    """One draw of T, of labels and of the rows held out."""

    dataset: str
    setting: str
    trial: int


class Candidate(NamedTuple):
    """A model: what complementary labels say of it, and what true ones say."""

    name: str
    base: str
    method: str
    epoch: str
    scel: float
    scel_p: float
    ure: dict[str, float]
    accuracy: dict[str, float]
    n_neighbors: float = math.nan
    std_error: float = math.nan
    paired_std_error: float = math.nan

    def judged(self, judge: str, decoder: str) -> float:
        """Return the loss by which it is chosen, NaN where it was not recorded."""
        return self.ure[decoder] if judge == "ure" else float(getattr(self, judge))


Select = Callable[[list[Candidate]], list[Candidate]]


class Choice(NamedTuple):
    """What a judge chose out of candidates decoded alike, and the best by true labels."""

    candidates: str
    decoder: str
    trial: Trial
    judge: str
    n_candidates: int
    chosen: Candidate
    best: Candidate

    @property
    def gap(self) -> float:
        """Return by how many points the chosen one is behind the best by true labels."""
        return self.best.accuracy[self.decoder] - self.chosen.accuracy[self.decoder]


def of_ledger(entry: Entry) -> Iterator[Candidate]:
    """Yield a run of the ledger at its last epoch, and at that of its lowest SCEL.

    Decoded by L1, and by argmax p; each stands for the other where only one was recorded. p is
    the network's own, or the likelihood's. SCEL of q is that of p T for networks with the given
    T; `cpe-i` and `cpe-t` have only that of q. Trees, which have neither that of p T nor URE, are
    left out.
    """
    config, scores = entry.config, entry.scores
    name, base = config["method"], config["base"]
    if config["kind"] != "network" or entry.cause is not None:
        return
    own = "l1" if name == "cpe-i" else "max"
    for epoch in EPOCHS:
        scel = scores.get(f"{epoch}.scel", math.nan)
        if math.isnan(scel):
            continue
        places = {"l1": f"{epoch}.{{}}_l1", "p": f"{epoch}.{{}}_{own}"}
        if places["l1"].format("accuracy") not in scores:
            places["l1"] = places["p"]
        rate = f" {config['learning_rate']:g}" if config.get("learning_rate") else ""
        yield Candidate(
            f"{base} {name}{rate} {epoch.removesuffix('-scel')}",
            base,
            name,
            epoch,
            scel,
            scel,
            {d: scores.get(p.format("ure"), math.nan) for d, p in places.items()},
            {d: scores[p.format("accuracy")] for d, p in places.items()},
        )


def of_neighbors(line: dict[str, str]) -> Candidate:
    """Return one k of CPE-KNN."""
    number = {name: float(value) for name, value in line.items() if name not in Trial._fields[:2]}
    return Candidate(
        f"knn {line['n_neighbors']}",
        "knn",
        "cpe",
        "last",
        number["scel"],
        number["scel_p"],
        {"l1": number["ure_l1"], "p": number["ure_likelihood"]},
        {"l1": number["accuracy_l1"], "p": number["accuracy_likelihood"]},
        number["n_neighbors"],
        number["scel_std_error"],
        number["scel_difference_std_error"],
    )


def read() -> dict[Trial, list[Candidate]]:
    """Return all candidates of each trial."""
    found: dict[Trial, list[Candidate]] = {}
    runs = [e for e in transfer.read(RESULTS / "paper" / "runs.csv") if not _is_cpe_t(e)]
    runs += transfer.read(RESULTS / "choices" / "transition_layer.csv")
    for trial, entry in complete(runs, plan_file.read("paper")):
        found.setdefault(trial, []).extend(of_ledger(entry))
    with (RESULTS / "choosing_neighbors.csv").open() as file:
        for line in csv.DictReader(file):
            trial = Trial(line["dataset"], line["setting"], int(line["trial"]))
            found.setdefault(trial, []).append(of_neighbors(line))
    return found


def _is_cpe_t(entry: Entry) -> bool:
    return bool(entry.config["method"] == "cpe-t")


def complete(entries: Iterable[Entry], plan: Plan) -> Iterator[tuple[Trial, Entry]]:
    """Yield the runs of a base in a trial that has all of its CPE runs, failed ones too.

    A choice out of some would be another one, and an easier one.
    """

    def cpe(methods: Iterable[str]) -> int:
        return sum(method in ("cpe", *ESTIMATE_Q) for method in methods)

    planned = {
        (part.base.name, setting.name): cpe(
            training.method for training in trainings(part, setting)
        )
        for part in plan.parts
        for setting in part.settings
    }
    parts: dict[tuple[str, Trial], list[Entry]] = {}
    for entry in entries:
        trial = Trial(*(entry.config[name] for name in Trial._fields))
        parts.setdefault((entry.config["base"], trial), []).append(entry)
    for (base, trial), runs in parts.items():
        if cpe(run.config["method"] for run in runs) == planned[base, trial.setting]:
            yield from ((trial, run) for run in runs)


def candidate_sets(bases: list[str]) -> dict[str, Select]:
    """Return what is compared with one another, by what the tables call it."""

    def networks(base: str, methods: tuple[str, ...], epochs: tuple[str, ...]) -> Select:
        return lambda candidates: [
            c
            for c in candidates
            if c.base == base and c.epoch in epochs and (c.method in methods or not methods)
        ]

    def every_k(candidates: list[Candidate]) -> list[Candidate]:
        return [c for c in candidates if c.base == "knn"]

    def cpe(candidates: list[Candidate]) -> list[Candidate]:
        return [c for c in candidates if c.method in ("cpe", *ESTIMATE_Q)]

    def last(candidates: list[Candidate]) -> list[Candidate]:
        return [c for c in cpe(candidates) if c.epoch == "last"]

    def with_one_k(candidates: list[Candidate]) -> list[Candidate]:
        others = [c for c in candidates if c.base != "knn"]
        return others + sorted(every_k(candidates), key=lambda c: c.scel)[:1]

    sets: dict[str, Select] = {}
    for base in bases:
        if base != "knn":
            sets[f"{base} CPE"] = networks(base, ESTIMATE_Q, ("last",))
            sets[f"{base} CPE, last and best epoch"] = networks(base, ESTIMATE_Q, EPOCHS)
            sets[f"{base}, all methods"] = networks(base, (), ("last",))
    sets["KNN, every k"] = every_k
    sets["all kinds, one k"] = lambda candidates: with_one_k(last(candidates))
    sets["all kinds, last and best epoch, one k"] = lambda candidates: with_one_k(cpe(candidates))
    sets["all kinds, every k"] = last
    return sets


def choose(name: str, decoder: str, trial: Trial, candidates: list[Candidate]) -> Iterator[Choice]:
    """Yield the choice by each judge out of the candidates of a trial."""
    best = max(candidates, key=lambda c: c.accuracy[decoder])

    def choice(judge: str, chosen: Candidate) -> Choice:
        return Choice(name, decoder, trial, judge, len(candidates), chosen, best)

    for judge in JUDGES:
        known = [c for c in candidates if not math.isnan(c.judged(judge, decoder))]
        if len(known) > 1:
            yield choice(judge, min(known, key=lambda c: c.judged(judge, decoder)))
    if name.startswith("KNN"):
        for judge, paired in (("one_std_error", False), ("one_std_error_paired", True)):
            index = metrics.one_standard_error(
                [c.scel for c in candidates],
                [c.paired_std_error if paired else c.std_error for c in candidates],
                complexity=[-c.n_neighbors for c in candidates],
                paired=paired,
            )
            yield choice(judge, candidates[index])


def choices(trials: dict[Trial, list[Candidate]]) -> list[Choice]:
    """Return all choices; a set of several kinds counts where there are several."""
    bases = list(dict.fromkeys(c.base for candidates in trials.values() for c in candidates))
    found = []
    for name, select in candidate_sets(sorted(bases)).items():
        for decoder in DECODERS:
            for trial, candidates in trials.items():
                those = select(candidates)
                kinds = len({c.base for c in those})
                if len(those) > 1 and (kinds > 1 or not name.startswith("all")):
                    found += choose(name, decoder, trial, those)
    return found


def decoder_gap(choice: Choice, decoder: str) -> float:
    """Return what a decoder, or the one of the lower URE, costs against the better of the two."""
    accuracy, ure = choice.chosen.accuracy, choice.chosen.ure
    if decoder == "ure":
        if any(map(math.isnan, ure.values())):
            return math.nan
        decoder = min(DECODERS, key=lambda d: ure[d])
    return max(accuracy.values()) - accuracy[decoder]


def gaps(
    found: list[Choice],
    name: str,
    decoder: str,
    judge: str,
    gap: Callable[[Choice], float] = lambda choice: choice.gap,
) -> Columns:
    """Return the mean gap of each column, over its trials."""
    columns: dict[tuple[str, str], list[float]] = {}
    for c in found:
        if (c.candidates, c.decoder, c.judge) == (name, decoder, judge):
            points = gap(c)
            if not math.isnan(points):
                columns.setdefault((c.trial.dataset, c.trial.setting), []).append(points)
    return {column: sum(values) / len(values) for column, values in columns.items()}


def of_wrong_kind(found: list[Choice], name: str, decoder: str, judge: str) -> str:
    """Return in how many columns another kind was taken than that of the best, in some trial."""
    wrong: dict[tuple[str, str], bool] = {}
    for c in found:
        if (c.candidates, c.decoder, c.judge) == (name, decoder, judge):
            column = c.trial.dataset, c.trial.setting
            wrong[column] = wrong.get(column, False) or c.chosen.base != c.best.base
    return f"{sum(wrong.values())} of {len(wrong)}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counted(by_column: Columns) -> str:
    """Return how many columns are close, the mean gap and the largest."""
    if not by_column:
        return ""
    close = sum(round(gap, 6) <= CLOSE for gap in by_column.values())
    mean = sum(by_column.values()) / len(by_column)
    return f"{close} of {len(by_column)}; {mean:.1f}, {max(by_column.values()):.1f}"


def trials_of(trials: list[Trial]) -> str:
    """Return how many trials columns have: the fewest and the most."""
    counts = collections.Counter((t.dataset, t.setting) for t in set(trials)).values()
    return "–".join(str(n) for n in sorted({min(counts), max(counts)}))


def markdown(found: list[Choice]) -> str:
    """Return how many columns are close, and the gap of each column."""
    columns = [(d, s) for s in published.SETTINGS for d in published.DATASETS]
    names = list(dict.fromkeys(c.candidates for c in found))
    summary = [
        [
            name,
            decoder,
            trials_of([c.trial for c in found if c.candidates == name]),
            *(
                "as q"
                if judge == "scel_p" and not name.startswith(("KNN", "all"))
                else counted(gaps(found, name, key, judge))
                for judge in JUDGES
            ),
        ]
        for name in names
        for key, decoder in DECODERS.items()
    ]
    parts = [
        "Points behind the best by true labels, a column being a data set and a kind of labels "
        f"({len(columns)} in all): in how many of those run it is {CLOSE} at most; the mean, the "
        "largest."
    ]
    parts.append(table(["candidates", "decoder", "trials", *JUDGES.values()], summary))
    rules = {
        "scel": "lowest SCEL",
        "one_std_error_paired": "one standard error, paired",
        "one_std_error": "one standard error",
    }
    every_k = [
        [rule, *(counted(gaps(found, "KNN, every k", decoder, key)) for decoder in DECODERS)]
        for key, rule in rules.items()
    ]
    parts.append(table(["k of KNN by", *DECODERS.values()], every_k))
    ways = {**DECODERS, "ure": "the one of the lower URE"}
    shown = [name for name in names if name.endswith((" CPE", "every k"))]
    decoders = [
        [
            name,
            *(
                counted(gaps(found, name, "p", "scel_p", partial(decoder_gap, decoder=way)))
                for way in ways
            ),
        ]
        for name in shown
    ]
    parts.append(table(["decoder of what SCEL of p T chose out of", *ways.values()], decoders))
    parts.append("Columns in some trial of which a kind was taken that the best is not of:")
    several = [name for name in names if name.startswith("all kinds") and "one k" in name]
    parts.append(
        table(
            ["candidates", "decoder", *JUDGES.values()],
            [
                [name, decoder, *(of_wrong_kind(found, name, key, judge) for judge in JUDGES)]
                for name in several
                for key, decoder in DECODERS.items()
            ],
        )
    )
    judges = [
        (name, judge)
        for name in names
        for judge in JUDGES
        if (" CPE" in name and judge != "scel_p")
        or name in ("all kinds, one k", "all kinds, every k")
    ]
    by_judge = {key: gaps(found, key[0], "p", key[1]) for key in judges}
    rows = []
    for column in columns:
        cells = [by_judge[key].get(column) for key in judges]
        texts = ["" if gap is None else f"{gap:.1f}" for gap in cells]
        rows.append([*column, *texts])
    header = [f"{name}, by {JUDGES[judge]}" for name, judge in judges]
    parts.append("The same column by column, decoded by argmax p, mean over the trials run:")
    parts.append(table(["data set", "labels", *header], rows))
    return "\n\n".join(parts) + "\n"


def lines(found: list[Choice]) -> Iterator[list[str]]:
    yield list(FIELDS)
    for c in found:
        accuracies = [f"{m.accuracy[c.decoder]:.2f}" for m in (c.chosen, c.best)]
        yield [
            *(c.candidates, c.decoder, *map(str, c.trial), c.judge, str(c.n_candidates)),
            *(c.chosen.name, accuracies[0], c.best.name, accuracies[1], f"{c.gap:.2f}"),
        ]


if __name__ == "__main__":
    found = choices(read())
    with (RESULTS / "choosing.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines(found))
    (RESULTS / "choosing.md").write_text(markdown(found))
    print(markdown(found))
