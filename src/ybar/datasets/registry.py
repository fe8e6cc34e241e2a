"""The published data sets: where they are stored, their sizes, and their sha256."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from ..transition.counting import annotated_classes
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
    """A published data set.

    Attributes
    ----------
    mirror : str
        The base URL of its files.
    classes : tuple
    files : mapping of names to Published
        The files to download.
    unpacked : mapping of paths to Published
        Other files with the same content, which may lie in ``$YBAR_DATA``.
    """

    mirror: str
    classes: tuple[int, ...] | tuple[str, ...]
    files: Mapping[str, Published]
    unpacked: Mapping[str, Published] = {}


def _idx_files(*published: tuple[int, str]) -> dict[str, Published]:
    return {f"{stem}.gz": Published(*known) for stem, known in zip(STEMS, published, strict=True)}


_CIFAR = "https://www.cs.toronto.edu/~kriz/"
_CIFAR10_BATCHES = (
    ("data_batch_1", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
    ("data_batch_2", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
    ("data_batch_3", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
    ("data_batch_4", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
    ("data_batch_5", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
    ("test_batch", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
)
_CIFAR10_CLASSES = tuple(annotated_classes("clcifar10"))

#: The published data sets by name.
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
    "cifar10": Source(
        _CIFAR,
        _CIFAR10_CLASSES,
        {
            "cifar-10-binary.tar.gz": Published(
                170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
            )
        },
        {
            f"cifar-10-batches-bin/{batch}.bin": Published(30_730_000, sha256)
            for batch, sha256 in _CIFAR10_BATCHES
        },
    ),
    "cifar20": Source(
        _CIFAR,
        tuple(annotated_classes("clcifar20")),
        {
            "cifar-100-binary.tar.gz": Published(
                168513733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"
            )
        },
    ),
    "aclcifar10": Source(
        "https://raw.githubusercontent.com/yahcreepers/PAKDD_ACLImage_Dataset/"
        "2749a6241ffedccbfc73a0750c76aa38e4c2312b/logs/aclcifar10/",
        _CIFAR10_CLASSES,
        {
            "auto_labels.csv": Published(
                3884563, "580591cda883a5c856a7f017a21e402a8c482c926223f5e5a2708e50cf149a91"
            )
        },
        {
            "real-complementary/aclcifar10_labels.npz": Published(
                741095, "41a4d1f62c6e24b1c74500dfe4a2a146746b8026158318191c9f0c77889d885c"
            )
        },
    ),
}

# Their authors publish no sha256, so ybar cannot check a download: the user puts the file there.
UNVERIFIED = {
    name: f"https://huggingface.co/datasets/ntucllab/{name}" for name in ("clcifar10", "clcifar20")
}


def find(name: str) -> Path | None:
    """Return the folder of a data set on this machine, or None if it is not there.

    Looks into ``$YBAR_DATA`` first, then into the cache, and does not verify the files: see
    `damage`.
    """
    if name in UNVERIFIED:
        file = unverified_file(name)
        return None if file is None else file.parent
    place = _place([*_user_places(name), (cache_folder() / name, REGISTRY[name].files)])
    return None if place is None else place[0]


def damage(name: str) -> str:
    """Return which file of a data set that `find` finds is not the published one, and why."""
    if name in UNVERIFIED:
        return "its authors publish no sha256 to compare with"
    place = _place([*_user_places(name), (cache_folder() / name, REGISTRY[name].files)])
    return "" if place is None else _damage(*place)


def _damage(folder: Path, files: Mapping[str, Published]) -> str:
    differences = ((folder / file, difference(folder / file, files[file])) for file in files)
    return next((f"{path} {wrong}" for path, wrong in differences if wrong), "")


def _user_places(name: str) -> list[tuple[Path, Mapping[str, Published]]]:
    """Return the folders of ``$YBAR_DATA`` that may hold a data set, with its files there."""
    root, source = os.environ.get("YBAR_DATA"), REGISTRY[name]
    if not root:
        return []
    return [(Path(root, name), source.files), (Path(root), source.unpacked)]


def _place(
    places: list[tuple[Path, Mapping[str, Published]]],
) -> tuple[Path, Mapping[str, Published]] | None:
    """Return the first folder that holds all its files, with these files."""
    for folder, files in places:
        if files and all((folder / file).is_file() for file in files):
            return folder, files
    return None


def unverified_file(name: str) -> Path | None:
    """Return the Parquet file in ``$YBAR_DATA/<name>/`` of a set without a published sha256."""
    root = os.environ.get("YBAR_DATA")
    return min(Path(root, name).glob("*.parquet"), default=None) if root else None


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


def user_files(name: str) -> list[Path] | None:
    """Return the files of a data set in ``$YBAR_DATA`` if all of them are there.

    A damaged file there raises an error, because ybar does not replace files of the user.
    """
    place = _place(_user_places(name))
    if place is None:
        return None
    if wrong := _damage(*place):
        raise ValueError(
            f"{wrong}; put the published file there, or unset YBAR_DATA to use the cache"
        )
    folder, files = place
    return [folder / file for file in files]


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the cache: the argument, else ``$YBAR_CACHE``, else the user's cache folder."""
    cache = cache or os.environ.get("YBAR_CACHE")
    if not cache:
        cache = cast(Path, require("pooch", "data", "datasets.fetch").os_cache("ybar"))
    return Path(cache).expanduser()
