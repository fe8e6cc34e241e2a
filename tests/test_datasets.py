"""What datasets promises: right arrays, nothing damaged or oversized, nothing half-written."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ybar import datasets
from ybar.utils.extras import require

REAL_DATA = os.environ.get("YBAR_DATA")
KANA = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


def idx(array):
    array = np.asarray(array, dtype=np.uint8)
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return header + array.tobytes()


def gz(body):
    """Without the time of day: test ids and bodies must be alike in every process."""
    return gzip.compress(body, mtime=0)


def tiny_files():
    """Four idx files of 2 by 3 images; every class 0..9 occurs in both parts."""
    rng = np.random.default_rng(0)
    return {
        "train-images-idx3-ubyte.gz": gz(idx(rng.integers(0, 256, (20, 2, 3)))),
        "train-labels-idx1-ubyte.gz": gz(idx(np.arange(20) % 10)),
        "t10k-images-idx3-ubyte.gz": gz(idx(rng.integers(0, 256, (10, 2, 3)))),
        "t10k-labels-idx1-ubyte.gz": gz(idx(np.arange(10))),
    }


FILES = tiny_files()
PUBLISHED = {file: (len(body), hashlib.sha256(body).hexdigest()) for file, body in FILES.items()}


def flipped(body):
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for file, body in files.items():
        (folder / file).write_bytes(body)
    return folder


def held(folder):
    """Every file under a folder, so that a leftover temporary file shows."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def _own_world(monkeypatch, tmp_path):
    """No data, cache, proxy or waiting from outside."""
    monkeypatch.delenv("YBAR_DATA", raising=False)
    monkeypatch.setenv("YBAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def tiny(monkeypatch):
    """Let "kmnist" stand for the tiny files, with a mirror where nobody listens."""
    published = {file: datasets.Published(*known) for file, known in PUBLISHED.items()}
    source = datasets.REGISTRY["kmnist"]._replace(files=published, mirror="http://127.0.0.1:9/")
    monkeypatch.setitem(datasets.REGISTRY, "kmnist", source)


@pytest.fixture
def serve():
    """Start servers on loopback; ``answer(file, nth)`` gives pieces to send, length to declare."""
    servers = []

    def start(answer=lambda file, nth: ([FILES[file]], len(FILES[file]))):
        asked, sent, lock = Counter(), Counter(), threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                file = self.path.rpartition("/")[2]
                with lock:
                    asked[file] += 1
                    nth = asked[file]
                reply = answer(file, nth)
                if reply is None:
                    self.send_error(404)
                    return
                pieces, length = reply
                self.send_response(200)
                # As some servers label files whose names end in .gz; the file must stay as it is.
                self.send_header("Content-Encoding", "x-gzip")
                if length is not None:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                try:
                    for piece in pieces:
                        self.wfile.write(piece)
                        sent[file] += len(piece)
                except ConnectionError:
                    pass

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        servers.append((server, thread))
        return SimpleNamespace(
            url=f"http://127.0.0.1:{server.server_port}/data", asked=asked, sent=sent
        )

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


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
        (lambda p: datasets.load(p / "none.csv"), FileNotFoundError, r"path that exists, got .*"),
        (lambda p: datasets.load(3), TypeError, r"name must be .* got 3"),
        (lambda p: datasets.load("digits", target="y"), ValueError, r"target= .*'digits' is"),
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


GARBAGE = bytes(np.random.default_rng(1).integers(128, 256, 500, dtype=np.uint8))
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
        ("a.npz", lambda: npz(X=X), r"needs .* or \('X', 'y'\), not \['X'\]"),
        ("a.npz", lambda: npz(X=X, y=np.array(["a", None, "b", 1])), "y holds Python objects"),
        ("a.npz", lambda: npz(X=X.astype(object), y=Y), "X holds Python objects"),
        ("a.npz", lambda: npz(X=np.zeros((50_000, 1)), y=np.zeros(50_000)), "oversized: 400128"),
        ("a.npz", lambda: npz_of_header((10**9, 10**9)), f"oversized: 8{'0' * 18} bytes"),
        ("a.npz", lambda: npz_of_header((4, 2)), "EOF: reading array data"),
        ("a.npz", lambda: npz_of_header((4, 2), bytes(65)), "X is oversized: more bytes than"),
        ("a.npz", lambda: npz(X=X, y=Y[:3]), r"shapes \(4, 2\) and \(3,\)"),
        ("a.npz", lambda: npz(X=X[:, 0], y=Y), r"shapes \(4,\) and \(4,\)"),
        ("a.npz", lambda: npz(X=X, y=X), r"shapes \(4, 2\) and \(4, 2\)"),
        ("a.npz", lambda: npz(X=X[:0], y=Y[:0]), r"shapes \(0, 2\) and \(0,\)"),
        ("a.npz", lambda: npz(X=X, y=Y * np.nan), "none missing, not float64"),
        ("a.npz", lambda: npz(X=X, y=Y * 1j), "numbers or strings, none missing, not complex"),
        ("a.npz", lambda: npz(X_train=X, y_train=Y, X_test=X.T, y_test=Y[:2]), "its parts differ"),
        ("a.npz", lambda: npz(X_train=X, y_train=Y, X_test=X, y_test=list("abcd")), "parts differ"),
    ],
)
def test_a_damaged_or_oversized_file_is_refused_by_name(file, body, says, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "MAX_BYTES", 100_000)
    path = tmp_path / file
    path.write_bytes(body())
    with pytest.raises(ValueError, match=says) as caught:
        datasets.load(path, target=None if file.endswith("npz") else "y")
    assert str(caught.value).startswith(f"{path} is refused: ")
    assert "\n" not in str(caught.value)


