"""Models are saved without pickle, whole or not at all, and files are checked before use."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import ybar
from ybar import (
    ComplementaryNetClassifier,
    ComplementaryNetClassifierCV,
    CPEBoostingClassifierCV,
    CPEClassifier,
    CPEKMeansClassifierCV,
    CPEKNeighborsClassifierCV,
    metrics,
)

MODELS = {
    "default": CPEClassifier(),
    "forest": CPEClassifier(RandomForestClassifier(n_estimators=5, random_state=0)),
    "pipeline": make_pipeline(StandardScaler(), CPEClassifier(LogisticRegression())),
    "knn": CPEKNeighborsClassifierCV(random_state=0),
    "knn-tree": CPEKNeighborsClassifierCV(n_components=4, random_state=0),
    "kmeans": CPEKMeansClassifierCV(random_state=0),
    "boosting": CPEBoostingClassifierCV([0.1], [5, 10], random_state=0),
    "network": ComplementaryNetClassifier("cpe-n", max_epochs=3, random_state=0),
    "linear-cv": ComplementaryNetClassifierCV(
        "cpe-i", (), learning_rates=[0.01, 0.001], max_epochs=3, random_state=0
    ),
}

PREDICT = """
import sys, numpy as np, ybar
X = np.load("X.npy")
for name in sys.argv[1:]:
    np.save(f"{name}.npy", ybar.load(f"{name}.ybar").predict_proba(X))
