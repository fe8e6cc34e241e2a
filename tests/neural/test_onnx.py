"""A network exported to ONNX answers as the classifier does, and is written whole or not at all."""

from __future__ import annotations

import functools
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from torch import nn

from ybar import datasets, labels, transition
from ybar.neural import ComplementaryNetClassifier
from ybar.neural.onnx import to_onnx

METHODS = ["cpe-f", "cpe-i", "cpe-t", "fwd"]
T = transition.strong(10, random_state=0)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(4 * 6 * 6, 10),
    )


class Branching(nn.Module):
    """Works, but what it computes depends on the values of a batch: no graph can say that."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else self.linear(-x)


def rows(dtype, image=False):
    """Return training labels, training rows and test rows of digits, in that type."""
    d = datasets.load("digits")
    y_comp = labels.draw(d.y_train, T, random_state=0)
    top = d.X_train.max()
    shape = (-1, 1, 8, 8) if image else (-1, 64)
    scale, kind = (255, np.uint8) if dtype == "uint8" else (1, np.float32)
    return y_comp, *((x / top * scale).astype(kind).reshape(shape) for x in (d.X_train, d.X_test))


@functools.cache
def fitted(method="cpe-f", sizes=(), dtype="float32", network=None):
    y_comp, X, _ = rows(dtype, image=network is cnn)
    clf = ComplementaryNetClassifier(
        method,
        hidden_layer_sizes=sizes,
        transition=T,
        network=network,
        max_epochs=4,
        learning_rate=0.01,
        random_state=0,
        device="cpu",
    )
    return clf.fit(X, y_comp)


def with_decoder(clf, decoder):
    """Return the fitted classifier with another decoder, which needs no new fit."""
    other = ComplementaryNetClassifier(**clf.get_params())
    other.__dict__ |= clf.__dict__ | {"decoder": decoder}
    return other


def answers(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def assert_same(path, clf, X):
    for part in (X, X[:1]):
        found = answers(path, part)
        assert found["class_index"].dtype == np.int64
        np.testing.assert_array_equal(clf.classes_[found["class_index"]], clf.predict(part))
        q = clf.predict_complementary_proba(part)
        np.testing.assert_allclose(found["complementary_probabilities"], q, atol=1e-5)
        assert ("probabilities" in found) == (clf.estimates_ == "p")
        if "probabilities" in found:
            np.testing.assert_allclose(found["probabilities"], clf.predict_proba(part), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("decoder", [None, "l1", "l2", "max"])
@pytest.mark.parametrize("sizes", [(), (20, 15)])
@pytest.mark.parametrize("method", METHODS)
def test_dense_networks_answer_as_the_classifier(method, sizes, decoder, dtype, tmp_path):
    clf = with_decoder(fitted(method, sizes, dtype), decoder)
    to_onnx(clf, tmp_path / "model.onnx", dtype=dtype)
    assert_same(tmp_path / "model.onnx", clf, rows(dtype)[2])


@pytest.mark.parametrize(("method", "dtype"), [("cpe-f", "float32"), ("cpe-i", "uint8")])
def test_modules_answer_as_the_classifier(method, dtype, tmp_path, capfd):
    clf = fitted(method, dtype=dtype, network=cnn)
    X = rows(dtype, image=True)[2]
    random_state = torch.get_rng_state()
    to_onnx(clf, tmp_path / "model.onnx", example=X[:1], dtype=dtype)
    assert_same(tmp_path / "model.onnx", clf, X)
    assert capfd.readouterr() == ("", "")
    assert torch.equal(torch.get_rng_state(), random_state)
    # torch notes for each node where in which file it comes from.
    assert b".py" not in (tmp_path / "model.onnx").read_bytes()


@pytest.mark.parametrize("decoder", ["l1", "l2", "max"])
@pytest.mark.parametrize("method", ["cpe-f", "cpe-i"])
def test_names_of_classes_go_along_and_uniform_labels_are_decoded(method, decoder, blobs, tmp_path):
    X, _, y_comp = blobs
    names = np.array(["ä", "b", "c"])
    clf = ComplementaryNetClassifier(
        method, hidden_layer_sizes=(), decoder=decoder, max_epochs=3, random_state=0
    ).fit(X, names[y_comp])
    to_onnx(clf, tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    props = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(props["classes"]) == clf.classes_.tolist()
    assert_same(tmp_path / "model.onnx", clf, X.astype(np.float32))


def test_of_classes_that_tie_the_first_is_taken(tmp_path):
    clf = with_decoder(fitted("cpe-i"), "l1")
    clf.coefs_, clf.intercepts_ = [np.zeros((64, 10), np.float32)], [np.zeros(10, np.float32)]
    clf.transition_ = np.roll(np.eye(10), 1, axis=1)
    to_onnx(clf, tmp_path / "model.onnx")
    np.testing.assert_array_equal(
        answers(tmp_path / "model.onnx", rows("float32")[2])["class_index"], 0
    )


def test_a_singular_transition_is_warned_of_as_in_predict(tmp_path):
    clf = with_decoder(fitted("cpe-i"), "max")
    clf.transition_ = np.tile(T[:1], (10, 1))
    with pytest.warns(UserWarning, match="T is singular"):
        to_onnx(clf, tmp_path / "model.onnx")


REFUSED = {
    "unfitted": (
        lambda: ComplementaryNetClassifier(),
        {},
        NotFittedError,
        "classifier must be fitted before it is exported; .* Call fit first",
    ),
    "no network": (
        lambda: LogisticRegression(),
        {},
        TypeError,
        r"classifier must be a fitted ComplementaryNetClassifier; got LogisticRegression\(\)",
    ),
    "likelihood": (
        lambda: with_decoder(fitted(), "likelihood"),
        {},
        ValueError,
        "decoder must be 'l1', 'l2' or 'max' to be exported; got 'likelihood'",
    ),
    "callable": (
        lambda: with_decoder(fitted(), lambda q, t: abs(q - t).sum(-1)),
        {},
        ValueError,
        "decoder must be 'l1', 'l2' or 'max' to be exported; got <function",
    ),
    "dtype": (
        lambda: fitted(),
        {"dtype": "float16"},
        ValueError,
        "dtype must be 'float32' or 'uint8'; got 'float16'",
    ),
    "no example": (
        lambda: fitted(network=cnn),
        {},
        ValueError,
        r"example must be .* because the classifier has network=; got None. Pass X\[:1\]",
    ),
    "flat example": (
        lambda: fitted(network=cnn),
        {"example": np.zeros(64)},
        ValueError,
        r"example must be .*; got shape \(64,\)",
    ),
    "wrong example": (
        lambda: fitted(network=cnn),
        {"example": np.zeros((1, 1, 9, 9))},
        ValueError,
        r"example must have rows .*; got shape \(1, 1, 9, 9\) \(RuntimeError",
    ),
    "no graph": (
        lambda: fitted(network=Branching),
        {"example": np.zeros((1, 64))},
        ValueError,
        "network must be a module that torch.onnx.export accepts, with any number of rows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exported_is_refused_in_one_line(name, tmp_path):
    make, arguments, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as caught:
        to_onnx(make(), tmp_path / "model.onnx", **arguments)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("absent/model.onnx", FileNotFoundError, "path must lie in a folder that exists; .*absent"),
        ("", IsADirectoryError, "path must be a file; .* is a folder"),
    ],
)
def test_paths_that_cannot_be_written_are_refused(name, error, text, tmp_path):
    with pytest.raises(error, match=text):
        to_onnx(fitted(), tmp_path / name)


@pytest.mark.parametrize(
    ("missing", "network", "extra"),
    [("onnx", None, "onnx"), ("onnxscript", cnn, "onnx"), ("torch", cnn, "torch")],
)
def test_a_missing_package_is_named_with_its_pip_line(
    missing, network, extra, tmp_path, monkeypatch
):
    clf = fitted(network=network)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf'needs {missing}.*pip install "ybar\[{extra}\]"'):
        to_onnx(clf, tmp_path / "model.onnx", example=np.zeros((1, 1, 8, 8)))


def test_dense_networks_are_exported_without_torch(tmp_path, monkeypatch):
    clf = fitted()
    monkeypatch.setitem(sys.modules, "torch", None)
    to_onnx(clf, tmp_path / "model.onnx")
    assert_same(tmp_path / "model.onnx", clf, rows("float32")[2])


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_alone(step, tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="disk full"):
        to_onnx(fitted(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
