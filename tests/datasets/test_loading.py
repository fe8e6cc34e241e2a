"""`load` returns the right arrays with their classes, or one line that names the file."""

import gzip
import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from idx_files import FILES, GARBAGE, IMAGES, LABELS, gz, idx, write
from ybar import datasets
from ybar.utils.extras import require

REAL_DATA = os.environ.get("YBAR_DATA")


# --- the bunch -----------------------------------------------------------------------------------


def test_digits_are_scaled_split_by_class_and_the_same_every_time():
    data = datasets.load("digits")
    assert set(data) == {"X_train", "y_train", "X_test", "y_test", "classes"}
    assert data.X_train.dtype == np.float64
    assert data.X_train.min() == 0
    assert data.X_train.max() == 1
    assert data.classes.tolist() == list(range(10))
    shares = np.bincount(data.y_test) / np.bincount(np.r_[data.y_train, data.y_test])
    np.testing.assert_allclose(shares, 0.25, atol=0.01)
    np.testing.assert_array_equal(data.X_test, datasets.load("digits").X_test)
    assert len(datasets.load("digits", test_size=100).y_test) == 100
    assert not np.array_equal(data.X_test, datasets.load("digits", random_state=1).X_test)


@pytest.mark.skipif(not REAL_DATA, reason="YBAR_DATA is not set")
@pytest.mark.parametrize(
    ("name", "first"), [("mnist", 0), ("fashion-mnist", "T-shirt/top"), ("kmnist", "o")]
)
def test_published_sets_load_from_ybar_data(name, first, monkeypatch, tmp_path):
    monkeypatch.setenv("YBAR_DATA", REAL_DATA)
    data = datasets.load(name)
    for X, y, rows in ((data.X_train, data.y_train, 60_000), (data.X_test, data.y_test, 10_000)):
        assert X.shape == (rows, 784)
        assert X.dtype == np.uint8
        assert X.flags.c_contiguous
        assert y.shape == (rows,)
        assert y.dtype == np.intp
        assert y.min() == 0
        assert y.max() == 9
    if name != "mnist":  # MNIST alone is not balanced
        np.testing.assert_array_equal(np.bincount(data.y_train), np.full(10, 6000))
        np.testing.assert_array_equal(np.bincount(data.y_test), np.full(10, 1000))
    assert data.classes.shape == (10,)
    assert data.classes[0] == first
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_folder_of_idx_files_is_read_plain_or_gzipped(suffix, tmp_path):
    files = {file: gzip.decompress(body) for file, body in FILES.items()}
    if suffix:
        folder = write(tmp_path, FILES)
    else:
        folder = write(tmp_path, {file.removesuffix(".gz"): body for file, body in files.items()})
    data = datasets.load(folder)
    assert data.X_train.shape == (20, 6)
    assert data.X_train.tobytes() == files[IMAGES][16:]
    assert data.y_test.tolist() == list(range(10))
    assert data.classes.tolist() == list(range(10))


def test_npz_keeps_its_own_split_and_encodes_both_parts_together(tmp_path):
    path = tmp_path / "own.npz"
    X = np.arange(12, dtype=np.uint8).reshape(4, 3)
    np.savez(path, X_train=X, y_train=["b", "c", "b", "c"], X_test=X[:2], y_test=["a", "c"])
    data = datasets.load(str(path))
    assert data.classes.tolist() == ["a", "b", "c"]
    assert data.y_train.tolist() == [1, 2, 1, 2]
    assert data.y_test.tolist() == [0, 2]
    assert data.X_train.dtype == np.uint8


