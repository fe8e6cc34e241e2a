"""Plans: what a TOML file may say, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.model import Facts, Network, Setting
from ybar.experiments.plan.reading import PlanError, parse

ROOT = Path(__file__).resolve().parents[3]

GRID = 'datasets = ["digits"]\nsettings = ["strong"]\n'

TREES = "[[base]]\nname = 'trees'\nkind = 'gbdt'\n"

BASE = '[[base]]\nname = "linear"\nkind = "network"\nmethods = ["cpe-f"]\nlearning_rates = [1e-3]\n'

IMAGES = Facts("0" * 64, 60_000, 784, tuple("0123456789"))


def test_the_paper_plan_is_the_protocol_of_the_paper():
    paper = plan_file.read("paper")
    parts = {part.base.name: part for part in paper.parts}
    assert paper.validation_fraction == 0.1
    for part in paper.parts:
        assert [d.name for d in part.datasets] == ["mnist", "fashion-mnist", "kmnist"]
        assert part.settings == (
            Setting("uniform", "uniform"),
            Setting("weak", "weak"),
            Setting("strong", "strong"),
            Setting("noise-0.1", "strong", 0.1),
            Setting("noise-0.2", "strong", 0.2),
            Setting("noise-0.5", "strong", 0.5),
        )
        assert part.trials == 5
    for name, sizes in (("linear", ()), ("mlp", (500,))):
        expected = Network(name, sizes, 300, 256, 1e-4, transition_optimiser="weights")
        assert parts[name].base == expected
        assert parts[name].learning_rates == (1e-3, 5e-4, 1e-4, 5e-5, 1e-5)
        assert [m.label for m in parts[name].methods] == [
            *("URE-GA", "SCL", "DM", "Fwd", "CPE-I", "CPE-F", "CPE-T")
        ]
        assert [m.criterion for m in parts[name].methods] == ["ure"] * 4 + ["scel"] * 3
        assert [m.decoder for m in parts[name].methods] == ["max"] * 4 + ["l1"] * 3
    assert parts["knn"].base.n_neighbors == tuple(range(10, 251, 10))
    assert parts["knn"].base.n_components == 32
    assert parts["gbdt"].base.learning_rates == (0.01, 0.025, 0.05, 0.1)
    assert parts["gbdt"].base.n_estimators == tuple(range(5, 501, 5))


def test_a_plan_of_ones_own(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", X=rng.random((60, 4)), y=np.repeat(["a", "b", "c"], 20))
    (tmp_path / "T.csv").write_text(",a,b,c\na,0,0.5,0.5\nb,0.9,0,0.1\nc,0.5,0.5,0\n")
    (tmp_path / "my_losses_of_test_plan.py").write_text(
        "def loss(logits, y_comp, log_T):\n    return (logits ** 2).sum(-1)\n"
    )
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (tmp_path / "own.toml").write_text(
        """
        trials = 2
        [[dataset]]
        name = "mine"
        path = "mine.npz"
        [[setting]]
        name = "people"
        transition = "T.csv"
        noise = 0.1
        [[setting]]
        name = "rows"
        transition = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
        [[method]]
        name = "squares"
        loss = "my_losses_of_test_plan:loss"
        [[base]]
        name = "small"
        kind = "network"
        hidden_layer_sizes = [7, 7]
        methods = ["squares", "cpe-n"]
        learning_rates = [1, 0.1]
        epochs = 2
        trials = 1
        [[base]]
        name = "near"
        kind = "knn"
        settings = ["people"]
        """
    )
    own = plan_file.read(tmp_path / "own.toml")
    small, near = own.parts
    assert own.name == "own"
    assert (small.trials, near.trials) == (1, 2)
    assert [s.name for s in small.settings] == ["people", "rows"]
    assert small.settings[0].transition[1] == (0.9, 0.0, 0.1)
    assert small.learning_rates == (1.0, 0.1)
    assert near.settings == small.settings[:1]
    assert near.methods[0].label == "CPE-NEAR"
    training = plan_jobs.training_of(small, small.methods[0], small.settings[0])
    assert training.loss == "my_losses_of_test_plan:loss"
    (tmp_path / "my_losses_of_test_plan.py").write_text("def loss(*_):\n    return 0\n")
    changed = plan_jobs.training_of(small, small.methods[0], small.settings[0])
    assert changed.source != training.source  # another loss is another run


REFUSED = [
    ("trials = 0\n" + GRID + BASE, "trials", "0"),
    ("trials = true\n" + GRID + BASE, "trials", "True"),
    ('trials = "5"\n' + GRID + BASE, "trials", "'5'"),
    ("\n# why\n\ntrails = 5\n" + GRID + BASE, "the plan", "'trails'"),
    (GRID + BASE + "epoch = 3\n", "base[0]", "'epoch'"),
    (GRID + BASE + "epochs = 0\n", "base[0].epochs", "0"),
    (GRID + BASE + "epochs = 2.5\n", "base[0].epochs", "2.5"),
    (GRID + BASE + "batch_size = -1\n", "base[0].batch_size", "-1"),
    (GRID + BASE + "weight_decay = 2\n", "base[0].weight_decay", "2"),
    (GRID + BASE + "uniform_risk = 1\n", "base[0].uniform_risk", "1"),
    (GRID + BASE + "hidden_layer_sizes = [500, 0]\n", "base[0].hidden_layer_sizes[1]", "0"),
    (GRID + BASE + "n_neighbors = [3]\n", "base[0]", "'n_neighbors'"),
    (GRID + BASE + "colour = 3\n", "base[0]", "'colour'"),
    ("validation_fraction = 1\n" + GRID + BASE, "validation_fraction", "1"),
    ("validation_fraction = nan\n" + GRID + BASE, "validation_fraction", "nan"),
    ('datasets = ["mnist",\n  "minst"]\n', "datasets[1]", "'minst'"),
    ('datasets = "digits"\n', "datasets", "'digits'"),
    ("datasets = []\n", "datasets", "[]"),
    (
        'datasets = ["digits"]\nsettings = ["strong", "strong"]\n',
        "settings",
        "['strong', 'strong']",
    ),
    ('settings = ["noise-2"]\n', "settings[0]", "'noise-2'"),
    ('settings = ["noise-x"]\n', "settings[0]", "'noise-x'"),
    ("settings = [3]\n", "settings[0]", "3"),
    (GRID, "the plan", "base"),
    ("", "the plan", "base"),
    (GRID + "[base]\nname = 'x'\n", "base", "list"),
    (GRID + "base = [3]\n", "base[0]", "3"),
    (GRID + "[[base]]\nname = 'x'\nkind = 'forest'\n", "base[0].kind", "'forest'"),
    (GRID + "[[base]]\nkind = 'knn'\n", "base[0]", "name"),
    (GRID + BASE.replace('methods = ["cpe-f"]\n', ""), "base[0]", "methods"),
    (GRID + BASE.replace("cpe-f", "cpe-x"), "base[0].methods[0]", "'cpe-x'"),
    (GRID + BASE.replace("1e-3", "1e-3, -1.0"), "base[0].learning_rates[1]", "-1.0"),
    (GRID + BASE.replace("1e-3", "inf"), "base[0].learning_rates[0]", "inf"),
    (GRID + BASE.replace("1e-3", "9" * 400), "base[0].learning_rates[0]", "99999999999999999999"),
    (GRID + BASE + "module = 'math:sin'\ndropout = 0.1\n", "base[0]", "dropout"),
    (GRID + BASE.replace("[1e-3]", "[\n1e-3,\n-1]"), "base[0].learning_rates[1]", "-1"),
    ('datasets = ["digits",\n "digits"]\n', "datasets", "['digits', 'digits']"),
    ('settings = [\n"strong",\n"g",\n]\n', "settings[1]", "'g'"),
    (GRID + "[[base]]\nname = 'x'\nkind = ['knn']\n", "base[0].kind", "\"['knn']\""),
    (GRID + BASE + BASE, "the plan", "linear, linear"),
    (BASE, "the plan", "datasets"),
    ("[[dataset]]\nname = 'mine'\n", "dataset[0]", "path"),
    ("[[dataset]]\nname = 'mine'\npath = 'no.npz'\n", "dataset[0]", "no.npz"),
    ("[[dataset]]\npath = '.'\n", "dataset[0]", "name"),
    ("[[setting]]\nname = 'a'\n", "setting[0]", "transition"),
    ("[[setting]]\nname = 'a'\ntransition = 'T.csv'\n", "setting[0].transition", "'T.csv'"),
    (
        "[[setting]]\nname = 'a'\ntransition = [[1, 0], [0.5, 0.6]]\n",
        "setting[0].transition",
        "[[1, 0], [0.5, 0.6]]",
    ),
    (
        "[[setting]]\nname = 'a'\ntransition = [[1, 0], [1]]\n",
        "setting[0].transition",
        "[[1, 0], [1]]",
    ),
    ("[[setting]]\nname = 'a'\ntransition = 'weak'\nnoise = 1.5\n", "setting[0].noise", "1.5"),
    ("[[method]]\nname = 'dm'\nloss = 'a:b'\n", "method[0].loss", "'a:b'"),
    ("[[method]]\nname = 'dm'\nloss = 'math:sin'\n", "method[0]", "name"),
    ("\n[[method]]\nloss = 'math:sin'\n", "method[0]", "name"),
    ("[[method]]\nname = 'm'\nloss = 'math:pi'\n", "method[0].loss", "'math:pi'"),
    ("[[method]]\nname = 'm'\nloss = 'math'\n", "method[0].loss", "'math'"),
    ("[[method]]\nname = 'm'\nloss = 'math:sin'\ndecoder = 'L1'\n", "method[0].decoder", "'L1'"),
    (
        "[[method]]\nname = 'm'\nloss = 'math:sin'\ncriterion = 'accuracy'\n",
        "method[0].criterion",
        "'accuracy'",
    ),
    ("[[method]]\nname = 'm'\nloss = 'math:sin'\nestimates = 'x'\n", "method[0].estimates", "'x'"),
    (
        GRID + BASE.replace('"cpe-f"', '"cpe-f",\n"ure-ga"') + "true_labels = true\n",
        "base[0]",
        "'ure-ga'",
    ),
    (GRID + TREES + "method = 'fwd'\n", "base[0].method", "'fwd'"),
    (GRID + TREES + "min_data_in_leaf = 0\n", "base[0].min_data_in_leaf", "0"),
    (GRID + TREES + "feature_fraction = 0\n", "base[0].feature_fraction", "0"),
    (GRID + TREES + "bagging_fraction = 1.5\n", "base[0].bagging_fraction", "1.5"),
    ("trials = \n", "this is not TOML", "at line 1"),
    ("a = 1\na = 2\n", "this is not TOML", "at line 2"),
    ("trials = 5\n[[base]\n", "this is not TOML", "at line 2"),
    ('name = ""\n', "name", "''"),
]


@pytest.mark.parametrize(("text", "key", "shown"), REFUSED, ids=range(len(REFUSED)))
def test_an_error_names_the_key_and_what_came(text, key, shown):
    with pytest.raises(PlanError) as refused:
        parse(text, "my.toml")
    assert str(refused.value).startswith(f"my.toml: {key}")
    assert shown in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "does not exist"), (b"\xff\xfe\x00", "text in UTF-8"), (b"#" * 2**21, "megabyte")],
)
def test_files_that_are_no_plans(tmp_path, content, said):
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanError, match=said):
        plan_file.read(path)


@pytest.mark.parametrize("name", ["d.csv", "d.CSV"])
def test_a_csv_of_ones_own_needs_its_target(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,x\n")
    text = f"[[dataset]]\nname = 'd'\npath = '{name}'\n"
    with pytest.raises(PlanError, match=r"^p: dataset\[0\] must have a target"):
        parse(text, "p", tmp_path)
