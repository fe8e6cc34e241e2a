"""CIFAR and its complementary labels: the official files, small ones of the same form, bad ones."""

import hashlib
import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from bad_input import assert_one_clear_line
from idx_files import flipped, held, write
from ybar import datasets, transition
from ybar.datasets import registry

REAL_DATA = os.environ.get("YBAR_DATA")
HAS_CIFAR = REAL_DATA and Path(REAL_DATA, "cifar-10-batches-bin").is_dir()
NAMES = list(datasets.REGISTRY["cifar10"].classes)
TRAIN = [f"data_batch_{i}.bin" for i in range(1, 6)]
ARCHIVES = {"cifar10": "cifar-10-binary.tar.gz", "cifar20": "cifar-100-binary.tar.gz"}


def records(n, seed, labels=1, n_classes=10):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, (n, labels), dtype=np.uint8)
    X = rng.integers(0, 256, (n, 3072), dtype=np.uint8)
    return X, y, np.hstack([y, X]).tobytes()


BATCHES = {name: records(4, seed) for seed, name in enumerate([*TRAIN, "test_batch.bin"])}
FINE = {name: records(6, seed, 2, 20) for seed, name in enumerate(["train.bin", "test.bin"])}


def packed(bodies, folder="cifar-10-batches-bin"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, body in {"readme.html": b"x", **bodies}.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return out.getvalue()


def published(bodies):
    return {
        name: registry.Published(len(body), hashlib.sha256(body).hexdigest())
        for name, body in bodies.items()
    }


@pytest.fixture
def publish(monkeypatch):
    """Let other files stand for those of a data set."""

    def replace(name, files, unpacked=None):
        source = datasets.REGISTRY[name]._replace(
            files=published(files), unpacked=published(unpacked or {})
        )
        monkeypatch.setitem(datasets.REGISTRY, name, source)
        return files

    return replace


@pytest.fixture
def tiny(publish):
    bodies = {name: body for name, (_, _, body) in BATCHES.items()}
    unpacked = {f"cifar-10-batches-bin/{name}": body for name, body in bodies.items()}
    return publish("cifar10", {ARCHIVES["cifar10"]: packed(bodies)}, unpacked), unpacked


def serving(serve, files):
    return serve(lambda file, nth: ([files[file]], len(files[file]))).url


def assert_tiny(data):
    X, y = (np.concatenate([BATCHES[name][part] for name in TRAIN]) for part in (0, 1))
    np.testing.assert_array_equal(data.X_train, X)
    np.testing.assert_array_equal(data.y_train, y[:, 0])
    np.testing.assert_array_equal(data.X_test, BATCHES["test_batch.bin"][0])
    assert data.X_train.dtype == np.uint8
    assert data.X_train.flags.c_contiguous
    assert data.y_test.dtype == np.intp
    assert data.classes.tolist() == NAMES


def test_cifar10_is_downloaded_once_and_read_from_its_archive(tiny, serve, tmp_path):
    url = serving(serve, tiny[0])
    assert_tiny(datasets.load("cifar10", mirror=url))
    assert held(tmp_path / "cache") == tiny[0]
    assert_tiny(datasets.load("cifar10"))  # the official mirror is not asked


@pytest.mark.parametrize("form", ["batches", "archive"])
def test_cifar10_is_read_from_ybar_data(form, tiny, tmp_path, monkeypatch):
    files, unpacked = tiny
    if form == "archive":
        write(tmp_path / "cifar10", files)
    else:
        write(tmp_path / "cifar-10-batches-bin", {Path(k).name: v for k, v in unpacked.items()})
    monkeypatch.setenv("YBAR_DATA", str(tmp_path))
    assert_tiny(datasets.load("cifar10"))
    assert datasets.find("cifar10") == (tmp_path / "cifar10" if form == "archive" else tmp_path)
    assert datasets.damage("cifar10") == ""


def test_a_damaged_batch_of_the_user_is_named(tiny, tmp_path, monkeypatch):
    folder = write(tmp_path / "cifar-10-batches-bin", {Path(k).name: v for k, v in tiny[1].items()})
    (folder / TRAIN[2]).write_bytes(flipped((folder / TRAIN[2]).read_bytes()))
    monkeypatch.setenv("YBAR_DATA", str(tmp_path))
    assert_one_clear_line(
        lambda: datasets.load("cifar10"), ValueError, TRAIN[2], "sha256", "YBAR_DATA"
    )
    assert TRAIN[2] in datasets.damage("cifar10")


def test_an_archive_with_a_wrong_sum_is_refused(tiny, serve, tmp_path):
    url = serving(serve, {name: flipped(body) for name, body in tiny[0].items()})
    name = ARCHIVES["cifar10"]
    with pytest.raises(ValueError, match=rf"{name} is not the .*mirror=.*YBAR_DATA") as caught:
        datasets.load("cifar10", mirror=url)
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {}


@pytest.mark.parametrize(
    ("change", "shows"),
    [
        (lambda bodies: bodies | {TRAIN[0]: bodies[TRAIN[0]][:-1]}, ["3073", "12291"]),
        (lambda bodies: bodies | {TRAIN[0]: b""}, ["3073", "0"]),
        (lambda bodies: bodies | {TRAIN[0]: b"\x0a" + bodies[TRAIN[0]][1:]}, ["0", "9", "10"]),
        (lambda bodies: {k: v for k, v in bodies.items() if k != TRAIN[0]}, [TRAIN[0]]),
    ],
)
def test_an_archive_of_another_form_is_refused(change, shows, publish, serve):
    bodies = change({name: body for name, (_, _, body) in BATCHES.items()})
    files = publish("cifar10", {ARCHIVES["cifar10"]: packed(bodies)})
    url = serving(serve, files)
    assert_one_clear_line(
        lambda: datasets.load("cifar10", mirror=url), ValueError, ARCHIVES["cifar10"], *shows
    )


def test_what_an_archive_unpacks_to_is_limited(tiny, serve):
    url = serving(serve, tiny[0])
    assert_one_clear_line(
        lambda: datasets.load("cifar10", mirror=url, max_bytes=30_000),
        ValueError,
        ARCHIVES["cifar10"],
        "30000",
    )


def tiny_cifar20(publish):
    bodies = {name: body for name, (_, _, body) in FINE.items()}
    return publish("cifar20", {ARCHIVES["cifar20"]: packed(bodies, "cifar-100-binary")})


def test_cifar20_has_the_superclasses_of_cifar100(publish, serve):
    data = datasets.load("cifar20", mirror=serving(serve, tiny_cifar20(publish)))
    np.testing.assert_array_equal(data.X_test, FINE["test.bin"][0])
    np.testing.assert_array_equal(data.y_test, FINE["test.bin"][1][:, 0])
    assert len(data.classes) == len(transition.annotators("clcifar20"))


def answers_of(n, per_row, n_classes=10):
    return np.random.default_rng(9).integers(0, n_classes, (n, per_row))


def as_csv(answers):
    rows = [",".join([f"{i}.png", *(NAMES[k] for k in row)]) for i, row in enumerate(answers)]
    return ("\n".join(rows) + "\n").encode()


def as_npz(answers):
    out = io.BytesIO()
    np.savez(out, cl_labels=answers.astype(np.uint8), filenames=np.array(["a", "b"]))
    return out.getvalue()


@pytest.mark.parametrize("form", ["csv", "npz"])
def test_aclcifar10_adds_the_labels_of_a_model(form, tiny, publish, serve, tmp_path, monkeypatch):
    answers = answers_of(20, 9)
    npz = {"real-complementary/aclcifar10_labels.npz": as_npz(answers)}
    files = publish("aclcifar10", {"auto_labels.csv": as_csv(answers)}, npz)
    if form == "npz":
        write(tmp_path / "real-complementary", {Path(k).name: v for k, v in npz.items()})
        monkeypatch.setenv("YBAR_DATA", str(tmp_path))
    data = datasets.load("aclcifar10", mirror=serving(serve, tiny[0] | files))
    assert_tiny(data)
    np.testing.assert_array_equal(data.answers, answers)
    for row, ruled_out in zip(data.y_comp, answers, strict=True):
        assert set(np.flatnonzero(row)) == set(ruled_out)
    assert data.y_comp.dtype == bool


def clcifar(n=5, size=(32, 32), **columns):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 256, (n, *size, 3), dtype=np.uint8)
    encoded = []
    for image in X:
        out = io.BytesIO()
        Image.fromarray(image).save(out, "PNG")
        encoded.append({"bytes": out.getvalue(), "path": None})
    table = {
        "images": encoded,
        "ord_labels": rng.integers(0, 10, n).tolist(),
        "cl_labels": rng.integers(0, 10, (n, 3)).tolist(),
    }
    return X, table | columns


