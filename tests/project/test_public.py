"""Promise 10 and the public surface: what `import ybar` gives, and what it costs."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import ybar

PUBLIC = {
    "ybar": [
        "CPEBoostingClassifierCV",
        "CPEClassifier",
        "CPEKNeighborsClassifierCV",
        "ComplementaryNetClassifier",
        "ComplementaryNetClassifierCV",
        "calibration",
        "collection",
        "datasets",
        "decode",
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
    "ybar.estimation": ["estimate_from_probabilities"],
    "ybar.calibration": ["expected_calibration_error", "fit_temperature", "temper"],
    "ybar.decode": ["class_probabilities", "decode", "inverse"],
    "ybar.metrics": [
        "Comparison",
        "ErrorBound",
        "TransitionCheck",
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
    "ybar.datasets": ["fetch", "load", "read_idx"],
    "ybar.neural": [
        "ComplementaryNetClassifier",
        "ComplementaryNetClassifierCV",
        "to_onnx",
    ],
    "ybar.neural.losses": ["METHODS", "Method", "find", "register"],
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


def test_importing_ybar_loads_no_heavy_package():
    code = (
        "import sys\nfrom ybar import *\n"
        "heavy = ('torch', 'lightgbm', 'matplotlib', 'dask', 'skops', 'pooch', 'typer')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
        (
            "distributed",
            "dask",
            "from ybar.experiments.runs import sweep; sweep.cluster(None, 1).__enter__()",
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
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "HOME": "/nonexistent"},
    )
    package = missing.partition(".")[0]
    assert f'needs {package}, which is not installed: pip install "ybar[{extra}]"' in done.stdout


def test_the_version_is_that_of_the_installed_package():
    assert ybar.__version__ == importlib.metadata.version("ybar")


def test_without_its_extra_the_command_is_one_line():
    code = "import sys\nsys.modules['typer'] = None\nfrom ybar.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    said = 'ybar: the command line needs typer, which is not installed: pip install "ybar[cli]"'
    assert done.stderr.strip() == said


def test_help_does_not_wait_for_scikit_learn():
    code = (
        "import sys\nsys.argv = ['ybar', 'reproduce', '--help']\n"
        "from ybar.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('sklearn', 'numpy', 'torch', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--dry-run" in done.stdout
    assert done.stdout.strip().endswith("[]")
