"""The published image sets: where they are stored, their sizes, and their sha256."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from ..utils.extras import require

STEMS = tuple(
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)
GARMENTS = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"


class Published(NamedTuple):
    """Size and sha256 of a published file."""

    size: int
    sha256: str


class Source(NamedTuple):
    """A published set of images: its base URL, the names of its classes, its four files."""

    mirror: str
    classes: tuple[int, ...] | tuple[str, ...]
    files: Mapping[str, Published]


def _idx_files(*published: tuple[int, str]) -> dict[str, Published]:
    return {f"{stem}.gz": Published(*known) for stem, known in zip(STEMS, published, strict=True)}


#: The published image sets by name.
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


def find(name: str) -> Path | None:
    """Return the folder of an image set on this machine, or None if it is not there.

    Looks into ``$YBAR_DATA`` first, then into the cache, and does not verify the files: see
    `difference`.
    """
    folders = [Path(root, name) for root in (os.environ.get("YBAR_DATA"),) if root]
    for folder in [*folders, cache_folder() / name]:
        if all((folder / file).is_file() for file in REGISTRY[name].files):
            return folder
    return None


def difference(path: Path, published: Published) -> str:
    """Return how a file differs from the published one, or an empty text."""
    size = path.stat().st_size
    if size != published.size:  # the size first, because hashing a huge file takes long
        return f"has {size} bytes instead of {published.size}"
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != published.sha256:
        return f"has sha256 {sha256} instead of {published.sha256}"
    return ""


def data_folder(name: str) -> Path | None:
    """Return ``$YBAR_DATA/<name>`` if it holds all four files.

    A damaged file there raises an error, because ybar does not replace files of the user.
    """
    root, files = os.environ.get("YBAR_DATA"), REGISTRY[name].files
    if not root or not all(Path(root, name, file).is_file() for file in files):
        return None
    for file, published in files.items():
        if wrong := difference(Path(root, name, file), published):
            raise ValueError(
                f"{Path(root, name, file)} {wrong}; put the published file there, "
                "or unset YBAR_DATA to use the cache"
            )
    return Path(root, name)


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the cache: the argument, else ``$YBAR_CACHE``, else the user's cache folder."""
    cache = cache or os.environ.get("YBAR_CACHE")
    if not cache:
        cache = cast(Path, require("pooch", "data", "datasets.fetch").os_cache("ybar"))
    return Path(cache).expanduser()
