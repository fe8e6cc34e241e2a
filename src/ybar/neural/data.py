"""Rows of X as float32 batches: arrays, memory maps, datasets and streams, never copied whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..utils.typing import IntArray
from .streaming import HeldOut

_EVALUATED_AT_ONCE = 512  # so that activations stay in a cache
_BYTES_AT_ONCE = 2**22


class Rows:
    """Fetch rows of X by their indices, as float32 on a device.

    uint8 is scaled to [0, 1]. `X` is an array, a memory map, or a sequence such as a torch dataset
    whose items are arrays, tensors or tuples that start with one. The returned tensor is a buffer
    that the next call overwrites.
    """

    def __init__(self, X: Any, device: torch.device) -> None:
        self.X, self.device = X, device
        self.is_array = isinstance(X, np.ndarray)
        self.raw = np.empty((0,))
        self.buffer = torch.empty(0)
        self._at_once = 0  # rows per block; known after the first block

    def __len__(self) -> int:
        return len(self.X)

    def orders(self, n: int, generator: np.random.Generator) -> Iterator[IntArray]:
        """Yield the positions of n rows to train on in random order, in one or more parts."""
        yield generator.permutation(n)

    def fetch(self, rows: IntArray) -> Tensor:
        """Return those rows, in that order."""
        raw = self._fetch_array(rows) if self.is_array else self._fetch_items(rows)
        if len(self.buffer) < len(raw):
            self.buffer = torch.empty(raw.shape, dtype=torch.float32)
        batch = self.buffer[: len(raw)].copy_(raw)
        if raw.dtype == torch.uint8:
            batch *= 1 / 255
        return batch.to(self.device)

    def _fetch_array(self, rows: IntArray) -> Tensor:
        if len(self.raw) < len(rows):
            native = self.X.dtype.newbyteorder("=")
            kind = np.float64 if native.kind == "f" and native.itemsize > 8 else native
            kind = np.int64 if native.kind == "u" and native.itemsize > 1 else kind
            self.raw = np.empty((len(rows), *self.X.shape[1:]), kind)
        raw = self.raw[: len(rows)]
        if raw.dtype == self.X.dtype and self.X.flags.c_contiguous:
            np.take(self.X, rows, axis=0, out=raw, mode="clip")
        else:  # np.take would copy all of X first
            raw[...] = self.X[rows]
        return torch.from_numpy(raw)

    def _fetch_items(self, rows: IntArray) -> Tensor:
        items = [self.X[int(row)] for row in rows]
        return torch.stack(
            [torch.as_tensor(i[0] if isinstance(i, (tuple, list)) else i) for i in items]
        )

    def batches(self, rows: IntArray, parts: Sequence[slice]) -> Iterator[Tensor]:
        """Yield ``rows[part]`` for each part; small parts are fetched together.

        The parts must be adjacent and in order. The caller may overwrite a batch.
        """
        waiting = list(parts)
        while waiting:
            n = max(1, self._at_once // max(1, waiting[0].stop - waiting[0].start))
            now, waiting = waiting[:n], waiting[n:]
            first = now[0].start
            block = self.fetch(rows[first : now[-1].stop])
            if self._at_once == 0:
                self._at_once = max(1, _BYTES_AT_ONCE // (4 * max(1, block[0].numel())))
            for part in now:
                yield block[part.start - first : part.stop - first]

    def blocks(
        self, rows: IntArray, size: int = _EVALUATED_AT_ONCE
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield the rows in blocks, each with its position among them."""
        for start in range(0, len(rows), size):
            place = slice(start, min(start + size, len(rows)))
            yield place, self.fetch(rows[place])


class StreamedRows(Rows):
    """Fetch the training rows of a stream in its order, and held-out rows from memory.

    The rows of `fetch` and `blocks` are the held-out ones.
    """

    def __init__(self, X: HeldOut, device: torch.device) -> None:
        super().__init__(X.rows, device)
        self.stream, self.held_out = X.stream, X.numbers
        self.shuffled = np.empty((0, 0), np.float32)
        self.order = np.empty(0, np.intp)

    def orders(self, n: int, generator: np.random.Generator) -> Iterator[IntArray]:
        """Yield the positions of the rows in a buffer, shuffled, each time that it is full."""
        n_buffers = math.ceil(n / self.stream.buffer_rows())
        capacity = math.ceil(n / n_buffers)  # of equal size: no batch of a single row at the end
        self.shuffled = np.empty((capacity, len(self.stream.columns)), np.float32)
        positions, filled = np.empty(capacity, np.intp), 0
        for first, block in self.stream.shuffled(generator):
            start, stop = np.searchsorted(self.held_out, [first, first + len(block)])
            block = np.delete(block, self.held_out[start:stop] - first, axis=0)
            at = np.arange(len(block)) + first - start  # as many rows before are held out
            while len(block):
                n_now = min(len(block), capacity - filled)
                self.shuffled[filled : filled + n_now] = block[:n_now]
                positions[filled : filled + n_now] = at[:n_now]
                block, at, filled = block[n_now:], at[n_now:], filled + n_now
                if filled == capacity:
                    yield self._shuffle(positions, generator)
                    filled = 0
        if filled:
            yield self._shuffle(positions[:filled], generator)
        self.shuffled = np.empty((0, 0), np.float32)  # other runs may need the memory now

    def _shuffle(self, positions: IntArray, generator: np.random.Generator) -> IntArray:
        self.order = generator.permutation(len(positions))
        return positions[self.order]

    def batches(self, rows: IntArray, parts: Sequence[slice]) -> Iterator[Tensor]:  # noqa: ARG002
        """Yield the rows of the buffer, in the last order that `orders` yielded."""
        for part in parts:
            yield torch.from_numpy(self.shuffled[self.order[part]]).to(self.device)


def rows_of(X: Any, device: torch.device) -> Rows:
    """Return the rows of any X."""
    return StreamedRows(X, device) if isinstance(X, HeldOut) else Rows(X, device)
