"""Tables are written in the format that the name of their file says."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pandas as pd
import pytest

from ybar.tables import files
from ybar.tables.files import DataError
from ybar.tables.writing import table_output, text_output

FRAME = pd.DataFrame(
    {"x": [1.5, -2.0, np.nan], "n": [1, 2, 3], "text": ['a "b", c', "tab\there\r", None]}
)
COMPRESSIONS = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
NAMES = [f"t{kind}{packed}" for kind in (".csv", ".tsv", ".txt", ".CSV") for packed in COMPRESSIONS]


def write(name, *frames, escape=False):
    with table_output(str(name), escape=escape) as write_rows:
        for frame in frames:
            write_rows(frame)


@pytest.mark.parametrize("name", [*NAMES, "t.parquet"])
def test_a_table_is_read_back_as_it_was_written(tmp_path, name):
    write(tmp_path / name, FRAME[:2], FRAME[2:])
    pd.testing.assert_frame_equal(files.read(str(tmp_path / name)), FRAME, check_dtype=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_name_decides_the_delimiter_and_the_compression(tmp_path, name):
    write(tmp_path / name, FRAME)
    kind, packed = os.path.splitext(name)
    kind, packed = (kind, packed) if packed in COMPRESSIONS else (name, "")
    with COMPRESSIONS[packed](tmp_path / name, "rt") as file:
        assert file.readline().count("\t" if "tsv" in kind else ",") == 2


def test_the_same_table_gives_the_same_bytes(tmp_path):
    write(tmp_path / "a.csv.gz", FRAME)
    write(tmp_path / "b.csv.gz", FRAME)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_parts_of_a_parquet_file_may_have_other_types(tmp_path):
    parts = [pd.DataFrame({"a": a}) for a in ([1, 2], [1.5, np.nan], [None, None])]
    write(tmp_path / "t.parquet", *parts)
    column = pd.read_parquet(tmp_path / "t.parquet")["a"]
    assert column.tolist()[:3] == [1, 2, 1.5]
    assert column.isna().sum() == 3


@pytest.mark.parametrize(
    "name", ["t", "t.xlsx", "t.parquet.gz", "t.csv.zip", "t.jsonl", "t.gz", "csv", "t.csv.txt.doc"]
)
def test_a_name_of_no_known_format_is_refused(tmp_path, name):
    with pytest.raises(DataError) as raised:
        write(tmp_path / name, FRAME)
    assert "--output" in str(raised.value)
    assert repr(name) in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_table_that_failed(tmp_path):
    for name in ("t.csv", "t.parquet", "t.csv.gz"):
        (tmp_path / name).write_bytes(b"before")
        with pytest.raises(AttributeError):
            write(tmp_path / name, FRAME, None)
        assert (tmp_path / name).read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 3


FORMULAS = ["=1+1", "+cmd", "-2+3", "@x", "'=1", "＝1"]
HARMLESS = ["-5", "+3.5", "a=1", "", "1e-3", "-inf"]


def test_formulas_are_escaped_in_text_and_kept_in_parquet(tmp_path):
    frame = pd.DataFrame({"=id": FORMULAS + HARMLESS})
    write(tmp_path / "t.csv", frame, escape=True)
    read = pd.read_csv(tmp_path / "t.csv", dtype=str, keep_default_na=False)
    assert read["'=id"].tolist() == [*(f"'{text}" for text in FORMULAS), *HARMLESS]
    write(tmp_path / "t.parquet", frame, escape=True)
    assert pd.read_parquet(tmp_path / "t.parquet")["=id"].tolist() == FORMULAS + HARMLESS


def test_a_full_disk_is_named_with_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(OSError, match="disk is full") as raised:
            write(tmp_path / name, FRAME)
        assert name in str(raised.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_device_is_named(tmp_path):
    link = tmp_path / "full.csv"
    link.symlink_to("/dev/full")
    with pytest.raises(OSError, match="full") as raised, text_output(str(link), [".csv"]) as out:
        out.write("x" * 100_000)
    assert str(link) in str(raised.value)
