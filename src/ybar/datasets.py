"""Load data: the image sets of the field, scikit-learn's digits, and files of the user.

Nothing from outside is trusted: downloads are checked by sha256 under a temporary name before they
are moved in place, sizes are checked before memory is spent on them, and nothing is unpickled.
"""

import gzip
import hashlib
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from ybar.utils.extras import require

__all__ = ["fetch", "load", "read_idx"]

MAX_BYTES = 4 * 2**30  # a file that is larger, or declares that it unpacks to more, is refused
RETRIES = 2
TIMEOUT = (10, 30)  # seconds to connect, seconds between two packets
CHUNK = 2**20

SPLIT_KEYS = ("X_train", "y_train", "X_test", "y_test")
STEMS = tuple(
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)
GARMENTS = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"


class Published(NamedTuple):
    """What is known of a published file before it is downloaded."""

    size: int
    sha256: str


class Source(NamedTuple):
    """A published set of images: where it lies, the names of its classes, its four files."""

    mirror: str
    classes: tuple[int, ...] | tuple[str, ...]
    files: Mapping[str, Published]


def _idx_files(*published: tuple[int, str]) -> dict[str, Published]:
    return {f"{stem}.gz": Published(*known) for stem, known in zip(STEMS, published, strict=True)}


REGISTRY: dict[str, Source] = {
    "mnist": Source(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        tuple(range(10)),
        _idx_files(
            (9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            (1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        ),
    ),
    "fashion-mnist": Source(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        tuple(GARMENTS.split(",")),
        _idx_files(
            (26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            (29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            (4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            (5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        ),
    ),
    "kmnist": Source(
        "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
        ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
        _idx_files(
            (18165135, "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"),
            (29497, "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"),
            (3041136, "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"),
            (5120, "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"),
        ),
    ),
}


def load(
    name: str | os.PathLike[str],
    *,
    target: str | None = None,
    test_size: float = 0.25,
    random_state: int | np.random.RandomState | None = 0,
    mirror: str | None = None,
) -> Bunch:
    """Load a data set by its name, or a file or folder of the user by its path.

    Parameters
    ----------
    name : str or path
        ``"digits"`` (comes with scikit-learn); ``"mnist"``, ``"fashion-mnist"`` or ``"kmnist"``,
        taken from ``$YBAR_DATA/<name>/``, else from the cache, else downloaded (see `fetch`); or a
        path: a folder with the four idx files of MNIST's form (gzipped or not), an ``.npz`` with
        ``X_train, y_train, X_test, y_test`` or with ``X, y``, a ``.csv`` or a ``.parquet``.
        A known name wins over a folder of that name; write ``"./mnist"`` for the folder.
    target : str, optional
        The column with the classes. CSV and Parquet need it.
    test_size : float or int, default=0.25
        The test part of a source that has no split of its own, stratified by class.
    random_state : int, RandomState or None, default=0
        The seed of that split.
    mirror : str, optional
        The base URL to download an image set from, instead of the official one.

    Returns
    -------
    data : sklearn.utils.Bunch
        ``X_train``, ``y_train``, ``X_test``, ``y_test`` and ``classes``. The y are class indices
        0..K-1 into ``classes``, the names. Images stay uint8, N×784; digits are in [0, 1]; CSV and
        Parquet give DataFrames.

    Examples
    --------
    >>> from ybar import datasets
    >>> data = datasets.load("digits")
    >>> data.X_train.shape, data.X_test.shape, len(data.classes)
    ((1347, 64), (450, 64), 10)
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name must be a data set's name or a path, got {name!r}")
    path = Path(name)
    suffix = path.suffix.lower()
    if target is not None and suffix not in (".csv", ".parquet"):
        raise ValueError(f"target= names a column of a .csv or .parquet; {str(name)!r} is neither")
    if isinstance(name, str) and name in REGISTRY:
        return _read_folder(_data_folder(name) or fetch(name, mirror=mirror), REGISTRY[name])
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X, classes = X / 16.0, np.arange(10)
    elif not path.exists():
        missing = FileNotFoundError if suffix or path.name != str(name) else ValueError
        raise missing(
            f"name must be one of {['digits', *REGISTRY]} or a path that exists, got {str(name)!r}"
        )
    elif path.is_dir():
        return _read_folder(path)
    elif suffix == ".npz":
        arrays = _read_npz(path)
        if len(arrays) == len(SPLIT_KEYS):
            return _own_split(path, arrays.values())
        with _refusing(path):
            X = arrays["X"]
            y, classes = _encode(arrays["y"], X)
    elif suffix in (".csv", ".parquet"):
        X, y, classes = _read_table(path, target)
    else:
        raise ValueError(
            "name must be a folder of idx files, an .npz, a .csv or a .parquet, "
            f"got {str(name)!r}; read_idx reads one idx file alone"
        )
    try:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=test_size, random_state=random_state, stratify=y
        )
    except ValueError as error:
        raise ValueError(
            f"{name} cannot be split by class with test_size={test_size!r}: {_reason(error)}; "
            "choose another test_size, or drop the classes with a single row"
        ) from error
    return Bunch(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, classes=classes)


def fetch(
    name: str, *, cache: str | os.PathLike[str] | None = None, mirror: str | None = None
) -> Path:
    """Give the cache folder of an image set; download what is missing or damaged there.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "kmnist"}
        The data set.
    cache : path, optional
        The cache; by default ``$YBAR_CACHE``, else the user's cache folder. ``$YBAR_DATA`` is not
        looked at: `load` does that.
    mirror : str, optional
        The base URL that replaces the official one; the names of the four files are appended.

    Returns
    -------
    folder : pathlib.Path
        The folder with the four files, each of the published size and sha256.
    """
    if name not in REGISTRY:
        raise ValueError(f"name must be one of {list(REGISTRY)}, got {name!r}")
    source, folder = REGISTRY[name], _cache(cache) / name
    for file, published in source.files.items():
        if not (folder / file).is_file() or difference(folder / file, published):
            _download(folder / file, published, mirror or source.mirror)
    return folder


def find(name: str) -> Path | None:
    """Give the folder of an image set that is on this machine, None where there is none.

    ``$YBAR_DATA`` is looked at first, then the cache. The files are not verified: see `difference`.
    """
    folders = [Path(root, name) for root in (os.environ.get("YBAR_DATA"),) if root]
    for folder in [*folders, _cache(None) / name]:
        if all((folder / file).is_file() for file in REGISTRY[name].files):
            return folder
    return None


def _cache(given: str | os.PathLike[str] | None) -> Path:
    given = given or os.environ.get("YBAR_CACHE")
    if not given:
        given = cast(Path, require("pooch", "data", "datasets.fetch").os_cache("ybar"))
    return Path(given).expanduser()


def read_idx(path: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    """Read an idx file of bytes, the format of MNIST, gzipped or not.

    Parameters
    ----------
    path : path
        An idx1 file (labels) or an idx3 file (images).

    Returns
    -------
    array : ndarray of uint8
        Of shape (N,) or (N, height, width).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ybar import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     datasets.read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    path = Path(path)
    with path.open("rb") as raw, _refusing(path):
        gzipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if gzipped else raw
        magic = stream.read(4)
        if magic not in (b"\0\0\x08\x01", b"\0\0\x08\x03"):
            raise ValueError(
                "an idx file starts with 00000801 (labels) or 00000803 (images), "
                f"not {magic.hex()!r}"
            )
        sizes = stream.read(4 * magic[3])
        if len(sizes) < 4 * magic[3]:
            raise ValueError("it is cut short inside its header")
        shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
        declared = math.prod(shape)
        _check_size(declared)
        payload = _read_at_most(stream, declared + 1)
        if len(payload) < declared:
            raise ValueError(f"it is cut short: {len(payload)} of the {declared} bytes declared")
        if len(payload) > declared:
            raise ValueError(f"it is oversized: more than the {declared} bytes its header declares")
    return np.frombuffer(payload, np.uint8).reshape(shape)


def _read_at_most(stream: IO[bytes], limit: int) -> bytearray:
    """Read in pieces, so that memory follows what the file holds and not what it declares."""
    payload = bytearray()
    while len(payload) < limit and (piece := stream.read(min(CHUNK, limit - len(payload)))):
        payload += piece
    return payload


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn any failure to read a file into one line that names it: parsers raise every kind."""
    try:
        yield
    except (PermissionError, MemoryError, ImportError):
        raise
    except Exception as error:
        raise ValueError(f"{path} is refused: {_reason(error)}; mend or replace it") from error


def _reason(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise ValueError(f"it is oversized: {size} bytes, the limit is {MAX_BYTES}")


def difference(path: Path, published: Published) -> str:
    """Say how a file differs from the published one; empty if it does not."""
    size = path.stat().st_size
    if size != published.size:  # first, since hashing a huge file takes long
        return f"has {size} bytes instead of {published.size}"
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != published.sha256:
        return f"has sha256 {sha256} instead of {published.sha256}"
    return ""


def _data_folder(name: str) -> Path | None:
    """Give ``$YBAR_DATA/<name>`` if it holds all four files; a wrong one is the user's to mend."""
    root, files = os.environ.get("YBAR_DATA"), REGISTRY[name].files
    if not root or not all(Path(root, name, file).is_file() for file in files):
        return None
    for file, published in files.items():
        if said := difference(Path(root, name, file), published):
            raise ValueError(
                f"{Path(root, name, file)} {said}; put the published file there, "
                "or unset YBAR_DATA to use the cache"
            )
    return Path(root, name)


def _download(path: Path, published: Published, mirror: str) -> None:
    """Download by way of pooch: temporary name, sha256, retries, atomic move."""
    pooch = require("pooch", "data", "datasets.fetch")
    requests = require("requests", "data", "datasets.fetch")
    registry = {path.name: f"sha256:{published.sha256}"}
    shelf = pooch.create(path.parent, mirror, registry=registry, retry_if_failed=RETRIES)
    url = shelf.get_url(path.name)
    remedy = f"pass mirror=, or put the four files into {path.parent.name}/ in a YBAR_DATA folder"
    try:
        shelf.fetch(path.name, downloader=_capped_downloader(published.size))
    except requests.RequestException as error:
        raise ConnectionError(f"cannot download {url}: {_reason(error)}; {remedy}") from error
    except ValueError as error:
        raise ValueError(f"{url} is refused: {_reason(error)}; {remedy}") from error
    except OSError as error:
        raise OSError(
            f"cannot write {path}: {_reason(error)}; set YBAR_CACHE to a folder with room"
        ) from error


def _capped_downloader(size: int) -> Callable[[str, str, object], None]:
    """Make a pooch downloader that stops before it writes more than ``size`` bytes."""
    requests = require("requests", "data", "datasets.fetch")
    urllib3 = require("urllib3", "data", "datasets.fetch")

    def download(url: str, output_file: str, _pooch: object) -> None:
        with requests.get(url, stream=True, timeout=TIMEOUT) as response:
            response.raise_for_status()
            received = 0
            try:
                with open(output_file, "wb") as file:
                    # Not iter_content: it would unzip what a server labels as gzip-encoded.
                    for chunk in response.raw.stream(CHUNK, decode_content=False):
                        received += len(chunk)
                        if received > size:
                            raise ValueError(f"it is oversized: more than {size} bytes came")
                        file.write(chunk)
            except urllib3.exceptions.HTTPError as error:
                raise requests.ConnectionError(f"{received} of {size} bytes, {error}") from error

    return download


def _read_folder(folder: Path, source: Source | None = None) -> Bunch:
    """Read the four idx files of a folder; ``source`` is the published set it is known to be."""
    data = _own_split(folder, [read_idx(_find_idx(folder, stem)) for stem in STEMS])
    data.X_train, data.X_test = (X.reshape(len(X), -1) for X in (data.X_train, data.X_test))
    if source is not None:  # every class occurs in a published set, so its labels are the indices
        data.classes = np.array(source.classes)
    return data


def _find_idx(folder: Path, stem: str) -> Path:
    for suffix in (".gz", ""):  # .gz first: in a verified folder it is the file that was verified
        if (path := folder / f"{stem}{suffix}").is_file():
            return path
    raise FileNotFoundError(
        f"{folder} has no {stem} or {stem}.gz; a folder of idx files needs all of {STEMS}"
    )


def _read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    with _refusing(path):
        return read_npz_arrays(path, (SPLIT_KEYS, ("X", "y")))


def read_npz_arrays(
    path: Path, alternatives: Iterable[tuple[str, ...]] = ()
) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of an npz, each after a look at its declared size and type.

    All of them, or those of the first alternative that is there.
    """
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        there = [keys for keys in alternatives if entries.keys() >= set(keys)]
        if alternatives and not there:
            needed = " or ".join(map(str, alternatives))
            raise ValueError(f"an .npz needs {needed}, not {_listed(entries)}")
        for key in there[0] if there else entries:
            with archive.open(entries[key]) as stream:
                version = np.lib.format.read_magic(stream)
                one, two = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
                shape, _, dtype = (one if version == (1, 0) else two)(stream)
            if dtype.hasobject:
                raise ValueError(f"{key} holds Python objects, and nothing is unpickled here")
            _check_size(max(entries[key].file_size, math.prod(shape) * dtype.itemsize))
            with archive.open(entries[key]) as stream:
                arrays[key] = np.lib.format.read_array(stream, allow_pickle=False)
                if stream.read(1):  # reading to the end also has zipfile check the CRC
                    raise ValueError(f"{key} is oversized: more bytes than its header declares")
    return arrays


def _read_table(
    path: Path, target: str | None
) -> tuple[Any, npt.NDArray[np.intp], npt.NDArray[Any]]:
    pandas = require("pandas", "data", "datasets.load")
    with _refusing(path):
        _check_size(path.stat().st_size)
        if path.suffix.lower() == ".csv":
            frame = pandas.read_csv(path, low_memory=False)  # one type a column, however long
        else:
            frame = read_parquet(path)
    if target not in frame.columns:
        raise ValueError(f"target must be a column of {path}: {_listed(frame)}; got {target!r}")
    with _refusing(path):
        labels = frame.pop(target)
        if missing := int(labels.isna().sum()):
            raise ValueError(f"its column {target!r} has {missing} missing values")
        return (frame, *_encode(labels.to_numpy(), frame))


def read_parquet(path: Path) -> Any:
    """Read a few rows at a time and count: a run of one value is next to nothing in the file."""
    file = require("pyarrow.parquet", "data", "datasets.load").ParquetFile(path)
    _check_size(8 * file.metadata.num_rows * file.metadata.num_columns)
    size, batches = 0, []
    for batch in file.iter_batches(batch_size=1024):
        size += batch.nbytes
        _check_size(size)
        batches.append(batch)
    pyarrow = require("pyarrow", "data", "datasets.load")
    return pyarrow.Table.from_batches(batches, schema=file.schema_arrow).to_pandas()


def _listed(names: Iterable[object], most: int = 20) -> str:
    names = list(names)
    return str(names) if len(names) <= most else f"{names[:most]} and {len(names) - most} more"


def _encode(labels: npt.NDArray[Any], X: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Give class indices and class names, once it is sure that the labels fit the rows of X."""
    if X.ndim < 2 or labels.ndim != 1 or len(X) != len(labels) or not len(labels):
        raise ValueError(
            "it needs rows of at least one feature dimension and one class for each row, "
            f"not shapes {X.shape} and {labels.shape}"
        )
    if labels.dtype == object and all(isinstance(label, str) for label in labels):
        labels = labels.astype(np.str_)
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise ValueError(f"classes must be numbers or strings, none missing, not {labels.dtype}")
    classes, y = np.unique(labels, return_inverse=True)
    return y.astype(np.intp), classes


def _own_split(path: Path, arrays: Iterable[npt.NDArray[Any]]) -> Bunch:
    """Check the four arrays of a source with a split of its own, and encode their classes."""
    X_train, y_train, X_test, y_test = arrays
    with _refusing(path):
        _, train_classes = _encode(y_train, X_train)
        _, test_classes = _encode(y_test, X_test)
        text = [part.dtype.kind == "U" for part in (y_train, y_test)]
        if X_train.shape[1:] != X_test.shape[1:] or text[0] != text[1]:
            raise ValueError(
                f"its parts differ: X {X_train.shape[1:]}, y {y_train.dtype} to train, "
                f"X {X_test.shape[1:]}, y {y_test.dtype} to test"
            )
    classes = np.union1d(train_classes, test_classes)
    y_train, y_test = np.searchsorted(classes, y_train), np.searchsorted(classes, y_test)
    return Bunch(X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, classes=classes)
