"""The gallery: each example is short, runs without warnings, and shows what it claims."""

from __future__ import annotations

import ast
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUN = """
import runpy, sys
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

plt.show = lambda: plt.savefig(sys.argv[2])
runpy.run_path(sys.argv[1], run_name="__main__")
"""


class Claim(NamedTuple):
    """A pattern in the output of an example, and what must hold of the numbers that match."""

    pattern: str
    holds: Callable[..., bool]


def rises(values: list[float], least: float) -> bool:
    return values[-1] - values[0] > least


CLAIMS = {
    "cnn": [Claim(r"accuracy ([\d.]+)", lambda a: a > 0.9)],
    "digits_in_ten_lines": [
        Claim(r"on true labels: ([\d.]+)", lambda a: a > 0.85),
        Claim(r"SCEL: ([\d.]+)", lambda scel: scel < 2.0),
        Claim(
            r"on true labels: ([\d.]+)\n.* without true labels: ([\d.]+) ± ([\d.]+)",
            lambda a, estimate, error: abs(a - estimate) < 3 * error,
        ),
    ],
    "text_sparse": [
        Claim(r"accuracy ([\d.]+)", lambda a: a > 0.9),
        Claim(r"([\d.]+)% of X is not zero", lambda nonzero: nonzero < 2),
    ],
    "several_labels": [
        Claim(r"accuracy ([\d.]+)", lambda *a: rises([*a], 0.15) and a[-1] > 0.9),
        Claim(r"± ([\d.]+)", lambda *errors: rises([-e for e in errors], 0.02)),
    ],
    "noisy_labels": [
        Claim(r"noise 0.0: cpe-f ([\d.]+), cpe-n ([\d.]+)", lambda *a: min(a) > 0.9),
        Claim(r"noise 0.6: cpe-f ([\d.]+), cpe-n ([\d.]+)", lambda f, n: n > f + 0.05),
        Claim(r"noise 0.6:.*cpe-n ([\d.]+), .*noisy T ([\d.]+);", lambda n, best: n > best - 0.03),
        Claim(r"estimated noise ([\d.]+)", lambda *noise: noise[0] < 0.1 < noise[1] < noise[2]),
        Claim(
            r"noise (0.[36]):.* \(([\d.]+) to ([\d.]+)\)",
            lambda *a: a[1] < a[0] < a[2] and a[4] < a[3] < a[5],
        ),
    ],
    "estimate_transition": [
        Claim(r"200 true labels.*accuracy ([\d.]+)", lambda a: a > 0.8),
        Claim(r"uniform T.*accuracy ([\d.]+)", lambda a: a < 0.4),
        Claim(r"true labels: epsilon ([\d.]+)", lambda *e: rises([-v for v in e], 0.5)),
    ],
    "choose_without_truth": [
        Claim(
            r"strong T.*accuracy ([\d.]+)\n.*SCEL.*accuracy ([\d.]+)",
            lambda best, chosen: chosen > best - 0.05,
        ),
        Claim(
            r"uniform T.*accuracy ([\d.]+)\n.*SCEL.*\n.*URE.*accuracy ([\d.]+)",
            lambda best, chosen: chosen > best - 0.1,
        ),
    ],
    "own_method": [
        Claim(
            r"doubtful: accuracy ([\d.]+).*\ncpe-f: accuracy ([\d.]+)",
            lambda mine, theirs: mine > 0.7 and abs(mine - theirs) < 0.08,
        ),
    ],
    "streaming": [
        Claim(r"accuracy ([\d.]+)", lambda *a: rises([*a], 0.5) and a[-1] > 0.85),
        Claim(r"SCEL ([\d.]+)", lambda *scel: rises([-v for v in scel], 0.3)),
    ],
    "why_this_class": [
        Claim(r"on true labels: ([\d.]+)", lambda a: a > 0.85),
        Claim(r"errors of the truth: (\d+)%", lambda share: share >= 80),
    ],
    "plan_a_collection": [
        Claim(
            r"3,600 labels +([\d.]+) ± [\d.]+ +([\d.]+) ± .* ([\d.]+) ± [\d.]+\n",
            lambda uniform, cycle, few: few > cycle + 0.03 and cycle > uniform > 0.85,
        ),
        Claim(
            r"bits (?:a|per) label +([\d.]+) +([\d.]+)",
            lambda uniform, cycle: cycle > 1.3 * uniform,
        ),
        Claim(r"Accuracy 0\.75 needs at most (\d+) labels", lambda needed: needed < 900),
    ],
    "how_many_labels": [
        Claim(
            r"uniform: .*accuracy.* labels ([\d.]+)(?:.*\n)*?strong: .* labels ([\d.]+)",
            lambda uniform, strong: strong > uniform + 0.1 and strong > 0.85,
        ),
        Claim(r"gamma ([\d.]+)", lambda *gamma: gamma[0] < gamma[1] < gamma[3] < gamma[2]),
    ],
}


def test_every_example_has_a_claim():
    programs = {path.stem for path in EXAMPLES.glob("*.py")}
    assert programs == set(CLAIMS)
    assert len(CLAIMS) >= 8


@pytest.mark.parametrize("name", CLAIMS)
def test_an_example_is_short_and_says_what_the_reader_learns(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 60
    assert "You learn" in ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("name", CLAIMS)
def test_an_example_shows_what_it_claims(name, tmp_path):
    picture = tmp_path / "picture.png"
    program = str(EXAMPLES / f"{name}.py")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, program, str(picture)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    for pattern, holds in CLAIMS[name]:
        matches = re.findall(pattern, done.stdout)
        assert matches, (pattern, done.stdout)
        numbers = [
            float(v) for match in matches for v in ([match] if isinstance(match, str) else match)
        ]
        assert holds(*numbers), (pattern, numbers, done.stdout)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
    assert list(tmp_path.iterdir()) == [picture]
    assert after.ru_utime - before.ru_utime < 30
