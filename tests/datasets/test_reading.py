"""`read_idx` reads what was written, and nothing that is damaged or oversized."""

import tracemalloc

import numpy as np
import pytest

from idx_files import GARBAGE, declares, flipped, gz, idx
from ybar import datasets

# --- idx -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (4, 2, 3), (0,)])
@pytest.mark.parametrize("pack", [bytes, gz])
def test_read_idx_gives_back_what_was_written(shape, pack, tmp_path):
    array = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    (tmp_path / "a").write_bytes(pack(idx(array)))
    np.testing.assert_array_equal(datasets.read_idx(tmp_path / "a"), array)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "00000801 .* got ''"),
        (b"\0\0\x0d\x01" + idx([1])[4:], "got '00000d01'"),
        (b"\0\0\x08\x02" + idx([1])[4:], "got '00000802'"),
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
    assert str(caught.value).startswith(f"{path} cannot be read: ")
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