def flip_payload(body):
    """Flip a byte of the first entry's data; the directory at the end stays whole."""
    return body[:60] + bytes([body[60] ^ 255]) + body[61:]


# --- idx -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (4, 2, 3), (0,)])
@pytest.mark.parametrize("pack", [bytes, gz])
def test_read_idx_gives_back_what_was_written(shape, pack, tmp_path):
    array = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    (tmp_path / "a").write_bytes(pack(idx(array)))
    np.testing.assert_array_equal(datasets.read_idx(tmp_path / "a"), array)


def declares(*shape):
    return bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "00000801 .* not ''"),
        (b"\0\0\x0d\x01" + idx([1])[4:], "not '00000d01'"),
        (b"\0\0\x08\x02" + idx([1])[4:], "not '00000802'"),
        (GARBAGE, "not "),
        (declares(3, 2, 2)[:9], "cut short inside its header"),
        (declares(5) + b"1234", "cut short: 4 of the 5"),
        (declares(5) + b"123456", "oversized: more than the 5"),
        (gz(declares(5) + b"123456"), "oversized: more than the 5"),
        (gz(declares(5) + b"1234"), "cut short: 4 of the 5"),
        (gz(declares(500) + GARBAGE)[:-300], "ended before the end-of-stream"),
        (flipped(gz(declares(500) + GARBAGE)), "CRC check failed"),
        (gz(declares(1) + b"1") + b"trailing", "Not a gzipped file"),
        (gz(declares(2**32 - 1, 2**32 - 1, 2**32 - 1)), "oversized: .* the limit is"),
        (declares(2**31, 1, 3), "oversized: .* the limit is"),
        (declares(2**31, 1, 1), "cut short: 0 of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "idx",
)
def test_a_damaged_idx_file_is_refused_by_name(body, says, tmp_path):
    path = tmp_path / "some-idx3-ubyte.gz"
    path.write_bytes(body)
    with pytest.raises(ValueError, match=says) as caught:
        datasets.read_idx(path)
    assert str(caught.value).startswith(f"{path} is refused: ")
    assert "\n" not in str(caught.value)


