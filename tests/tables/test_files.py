"""Files of a user."""

from pathlib import Path

import numpy as np
import pytest

from ybar.tables import files
from ybar.tables.files import DataError


def test_the_line_of_names_may_be_longer_than_the_part_that_is_inspected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_SNIFFED", 1_000)
    names = [f"column {i}" for i in range(7_000)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    assert list(files.read("wide.csv").columns) == names


@pytest.fixture
def images(tmp_path, monkeypatch):
    """A folder of three images without labels."""
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    Path("photos/a").mkdir(parents=True)
    for i in range(3):
        image.fromarray(np.full((4, 4), 80 * i, np.uint8)).save(f"photos/a/{i}.png")
    return Path("photos")


def test_each_pixel_of_an_image_is_a_column(images):
    frame = files.read("photos", image_size=2)
    assert list(frame.columns) == ["file", "folder", *(f"pixel{i}" for i in range(4))]
    assert frame["pixel3"].tolist() == [0, 80, 160]
    assert frame["folder"].tolist() == ["a"] * 3


@pytest.mark.parametrize(
    ("labels", "part"),
    [("name,not\na/0.png,1\n", "'file'"), ("file,not\nb/9.png,1\n", "'b/9.png'")],
)
def test_labels_of_images_must_name_images(images, labels, part):
    (images / "labels.csv").write_text(labels)
    with pytest.raises(DataError, match=part):
        files.read("photos")


def test_an_image_with_too_many_pixels_is_named(images, monkeypatch):
    monkeypatch.setattr("ybar.datasets.images._MOST_PIXELS", 15)
    with pytest.raises(DataError, match=r"0\.png .* 15 "):
        files.read("photos")


def test_a_damaged_image_is_named(images):
    (images / "a" / "1.png").write_bytes(b"\x89PNG no")
    with pytest.raises(DataError, match=r"1\.png"):
        files.read("photos")


def test_arrays_of_an_npz_must_have_the_same_number_of_rows(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 2)), y=np.zeros(4))
    with pytest.raises(DataError, match="x: 3, y: 4"):
        files.read(str(tmp_path / "a.npz"))
