"""Networks learn from Parquet and Arrow files that are read block by block."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import torch

from bad_input import assert_one_clear_line
from neural_helpers import net, same_bits
from ybar import ComplementaryNetClassifierCV, datasets
from ybar.neural import streaming
from ybar.neural.data import Rows, rows_of

NAMES = np.array([f"class {k}" for k in range(10)])


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a few rows be a block, and a few blocks fill the memory."""
    monkeypatch.setattr(streaming, "_BLOCK", 16)


@pytest.fixture
def frame(strong):
    X, y_comp, *_ = strong
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"pixel {i}" for i in range(X.shape[1])])
    return frame.assign(not_label=NAMES[y_comp])


def write(folder, frame, n_files=3, row_group_size=100, start=0):
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_files), start):
        part = frame.iloc[rows].reset_index(drop=True)
        part.to_parquet(folder / f"{number:03}.parquet", row_group_size=row_group_size)
    return folder


@pytest.fixture
def folder(frame, tmp_path):
    return write(tmp_path / "answers", frame)


def test_a_network_learns_from_files_what_it_learns_from_memory(strong, frame, folder):
    _, _, X_test, y_test, T = strong
    stream = datasets.stream(f"{folder}/*.parquet")
    fitted = net(transition=T, max_epochs=40).fit(stream, "not_label")
    in_memory = net(transition=T, max_epochs=40).fit(
        frame.drop(columns="not_label"), NAMES[strong[1]]
    )
    X_test = pd.DataFrame(X_test.astype(np.float32), columns=frame.columns[:-1])
    ours, theirs = (np.mean(clf.predict(X_test) == NAMES[y_test]) for clf in (fitted, in_memory))
    assert ours > theirs - 0.03
    assert fitted.classes_.tolist() == NAMES.tolist()
    assert fitted.feature_names_in_.tolist() == list(X_test.columns)


def test_predictions_from_files_are_those_from_memory(strong, frame, folder):
    T = strong[-1]
    X, y = frame.drop(columns="not_label"), frame["not_label"]
    stream = datasets.stream(folder)
    for network in (None, lambda: torch.nn.Linear(64, 10)):
        clf = net(transition=T, max_epochs=2, network=network).fit(X, y)
        np.testing.assert_array_equal(clf.predict(stream), clf.predict(X))
        for method in ("predict_proba", "predict_complementary_proba"):
            ours, theirs = getattr(clf, method)(stream), getattr(clf, method)(X)
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7)
        assert clf.score(stream, "not_label") == pytest.approx(clf.score(X, y), rel=1e-6)
        assert clf.score(stream, y) == pytest.approx(clf.score(X, y), rel=1e-6)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("max_bytes", [50_000, 10**9])
def test_each_epoch_has_every_training_row_once_in_another_order(max_bytes, frame, folder):
    stream = datasets.stream(folder, max_bytes=max_bytes).features_beside("not_label")
    held_out = np.sort(np.random.default_rng(0).choice(len(frame), 130, replace=False))
    rows = rows_of(streaming.HeldOut(stream, held_out, stream.rows(held_out)), torch.device("cpu"))
    X = frame.drop(columns="not_label").to_numpy()
    trained = np.delete(X, held_out, axis=0)
    generator, epochs = np.random.default_rng(1), []
    for _ in range(2):
        seen = []
        for order in rows.orders(len(trained), generator):
            assert len(order) >= 2
            parts = [slice(0, 1), slice(1, len(order))]
            fetched = torch.cat(list(rows.batches(np.zeros(len(order), int), parts))).numpy()
            np.testing.assert_array_equal(fetched, trained[order])
            seen.append(order)
        assert (len(seen) > 3) == (max_bytes < 10**6)
        epochs.append(np.concatenate(seen))
        assert sorted(epochs[-1]) == list(range(len(trained)))
    assert not np.array_equal(*epochs)
    np.testing.assert_array_equal(rows.fetch(np.array([5, 0])).numpy(), X[held_out[[5, 0]]])


