"""Plans: what a TOML file may say, what it comes to, and what is refused on which line."""

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from ybar.experiments.plan import model as plan
from ybar.experiments.plan import reading as plan_file
from ybar.experiments.plan.model import METHODS, Dataset, Facts, Network, Setting, Training
from ybar.experiments.plan.reading import PlanError, line_of, parse
from ybar.experiments.runs import run
from ybar.neural import methods

ROOT = Path(__file__).resolve().parents[2]
GRID = 'datasets = ["digits"]\nsettings = ["strong"]\n'
TREES = "[[base]]\nname = 'trees'\nkind = 'gbdt'\n"
BASE = '[[base]]\nname = "linear"\nkind = "network"\nmethods = ["cpe-f"]\nlearning_rates = [1e-3]\n'
IMAGES = Facts("0" * 64, 60_000, 784, tuple("0123456789"))


def facts_of(a_plan):
    return {dataset: IMAGES for part in a_plan.parts for dataset in part.datasets}


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
        assert parts[name].base == Network(name, sizes, 300, 256, 1e-4)
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


def test_methods_that_share_a_training_are_trained_once():
    (part,) = parse(GRID + BASE.replace('["cpe-f"]', '["scl-nl", "fwd", "cpe-f", "ure-ga"]')).parts
    uniform, strong = Setting("uniform", "uniform"), Setting("strong", "strong")
    rate = 1e-3
    assert plan.trainings(part, uniform) == [Training("cpe-f", rate), Training("ure-ga", rate)]
    assert plan.trainings(part, strong) == [
        Training("scl-nl", rate),
        Training("cpe-f", rate),
        Training("ure-ga", rate, assumed="uniform"),
    ]
    told = replace(part, uniform_risk=False)
    assert plan.trainings(told, strong)[-1] == Training("ure-ga", rate)


def test_the_count_of_trainings_of_the_paper_naive_and_shared():
    paper = plan_file.read("paper")
    jobs = plan.jobs(paper, facts_of(paper))
    # 7 rows a network base, decoders (MLP), two validation tables for both; 5 rates; 90 trials.
    assert plan.count_naive(paper.parts) == 90 * (2 * 5 * (7 + 4) + 5 * 2 + 2)
    # 6 distinct trainings, 5 where T is uniform.
    per_base = 75 * 6 * 5 + 15 * 5 * 5
    assert sum(len(job.trainings) for job in jobs) == 2 * per_base + 2 * 90
    linear = [job for job in jobs if job.base.name == "linear"]
    assert len(linear) == 90  # a population each
    assert len({name for job in jobs for name in plan.hashes(job)}) == 2 * per_base + 180


def test_tables_fill_evenly_trial_by_trial():
    paper = plan_file.read("paper")
    for name in ("knn", "linear", "gbdt", "mlp"):
        trials = [j.trial for j in plan.jobs(paper, facts_of(paper)) if j.base.name == name]
        assert trials == sorted(trials)


def test_a_run_is_named_by_all_it_depends_on_and_by_nothing_else():
    (part,) = parse(GRID + BASE).parts
    job = plan.jobs(plan.Plan("p", (part,)), {Dataset("digits"): IMAGES})[0]
    (name,) = plan.hashes(job)
    others = [
        replace(job, data_sha256="1" * 64),
        replace(job, setting=Setting("strong", "strong", 0.1)),
        replace(job, setting=Setting("stronger", "strong")),
        replace(job, trial=1),
        replace(job, base=replace(job.base, epochs=299)),
        replace(job, base=replace(job.base, hidden_layer_sizes=(5,))),
        replace(job, validation_fraction=0.2),
        replace(job, trainings=(replace(job.trainings[0], learning_rate=2e-3),)),
        replace(job, trainings=(replace(job.trainings[0], assumed="uniform"),)),
    ]
    assert len({name, *(plan.hashes(other)[0] for other in others)}) == 1 + len(others)
    (trees,) = parse(GRID + TREES).parts
    job_of_trees = plan.jobs(plan.Plan("p", (trees,)), {Dataset("digits"): IMAGES})[0]
    bases = [
        trees.base,
        *(
            replace(trees.base, **change)
            for change in (
                {"method": "cpe-f"},
                {"min_data_in_leaf": 21},
                {"feature_fraction": 0.5},
                {"bagging_fraction": 0.5},
            )
        ),
    ]
    names = {plan.hashes(replace(job_of_trees, base=base))[0] for base in bases}
    assert len(names) == len(bases)
    assert "method" not in plan.config(job_of_trees, job_of_trees.trainings[0])["how"]
    moved = replace(job, dataset=Dataset("digits", "/elsewhere/digits.npz"))
    assert plan.hashes(moved) == [name]
    config = plan.config(job, job.trainings[0])
    assert plan.hash_of(json.loads(json.dumps(config))) == name


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
    training = plan.training_of(small, small.methods[0], small.settings[0])
    assert training.loss == "my_losses_of_test_plan:loss"
    (tmp_path / "my_losses_of_test_plan.py").write_text("def loss(*_):\n    return 0\n")
    changed = plan.training_of(small, small.methods[0], small.settings[0])
    assert changed.source != training.source  # another loss is another run