def test_npz_with_x_and_y_is_split(tmp_path):
    path = tmp_path / "one.npz"
    X = np.arange(40.0).reshape(20, 2)
    np.savez_compressed(path, X=X, y=np.repeat([3, 7], 10))
    data = datasets.load(path, test_size=0.5)
    assert data.classes.tolist() == [3, 7]
    assert np.bincount(data.y_test).tolist() == [5, 5]
    np.testing.assert_array_equal(data.y_test, data.X_test[:, 0] >= 20)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_give_dataframes_and_encode_strings(suffix, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"pets{suffix}"
    frame = pandas.DataFrame({"size": range(20), "pet": ["dog", "cat"] * 10, "fur": ["a b"] * 20})
    write_frame(frame, path)
    data = datasets.load(path, target="pet", test_size=4)
    assert isinstance(data.X_train, pandas.DataFrame)
    assert list(data.X_train) == ["size", "fur"]
    assert data.classes.tolist() == ["cat", "dog"]
    assert data.classes.dtype.kind == "U"
    assert data.y_test.dtype == np.intp
    np.testing.assert_array_equal(data.y_test, 1 - data.X_test["size"] % 2)
    assert len(data.y_test) == 4


def write_frame(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)


# --- what the user gets wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda p: datasets.load("cifar"), ValueError, r"'digits', 'mnist', .* path that exists"),
        (lambda p: datasets.load(p / "none.csv"), FileNotFoundError, r"path that exists; got .*"),
        (lambda p: datasets.load(3), TypeError, r"name must be .* got 3"),
        (
            lambda p: datasets.load("digits", target="y"),
            ValueError,
            r"target must .*'y' .*'digits'",
        ),
        (lambda p: datasets.load("digits", test_size=2.0), ValueError, r"digits .*test_size=2.0"),
        (lambda p: datasets.load(p / "a.txt"), ValueError, r"an \.npz, a \.csv .*a\.txt"),
        (lambda p: datasets.load(p), FileNotFoundError, r"has no train-images-idx3-ubyte or "),
        (lambda p: datasets.fetch("cifar"), ValueError, r"name must be one of \['mnist'"),
        (lambda p: datasets.read_idx(p / "none"), FileNotFoundError, r"none"),
    ],
)
def test_a_wrong_argument_gets_one_clear_line(call, kind, says, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(kind, match=says) as caught:
        call(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("columns", "target", "says"),
    [
        ({"a": [1, 2], "b": [3, 4]}, None, r"target must be a column .*\['a', 'b'\]; got None"),
        ({"a": [1, 2], "b": [3, 4]}, "c", r"\['a', 'b'\]; got 'c'"),
        ({f"f{i}": [1] for i in range(99)}, "c", r"'f19'\] and 79 more; got 'c'"),
        ({"a": [1, 2], "y": ["u", None]}, "y", r"column 'y' has 1 missing values"),
        ({"a": [1, 2], "y": [1.0, np.nan]}, "y", r"column 'y' has 1 missing values"),
        ({"a": [], "y": []}, "y", r"shapes \(0, 1\) and \(0,\)"),
        ({"a": [1, 2], "y": ["u", "v"]}, "y", r"cannot be split by class .*least populated"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_name(columns, target, says, suffix, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"table{suffix}"
    write_frame(pandas.DataFrame(columns), path)
    with pytest.raises(ValueError, match=says) as caught:
        datasets.load(path, target=target)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npz_of_header(shape, payload=b""):
    """An X whose header declares more than the entry holds, beside a good y."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    archive = io.BytesIO(npz(y=np.arange(4)))
    with zipfile.ZipFile(archive, "a") as entries:
        entries.writestr("X.npy", buffer.getvalue() + payload)
    return archive.getvalue()


def parquet_of_one_value(rows):
    pandas = pytest.importorskip("pandas")
    buffer = io.BytesIO()
    pandas.DataFrame({"y": np.zeros(rows, np.int64)}).to_parquet(buffer)
    assert len(buffer.getvalue()) < 10_000
    return buffer.getvalue()


def damaged_parquet():
    pandas = pytest.importorskip("pandas")
    buffer = io.BytesIO()
    pandas.DataFrame({"a": np.random.default_rng(0).random(500), "y": 1}).to_parquet(buffer)
    body = bytearray(buffer.getvalue())
    body[4:60] = bytes(56)
    return bytes(body)


X, Y = np.zeros((4, 2)), np.arange(4)


@pytest.mark.parametrize(
    ("file", "body", "says"),
    [
        ("a.csv", lambda: b"", "No columns to parse"),
        ("a.csv", lambda: b"a,y\n1,2\n1,2,3,4\n", "Expected 2 fields in line 3"),
        ("a.csv", lambda: GARBAGE, "can't decode"),
        ("a.csv", lambda: b"a,y\n" + b"1,2\n" * 40_000, "oversized: 160004 bytes"),
        ("a.parquet", lambda: b"", "0 bytes"),
        ("a.parquet", lambda: GARBAGE, "magic bytes"),
        ("a.parquet", damaged_parquet, "deserialize"),
        ("a.parquet", lambda: parquet_of_one_value(200_000), "oversized: 1600000 bytes"),
        ("a.npz", lambda: b"", "not a zip file"),
        ("a.npz", lambda: GARBAGE, "not a zip file"),
        ("a.npz", lambda: npz(X=X, y=Y)[:-40], "not a zip file"),
        ("a.npz", lambda: flip_payload(npz(X=np.eye(40), y=np.arange(40))), "decompress"),
        ("a.npz", lambda: npz(X=X.view("V8"), y=Y), "X must hold numbers .* got .* [|]V8"),
        ("a.npz", lambda: npz(X=np.zeros((10**9, 0)), y=Y), "oversized"),
        ("a.npz", lambda: npz(X=X), r"needs .* or \('X', 'y'\); got \['X'\]"),
        ("a.npz", lambda: npz(X=X, y=np.array(["a", None, "b", 1])), "y holds Python objects"),
        ("a.npz", lambda: npz(X=X.astype(object), y=Y), "X holds Python objects"),
        ("a.npz", lambda: npz(X=np.zeros((50_000, 1)), y=np.zeros(50_000)), "oversized: 800256"),
        ("a.npz", lambda: npz_of_header((10**9, 10**9)), f"oversized: 8{'0' * 15}"),
        ("a.npz", lambda: npz_of_header((4, 2)), "EOF: reading array data"),
        ("a.npz", lambda: npz_of_header((4, 2), bytes(65)), "X is oversized: more bytes than"),
        ("a.npz", lambda: npz(X=X, y=Y[:3]), r"shapes \(4, 2\) and \(3,\)"),
        ("a.npz", lambda: npz(X=X[:, 0], y=Y), r"shapes \(4,\) and \(4,\)"),
        ("a.npz", lambda: npz(X=X, y=X), r"shapes \(4, 2\) and \(4, 2\)"),
        ("a.npz", lambda: npz(X=X[:0], y=Y[:0]), r"shapes \(0, 2\) and \(0,\)"),
        ("a.npz", lambda: npz(X=X, y=Y * np.nan), "none missing; got float64"),
        ("a.npz", lambda: npz(X=X, y=Y * 1j), "numbers or strings, none missing; got complex"),
        ("a.npz", lambda: npz(X_train=X, y_train=Y, X_test=X.T, y_test=Y[:2]), "its parts differ"),
        ("a.npz", lambda: npz(X_train=X, y_train=Y, X_test=X, y_test=list("abcd")), "parts differ"),
    ],
)
def test_a_damaged_or_oversized_file_is_refused_by_name(file, body, says, tmp_path, monkeypatch):
    monkeypatch.setenv("YBAR_MAX_BYTES", "100000")
    path = tmp_path / file
    path.write_bytes(body())
    with pytest.raises(ValueError, match=says) as caught:
        datasets.load(path, target=None if file.endswith("npz") else "y")
    assert str(caught.value).startswith(f"{path} cannot be read: ")
    assert "\n" not in str(caught.value)


def flip_payload(body):
    """Flip a byte of the first entry's data; the directory at the end stays whole."""
    return body[:60] + bytes([body[60] ^ 255]) + body[61:]


def test_a_folder_whose_labels_do_not_fit_its_images_is_refused(tmp_path):
    folder = write(tmp_path / "set", FILES | {LABELS: gz(idx(np.arange(3)))})
    with pytest.raises(ValueError, match=r"set cannot be read: .*\(20, 2, 3\) and \(3,\)"):
        datasets.load(folder)
    write(folder, {IMAGES: FILES[LABELS], LABELS: FILES[LABELS]})
    with pytest.raises(ValueError, match=r"set cannot be read: .*\(20,\) and \(20,\)"):
        datasets.load(folder)


def test_a_parquet_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    table = pd.DataFrame({"text": ["x" * 100_000] * 2_000, "label": ["a", "b"] * 1_000})
    table.to_parquet(path)
    assert path.stat().st_size < 50_000
    monkeypatch.setenv("YBAR_MAX_BYTES", "1e7")
    with pytest.raises(ValueError, match=r"bomb\.parquet cannot be read: it is oversized"):
        datasets.load(path, target="label")


# --- extras --------------------------------------------------------------------------------------


NO_EXTRAS = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("pooch", "requests", "pandas", "pyarrow"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import ybar.datasets
print(len(ybar.datasets.load("digits").classes))
"""


def test_datasets_imports_and_loads_digits_where_no_extra_is_installed():
    # Blocked, not only looked for: scikit-learn itself imports pandas where it is installed.
    done = subprocess.run([sys.executable, "-c", NO_EXTRAS], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("10\n", 0), done.stderr


def test_importing_datasets_loads_no_downloader():
    code = "import sys, ybar.datasets; print({'pooch', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_a_missing_extra_names_the_pip_line():
    with pytest.raises(ImportError) as caught:
        require("no_such_module.part", "data", "datasets.fetch")
    assert str(caught.value) == (
        'datasets.fetch needs no_such_module, which is not installed: pip install "ybar[data]"'
    )


@pytest.mark.usefixtures("tiny")
def test_each_optional_dependency_is_asked_for_by_name(monkeypatch, tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    (tmp_path / "a.parquet").write_bytes(b"")
    for module in ("pooch", "requests"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(ImportError, match=rf"datasets\.fetch needs {module}, .*ybar\[data"):
                datasets.load("kmnist")
    for module, file in (("pandas", "a.csv"), ("pyarrow", "a.parquet")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            patch.setitem(sys.modules, f"{module}.parquet", None)
            with pytest.raises(ImportError, match=rf"datasets\.load needs {module}, .*ybar\[data"):
                datasets.load(tmp_path / file, target="y")


@pytest.mark.usefixtures("tiny")
def test_a_full_cache_needs_no_extra(monkeypatch, tmp_path):
    write(tmp_path / "cache" / "kmnist", FILES)
    for module in ("pooch", "requests"):
        monkeypatch.setitem(sys.modules, module, None)
    assert datasets.load("kmnist").X_test.shape == (10, 6)
