"""Trees from partitions that stay where they are: one task of LightGBM on each worker."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from ..classifiers.boosting_targets import Labels, Likelihood, derivatives
from ..labels.observed import Observed
from ..utils.extras import require
from ..utils.typing import AnyArray, BoolArray, FloatArray, IntArray
from .binning import binned, unbinned
from .blocks import as_numbers, as_weights
from .observing import Vocabulary
from .sums import Sums

_ROWS_AT_ONCE = 65_536
_MINUTES_TO_CONNECT = 2
BINS = {"max_bin": 256, "min_data_in_bin": 1, "feature_pre_filter": False}
"""The parameters of LightGBM with which the bins of `binning.every_code` are the codes."""


class Part(NamedTuple):
    """The rows of one partition as workers keep them."""

    codes: AnyArray
    """One byte per value."""
    observation: IntArray
    """The index of each row's observation in the vocabulary."""
    weights: Any
    held_out: BoolArray


class Scheme(NamedTuple):
    """What partitions share: their bins and their vocabulary."""

    edges: list[FloatArray]
    missing: BoolArray
    words: Vocabulary
    fraction: float
    seed: int


def prepared(X: Any, y: Any, weights: Any, scheme: Scheme, number: int) -> Part:
    """Return the rows of a partition as bytes; a random share of them is held out."""
    codes = binned(as_numbers(X), scheme.edges)
    generator = np.random.default_rng([scheme.seed, number])
    held_out = np.zeros(len(codes), bool)
    n = int(scheme.fraction * len(codes) + generator.random())  # right on average
    held_out[generator.choice(len(codes), n, replace=False)] = True
    kind = np.uint8 if len(scheme.words.table) <= 256 else np.int32
    observation: IntArray = scheme.words.codes(y).astype(kind)
    release_memory()
    return Part(codes, observation, as_weights(weights, len(codes)), held_out)


def release_memory() -> None:
    """Return memory that is free to the operating system, where allocators would keep it."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # not glibc
            ctypes.CDLL("libc.so.6").malloc_trim(0)


@dataclass(frozen=True)
class Goal:
    """What the trees minimise, for any partition; `target` is that of the vocabulary's table."""

    target: Labels | Likelihood
    mean_weight: float
    """The mean weight of all rows or labels that count; LightGBM is passed weights around 1."""

    def observed(self, part: Part) -> Observed:
        """Return the labels of a partition."""
        return replace(
            self.target.observed, code=part.observation.astype(np.intp), weights=part.weights
        )

    def of_part(self, part: Part) -> Labels | Likelihood:
        """Return the target with the rows of a partition in place of all observations."""
        target = copy.copy(self.target)
        target.observed = self.observed(part)
        if isinstance(target, Likelihood):
            target.usable = target.observed.usable
        return target

    def samples(self, part: Part, *, everything: bool) -> tuple[IntArray, AnyArray]:
        """Return the row of each training sample of a partition, and its label.

        For trees that learn q the label is a class that occurs; for p it is an observation.
        """
        target = self.of_part(part)
        used = target.observed.usable if everything else target.observed.usable & ~part.held_out
        rows, label = target.samples(np.flatnonzero(used))
        return rows, label if target.estimates == "q" else part.observation[rows]

    def gradient(self, labels: AnyArray, weights: FloatArray | None) -> Any:
        """Return the function that computes both derivatives; None if LightGBM has its own."""
        target = self.target
        if not isinstance(target, Likelihood):
            return None
        log_e, curvature = target.log_e, target.curvature

        def gradient(scores: AnyArray, _: Any) -> tuple[AnyArray, AnyArray]:
            first = np.empty(scores.shape, np.float32, order="F")
            second = np.empty_like(first)
            for start in range(0, len(scores), _ROWS_AT_ONCE):  # temporary arrays stay small
                rows = slice(start, start + _ROWS_AT_ONCE)
                weight = 1.0 if weights is None else weights[rows, None]
                first[rows], second[rows] = derivatives(
                    scores[rows], log_e[labels[rows]], weight, curvature
                )
            return first, second

        return gradient


class Network(NamedTuple):
    """The workers that train together: ``host:port`` of each, and which of them this one is."""

    machines: list[str]
    rank: int

    @property
    def learner(self) -> dict[str, Any]:
        """The parameters of LightGBM for rows that are on several workers."""
        n = len(self.machines)
        return {"tree_learner": "data", "pre_partition": True, "num_machines": n} if n > 1 else {}

    @property
    def connection(self) -> dict[str, Any]:
        """The parameters of LightGBM that connect the workers."""
        return {
            **self.learner,
            "machines": ",".join(self.machines),
            "local_listen_port": int(self.machines[self.rank].rpartition(":")[2]),
            "time_out": _MINUTES_TO_CONNECT,
        }


def free_ports(n: int) -> list[int]:
    """Return ports that nobody listens at on this machine."""
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(n):
            listening = stack.enter_context(socket.socket())
            listening.bind(("", 0))
            ports.append(int(listening.getsockname()[1]))
        return ports


