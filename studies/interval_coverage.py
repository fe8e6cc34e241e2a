"""How often intervals hold and tests err: simulations of what ybar says without true labels.

- The intervals of `transition.credible_intervals`, with few rows per class.
- Weighted means: ±1.96 standard errors of SCEL, and Student's t with the degrees of freedom of
  `metrics.compare`; equally good models in `metrics.compare`.
- `metrics.check_transition`: how often it refutes a correct T (false alarms) and a wrong one
  (power), with label shares alone and with a model that was fitted to other rows.

Writes ``results/coverage.csv``, a line per case and measure (cases in the file are not run again),
and a table of each part, ``results/coverage_*.md``. About 25 minutes on one core.

    python studies/interval_coverage.py
"""

from __future__ import annotations

import functools
import itertools
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from rich.console import Console
from scipy import stats

import lines
from ybar import CPEClassifier, labels, metrics, transition
from ybar.utils.typing import AnyArray, FloatArray, IntArray

RESULTS = Path(__file__).resolve().parent.parent / "results"
FILE = RESULTS / "coverage.csv"

Shares = dict[str, float]
Case = tuple[str, str, int, int, Callable[[Generator], Shares]]


# --- intervals of the entries of T ---------------------------------------------------------------

MATRICES: dict[str, Callable[[int], FloatArray]] = {
    "uniform": lambda seed: transition.uniform(10),  # noqa: ARG005
    "weak": lambda seed: transition.weak(10, seed),
    "strong": lambda seed: transition.strong(10, seed),
    "CLCIFAR10": lambda seed: transition.annotators("clcifar10"),  # noqa: ARG005
}


def intervals(name: str, rows: int, rng: Generator) -> Shares:
    """Return the shares of the entries that lie in their 95% intervals."""
    T = MATRICES[name](int(rng.integers(2**31)))
    y = np.repeat(np.arange(10), rows)
    y_comp = labels.draw(y, T, rng)
    held = {}
    for title, smoothing in (("", None), ("prior of 0.5, ", 0.5)):
        low, high = transition.credible_intervals(y, y_comp, classes=range(10), smoothing=smoothing)
        inside = (low <= T) & (high >= T)
        held[f"{title}all entries"] = float(inside.mean())
        held[f"{title}entries above 0.1"] = float(inside[T > 0.1].mean())
    return held


# --- weighted means ------------------------------------------------------------------------------

WEIGHTS: dict[str, Callable[[Generator, int], FloatArray | None]] = {
    "none": lambda rng, n: None,  # noqa: ARG005
    "gamma(1)": lambda rng, n: rng.gamma(1.0, size=n),
    "gamma(0.5)": lambda rng, n: rng.gamma(0.5, size=n),
    "gamma(0.1)": lambda rng, n: rng.gamma(0.1, size=n),
    "gamma(0.05)": lambda rng, n: rng.gamma(0.05, size=n),
    "lognormal(2)": lambda rng, n: rng.lognormal(0, 2, n),
}