REFUSED = [
    ("trials = 0\n" + GRID + BASE, 1, "trials must be a whole number of at least 1; got 0"),
    ("trials = true\n" + GRID + BASE, 1, "got True"),
    ('trials = "5"\n' + GRID + BASE, 1, "got '5'"),
    ("\n# why\n\ntrails = 5\n" + GRID + BASE, 4, "did you mean 'trials'?"),
    (GRID + BASE + "epoch = 3\n", 8, "unknown key 'epoch' in [[base]]; did you mean 'epochs'?"),
    (GRID + BASE + "epochs = 0\n", 8, "epochs must be a whole number of at least 1"),
    (GRID + BASE + "epochs = 2.5\n", 8, "epochs must be"),
    (GRID + BASE + "batch_size = -1\n", 8, "batch_size must be"),
    (GRID + BASE + "weight_decay = 2\n", 8, "weight_decay must be a number from 0 to 1"),
    (GRID + BASE + "uniform_risk = 1\n", 8, "uniform_risk must be true or false"),
    (GRID + BASE + "hidden_layer_sizes = [500, 0]\n", 8, "hidden_layer_sizes must hold"),
    (GRID + BASE + "n_neighbors = [3]\n", 8, "unknown key 'n_neighbors'"),
    (GRID + BASE + "colour = 3\n", 8, "known are kind"),
    ("validation_fraction = 1\n" + GRID + BASE, 1, "both excluded; got 1"),
    ("validation_fraction = nan\n" + GRID + BASE, 1, "got nan"),
    ('datasets = ["mnist",\n  "minst"]\n', 2, "Did you mean 'mnist'?"),
    ('datasets = "digits"\n', 1, "a list of at least 1 name"),
    ("datasets = []\n", 1, "a list of at least 1 name"),
    ('datasets = ["digits"]\nsettings = ["strong", "strong"]\n', 2, "each name once"),
    ('settings = ["noise-2"]\n', 1, "settings such as noise-0.1; got 'noise-2'"),
    ('settings = ["noise-x"]\n', 1, "got 'noise-x'"),
    ("settings = [3]\n", 1, "got 3"),
    (GRID, 1, "must have a [[base]]"),
    ("", 1, "must have a [[base]]"),
    (GRID + "[base]\nname = 'x'\n", 3, "[[base]] must be an array of tables"),
    (GRID + "base = [3]\n", 3, "kind must be one of 'network', 'knn', 'gbdt'"),
    (GRID + "[[base]]\nname = 'x'\nkind = 'forest'\n", 5, "got 'forest'"),
    (GRID + "[[base]]\nkind = 'knn'\n", 3, "[[base]] must have a name"),
    (GRID + BASE.replace('methods = ["cpe-f"]\n', ""), 3, "[[base]] must have methods"),
    (GRID + BASE.replace("cpe-f", "cpe-x"), 6, "got 'cpe-x'. Did you mean 'cpe-"),
    (GRID + BASE.replace("1e-3", "1e-3, -1.0"), 7, "learning_rates must hold a number above 0"),
    (GRID + BASE.replace("1e-3", "inf"), 7, "got inf"),
    (GRID + BASE.replace("1e-3", "9" * 400), 7, "learning_rates must hold a number above 0"),
    (GRID + BASE + "module = 'math:sin'\ndropout = 0.1\n", 9, "a module has its own layers"),
    (GRID + BASE.replace("[1e-3]", "[\n1e-3,\n-1]"), 9, "above 0; got -1"),
    ('datasets = ["digits",\n "digits"]\n', 2, "each name once"),
    ('settings = [\n"strong",\n"g",\n]\n', 3, "got 'g'"),
    (GRID + "[[base]]\nname = 'x'\nkind = ['knn']\n", 5, "got ['knn']"),
    (GRID + BASE + BASE, 9, "name must be used once; 'linear' is defined above"),
    (BASE, 1, "datasets must name at least one"),
    ("[[dataset]]\nname = 'mine'\n", 1, "[[dataset]] must have a path"),
    ("[[dataset]]\nname = 'mine'\npath = 'no.npz'\n", 3, "no.npz is not there"),
    ("[[dataset]]\npath = '.'\n", 1, "[[dataset]] must have a name"),
    ("[[setting]]\nname = 'a'\n", 1, "[[setting]] must have a transition"),
    ("[[setting]]\nname = 'a'\ntransition = 'T.csv'\n", 3, "No such file"),
    ("[[setting]]\nname = 'a'\ntransition = [[1, 0], [0.5, 0.6]]\n", 3, "row 1 sums to 1.1"),
    ("[[setting]]\nname = 'a'\ntransition = [[1, 0], [1]]\n", 3, "differ in length"),
    ("[[setting]]\nname = 'a'\ntransition = 'weak'\nnoise = 1.5\n", 4, "noise must be"),
    ("[[method]]\nname = 'dm'\nloss = 'a:b'\n", 3, "loss must be 'module:function'"),
    ("[[method]]\nname = 'dm'\nloss = 'math:sin'\n", 2, "must not be that of a method of ybar"),
    ("\n[[method]]\nloss = 'math:sin'\n", 2, "[[method]] must have a name"),
    ("[[method]]\nname = 'm'\nloss = 'math:pi'\n", 3, "cannot be called"),
    ("[[method]]\nname = 'm'\nloss = 'math'\n", 3, "loss must be 'module:function'"),
    ("[[method]]\nname = 'm'\nloss = 'math:sin'\ndecoder = 'L1'\n", 4, "decoder must be"),
    ("[[method]]\nname = 'm'\nloss = 'math:sin'\ncriterion = 'accuracy'\n", 4, "'scel' or 'ure'"),
    ("[[method]]\nname = 'm'\nloss = 'math:sin'\nestimates = 'x'\n", 4, "'p' or 'q'"),
    (
        GRID + BASE.replace('"cpe-f"', '"cpe-f",\n"ure-ga"') + "true_labels = true\n",
        7,
        "methods must be of fwd, cpe-i, cpe-f, cpe-t, cpe-n or your own where true_labels is true",
    ),
    (GRID + TREES + "method = 'fwd'\n", 6, "method must be 'cpe-i' or 'cpe-f'; got 'fwd'"),
    (GRID + TREES + "min_data_in_leaf = 0\n", 6, "min_data_in_leaf must be"),
    (GRID + TREES + "feature_fraction = 0\n", 6, "a number above 0, to 1; got 0"),
    (GRID + TREES + "bagging_fraction = 1.5\n", 6, "bagging_fraction must be"),
    ("trials = \n", 1, "this is not TOML"),
    ("a = 1\na = 2\n", 2, "this is not TOML"),
    ("trials = 5\n[[base]\n", 2, "this is not TOML"),
    ('name = ""\n', 1, "name must be some text"),
]