@pytest.fixture
def put(tmp_path, monkeypatch):
    def write_parquet(name, table):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "train-00000-of-00001.parquet"
        pyarrow.parquet.write_table(pa.table(table), path)
        monkeypatch.setenv("YBAR_DATA", str(tmp_path))

    return write_parquet


def test_clcifar_is_read_from_the_file_that_the_user_puts_there(tiny, publish, put, serve):
    X, table = clcifar()
    put("clcifar10", table)
    data = datasets.load("clcifar10", mirror=serving(serve, tiny[0]))
    np.testing.assert_array_equal(data.X_train.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), X)
    assert data.y_train.tolist() == table["ord_labels"]
    assert data.answers.tolist() == table["cl_labels"]
    assert data.y_comp.shape == (5, 10)
    np.testing.assert_array_equal(data.X_test, BATCHES["test_batch.bin"][0])
    put("clcifar20", table)
    data = datasets.load("clcifar20", mirror=serving(serve, tiny_cifar20(publish)))
    assert (data.y_comp.shape, data.X_test.shape) == ((5, 20), (6, 3072))


@pytest.mark.parametrize("call", [datasets.load, datasets.fetch])
def test_a_set_without_a_known_sum_is_not_downloaded(call):
    error = FileNotFoundError if call is datasets.load else ValueError
    assert_one_clear_line(
        lambda: call("clcifar20"), error, "'clcifar20'", "sha256", datasets.UNVERIFIED["clcifar20"]
    )


