"""Small idx files, whole and damaged, and the folders that hold them."""

import gzip
import hashlib

import numpy as np

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


def declares(*shape):
    return bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()


GARBAGE = bytes(np.random.default_rng(1).integers(128, 256, 500, dtype=np.uint8))
