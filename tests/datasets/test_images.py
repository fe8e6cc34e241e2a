"""Images are opened by their content, within limits, and scaled by the type of their pixels."""

import shutil

import numpy as np
import pytest

from ybar.datasets.images import read_grey

Image = pytest.importorskip("PIL.Image")

EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 8 8
%%EndComments
0 0 8 8 rectfill
showpage
%%EOF
"""


@pytest.fixture
def image(tmp_path):
    def save(pixels, name="x.png", **options):
        Image.fromarray(pixels).save(tmp_path / name, **options)
        return tmp_path / name

    return save


@pytest.mark.parametrize("name", ["x.png", "x.tif"])
def test_sixteen_bits_are_scaled_to_eight(image, name):
    levels = np.array([[0, 257, 32896, 65535]] * 4, np.uint16)
    grey = read_grey(image(levels, name), 4)
    np.testing.assert_array_equal(grey, [[0, 1, 128, 255]] * 4)


@pytest.mark.parametrize("pixels", [np.full((4, 4), 0.5, np.float32), np.ones((4, 4), np.int32)])
def test_other_pixels_are_refused_by_name(image, pixels):
    with pytest.raises(ValueError, match=r"x\.tif must have 8 or 16 bits per channel; .*'[IF]'"):
        read_grey(image(pixels, "x.tif"), 4)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_eight_bits_are_converted_as_pillow_does(tmp_path, mode):
    rng = np.random.default_rng(0)
    original = Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).convert(mode)
    path = tmp_path / ("x.png" if mode in ("1", "L", "LA", "P", "RGB", "RGBA") else "x.tif")
    original.save(path)
    expected = np.asarray(Image.open(path).convert("L").resize((4, 4)))
    np.testing.assert_array_equal(read_grey(path, 4), expected)


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.tiff"])
def test_postscript_is_never_passed_to_another_program(tmp_path, monkeypatch, name):
    def run(*args, **kwargs):
        raise AssertionError(args)

    monkeypatch.setattr("subprocess.Popen", run)
    monkeypatch.setattr(shutil, "which", lambda *_args, **_kwargs: "/usr/bin/gs")
    (tmp_path / name).write_bytes(EPS)
    with pytest.raises(ValueError, match=rf"{name} cannot be read"):
        read_grey(tmp_path / name, 4)


def test_a_png_of_many_pixels_is_refused_before_it_is_unpacked(image):
    path = image(np.zeros((10_000, 10_000), np.uint8), optimize=False)
    with pytest.raises(ValueError, match=r"x\.png must have at most 50,000,000 pixels; it has 10"):
        read_grey(path, 4)


def test_a_truncated_image_is_named(image):
    path = image(np.random.default_rng(0).integers(0, 256, (64, 64), np.uint8))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"x\.png cannot be read: .*"):
        read_grey(path, 4)