def equally_good(rng: Generator, n: int) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return labels, their q, and two models of equal SCEL, each better in some of the rows."""
    q = 0.6 * rng.dirichlet(np.ones(4), n) + 0.1
    off = rng.permuted(np.tile([0.08, -0.08, 0.05, -0.05], (n, 1)), axis=1)
    off *= np.where(rng.random((n, 1)) < 0.5, 1, -1)
    y_comp = (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return y_comp, q, q + off, q - off


@functools.cache
def expected_scel() -> float:
    """Return the expected SCEL of the true q of `equally_good`."""
    _, q, _, _ = equally_good(np.random.default_rng(0), 2_000_000)
    return float(stats.entropy(q, axis=1).mean())


def weighted_means(name: str, n: int, rng: Generator) -> Shares:
    """Return whether intervals hold the expected SCEL, and whether `compare` errs."""
    weights = WEIGHTS[name](rng, n)
    y_comp, q, q_a, q_b = equally_good(rng, n)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sample_weight varies so much")
        scel, error = metrics.scel(y_comp, q, sample_weight=weights, return_std_error=True)
    # The losses of the other model are all log 4, so that the error is that of SCEL itself.
    alone = metrics.compare(y_comp, q, np.full_like(q, 0.25), sample_weight=weights)
    reach = stats.t.ppf(0.975, alone.df) * alone.std_error
    found = {
        "t interval": float(abs(scel - expected_scel()) <= reach),
        "standard error returned": float(not np.isnan(error)),
        "compare, p < 0.05": float(
            metrics.compare(y_comp, q_a, q_b, sample_weight=weights).p_value < 0.05
        ),
    }
    if not np.isnan(error):
        found["± 1.96 standard errors"] = float(abs(scel - expected_scel()) <= 1.96 * error)
    return found


# --- tests of T ----------------------------------------------------------------------------------

K = 6
PRIORS = {
    "even classes": np.full(K, 1 / K),
    "uneven classes": np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05]),
    "one class": np.eye(K)[0],  # the labels are at the limits that T allows
}


def mixed(T: FloatArray, share: float) -> FloatArray:
    return (1 - share) * transition.uniform(K) + share * T


# Each: the T that draws the labels, and the T that is tested; equal for false alarms.
PAIRS: dict[str, Callable[[Generator], tuple[FloatArray, FloatArray]]] = {
    "uniform": lambda rng: (transition.uniform(K),) * 2,  # noqa: ARG005
    "strong": lambda rng: (transition.strong(K, rng),) * 2,
    "uniform, noise 0.3": lambda rng: (  # noqa: ARG005
        (transition.with_uniform_noise(transition.uniform(K), 0.3),) * 2
    ),
    "strong, uniform assumed": lambda rng: (transition.strong(K, rng), transition.uniform(K)),
    "weak, uniform assumed": lambda rng: (transition.weak(K, rng), transition.uniform(K)),
    "3/4 uniform + 1/4 strong, uniform assumed": lambda rng: (
        mixed(transition.strong(K, rng), 0.25),
        transition.uniform(K),
    ),
    "strong, another strong assumed": lambda rng: (
        transition.strong(K, rng),
        transition.strong(K, rng),
    ),
    "uniform with noise 0.3, no noise assumed": lambda rng: (  # noqa: ARG005
        transition.with_uniform_noise(transition.uniform(K), 0.3),
        transition.uniform(K),
    ),
    "strong with noise 0.3, no noise assumed": lambda rng: _noisy(transition.strong(K, rng)),
}


def _noisy(T: FloatArray) -> tuple[FloatArray, FloatArray]:
    return transition.with_uniform_noise(T, 0.3), T


def sample(n: int, T: FloatArray, prior: FloatArray, rng: Generator) -> tuple[AnyArray, IntArray]:
    """Return overlapping blobs (a model of true labels is right in about 90%), and labels."""
    y = rng.choice(K, size=n, p=prior)
    X = 2.6 * np.eye(K)[y] + rng.normal(size=(n, K))
    return X, labels.draw(y, T, rng)


def tested(pair: str, prior: str, n: int, rng: Generator) -> Shares:
    """Return whether T is refuted at the default level of 0.01, and at 0.05."""
    true_T, T = PAIRS[pair](rng)
    X, y_comp = sample(n, true_T, PRIORS[prior], rng)
    X_fit, fit = sample(n, true_T, PRIORS[prior], rng)
    clf = CPEClassifier(transition=T, classes=range(K)).fit(X_fit, fit)
    q = clf.predict_complementary_proba(X)
    shares = metrics.check_transition(y_comp, T)
    weighted = metrics.check_transition(y_comp, T, sample_weight=rng.gamma(0.5, size=n))
    every = metrics.check_transition(y_comp, T, q=q, y_pred=clf.predict(X))
    found = {"shares": shares, "shares, gamma(0.5) weights": weighted, "all tests": every}
    return {
        f"{name}, level {level}": float(check.p_value < level)
        for name, check in found.items()
        for level in (0.01, 0.05)
    }


# --- the study -----------------------------------------------------------------------------------


def cases() -> Iterator[Case]:
    """Yield part, case, rows, repetitions, and the function of a generator that is repeated."""
    for name, rows in itertools.product(MATRICES, (5, 20, 100)):
        yield "intervals", name, rows, 400, lambda rng, a=(name, rows): intervals(*a, rng)
    for name, n in itertools.product(WEIGHTS, (10, 50, 500, 5000)):
        yield "weights", name, n, 4000, lambda rng, a=(name, n): weighted_means(*a, rng)
    for n, repeats in ((50, 400), (200, 400), (1000, 200), (5000, 100)):
        for pair, prior in itertools.product(PAIRS, PRIORS):
            if prior == "even classes" or "assumed" not in pair:
                case = f"{pair}; {prior}"
                yield "tests", case, n, repeats, lambda rng, a=(pair, prior, n): tested(*a, rng)


def simulated(name: str, repeats: int, once: Callable[[Generator], Shares]) -> dict[str, Any]:
    """Return mean and standard error of each share that a twentieth of the repetitions have."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found = [once(rng) for _ in range(repeats)]
    measured = {}
    for key in dict.fromkeys(itertools.chain.from_iterable(found)):
        values = np.array([shares[key] for shares in found if key in shares])
        if len(values) >= repeats / 20:
            measured[key] = float(values.mean()), float(values.std() / np.sqrt(len(values)))
    return measured


