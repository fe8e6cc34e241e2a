"""A recorded run, and its row in the ledger."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...utils.checks import shown
from ...utils.errors import InputError
from ...utils.typing import AnyArray
from ..plan.jobs import hash_of, seed_of

COLUMNS = (
    *("hash", "dataset", "setting", "trial", "base", "method", "learning_rate", "seed"),
    *("data_sha256", "config", "versions", "cause", "traceback", "figures", "curves", "seconds"),
    "finished",
)


@dataclass(frozen=True)
class Entry:
    """A recorded run; see `outcome.Outcome`."""

    hash: str  # its name
    config: dict[str, Any]  # all that the outcome depends on; see `plan.jobs.config`
    cause: str | None = None
    traceback: str | None = None
    scores: dict[str, float] = field(default_factory=dict)
    curves: dict[str, AnyArray] = field(default_factory=dict)  # empty if not asked for
    seconds: float = 0.0
    finished: str = ""  # an ISO date in UTC
    versions: dict[str, str] = field(default_factory=dict)


def to_row(entry: Entry) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`, or raise `InputError` for a wrong name."""
    config = entry.config
    if hash_of(config) != entry.hash:
        raise InputError(
            f"a run's hash must be that of its configuration; got {shown(entry.hash)} for "
            f"{shown(config)}"
        )
    seed = seed_of(config["dataset"], config["setting"], config["trial"])
    return (
        entry.hash,
        config["dataset"],
        config["setting"],
        config["trial"],
        config["base"],
        config["method"],
        config.get("learning_rate"),
        json.dumps(seed),
        config["data_sha256"],
        json.dumps(config, sort_keys=True),
        json.dumps(entry.versions, sort_keys=True),
        entry.cause,
        entry.traceback,
        json.dumps(entry.scores, sort_keys=True),
        pack(entry.curves),
        entry.seconds,
        entry.finished,
    )


def from_row(row: Sequence[Any], *, curves: bool) -> Entry:
    """Return the run of a row, or raise an error of any kind for a row that is damaged."""
    values = dict(zip(COLUMNS, row, strict=True))
    entry = Entry(
        values["hash"],
        json.loads(values["config"]),
        values["cause"],
        values["traceback"],
        json.loads(values["figures"]),
        unpack(values["curves"]) if curves else {},
        math.nan if values["seconds"] is None else values["seconds"],
        values["finished"],
        json.loads(values["versions"]),
    )
    if hash_of(entry.config) != entry.hash:
        raise ValueError(f"run {entry.hash} has another configuration")
    return entry


def checksum(row: Sequence[Any]) -> str:
    """Return the sha256 of all values of a row."""
    digest = hashlib.sha256()
    for value in row:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        digest.update(f"{len(content)}:".encode() + content)
    return digest.hexdigest()


def pack(curves: dict[str, AnyArray]) -> bytes:
    """Return curves as the bytes of a compressed npz file, in single precision."""
    if not curves:
        return b""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {n: np.asarray(v, np.float32) for n, v in sorted(curves.items())}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, AnyArray]:
    """Return the curves that `pack` made bytes of."""
    if not data:
        return {}
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)