@pytest.mark.parametrize(
    ("table", "shows"),
    [
        (clcifar(size=(16, 32))[1], ["(32, 32)", "(32, 16)"]),
        (clcifar(cl_labels=[[0, 1, 10]] * 5)[1], ["cl_labels", "0", "9", "10"]),
        (clcifar(ord_labels=[0, 1, 2, -3, 4])[1], ["ord_labels", "-3"]),
        (clcifar(ord_labels=[0, 1, None, 3, 4])[1], ["ord_labels", "nan"]),
        (clcifar(ord_labels=[[0]] * 5)[1], ["ord_labels", "[0]"]),
        (clcifar(cl_labels=[[0, 1, 2], [1]] * 2 + [[3]])[1], ["cl_labels", "[1]"]),
        (clcifar(images=[{"bytes": b"GIF89a", "path": None}] * 5)[1], ["PNG", "b'GIF89a'"]),
        ({"images": [1]}, ["'ord_labels'"]),
    ],
)
def test_another_parquet_file_is_named(table, shows, put):
    put("clcifar10", table)
    assert_one_clear_line(
        lambda: datasets.load("clcifar10"), ValueError, "train-00000-of-00001.parquet", *shows
    )


@pytest.mark.skipif(not HAS_CIFAR, reason="YBAR_DATA has no CIFAR-10")
def test_the_official_files_and_the_real_labels(monkeypatch):
    monkeypatch.setenv("YBAR_DATA", REAL_DATA)
    data = datasets.load("aclcifar10")
    for X, y, n in ((data.X_train, data.y_train, 50_000), (data.X_test, data.y_test, 10_000)):
        assert X.shape == (n, 3072)
        np.testing.assert_array_equal(np.bincount(y), np.full(10, n // 10))
    assert data.answers.shape == (50_000, 9)
    counts = np.zeros((10, 10))
    for column in data.answers[:, :3].T:
        np.add.at(counts, (data.y_train, column), 1)
    np.testing.assert_allclose(
        transition.from_counts(counts), transition.annotators("aclcifar10"), rtol=1e-12
    )