def train(
    parts: Sequence[Part],
    every_code: AnyArray,
    goal: Goal,
    params: dict[str, Any],
    rates: Sequence[float],
    n_rounds: int,
    network: Network,
    everything: bool,
) -> list[str]:
    """Fit trees for each learning rate to the partitions of this worker, with the other workers.

    All calls that use LightGBM's network are in this thread, to which it belongs. `every_code`
    defines the bins, see `binning.every_code`.

    Returns
    -------
    list of str
        The model of each rate, in LightGBM's text form; on codes, see `binning.on_features`.
    """
    lightgbm: Any = require("lightgbm", "boosting", "ybar.distributed")
    release_memory()
    texts = []
    with _connected(lightgbm, network):
        params = {**params, **network.learner}
        bins = lightgbm.Dataset(unbinned(every_code), params=params)
        dataset, gradient = _dataset(lightgbm, parts, goal, bins, everything)
        for rate in rates:
            booster = _booster(lightgbm, dataset, {**params, "learning_rate": rate})
            for _ in range(n_rounds):
                booster.update(fobj=gradient)
            texts.append(booster.model_to_string())
            del booster  # before the next one, which is as large
    return texts


def _dataset(
    lightgbm: Any, parts: Sequence[Part], goal: Goal, bins: Any, everything: bool
) -> tuple[Any, Any]:
    """Return the data set of LightGBM, and the function that computes both derivatives."""
    samples = [goal.samples(part, everything=everything) for part in parts]
    labels = np.concatenate([label for _, label in samples], dtype=np.int32)
    weights = None
    if parts[0].weights is not None:
        of_parts = [part.weights[rows] for part, (rows, _) in zip(parts, samples, strict=True)]
        weights = np.concatenate(of_parts) / goal.mean_weight
    read = _rows_of(lightgbm)
    rows = [read(part.codes, rows) for part, (rows, _) in zip(parts, samples, strict=True)]
    dataset = lightgbm.Dataset(rows, labels, bins, weights, params=bins.params).construct()
    return dataset, goal.gradient(labels, weights)


def _booster(lightgbm: Any, dataset: Any, params: dict[str, Any]) -> Any:
    booster = lightgbm.Booster(params, dataset)
    if params["objective"] == "none":
        # `update` sets the objective to "none" again, which LightGBM refuses if no feature can be
        # split.
        booster.reset_parameter = lambda _: booster
    return booster


def _rows_of(lightgbm: Any) -> Any:
    """Return a class of sequences of rows that LightGBM reads block by block."""

    class Rows(lightgbm.Sequence):  # type: ignore[misc]
        batch_size = 16_384

        def __init__(self, codes: AnyArray, rows: IntArray) -> None:
            self.codes, self.rows = codes, rows

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, index: Any) -> FloatArray:
            return unbinned(self.codes[self.rows[index]])

    return Rows


@contextlib.contextmanager
def _connected(lightgbm: Any, network: Network) -> Iterator[None]:
    """Connect this thread's LightGBM with that of the other workers."""
    if len(network.machines) == 1:
        yield
        return
    quiet = {"verbosity": -1, "objective": "none"}
    row = np.zeros((1, 1))
    # LightGBM reads the verbosity with a data set, and would connect with many lines before.
    lightgbm.Dataset(row, params=quiet).construct()
    # The network ends with the booster that started it.
    booster = lightgbm.Booster({**quiet, **network.connection}, lightgbm.Dataset(row, np.zeros(1)))
    try:
        yield
    finally:
        booster.free_network()


def losses(part: Part, texts: Sequence[str], counts: Sequence[int], goal: Goal) -> list[list[Sums]]:
    """Return the sums of SCEL on the held-out rows of a partition, for each rate and count."""
    lightgbm: Any = require("lightgbm", "boosting", "ybar.distributed")
    held_out = np.flatnonzero(part.held_out)
    observed = goal.observed(part).subset(held_out)
    if not observed.usable.any():
        return [[Sums.nothing() for _ in counts] for _ in texts]
    target = copy.copy(goal.target)
    target.observed = observed
    everyone = np.arange(len(observed))
    values = unbinned(part.codes[held_out])
    sums = []
    for text in texts:
        booster = lightgbm.Booster(model_str=text)
        scores, done, path = np.zeros((len(values), len(target.seen))), 0, []
        for count in counts:
            scores += booster.predict(
                values,
                raw_score=True,
                start_iteration=done,
                num_iteration=count - done,
                num_threads=1,
            )
            done = count
            outputs = softmax(scores, axis=1) if target.estimates == "q" else scores
            path.append(Sums.of(target.losses(outputs, everyone), observed.weights))
        sums.append(path)
    return sums


def merged(parts: Sequence[list[list[Sums]]]) -> list[list[Sums]]:
    """Return the sums of several partitions, for each rate and count."""
    return [
        [Sums.merged(of_count) for of_count in zip(*of_rate, strict=True)]
        for of_rate in zip(*parts, strict=True)
    ]
