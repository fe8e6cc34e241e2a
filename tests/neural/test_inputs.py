"""Where X comes from, and which rows count."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from neural_helpers import net, same_bits, weights
from ybar import (
    ComplementaryNetClassifier,
)
from ybar.neural.data import Rows


def test_inputs_are_not_changed(strong):
    X, y_comp, _, _, T = strong
    pixels = (X * 255).astype(np.uint8)
    kept = pixels.copy(), y_comp.copy(), T.copy()
    clf = net(transition=T).fit(pixels, y_comp)
    clf.predict(pixels)
    for now, before in zip((pixels, y_comp, T), kept, strict=True):
        np.testing.assert_array_equal(now, before)


def test_pixels_are_scaled_as_they_are_read(strong):
    X, y_comp, X_test, _, T = strong
    pixels, pixels_test = ((x * 255).astype(np.uint8) for x in (X, X_test))
    by_pixels = net(transition=T).fit(pixels, y_comp)
    by_floats = net(transition=T).fit(pixels.astype(np.float32) / 255, y_comp)
    for a, b in zip(weights(by_pixels), weights(by_floats), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.02, atol=2e-3)
    np.testing.assert_allclose(
        by_pixels.predict_proba(pixels_test),
        by_pixels.predict_proba(pixels_test.astype(np.float32) / 255),
        rtol=1e-4,
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", "i2", ">i4", "u2", "u4", "i8", "b1"])
def test_numbers_of_any_type_stream_from_a_memory_map(dtype, tmp_path, strong):
    X, y_comp, _, _, T = strong
    whole = (X * 16).round() > 7 if dtype == "b1" else (X * 16).round()
    path = tmp_path / "X.npy"
    np.save(path, whole.astype(dtype))
    mapped = np.load(path, mmap_mode="r")
    streamed = net(transition=T, max_epochs=2).fit(mapped, y_comp)
    assert same_bits(streamed, net(transition=T, max_epochs=2).fit(whole.astype("f4"), y_comp))


def test_a_memory_map_is_never_in_memory_whole(tmp_path):
    code = """
import resource, sys
import numpy as np
from ybar import ComplementaryNetClassifier
import torch
X = np.lib.format.open_memmap(sys.argv[1], mode="w+", dtype=np.uint8, shape=(60_000, 2_000))
X.flush(); del X
X = np.load(sys.argv[1], mmap_mode="r")  # 120 MB of pixels, 480 MB as floats
y = np.arange(60_000) % 3
clf = ComplementaryNetClassifier(hidden_layer_sizes=(), max_epochs=1, random_state=0)
clf.fit(X[:2_000], y[:2_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clf.fit(X, y).predict(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 2**10)
"""
    path = tmp_path / "X.npy"
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    path.unlink()
    # Pages of the map count while they are cached, and may: the file's 120 MB, and little else.
    assert int(done.stdout) < 120 + 100


def test_rows_in_another_order_in_memory_are_not_copied_for_each_batch(strong):
    X, y_comp, _, _, T = strong
    tracked = []

    class Watched(np.ndarray):
        def take(self, *args, **kwargs):
            tracked.append(args)
            return super().take(*args, **kwargs)

    expected = net(transition=T).fit(X, y_comp)
    wide = np.zeros((len(X), 128))
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], pd.DataFrame(X)):
        assert same_bits(net(transition=T).fit(other, y_comp), expected)
    Rows(np.asfortranarray(X).view(Watched), torch.device("cpu")).fetch(np.arange(5))
    assert not tracked
    Rows(X.view(Watched), torch.device("cpu")).fetch(np.arange(5))
    assert tracked


class Items(torch.utils.data.Dataset):
    def __init__(self, X):
        self.X = X

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return torch.from_numpy(self.X[i]), 0


def test_a_torch_dataset_gives_what_its_array_gives(strong):
    X, y_comp, X_test, _, T = strong
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    streamed = net(transition=T).fit(Items(X), y_comp)
    at_once = net(transition=T).fit(X, y_comp)
    assert same_bits(streamed, at_once)
    np.testing.assert_array_equal(streamed.predict(Items(X_test)), at_once.predict(X_test))
    with pytest.raises(ValueError, match="X has 63 features"):
        streamed.predict(Items(X_test[:, :63]))

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    with pytest.raises(TypeError, match="IterableDataset"):
        net(transition=T).fit(Stream(), y_comp)


def test_several_labels_a_row_count_once_each(strong):
    X = strong[0]
    y = np.random.default_rng(0).integers(0, 10, len(X))
    mask = np.eye(10, dtype=bool)[y]
    one_each = net().fit(X, y)
    assert same_bits(one_each, net().fit(X, mask))


def test_weights_of_zero_leave_rows_out_and_their_scale_does_not_matter(strong):
    X, y_comp, _, _, T = strong
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    plain, weighted, doubled = (
        net(transition=T).fit(X, y_comp, w) for w in (None, weight, 2 * weight)
    )
    assert same_bits(weighted, doubled)
    assert not same_bits(plain, weighted)
    assert same_bits(plain, net(transition=T).fit(X, y_comp, np.full(len(X), 3.0)))
    wrong = y_comp.copy()
    wrong[::2] = (wrong[::2] + 1) % 10
    half = np.ones(len(X))
    half[::2] = 0
    a, b = (net(transition=T).fit(X, y, half) for y in (y_comp, wrong))
    assert same_bits(a, b)


def test_names_of_features_are_forgotten_with_the_frame_that_had_them(strong):
    X, y_comp, _, _, T = strong
    clf = net(transition=T, max_epochs=1)
    clf.fit(pd.DataFrame(X).add_prefix("pixel"), y_comp)
    assert clf.feature_names_in_[0] == "pixel0"
    clf.fit(Items(X.astype(np.float32)), y_comp)
    clf.predict(X)
    assert not hasattr(clf, "feature_names_in_")


def test_whole_numbers_of_another_kind_than_in_fit_are_refused(digits_strong):
    X, y_comp, *_ = digits_strong
    for first, second in ((np.uint8, int), (int, np.uint8)):
        clf = ComplementaryNetClassifier("cpe-f", (), max_epochs=1, random_state=0)
        clf.fit(X.astype(first), y_comp)
        for method in (clf.predict, lambda X, clf=clf: clf.partial_fit(X, y_comp)):
            with pytest.raises(ValueError, match=f"X must be of dtype {np.dtype(first)}, as in"):
                method(X.astype(second))
        clf.predict(X.astype(float))  # which may be scaled already


def test_a_fit_to_a_torch_dataset_forgets_the_kind_of_numbers_of_the_fit_before(digits_strong):
    X, y_comp, X_test, *_ = digits_strong
    clf = ComplementaryNetClassifier("cpe-f", (), max_epochs=1, random_state=0)
    clf.fit(X.astype(np.uint8), y_comp)
    clf.fit(Items(X.astype(np.float32)), y_comp)
    whole = X_test.astype(int)
    np.testing.assert_array_equal(clf.predict(whole), clf.predict(whole.astype(float)))


def test_a_part_whose_labels_weigh_nothing_is_refused():
    clf = ComplementaryNetClassifier("cpe-f", (), classes=[0, 1, 2], random_state=0)
    with pytest.raises(ValueError, match="zero for every row that has a label"):
        clf.partial_fit(
            np.zeros((2, 2)),
            np.array([[False] * 3, [True, False, False]]),
            sample_weight=[1, 0],
        )