@pytest.mark.usefixtures("small_blocks")
def test_rows_of_a_batch_come_from_several_groups(frame, folder):
    stream = datasets.stream(folder, max_bytes=400_000).features_beside("not_label")
    first = [first for first, _ in stream.shuffled(np.random.default_rng(0))][:20]
    groups = {int(np.searchsorted([g.first for g in stream.groups], at, "right")) for at in first}
    assert 3 <= len(groups) <= 8
    assert first != sorted(first)


def test_the_same_seed_gives_the_same_bits_and_another_one_others(strong, folder):
    stream, T = datasets.stream(folder), strong[-1]
    first, again, other = (
        net(transition=T, max_epochs=2, random_state=seed).fit(stream, "not_label")
        for seed in (0, 0, 1)
    )
    assert same_bits(first, again)
    assert not same_bits(first, other)


@pytest.mark.parametrize("kind", ["list", "dataset", "arrow", "arrow dataset", "array"])
def test_any_source_is_the_same(kind, strong, frame, folder, tmp_path):
    T, y = strong[-1], "not_label"
    source = files = sorted(map(str, folder.glob("*.parquet")))
    if kind == "dataset":
        source = pa.dataset.dataset(files)
    elif kind == "array":
        y = frame["not_label"]
    elif "arrow" in kind:
        source = []
        for file in files:
            source.append(f"{tmp_path}/{Path(file).stem}.arrow")
            table = pa.parquet.read_table(file)
            with pa.ipc.new_file(source[-1], table.schema) as out:
                out.write_table(table, max_chunksize=100)
        if kind == "arrow dataset":
            source = pa.dataset.dataset(source, format="ipc")
    columns = list(frame.columns[:-1])
    fitted = net(transition=T, max_epochs=1).fit(datasets.stream(source, columns=columns), y)
    expected = net(transition=T, max_epochs=1).fit(datasets.stream(folder), "not_label")
    assert same_bits(fitted, expected)
    np.testing.assert_array_equal(
        fitted.predict(datasets.stream(source)), expected.predict(frame.drop(columns="not_label"))
    )


def test_labels_of_any_type_and_named_classes(strong, frame, folder, tmp_path):
    T, y_comp = strong[-1], strong[1]
    order = NAMES[::-1]
    fitted = net(transition=T[::-1, ::-1], max_epochs=1, classes=order).fit(
        datasets.stream(folder), "not_label"
    )
    assert fitted.classes_.tolist() == order.tolist()
    numbers = write(tmp_path / "numbers", frame.assign(not_label=y_comp.astype(np.int16)))
    coded = write(tmp_path / "coded", frame.assign(not_label=pd.Categorical(NAMES[y_comp])))
    clfs = [
        net(transition=T, max_epochs=1).fit(datasets.stream(each), "not_label")
        for each in (folder, numbers, coded)
    ]
    assert clfs[1].classes_.tolist() == list(range(10))
    assert same_bits(clfs[0], clfs[1])
    assert same_bits(clfs[0], clfs[2])


def test_more_classes_than_a_byte_holds(tmp_path):
    K = 300
    frame = pd.DataFrame({"x": np.arange(3 * K) % 7, "no": np.arange(3 * K) % K})
    stream = datasets.stream(write(tmp_path / "many", frame, row_group_size=50))
    codes, classes = stream.labels("no", None)
    np.testing.assert_array_equal(classes[codes], frame["no"])
    assert codes.dtype == np.int16


def test_pixels_are_scaled_as_in_memory(strong, frame, tmp_path):
    T = strong[-1]
    pixels = (frame.drop(columns="not_label") * 255).astype(np.uint8)
    folder = write(tmp_path / "pixels", pixels.assign(not_label=frame["not_label"]))
    clf = net(transition=T, max_epochs=2).fit(datasets.stream(folder), "not_label")
    np.testing.assert_array_equal(clf.predict(datasets.stream(folder)), clf.predict(pixels))
    with pytest.raises(ValueError, match="X must be of dtype uint8"):
        clf.predict(pixels.astype(int))


