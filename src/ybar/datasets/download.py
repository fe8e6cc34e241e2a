"""Download the published data sets into the cache."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from ..utils.checks import shown
from ..utils.extras import require
from ..utils.files import first_line
from .registry import REGISTRY, UNVERIFIED, Published, cache_folder, difference

RETRIES = 2
TIMEOUT = (10, 30)  # seconds to connect, seconds between two packets
PATIENCE = 60.0  # seconds that any file may take, plus one second for each
SLOWEST = 20_000  # bytes
CHUNK = 2**16


def fetch(
    name: str, *, cache: str | os.PathLike[str] | None = None, mirror: str | None = None
) -> Path:
    """Return the cache folder of a data set, after downloading what is missing or damaged there.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "kmnist", "cifar10", "cifar20", "aclcifar10"}
        The data set. Of "aclcifar10" only the labels are downloaded; its images are "cifar10".
    cache : path, optional
        The cache; by default ``$YBAR_CACHE``, else the user's cache folder. ``$YBAR_DATA`` is
        ignored here: `load` reads it.
    mirror : str, optional
        The base URL that replaces the official one; the names of the files are appended.

    Returns
    -------
    folder : pathlib.Path
        The folder with the files, each of the published size and sha256.
    """
    if name in UNVERIFIED:
        raise ValueError(missing_unverified(name))
    if name not in REGISTRY:
        raise ValueError(f"name must be one of {list(REGISTRY)}; got {shown(name)}")
    source, folder = REGISTRY[name], cache_folder(cache) / name
    for file, published in source.files.items():
        if not (folder / file).is_file() or difference(folder / file, published):
            _download(folder / file, published, mirror or source.mirror)
    return folder


def missing_unverified(name: str) -> str:
    """Return the error for a set that ybar does not download, with what to do instead."""
    return (
        f"name must be a data set with a published sha256 to be downloaded; {name!r} has none. "
        f"Download its Parquet file from {UNVERIFIED[name]}, and put it into the folder {name} of "
        "your YBAR_DATA folder"
    )


def _download(path: Path, published: Published, mirror: str) -> None:
    """Download by way of pooch: temporary name, sha256, retries, atomic move."""
    pooch = require("pooch", "data", "datasets.fetch")
    requests = require("requests", "data", "datasets.fetch")
    mirror, login = _without_login(mirror)
    registry = {path.name: f"sha256:{published.sha256}"}
    downloader = pooch.create(path.parent, mirror, registry=registry, retry_if_failed=RETRIES)
    url = downloader.get_url(path.name)
    seconds = _seconds(published.size)
    remedy = f"pass mirror=, or put its files into {path.parent.name}/ in a YBAR_DATA folder"
    try:
        download = _capped_downloader(published.size, time.monotonic() + seconds, login)
        downloader.fetch(path.name, downloader=download)
    except requests.RequestException as error:
        raise ConnectionError(f"cannot download {url}: {first_line(error)}; {remedy}") from error
    except TimeoutError as error:
        raise ConnectionError(
            f"cannot download {url}: it took more than {seconds:.0f} seconds; {remedy}"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"{url} is not the published file: {first_line(error)}; {remedy}"
        ) from error
    except OSError as error:
        raise OSError(
            f"cannot write {path}: {first_line(error)}; set YBAR_CACHE to a folder with room"
        ) from error


def _without_login(mirror: str) -> tuple[str, tuple[str, str] | None]:
    """Return a URL without user name and password, which messages must not show, and the two."""
    parts = urlsplit(mirror)
    if parts.username is None:
        return mirror, None
    login = unquote(parts.username), unquote(parts.password or "")
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), login


def _seconds(size: int) -> float:
    """Return the time limit for a file, all attempts together."""
    return PATIENCE + size / SLOWEST


def _capped_downloader(
    size: int, deadline: float, login: tuple[str, str] | None = None
) -> Callable[[str, str, object], None]:
    """Return a pooch downloader that stops at the deadline and after `size` bytes."""
    requests = require("requests", "data", "datasets.fetch")
    urllib3 = require("urllib3", "data", "datasets.fetch")

    def download(url: str, output_file: str) -> None:
        with (
            requests.get(url, stream=True, timeout=TIMEOUT, auth=login) as response,
            open(output_file, "wb") as file,
        ):
            response.raise_for_status()
            try:
                _copy(response, file, size, deadline)
            except urllib3.exceptions.HTTPError as error:
                raise requests.ConnectionError(f"{file.tell()} of {size} bytes, {error}") from error

    return lambda url, output_file, _pooch: _until(deadline, lambda: download(url, output_file))


def _until(deadline: float, work: Callable[[], None]) -> None:
    """Run a function in a thread, and raise `TimeoutError` if it has not ended at the deadline.

    The time-out of a connection is not enough: a server that sends a byte now and then never
    reaches it.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(deadline - time.monotonic(), 0))
    if thread.is_alive():
        raise TimeoutError
    if failures:
        raise failures[0]


def _copy(response: Any, file: IO[bytes], size: int, deadline: float) -> None:
    # Not iter_content: it would unzip what a server labels as gzip-encoded.
    for chunk in response.raw.stream(CHUNK, decode_content=False):
        if file.tell() + len(chunk) > size:
            raise ValueError(f"it is oversized: more than {size} bytes came")
        if time.monotonic() > deadline:
            raise TimeoutError
        file.write(chunk)