"""


@pytest.fixture
def saved(digits_strong, tmp_path):
    X, y_comp, _, _ = digits_strong
    path = tmp_path / "model.ybar"
    ybar.save(CPEClassifier().fit(X[:200], y_comp[:200]), path)
    return path


def test_probabilities_are_the_same_to_the_bit_in_a_new_process(digits_strong, tmp_path):
    X, y_comp, X_test, _ = digits_strong
    np.save(tmp_path / "X.npy", X_test)
    fitted = {name: model.fit(X, y_comp) for name, model in MODELS.items()}
    for name, model in fitted.items():
        ybar.save(model, tmp_path / f"{name}.ybar")
    command = [sys.executable, "-W", "error", "-c", PREDICT, *fitted]
    subprocess.run(command, cwd=tmp_path, check=True)
    for name, model in fitted.items():
        expected = model.predict_proba(X_test)
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), expected, name)
        again = ybar.load(tmp_path / f"{name}.ybar")
        assert str(again) == str(model)
        np.testing.assert_array_equal(again.classes_, model.classes_)


def test_no_file_holds_a_pickle(saved):
    with zipfile.ZipFile(saved) as archive:
        for name in archive.namelist():
            assert name.endswith((".json", ".npy", ".npz")), name
        assert "pickle" not in archive.read("schema.json").decode().lower()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=r"model\.ybar is (damaged|not a model file)"):
        ybar.load(saved)


def test_a_flipped_bit_anywhere_is_refused(saved):
    data = bytearray(saved.read_bytes())
    for place in np.random.default_rng(0).integers(0, len(data), 200):
        data[place] ^= 1
        saved.write_bytes(data)
        with pytest.raises(ValueError, match=r"model\.ybar (is damaged|is not a model|has format)"):
            ybar.load(saved)
        data[place] ^= 1
    saved.write_bytes(data)
    assert ybar.load(saved).classes_.tolist() == list(range(10))


@pytest.mark.parametrize(
    "content",
    [b"", b"hello\n", b"\x80\x04K\x01.", b"PK\x03\x04", b"ybar-model", b"ybar-model x y z\n"],
)
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "other.ybar"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.ybar is (damaged|not a model file of ybar)"):
        ybar.load(path)


def test_a_newer_format_says_upgrade(saved):
    data = saved.read_bytes()
    saved.write_bytes(data.replace(b"ybar-model 1 ", b"ybar-model 2 ", 1))
    with pytest.raises(ValueError, match=r"has format 2, this ybar reads up to 1\. Upgrade"):
        ybar.load(saved)


class Hostile(BaseEstimator):
    """Stands for code that an attacker would like to run."""

    ran = False

    def fit(self, X=None, y=None):
        self.fitted_ = True
        return self

    def __setstate__(self, state):
        Hostile.ran = True


def rewrite(path, change):
    """Change the JSON inside a saved model and make its sum right again."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files["schema.json"])
    change(schema)
    files["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    payload = path.read_bytes()
    head = f"ybar-model 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n"
    path.write_bytes(head.encode() + payload)


def test_types_that_are_not_on_the_list_are_named_and_not_made(tmp_path):
    path = tmp_path / "hostile.ybar"
    with pytest.warns(UserWarning, match=r"ybar\.load\(path, trusted=\[.*Hostile"):
        ybar.save(Hostile().fit(), path)
    with pytest.raises(ValueError, match=r"not trusted: .*Hostile.*trusted="):
        ybar.load(path)
    assert not Hostile.ran


@pytest.mark.parametrize(
    "target", [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen")]
)
def test_a_forged_file_with_a_right_sum_runs_nothing(saved, target):
    def forge(schema):
        schema["__module__"], schema["__class__"] = target

    rewrite(saved, forge)
    with pytest.raises(ValueError, match=r"not trusted: .*" + target[1]):
        ybar.load(saved)


def sealed(payload):
    head = f"ybar-model 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n"
    return head.encode() + payload


def test_an_unreadable_schema_is_one_clear_error(saved):
    rewrite(saved, lambda schema: schema.clear())
    with pytest.raises(ValueError, match=r"model\.ybar cannot be read"):
        ybar.load(saved)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip"])
def test_a_payload_that_skops_did_not_write_is_one_clear_error(saved, content):
    saved.write_bytes(sealed(content))
    with pytest.raises(ValueError, match=r"model\.ybar cannot be read"):
        ybar.load(saved)


def test_what_is_no_classifier_is_refused(saved):
    saved.write_bytes(sealed(skops.io.dumps(3)))
    with pytest.raises(ValueError, match=r"model\.ybar holds a int, not a classifier"):
        ybar.load(saved)


def test_every_flipped_bit_of_the_first_line_is_noticed(saved):
    data = saved.read_bytes()
    for place in range(data.index(b"\n") + 1):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            saved.write_bytes(changed)
            with pytest.raises(ValueError, match=r"is damaged|is not a model|has format"):
                ybar.load(saved)


def test_what_cannot_be_saved_is_said_when_saving(digits_strong, tmp_path):
    X, y_comp, _, _ = digits_strong
    split = (pair for pair in [(np.arange(0, 1000), np.arange(1000, 1347))])
    clf = CPEKNeighborsClassifierCV(cv=split).fit(X, y_comp)
    with pytest.raises(ValueError, match="Generators as cv="):
        ybar.save(clf, tmp_path / "m.ybar")
    assert not list(tmp_path.iterdir())


def test_types_of_other_packages_load_when_named(digits_strong, tmp_path):
    X, y_comp, X_test, _ = digits_strong
    base = LGBMClassifier(n_estimators=3, n_jobs=1, verbosity=-1)
    clf = CPEClassifier(base).fit(X, y_comp)
    with pytest.warns(UserWarning, match=r"trusted=.*lightgbm\.sklearn"):
        ybar.save(clf, tmp_path / "m.ybar")
    with pytest.raises(ValueError, match=r"lightgbm\.sklearn\.LGBMClassifier"):
        ybar.load(tmp_path / "m.ybar")
    names = [
        "collections.OrderedDict",
        "collections.defaultdict",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
    ]
    again = ybar.load(tmp_path / "m.ybar", trusted=names)
    np.testing.assert_array_equal(again.predict_proba(X_test), clf.predict_proba(X_test))


@pytest.mark.parametrize(
    "base",
    [
        ExtraTreesClassifier(5),
        HistGradientBoostingClassifier(max_iter=3),
        GradientBoostingClassifier(n_estimators=2),
        CalibratedClassifierCV(LinearSVC()),
        KNeighborsClassifier(algorithm="ball_tree"),
        MLPClassifier(max_iter=2),
        VotingClassifier([("nb", GaussianNB())], voting="soft"),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
    ],
    ids=lambda base: type(base).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_usual_bases_of_scikit_learn_load_without_naming_types(base, blobs, tmp_path):
    X, _, y_comp = blobs
    clf = CPEClassifier(base).fit(X, y_comp)
    search = GridSearchCV(
        clf, {"decoder": ["l1", "max"]}, scoring=metrics.scel_scorer, cv=KFold(2)
    ).fit(X, y_comp)
    for model in (clf, search):
        ybar.save(model, tmp_path / "m.ybar")
        again = ybar.load(tmp_path / "m.ybar")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_failed_save_leaves_the_old_model_and_nothing_else(saved, digits_strong, monkeypatch):
    before = saved.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    X, y_comp, _, _ = digits_strong
    with pytest.raises(OSError, match="No space left"):
        ybar.save(CPEClassifier().fit(X[:100], y_comp[:100]), saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_saving_replaces_a_file_and_keeps_the_usual_permissions(saved, digits_strong):
    X, y_comp, _, _ = digits_strong
    ybar.save(CPEClassifier(classes=range(10)).fit(X[:150], y_comp[:150]), saved)
    plain = saved.with_name("plain")
    plain.touch()
    assert saved.stat().st_mode == plain.stat().st_mode
    assert ybar.load(saved).classes == range(10)


@pytest.mark.parametrize("searched", [False, True])
def test_matrices_and_classes_that_were_frames_are_saved_as_arrays(blobs, tmp_path, searched):
    pd = pytest.importorskip("pandas")
    X, _, y_comp = blobs
    names = np.array(["a", "b", "c"])
    T = pd.DataFrame(ybar.transition.uniform(3), index=names, columns=names)
    clf = CPEClassifier(transition=T, classes=pd.Index(names))
    model = GridSearchCV(clf, {"decoder": ["l1", "max"]}, scoring=metrics.scel_scorer, cv=2)
    model = (model if searched else clf).fit(X, names[y_comp])
    ybar.save(model, tmp_path / "model.ybar")
    assert model.get_params()["estimator__transition" if searched else "transition"] is T
    loaded = ybar.load(tmp_path / "model.ybar")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.classes_.tolist() == names.tolist()
