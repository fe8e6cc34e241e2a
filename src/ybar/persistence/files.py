"""`save` and `load`: the first line of a model file, and the order of the checks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..classifiers.base import plain_parameters
from ..utils.checks import shown
from ..utils.extras import require
from ..utils.files import as_path, first_line, target_file, write_whole
from .container import store, unpack
from .native import check_numbers
from .schema import read_tree
from .trust import check_calls, untrusted

_MAGIC = b"ybar-model"
_FORMAT = 1
_LONGEST_HEADER = 200


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a file.

    Parameters
    ----------
    model : fitted classifier, or a pipeline or search that holds one
    path : str or path
        An existing file is replaced only when the new one is complete.

    Examples
    --------
    >>> import tempfile, ybar
    >>> clf = ybar.CPEClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ybar.save(clf, f"{folder}/model.ybar")
    ...     ybar.load(f"{folder}/model.ybar").classes_
    array(['a', 'b', 'c'], dtype='<U1')
    """
    io = require("skops.io", "persistence", "ybar.save")
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"model must be a fitted classifier of ybar or scikit-learn; got {type(model).__name__}"
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(
            f"model must be fitted before it is saved; this {type(model).__name__} is not. Call "
            "fit first"
        ) from None
    target = target_file(path)
    try:
        with plain_parameters():
            payload = store(io.dumps(model))
    except Exception as err:
        raise ValueError(
            f"model must hold only plain settings and arrays to be saved; got other objects "
            f"({type(err).__name__}: {err}). Generators as cv=, for example, cannot be saved"
        ) from err
    tree = read_tree(unpack(payload))
    unknown = untrusted(tree, io.get_untrusted_types(data=payload), ())
    nameless = [name for name in unknown if "<" in name]
    if nameless:
        raise ValueError(
            f"model must hold only functions and classes that can be imported; got "
            f"{', '.join(nameless)}. Define them at the top level of a module"
        )
    if unknown:
        warnings.warn(
            f"to load this model, pass the types it holds: ybar.load(path, trusted={unknown})",
            UserWarning,
            stacklevel=2,
        )
    try:
        check_calls(tree, unknown)
        check_numbers(tree)
    except ValueError as err:
        raise ValueError(
            f"model must hold only what can be loaded again; {err}. Use other settings"
        ) from err
    write_whole(target, _header(payload), payload)


def _header(payload: bytes) -> bytes:
    sha256 = hashlib.sha256(payload).hexdigest()
    return b"%s %d %d %s\n" % (_MAGIC, _FORMAT, len(payload), sha256.encode())


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a classifier that `save` wrote.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str
        Names of further types that the file may hold, such as
        ``"lightgbm.sklearn.LGBMClassifier"``, only for files whose origin you trust. The types of
        ybar and of scikit-learn's usual classifiers need not be named.

    Returns
    -------
    The fitted classifier; its predictions are the same to the last bit.

    Raises
    ------
    ValueError
        If the file is not a model of ybar, is damaged, comes from a newer ybar, holds types that
        are not trusted, or holds numbers that compiled code would use outside an array.

    Notes
    -----
    The sha256 protects against damage, not against forgery: anyone can compute it. Against forged
    files, `load` promises that no code from the file is run; that only listed types are created,
    and no function is called; that time and memory are linear in the size of the file; and that
    trees, nearest-neighbour searches, support vectors and LightGBM models stay inside their arrays.
    It does not promise that the predictions are right: a forged model can mislead. Types that you
    name in `trusted` are not checked.
    """
    io = require("skops.io", "persistence", "ybar.load")
    source = as_path(path)
    if isinstance(trusted, str) or not isinstance(trusted, Iterable):
        raise TypeError(
            "trusted must be a list of type names; got "
            f"{shown(trusted)}. Write trusted=[...], a name for each"
        )
    payload = _payload(source)
    with _one_line(source):
        tree = read_tree(unpack(payload))
        untrusted_by_skops = io.get_untrusted_types(data=payload)
    if unknown := untrusted(tree, untrusted_by_skops, trusted):
        raise ValueError(
            f"{source} holds types that are not trusted: {', '.join(unknown)}. If you trust "
            f"its origin, name them: ybar.load(path, trusted={unknown})"
        )
    with _one_line(source):
        check_calls(tree, trusted)
        check_numbers(tree)
        # Only the names that occur in the file, because skops copies the list for every object.
        model = io.loads(payload, trusted=untrusted_by_skops)
    if not isinstance(model, BaseEstimator):
        raise ValueError(
            f"{source} holds a {type(model).__name__}, not a classifier. Pass the path of a file "
            "that ybar.save wrote"
        )
    return model


@contextlib.contextmanager
def _one_line(source: Path) -> Iterator[None]:
    """Turn any error of a reader into one line that names the file."""
    try:
        yield
    except Exception as err:
        raise ValueError(
            f"{source} cannot be read with the packages installed here ({type(err).__name__}: "
            f"{first_line(err)}). Install the versions it was saved with, or save it again"
        ) from err


def _payload(source: Path) -> bytes:
    """Return the output of skops in a file, after checking its length and sha256."""
    if not source.is_file():
        what = "is not a file" if source.exists() else "does not exist"
        raise FileNotFoundError(
            f"path must be a model file that ybar.save wrote; {source} {what}. Check the path"
        )
    with source.open("rb") as file:
        header = file.readline(_LONGEST_HEADER)
        words = header.split()
        if len(words) < 2 or words[0] != _MAGIC or not words[1].isdigit():
            raise ValueError(
                f"{source} is not a model file of ybar. Pass the path of a file that ybar.save "
                "wrote"
            )
        if int(words[1]) > _FORMAT:
            raise ValueError(
                f"{source} has format {int(words[1])}, this ybar reads up to {_FORMAT}. Upgrade: "
                "pip install -U ybar"
            )
        length = int(words[2]) if len(words) == 4 and words[2].isdigit() else -1
        # Read no more than is declared: the rest of a sparse file may be larger than the memory.
        fits = os.fstat(file.fileno()).st_size == len(header) + length
        payload = file.read(length) if fits else b""
    if header != _header(payload):
        raise ValueError(
            f"{source} is damaged: its length or sha256 differs from its first line. Copy it "
            "again or save the model again"
        )
    return payload