def test_a_gzip_bomb_is_not_unpacked(tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gz(declares(10) + bytes(2**26)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="oversized"):
            datasets.read_idx(tmp_path / "bomb.gz")
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


def test_a_folder_whose_labels_do_not_fit_its_images_is_refused(tmp_path):
    folder = write(tmp_path / "set", FILES | {LABELS: gz(idx(np.arange(3)))})
    with pytest.raises(ValueError, match=r"set is refused: .*\(20, 2, 3\) and \(3,\)"):
        datasets.load(folder)
    write(folder, {IMAGES: FILES[LABELS], LABELS: FILES[LABELS]})
    with pytest.raises(ValueError, match=r"set is refused: .*\(20,\) and \(20,\)"):
        datasets.load(folder)


# --- YBAR_DATA, cache, download ------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_a_good_download_lands_in_the_cache_and_is_asked_for_once(serve, tmp_path):
    server = serve()
    for _ in range(2):
        data = datasets.load("kmnist", mirror=server.url)
        assert data.X_train.shape == (20, 6)
        assert data.classes[data.y_test].tolist() == KANA
    assert held(tmp_path / "cache") == FILES
    assert server.asked == dict.fromkeys(FILES, 1)
    assert datasets.fetch("kmnist") == tmp_path / "cache" / "kmnist"


@pytest.mark.usefixtures("tiny")
def test_the_cache_argument_wins_over_the_environment(serve, tmp_path):
    folder = datasets.fetch("kmnist", cache=tmp_path / "mine", mirror=serve().url + "/")
    assert folder == tmp_path / "mine" / "kmnist"
    assert held(folder) == FILES
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("tiny")
def test_flipped_bytes_are_refused_and_leave_nothing(serve, tmp_path):
    def answer(file, nth):
        body = flipped(FILES[file]) if file == LABELS else FILES[file]
        return [body], len(body)

    server = serve(answer)
    with pytest.raises(ValueError, match=rf"{LABELS} is refused: .*mirror=.*YBAR_DATA") as caught:
        datasets.fetch("kmnist", mirror=server.url)
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {IMAGES: FILES[IMAGES]}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("declared", [True, False])
def test_a_connection_cut_every_time_leaves_nothing(declared, serve, tmp_path):
    def answer(file, nth):
        return [FILES[file][:20]], len(FILES[file]) if declared else None

    server = serve(answer)
    with pytest.raises((ConnectionError, ValueError), match=rf"{IMAGES}.*YBAR_DATA") as caught:
        datasets.fetch("kmnist", mirror=server.url)
    assert isinstance(caught.value, ConnectionError) == declared
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {}
    assert server.asked == {IMAGES: 1 + datasets.RETRIES}


@pytest.mark.usefixtures("tiny")
def test_a_connection_cut_once_is_tried_again(serve, tmp_path):
    def answer(file, nth):
        return [FILES[file][: 20 if nth == 1 else None]], len(FILES[file])

    server = serve(answer)
    datasets.fetch("kmnist", mirror=server.url)
    assert held(tmp_path) == FILES
    assert server.asked == dict.fromkeys(FILES, 2)


@pytest.mark.usefixtures("tiny")
def test_a_server_that_sends_too_much_is_stopped(serve, tmp_path):
    piece, count = bytes(2**20), 256

    def answer(file, nth):
        return (piece for _ in range(count)), None

    server = serve(answer)
    with pytest.raises(ValueError, match=rf"{IMAGES} is refused: it is oversized: more than \d+ b"):
        datasets.fetch("kmnist", mirror=server.url)
    assert held(tmp_path) == {}
    assert server.sent[IMAGES] < count * len(piece) / 2  # what socket buffers took


@pytest.mark.usefixtures("tiny")
def test_no_more_than_the_published_size_is_ever_written(serve, tmp_path):
    size = PUBLISHED[IMAGES][0]
    server = serve(lambda file, nth: ([FILES[file] + b"more"], size + 4))
    output = tmp_path / "output"
    with pytest.raises(ValueError, match="oversized"):
        datasets._capped_downloader(size)(f"{server.url}/{IMAGES}", str(output), None)
    assert output.stat().st_size <= size


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("mirror", ["http://127.0.0.1:9/", "ftp://127.0.0.1/", "no url"])
def test_a_mirror_that_cannot_be_reached_is_named(mirror, tmp_path):
    with pytest.raises(ConnectionError, match=rf"{mirror}.*{IMAGES}.*YBAR_DATA") as caught:
        datasets.load("kmnist", mirror=mirror)
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {}


@pytest.mark.usefixtures("tiny")
def test_a_file_the_mirror_lacks_is_named(serve, tmp_path):
    with pytest.raises(ConnectionError, match=rf"cannot download .*{IMAGES}: 404"):
        datasets.fetch("kmnist", mirror=serve(lambda file, nth: None).url)
    assert held(tmp_path) == {}


@pytest.mark.usefixtures("tiny")
def test_a_cache_that_cannot_be_written_is_named(serve, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=rf"cannot write .*{IMAGES}: .*set YBAR_CACHE"):
        datasets.fetch("kmnist", mirror=serve().url)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("damage", [flipped, lambda body: body[:-1], lambda body: body + b"1"])
def test_a_damaged_cache_is_repaired(damage, serve, tmp_path):
    folder = write(tmp_path / "cache" / "kmnist", FILES | {LABELS: damage(FILES[LABELS])})
    server = serve()
    assert datasets.load("kmnist", mirror=server.url).y_train.tolist() == [*range(10), *range(10)]
    assert server.asked == {LABELS: 1}
    assert held(folder) == FILES


@pytest.mark.usefixtures("tiny")
def test_a_damaged_cache_stays_as_it_is_when_the_repair_fails(tmp_path):
    damaged = FILES | {LABELS: flipped(FILES[LABELS])}
    folder = write(tmp_path / "cache" / "kmnist", damaged)
    with pytest.raises(ConnectionError, match=LABELS):
        datasets.load("kmnist")
    assert held(folder) == damaged


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("damage", "says", "expected"),
    [
        (flipped, "has sha256 [0-9a-f]{64} instead of [0-9a-f]{64}", 1),
        (lambda body: body + b"1", r"has \d+ bytes instead of \d+", 0),
    ],
)
def test_a_damaged_file_in_ybar_data_is_refused_and_never_replaced(
    damage, says, expected, monkeypatch, serve, tmp_path
):
    damaged = FILES | {LABELS: damage(FILES[LABELS])}
    folder = write(tmp_path / "data" / "kmnist", damaged)
    monkeypatch.setenv("YBAR_DATA", str(tmp_path / "data"))
    server = serve()
    with pytest.raises(ValueError, match=rf"{LABELS} {says}.*unset YBAR_DATA") as caught:
        datasets.load("kmnist", mirror=server.url)
    assert str(PUBLISHED[LABELS][expected]) in str(caught.value)
    assert held(folder) == damaged
    assert not server.asked