def test_a_search_and_other_methods_stream_too(strong, folder):
    stream, T = datasets.stream(folder), strong[-1]
    search = ComplementaryNetClassifierCV(
        "cpe-n", (), learning_rates=[0.01, 1e-6], transition=T, max_epochs=3, random_state=0
    ).fit(stream, "not_label")
    assert search.learning_rate_ == 0.01
    last = net(method="ure-ga", transition=T, max_epochs=1, validation_fraction=0, select="last")
    assert last.fit(stream, "not_label").n_epochs_ == 1
    module = net(transition=T, network=lambda: torch.nn.Linear(64, 10), max_epochs=1)
    assert len(module.fit(stream, "not_label").predict(stream)) == len(stream)


def test_held_out_rows_are_at_most_a_tenth_of_the_memory(folder):
    stream = datasets.stream(folder, max_bytes=256_000).features_beside("not_label")
    rng = np.random.default_rng
    rows = stream.held_out_rows(0.5, rng(0))
    assert len(rows) == 100  # of 64 numbers of 4 bytes
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, stream.held_out_rows(0.5, rng(0)))
    assert len(stream.held_out_rows(0.01, rng(0))) == 14


def changed(folder, frame, **columns):
    """Add a last file with other columns."""
    write(folder, frame.assign(**columns), n_files=1, start=9)


BAD_FILES = {
    "missing label": (lambda f: {"not_label": f["not_label"].where(f.index != 3)}, "1 missing"),
    "unknown class": (lambda f: {"not_label": f["not_label"].replace("class 3", "owl")}, "'owl'"),
    "mixed types": (lambda f: {"pixel 3": f["pixel 3"].astype(int)}, "int64", "float"),
    "another column": (lambda f: {"weight": 1.0}, "weight", "no such column"),
    "NaN": (lambda f: {"pixel 3": f["pixel 3"].where(f.index % 2 == 1)}, "pixel 3"),
    "infinity": (lambda f: {"pixel 3": f["pixel 3"].where(f.index % 2 == 1, np.inf)}, "pixel 3"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named(name, strong, frame, folder):
    change, *shows = BAD_FILES[name]
    changed(folder, frame, **change(frame))
    clf = net(transition=strong[-1], max_epochs=1, classes=NAMES)
    assert_one_clear_line(
        lambda: clf.fit(datasets.stream(f"{folder}/*.parquet"), "not_label"),
        ValueError,
        "009.parquet",
        *shows,
    )


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_labels_in_other_forms_are_refused(missing, tmp_path):
    labels = pa.array([0.0, 1.0, np.nan, 1.0])
    if missing is None:
        labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["a", "b", None]))
    path, table = tmp_path / "answers.arrow", pa.table({"x": [1.0, 2, 3, 4], "no": labels})
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)
    assert_one_clear_line(
        lambda: net(max_epochs=1).fit(datasets.stream(path), "no"), ValueError, str(path), "'no'"
    )


def test_numbers_that_32_bits_cannot_hold_are_refused(tmp_path):
    path = tmp_path / "wide.parquet"
    pd.DataFrame({"wide": [1e300, 0, 1, 2], "no": [0, 1, 2, 0]}).to_parquet(path)
    assert_one_clear_line(
        lambda: net(max_epochs=1).fit(datasets.stream(path), "no"), ValueError, str(path), "wide"
    )


def test_a_file_that_is_no_parquet_is_named(folder):
    (folder / "bad.parquet").write_bytes(b"PAR1 but no more")
    assert_one_clear_line(lambda: datasets.stream(folder), ValueError, "bad.parquet", "footer")
    (folder / "bad.parquet").unlink()
    pd.DataFrame({"x": [1.0][:0]}).to_parquet(folder / "bad.parquet")
    assert_one_clear_line(
        lambda: datasets.stream(folder / "bad.parquet"), ValueError, "source", "bad.parquet"
    )


