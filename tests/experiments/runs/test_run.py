"""A run: its data, its trial, what it records."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from ybar.experiments.plan import jobs as plan_jobs
from ybar.experiments.plan.model import Dataset, Facts
from ybar.experiments.plan.reading import parse
from ybar.experiments.runs import data as run_data
from ybar.experiments.runs import run

ROOT = Path(__file__).resolve().parents[3]

GRID = 'datasets = ["digits"]\nsettings = ["strong"]\n'

TREES = "[[base]]\nname = 'trees'\nkind = 'gbdt'\n"

BASE = '[[base]]\nname = "linear"\nkind = "network"\nmethods = ["cpe-f"]\nlearning_rates = [1e-3]\n'

IMAGES = Facts("0" * 64, 60_000, 784, tuple("0123456789"))


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
            run_data.matrix_of(setting, ("cat", "dog", "fox"))


def test_images_of_ones_own_are_rows_of_pixels(tmp_path):
    X = np.random.default_rng(0).random((40, 3, 5))
    np.savez(tmp_path / "images.npz", X=X, y=np.arange(40) % 2)
    np.savez(tmp_path / "rows.npz", X=X.reshape(40, 15), y=np.arange(40) % 2)
    images, rows = (Dataset("d", str(tmp_path / f"{name}.npz")) for name in ("images", "rows"))
    assert run_data.facts(images) == run_data.facts(rows)
    assert run_data.facts(images).n_features == 15


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
    facts = {Dataset("digits"): run_data.facts(Dataset("digits"))}
    of_cnn, of_ceiling = plan_jobs.jobs(read, facts)
    how = plan_jobs.config(of_cnn, of_cnn.trainings[0])["how"]
    assert how["module"] == "ybar.neural.networks:small_cnn"
    assert how["weight_averaging"] == 0.9
    assert how["module_version"] == 1
    assert "module_sha256" not in how
    (outcome,) = run.run(of_ceiling)
    assert outcome.cause is None
    assert outcome.scores["best-scel.accuracy_max"] > 85
    again = run.run(of_ceiling)[0]
    assert again.scores == outcome.scores
