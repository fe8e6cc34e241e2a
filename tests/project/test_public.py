"""The public names, what importing them loads, and what a missing extra says."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ybar

PUBLIC = {
    "ybar": [
        "CPEBoostingClassifierCV",
        "CPEClassifier",
        "CPEKMeansClassifierCV",
        "CPEKNeighborsClassifierCV",
        "ComplementaryNetClassifier",
        "ComplementaryNetClassifierCV",
        "calibration",
        "collection",
        "datasets",
        "decode",
        "distributed",
        "estimation",
        "labels",
        "load",
        "metrics",
        "save",
        "transition",
    ],
    "ybar.labels": ["Evidence", "draw", "encode", "pairs"],
    "ybar.transition": [
        "annotators",
        "biased",
        "check",
        "condition_number",
        "credible_intervals",
        "describe",
        "epsilon",
        "estimate",
        "from_counts",
        "from_menus",
        "gamma",
        "is_singular",
        "is_uniform",
        "strong",
        "uniform",
        "weak",
        "with_uniform_noise",
    ],
    "ybar.collection": ["CollectionPlan", "Design", "plan"],
    "ybar.distributed": [
        "DaskCPEBoostingClassifierCV",
        "DaskCPEClassifier",
        "Evaluation",
        "scel",
        "ure_zero_one",
    ],
    "ybar.estimation": ["estimate_from_probabilities"],
    "ybar.calibration": ["expected_calibration_error", "fit_temperature", "temper"],
    "ybar.decode": ["class_probabilities", "decode", "inverse"],
    "ybar.metrics": [
        "Comparison",
        "ErrorBound",
        "TransitionCheck",
        "TransitionProfile",
        "TransitionTest",
        "check_transition",
        "compare",
        "compare_error_rates",
        "complementary_estimation_loss",
        "error_bound",
        "one_standard_error",
        "scel",
        "scel_scorer",
        "ure_scorer",
        "ure_zero_one",
    ],
    "ybar.datasets": [
        "REGISTRY",
        "UNVERIFIED",
        "damage",
        "fetch",
        "find",
        "load",
        "read_idx",
        "stream",
    ],
    "ybar.displays": [
        "ConfusionDisplay",
        "DecoderDisplay",
        "TrainingCurveDisplay",
        "TransitionDisplay",
    ],
    "ybar.persistence": ["load", "save"],
    "ybar.neural": [
        "ComplementaryNetClassifier",
        "ComplementaryNetClassifierCV",
        "to_onnx",
    ],
    "ybar.neural.methods": ["METHODS", "Method", "find", "op_w", "register", "scarce"],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_are_these(name):
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name])
    for public in module.__all__:
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", [n for n in PUBLIC if n != "ybar"])
def test_every_public_function_has_a_docstring(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        if callable(getattr(module, public)):
            assert len(getattr(module, public).__doc__) > 40, public


def run(code, **environment):
    """Run code in a fresh interpreter; conftest.py makes it import the tree under test."""
    environment = environment or None
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )


# scikit-learn imports pandas where it is installed, so blocked packages show what ybar needs.
WITHOUT_EXTRAS = """
import sys
HEAVY = {heavy!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
{imports}
print(sorted(HEAVY & {{name.partition(".")[0] for name in sys.modules}}))
"""
HEAVY = {
    "dask",
    "distributed",
    "jinja2",
    "lightgbm",
    "matplotlib",
    "pandas",
    "pooch",
    "pyarrow",
    "pydantic",
    "rich",
    "skops",
    "torch",
    "typer",
}


def test_importing_ybar_needs_and_loads_no_optional_package():
    imports = "\n".join(f"from {name} import *" for name in PUBLIC)
    done = run(WITHOUT_EXTRAS.format(heavy=HEAVY, imports=imports))
    assert done.stdout.strip() == "[]", done.stderr


def test_importing_ybar_alone_loads_neither_numpy_nor_scikit_learn():
    done = run("import sys, ybar; print({'numpy', 'sklearn'} & set(sys.modules))")
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize(
    ("missing", "extra", "call"),
    [
        (
            "lightgbm",
            "boosting",
            "ybar.CPEBoostingClassifierCV().fit([[0], [1], [2]], [0, 1, 2])",
        ),
        (
            "torch",
            "torch",
            "ybar.ComplementaryNetClassifier().fit([[0], [1], [2]], [0, 1, 2])",
        ),
        (
            "torch",
            "torch",
            "ybar.ComplementaryNetClassifierCV().fit([[0], [1], [2]], [0, 1, 2])",
        ),
        ("skops.io", "persistence", "ybar.save(None, 'x')"),
        ("skops.io", "persistence", "ybar.load('x')"),
        ("pooch", "data", "ybar.datasets.fetch('mnist')"),
        (
            "rich.progress",
            "cli",
            "ybar.CPEBoostingClassifierCV(verbose=True).fit([[0], [1], [2]] * 9, [0, 1, 2] * 9)",
        ),
        ("typer", "cli", "import ybar.cli"),
        ("pydantic", "cli", "from ybar.experiments.plan import reading"),
        (
            "distributed",
            "dask",
            "from ybar.experiments.runs.cluster import Cluster; Cluster(None, 1)",
        ),
        (
            "pyarrow",
            "data",
            "from ybar.experiments.runs import transfer; transfer.export([], '/dev/shm/x.parquet')",
        ),
        ("jinja2", "report", "from ybar import report; report.render(report.Page('', '', []))"),
    ],
)
def test_a_missing_extra_names_the_exact_pip_line(missing, extra, call):
    code = (
        f"import sys, ybar\nfrom ybar import *\nsys.modules[{missing!r}] = None\n"
        f"try:\n    {call}\nexcept ImportError as error:\n    print(error)"
    )
    done = run(code, PATH="", HOME="/nonexistent", PYTHONPATH=os.environ["PYTHONPATH"])
    package = missing.partition(".")[0]
    assert package in done.stdout, done.stderr
    assert f'pip install "ybar[{extra}]"' in done.stdout


def test_the_version_is_that_of_the_package():
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    assert ybar.__version__ == tomllib.loads(pyproject.read_text("utf-8"))["project"]["version"]


def test_without_its_extra_the_command_is_one_line():
    code = "import sys\nsys.modules['typer'] = None\nfrom ybar.__main__ import main\nmain()"
    done = run(code)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "typer" in done.stderr
    assert 'pip install "ybar[cli]"' in done.stderr


def test_help_does_not_wait_for_scikit_learn():
    code = (
        "import sys\nsys.argv = ['ybar', 'reproduce', '--help']\n"
        "from ybar.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('sklearn', 'numpy', 'torch', 'rich') if m in sys.modules])"
    )
    done = run(code)
    assert "--dry-run" in done.stdout
    assert done.stdout.strip().endswith("[]")
