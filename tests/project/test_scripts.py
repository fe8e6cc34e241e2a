"""Benchmarks and studies import what the library has now."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    script.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "studies")
    for script in (ROOT / folder).glob("*.py")
)


def test_there_are_benchmarks_and_studies():
    assert {"benchmarks/run.py", "benchmarks/sweeps.py", "studies/summary.py"} <= set(SCRIPTS)


@pytest.mark.parametrize("folder", ["benchmarks", "studies"])
def test_every_script_can_be_imported(folder):
    names = [Path(script).stem for script in SCRIPTS if script.startswith(f"{folder}/")]
    code = f"import {', '.join(names)}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
