"""Files that unpack to too much, or hold what no table holds, are refused by name."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")

from animals import run, table
from ybar import datasets, transition
from ybar.tables import files, fitting
from ybar.tables.files import DataError
from ybar.utils.memory import byte_limit

LIMIT = 400_000  # bytes of memory; 100,000 of text
ROW = b"1,a\n"
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def text_of(n_bytes):
    return b"x,not\n" + ROW * (n_bytes // len(ROW))


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setenv("YBAR_MAX_BYTES", str(LIMIT))


def refused(source, *parts, **options):
    with pytest.raises(DataError) as raised:
        files.read(str(source), **options)
    assert all(part in str(raised.value) for part in (str(source), *parts)), raised.value
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("packed", PACKED)
def test_a_compressed_table_is_refused_before_it_takes_the_memory(tmp_path, limit, packed):
    path = tmp_path / f"bomb.csv{packed}"
    path.write_bytes(PACKED[packed](text_of(120_000)))
    assert path.stat().st_size < 2_000
    refused(path, "100,000", "YBAR_MAX_BYTES")
    path.write_bytes(PACKED[packed](text_of(90_000)))
    assert len(files.read(str(path))) == 90_000 // len(ROW)
    refused(path, "10,000", max_bytes=40_000)


@pytest.mark.parametrize("packed", PACKED)
def test_a_table_that_is_read_in_parts_may_be_longer(tmp_path, packed):
    path, options = tmp_path / f"long.csv{packed}", {"rows": 1_000, "max_bytes": 4 * LIMIT}
    path.write_bytes(PACKED[packed](text_of(1_000_000)))  # the limit is 400,000 at once
    assert sum(len(part) for part in files.chunks(str(path), **options)) == 250_000
    path.write_bytes(PACKED[packed](b"x,not\n1," + b"a" * 900_000))  # in one cell
    with pytest.raises(DataError, match=r"400,000"):
        list(files.chunks(str(path), **options))


def test_standard_input_has_a_limit(limit, monkeypatch):
    class Endless(io.RawIOBase):
        served = 0

        def readable(self):
            return True

        def read(self, n=-1):
            assert n > 0
            self.served += n
            assert self.served < 2_000_000
            return (ROW * n)[:n]

    source = type("Input", (), {"buffer": Endless()})
    monkeypatch.setattr(sys, "stdin", source)
    with pytest.raises(DataError, match="standard input"):
        files.read("-")


def test_the_arrays_of_an_npz_count_together(tmp_path, limit, monkeypatch):
    arrays = {f"x{i}": np.zeros((1_000, 10)) for i in range(5)}  # 80 kB each
    np.savez_compressed(tmp_path / "sum.npz", **arrays)
    assert (tmp_path / "sum.npz").stat().st_size < 4_000
    with monkeypatch.context() as patched:
        patched.setattr(np.lib.format, "read_array", None)  # nothing is unpacked
        refused(tmp_path / "sum.npz", "oversized", "400640", "YBAR_MAX_BYTES")
    arrays.pop("x4")
    np.savez_compressed(tmp_path / "sum.npz", **arrays)
    assert len(files.read(str(tmp_path / "sum.npz"))) == 1_000


def test_arrays_that_are_not_used_do_not_count(tmp_path):
    path = tmp_path / "some.npz"
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40) % 2
    np.savez_compressed(path, X=X, y=y, other=np.zeros(100_000))
    assert len(datasets.load(path, max_bytes=10_000).y_train) == 30
    with pytest.raises(ValueError, match="oversized"):
        datasets.load(path, max_bytes=700)


@pytest.mark.parametrize("value", ["x" * 100_000, b"x" * 100_000, ["x"] * 20_000])
def test_a_parquet_file_of_one_value_is_refused(tmp_path, limit, value):
    path = tmp_path / "bomb.parquet"
    pd.DataFrame({"x": [value] * 500, "not": ["a"] * 500}).to_parquet(path)
    assert path.stat().st_size < 200_000
    refused(path, "oversized", "YBAR_MAX_BYTES")


@pytest.mark.parametrize("value", ["0", "-1", "many", "nan", "inf"])
def test_a_limit_that_is_no_number_of_bytes_is_named(tmp_path, monkeypatch, value):
    monkeypatch.setenv("YBAR_MAX_BYTES", value)
    with pytest.raises(ValueError, match="bytes"):
        byte_limit()
    (tmp_path / "t.csv").write_bytes(text_of(100))
    done = run("fit", tmp_path / "t.csv", "--label", "not")
    assert done.exit_code == 2, done.stderr


def test_the_default_limit_is_a_share_of_the_memory(monkeypatch):
    monkeypatch.delenv("YBAR_MAX_BYTES", raising=False)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 2**20 < byte_limit() <= memory // 8
    assert byte_limit(5) == 5


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("rows", [None, 1_000])
def test_null_bytes_are_found_wherever_they_are(tmp_path, packed, rows):
    path = tmp_path / f"nul.csv{packed}"
    content = text_of(300_000) + b"1,\0b\n" + ROW * 1_000
    path.write_bytes(PACKED[packed](content) if packed else content)
    with pytest.raises(DataError, match=r"nul\.csv.* null bytes"):
        list(files.chunks(str(path), rows=rows))


NESTED = {"struct": {"a": 1, "b": "x"}, "list": [1, 2], "structs": [{"a": 1}]}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_columns_are_left_out_by_name(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    frame = table(200).drop(columns="label")
    frame["nested"] = [NESTED[kind]] * 200
    frame.to_parquet("nested.parquet")
    done = run("fit", "nested.parquet", "--label", "not", "--method", "logistic")
    assert done.exit_code == 0, done.stderr
    assert "'nested'" in done.stderr
    arguments = ["predict", "model.ybar", "nested.parquet", "--keep", "nested"]
    for name in ("p.csv", "p.parquet"):
        assert run(*arguments, "-o", name).exit_code == 0
    lines = run(*arguments, "--json").stdout.splitlines()
    assert json.loads(lines[0])["nested"] == NESTED[kind]


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "--label", "nested"],
        ["fit", "--asked", "nested", "--answer", "not"],
        ["fit", "--label", "not", "--transition", "estimate:nested"],
        ["simulate", "--target", "nested"],
    ],
)
@pytest.mark.parametrize("kind", ["struct", "structs"])
def test_records_are_no_names_of_classes(tmp_path, monkeypatch, arguments, kind):
    monkeypatch.chdir(tmp_path)
    frame = table(60)
    frame["nested"] = [NESTED[kind]] * 60
    frame.to_parquet("nested.parquet")
    done = run(arguments[0], "nested.parquet", *arguments[1:])
    assert done.exit_code == 2, (done.stderr, done.exception)
    assert "'nested'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow UTF-8 names only")
def test_file_names_that_are_no_text_are_shown_with_escapes(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    os.makedirs(b"photos/\xfe")
    names = [rb"\xfe/\xff.png".decode(), *(f"{i}.png" for i in range(59))]
    rng = np.random.default_rng(0)
    for name in [b"\xfe/\xff.png", *map(str.encode, names[1:])]:
        pixels = rng.integers(255, size=(4, 4)).astype(np.uint8)
        image.fromarray(pixels).save(os.fsdecode(b"photos/" + name))
    pd.DataFrame({"file": names, "not": ["a", "b", "c"] * 20}).to_csv(
        "photos/labels.csv", index=False
    )
    options = ["--label", "not", "--method", "logistic", "--image-size", 4]
    assert run("fit", "photos", *options).exit_code == 0
    out = run("predict", "model.ybar", "photos", "--keep", "file").stdout
    assert names[0] in out


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow UTF-8 names only")
def test_tables_and_models_may_have_names_that_are_no_text(tmp_path):
    table(200).drop(columns="label").to_csv(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv"))
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}

    def ybar(*arguments):
        command = [sys.executable, "-m", "ybar", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment)

    fit = ["fit", b"\xff.csv", "--label", "not", "--method", "logistic", "--model", b"\xfe.ybar"]
    for options in ([], ["--json"]):
        done = ybar(*fit, *options)
        assert done.returncode == 0, done.stderr
    done = ybar("predict", b"\xfe.ybar", b"\xff.csv", "-o", b"\xfd.csv")
    assert done.returncode == 0, done.stderr
    done = ybar("predict", b"\xfe.ybar", b"\xfc.csv")
    assert done.returncode == 2
    assert rb"\udcfc.csv" in done.stderr


def test_a_hundred_thousand_classes_are_counted_in_seconds_and_refused_by_name(tmp_path):
    path = tmp_path / "ids.csv"
    names = [f"class {i}" for i in range(100_000)]
    pd.DataFrame({"x": np.arange(100_000) % 7, "not": names, "a": "no"}).to_csv(path, index=False)
    started = time.process_time()
    for arguments in (["--label", "not"], ["--asked", "not", "--answer", "a"]):
        done = run("fit", path, *arguments)
        assert done.exit_code == 2, done.exception
        assert all(part in done.stderr for part in ("100,000 classes", "not", "'class 0'"))
    assert time.process_time() - started < 20


def test_thousands_of_classes_are_explained_without_much_memory():
    T = transition.uniform(2_000)
    names = [f"class {i}" for i in range(2_000)]
    table = SimpleNamespace(T=T, y_comp=SimpleNamespace(classes=names))
    tracemalloc.start()
    lines = fitting._explain_similar_rows(table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(lines) == 1
    assert peak < 10 * T.nbytes


def test_a_table_of_too_many_columns_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(1_000_000)) + "\n" + "1," * 999_999 + "1\n")
    monkeypatch.setattr(pd, "read_csv", None)
    refused(path, "200,000", ".npz")