@pytest.mark.parametrize(("text", "line", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_refused_with_its_line(text, line, said):
    with pytest.raises(PlanError) as refused:
        parse(text, "my.toml")
    assert str(refused.value).startswith(f"my.toml, line {line}: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_lines_are_found_across_strings_comments_and_lists():
    text = '# a\nname = """x\ndatasets = 3\n"""\n\nsettings = [  # those\n  "weak",\n  "x",\n]\n'
    assert line_of(text, ("name",)) == 2
    assert line_of(text, ("settings",)) == 6
    assert line_of(text, ("settings", 1)) == 8
    rates = 'a = 1\nrates = [\n  1e-2,  # "x", [\n  [1, 2],\n\n  "a,b]", -1,\n]\n'
    assert [line_of(rates, ("rates", i)) for i in range(4)] == [3, 4, 6, 6]


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


def test_the_place_of_what_a_plan_says_is_found_by_name(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("trials = 2\n" + GRID + BASE + TREES.replace("\n[[", "\n\n[["))
    assert plan_file.place(path, "trials") == "p.toml, line 1"
    assert plan_file.place(path, "base", "linear", "methods") == "p.toml, line 7"
    linear = plan_file.place(path, "base", "linear")
    assert linear == plan_file.place(path, "base", "linear", "epochs") == "p.toml, line 4"
    assert plan_file.place(path, "base", "none") == linear  # the first there is
    assert plan_file.place(path, "validation_fraction") == "p.toml"


@pytest.mark.parametrize("name", ["d.csv", "d.CSV"])
def test_a_csv_of_ones_own_needs_its_target(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,x\n")
    text = f"[[dataset]]\nname = 'd'\npath = '{name}'\n"
    with pytest.raises(PlanError, match=r"line 1: .* must have a target"):
        parse(text, "p", tmp_path)


@pytest.mark.parametrize("named", [True, False])
def test_a_matrix_with_names_is_that_of_the_classes_it_names(tmp_path, named):
    rows = {"cat": [0, 0.9, 0.1], "dog": [0.3, 0, 0.7], "emu": [0.5, 0.5, 0]}
    classes = ["emu", "cat", "dog"] if named else list(rows)
    columns = [list(rows).index(name) for name in classes]
    lines = [[name] * named + [str(rows[name][i]) for i in columns] for name in classes]
    header = [["", *classes]] if named else []
    (tmp_path / "T.csv").write_text("\n".join(map(",".join, header + lines)))
    text = "datasets = ['digits']\n[[setting]]\nname = 's'\ntransition = 'T.csv'\n" + BASE
    (setting,) = parse(text, "p", tmp_path).parts[0].settings
    data = Bunch(y_train=np.repeat([0, 1, 2], 1000), classes=np.array(list(rows)))
    trial = run.draw(data, setting, [0], 0.1)
    np.testing.assert_array_equal(trial.T, list(rows.values()))
    drawn = np.bincount(trial.y_comp[:1000], minlength=3) / 1000
    np.testing.assert_allclose(drawn, rows["cat"], atol=0.05)
    if named:
        with pytest.raises(ValueError, match="must name the classes cat, dog, fox; it names emu,"):
            run.matrix_of(setting, ("cat", "dog", "fox"))


def test_noise_that_is_told_makes_no_uniform_matrix_uniform():
    # SCL is Fwd plus a constant, and the risk the uniform one, only where T is uniform.
    setting = Setting("u", "uniform", 0.3)
    rows = tuple(METHODS[name] for name in ("scl-nl", "ure-ga"))
    for told_noise, expected in [(False, ("cpe-f", "given")), (True, ("scl-nl", "uniform"))]:
        base = Network("n", told_noise=told_noise)
        part = plan.Part(base, (Dataset("digits"),), (setting,), 1, rows)
        scl, ure = (plan.training_of(part, row, setting) for row in rows)
        assert (scl.method, ure.assumed) == expected


def test_images_of_ones_own_are_rows_of_pixels(tmp_path):
    X = np.random.default_rng(0).random((40, 3, 5))
    np.savez(tmp_path / "images.npz", X=X, y=np.arange(40) % 2)
    np.savez(tmp_path / "rows.npz", X=X.reshape(40, 15), y=np.arange(40) % 2)
    images, rows = (Dataset("d", str(tmp_path / f"{name}.npz")) for name in ("images", "rows"))
    assert run.facts(images) == run.facts(rows)
    assert run.facts(images).n_features == 15


def test_every_method_of_the_networks_has_its_row():
    assert set(plan.METHODS) == set(methods.METHODS)
    for name, method in plan.METHODS.items():
        assert method.decoder == methods.METHODS[name].decoder


def test_runs_that_were_recorded_keep_their_names():
    with (ROOT / "results" / "paper" / "runs.csv").open(newline="") as file:
        recorded = {row["hash"]: json.loads(row["config"]) for row in csv.DictReader(file)}
    assert all(plan.hash_of(config) == name for name, config in recorded.items())
    known = {c["dataset"]: c["data_sha256"] for c in recorded.values()}
    paper = plan_file.read("paper")
    facts = {
        dataset: Facts(known[dataset.name], 60_000, 784, tuple("0123456789"))
        for part in paper.parts
        for dataset in part.datasets
    }
    planned = {name for job in plan.jobs(paper, facts) for name in plan.hashes(job)}
    assert recorded.keys() <= planned


def test_a_plan_may_change_the_recipe_and_the_network():
    text = """
    trials = 1
    datasets = ["digits"]
    settings = ["strong"]
    [[base]]
    name = "cnn"
    kind = "network"
    module = "ybar.neural.networks:small_cnn"
    methods = ["cpe-n"]
    learning_rates = [1e-3]
    weight_averaging = 0.9
    [[base]]
    name = "ceiling"
    kind = "network"
    hidden_layer_sizes = [20]
    methods = ["fwd"]
    learning_rates = [1e-2]
    epochs = 30
    dropout = 0.2
    input_dropout = 0.1
    true_labels = true
    told_noise = true
    """
    path = [*sys.path]
    read = parse(text)
    assert sys.path == path  # modules of a plan that lies nowhere are installed ones
    facts = {Dataset("digits"): run.facts(Dataset("digits"))}
    of_cnn, of_ceiling = plan.jobs(read, facts)
    how = plan.config(of_cnn, of_cnn.trainings[0])["how"]
    assert how["module"] == "ybar.neural.networks:small_cnn"
    assert how["weight_averaging"] == 0.9
    assert len(how["module_sha256"]) == 64
    (outcome,) = run.run(of_ceiling)
    assert outcome.cause is None
    assert outcome.figures["best-scel.accuracy_max"] > 85
    again = run.run(of_ceiling)[0]
    assert again.figures == outcome.figures
