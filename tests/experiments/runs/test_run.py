"""A run: its data, its trial, what it records."""

import sys
from dataclasses import replace
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


def test_features_of_ones_own_are_scaled_unless_the_plan_says_not(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)) * [1, 1e4, 1e-3] + [0, 1e6, 0]
    np.savez(tmp_path / "raw.npz", X=X, y=np.arange(60) % 3)
    raw = Dataset("d", str(tmp_path / "raw.npz"))
    sha256 = run_data.facts(raw).sha256
    scaled = run_data.load_planned(raw, sha256)
    np.testing.assert_allclose(scaled.X_train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.X_train.std(axis=0), 1, atol=1e-6)
    as_it_is = run_data.load_planned(replace(raw, scale=False), sha256)
    center, spread = as_it_is.X_train.mean(axis=0), as_it_is.X_train.std(axis=0)
    np.testing.assert_allclose(scaled.X_test, (as_it_is.X_test - center) / spread, atol=1e-6)


def test_pixels_and_data_that_come_with_ybar_are_not_standardised(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (60, 4), dtype=np.uint8)
    np.savez(tmp_path / "pixels.npz", X=pixels, y=np.arange(60) % 3)
    for dataset in (Dataset("d", str(tmp_path / "pixels.npz")), Dataset("digits")):
        data = run_data.load(dataset)
        planned = run_data.load_planned(dataset, run_data.sha256(data))
        np.testing.assert_array_equal(planned.X_train, data.X_train)
        assert planned.X_train.dtype == data.X_train.dtype


def test_only_data_of_ones_own_have_the_scaling_in_the_names_of_their_runs(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.ones((60, 4)), y=np.arange(60) % 3)
    own = f"settings = ['strong']\n[[dataset]]\nname = 'd'\npath = 'd.npz'\n{{}}\n{BASE}"
    names = {}
    for what in ("", "scale = true", "scale = false"):
        plan = parse(own.format(what), "p", tmp_path)
        (job,) = plan_jobs.jobs(with_one_trial(plan), {})
        names[what] = plan_jobs.config(job, job.trainings[0])
    assert names[""] == names["scale = true"] == names["scale = false"] | {"scaled": True}
    (job,) = plan_jobs.jobs(with_one_trial(parse(GRID + BASE)), {})
    assert "scaled" not in plan_jobs.config(job, job.trainings[0])


def with_one_trial(plan):
    return replace(plan, parts=tuple(replace(part, trials=1) for part in plan.parts))