BAD_CALLS = [
    (lambda s: net().fit(s, "label"), ValueError, "y", "'label'"),
    (lambda s: net().fit(s, [1, 2, 3]), ValueError, "X", "y", "3"),
    (lambda s: net().fit(s, np.tile(np.arange(10) < 2, (1347, 1))), ValueError, "y", "several"),
    (lambda s: net().fit(s, "not_label", [1.0] * 1347), ValueError, "sample_weight", "1.0"),
    (lambda s: net().fit(s, None), ValueError, "y", "None"),
    (lambda s: net().fit(s, np.arange(1347) % 3), ValueError, "X", "not_label"),
    (lambda s: net(classes=["a", "b"]).fit(s, "not_label"), ValueError, "'a'", "class"),
    (lambda s: net(decoder="best").fit(s, "not_label"), ValueError, "decoder", "'best'"),
    (
        lambda s: net(validation_fraction=0.0).fit(s, "not_label"),
        ValueError,
        "validation_fraction",
        "0",
    ),
    (
        lambda s: net(validation_fraction=1.5).fit(s, "not_label"),
        ValueError,
        "validation_fraction",
        "1.5",
    ),
    (lambda s: net().partial_fit(s, "not_label", NAMES), TypeError, "X", "stream"),
    (lambda s: net().fit(np.eye(4), [0, 1, 2, 3]).predict(s), ValueError, "X", "not_label"),
    (
        lambda s: net().fit(pd.DataFrame({"a": [1.0, 2, 3]}), [0, 1, 2]).predict(s),
        ValueError,
        "X",
        "'a'",
    ),
]


@pytest.mark.parametrize("case", range(len(BAD_CALLS)))
def test_a_call_that_does_not_fit_is_refused(case, folder):
    call, error, *shows = BAD_CALLS[case]
    assert_one_clear_line(lambda: call(datasets.stream(folder)), error, *shows)


@pytest.mark.parametrize(
    ("arguments", "error", "shows"),
    [
        (("nowhere/*.parquet",), FileNotFoundError, ["source", "'nowhere/*.parquet'"]),
        ((7,), TypeError, ["source", "7"]),
        (([],), ValueError, ["source", "[]"]),
    ],
)
def test_a_source_without_rows_is_refused(arguments, error, shows):
    assert_one_clear_line(lambda: datasets.stream(*arguments), error, *shows)


def test_bad_columns_and_sizes_are_refused(folder):
    assert_one_clear_line(
        lambda: datasets.stream(folder, columns=["pixel 1", "age"]), ValueError, "columns", "'age'"
    )
    assert_one_clear_line(
        lambda: datasets.stream(folder, max_bytes=0), ValueError, "max_bytes", "0"
    )


def test_arrays_are_ordered_as_before():
    rows = rows_of(np.eye(5), torch.device("cpu"))
    assert type(rows) is Rows
    (order,) = rows.orders(5, np.random.default_rng(0))
    np.testing.assert_array_equal(order, np.random.default_rng(0).permutation(5))


def test_memory_does_not_depend_on_the_number_of_rows(tmp_path):
    """240 MB of rows train within 100 MB more than few rows do; the stream may use 40 MB."""
    code = """
import resource, sys
from ybar import ComplementaryNetClassifier, datasets
clf = ComplementaryNetClassifier("cpe-f", (), max_epochs=1, random_state=0)
few, many = (datasets.stream(folder, max_bytes=40_000_000) for folder in sys.argv[1:])
clf.fit(few, "no").predict(few)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clf.fit(many, "no").predict(many)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 2**10)
"""
    rng = np.random.default_rng(0)
    folders = [tmp_path / "few", tmp_path / "many"]
    for folder, n_files in zip(folders, (1, 30), strict=True):
        folder.mkdir()
        for number in range(n_files):
            columns = {f"x{i}": rng.random(20_000, np.float32) for i in range(100)}
            table = pa.table(columns | {"no": np.arange(20_000) % 3})
            pa.parquet.write_table(table, folder / f"{number}.parquet")
    done = subprocess.run(
        [sys.executable, "-c", code, *folders], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 100