INTERVALS = ("all entries", "entries above 0.1")
MEANS = ("± 1.96 standard errors", "standard error returned", "t interval", "compare, p < 0.05")


def cells_of(part: str) -> dict[str, dict[tuple[str, str], str]]:
    """Return the shares of a part in per cent, by case, rows and measure."""
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for row in lines.read(FILE):
        if row["part"] == part:
            share = f"{100 * float(row['share']):.1f}"
            cells.setdefault(row["case"], {})[row["n"], row["measure"]] = share
    return cells


def by_rows(part: str, titles: list[str], measures: tuple[str, ...]) -> str:
    """Return a table with a row for each case and number of rows."""
    text = [f"| {' | '.join([*titles, *measures])} |", f"|{'---|' * (2 + len(measures))}"]
    for case, cells in cells_of(part).items():
        for n in dict.fromkeys(n for n, _ in cells):
            shown = (cells.get((n, measure), "–") for measure in measures)
            text.append(f"| {' | '.join([case, n, *shown])} |")
    return "\n".join(text) + "\n"


def of_tests() -> str:
    """Return the shares that are refuted at the default level, a column per number of rows."""
    columns = list(itertools.product(("shares", "all tests"), ("50", "200", "1000", "5000")))
    titles = ["labels from", *(f"{test}: {n}" for test, n in columns)]
    text = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for case, cells in cells_of("tests").items():
        shown = (cells.get((n, f"{test}, level 0.01"), "–") for test, n in columns)
        text.append(f"| {' | '.join([case, *shown])} |")
    return "\n".join(text) + "\n"


def tables() -> dict[str, str]:
    """Return the Markdown table of each part."""
    intervals = (*INTERVALS, *(f"prior of 0.5, {of}" for of in INTERVALS))
    return {
        "intervals": by_rows("intervals", ["T", "rows per class"], intervals),
        "weights": by_rows("weights", ["weights", "rows"], MEANS),
        "tests": of_tests(),
    }


if __name__ == "__main__":
    console = Console()
    done = {(row["part"], row["case"], row["n"]) for row in lines.read(FILE)}
    for part, case, n, repeats, once in cases():
        if (part, case, str(n)) in done:
            continue
        for measure, (share, error) in simulated(f"{part} {case} {n}", repeats, once).items():
            line = {"part": part, "case": case, "n": n, "repeats": repeats}
            lines.add(FILE, {**line, "measure": measure, "share": share, "std_error": error})
            console.print(part, case, n, measure, f"{100 * share:.1f} ± {100 * error:.1f}")
    for part, text in tables().items():
        (RESULTS / f"coverage_{part}.md").write_text(text)