@pytest.mark.usefixtures("tiny")
def test_ybar_data_is_used_first_and_passed_over_when_a_file_is_missing(
    monkeypatch, serve, tmp_path
):
    folder = write(tmp_path / "data" / "kmnist", FILES)
    monkeypatch.setenv("YBAR_DATA", str(tmp_path / "data"))
    server = serve()
    datasets.load("kmnist", mirror=server.url)
    assert not server.asked
    (folder / IMAGES).unlink()
    datasets.load("kmnist", mirror=server.url)
    assert set(server.asked) == set(FILES)


@pytest.mark.usefixtures("tiny")
def test_an_unverified_plain_file_beside_the_verified_one_is_not_read(monkeypatch, tmp_path):
    plain = {LABELS.removesuffix(".gz"): idx(np.zeros(20))}
    write(tmp_path / "data" / "kmnist", FILES | plain)
    monkeypatch.setenv("YBAR_DATA", str(tmp_path / "data"))
    assert datasets.load("kmnist").y_train.max() == 9


FETCHER = """
import json, sys
from ybar import datasets
published, cache, mirror = json.loads(sys.argv[1])
files = {file: datasets.Published(*known) for file, known in published.items()}
datasets.REGISTRY["kmnist"] = datasets.REGISTRY["kmnist"]._replace(files=files)
print(datasets.fetch("kmnist", cache=cache, mirror=mirror))
"""


def test_two_fetchers_at_once_both_succeed(serve, tmp_path):
    both = threading.Barrier(2)

    def answer(file, nth):
        if file == IMAGES:
            both.wait(timeout=120)  # neither gets the file before both have asked for it
        return [FILES[file]], len(FILES[file])

    server = serve(answer)
    task = json.dumps([PUBLISHED, str(tmp_path / "cache"), server.url])
    command = [sys.executable, "-W", "error", "-c", FETCHER, task]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    fetchers = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for fetcher in fetchers:
        printed, complaint = fetcher.communicate(timeout=120)
        assert fetcher.returncode == 0, complaint
        assert printed.strip() == str(tmp_path / "cache" / "kmnist")
    assert server.asked[IMAGES] == 2
    assert held(tmp_path) == FILES


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


def test_a_parquet_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.parquet"
    table = pd.DataFrame({"text": ["x" * 100_000] * 2_000, "label": ["a", "b"] * 1_000})
    table.to_parquet(path)
    assert path.stat().st_size < 50_000
    monkeypatch.setattr(datasets, "MAX_BYTES", 10_000_000)
    with pytest.raises(ValueError, match=r"bomb\.parquet is refused: it is oversized"):
        datasets.load(path, target="label")
