"""Partitions on the workers of a cluster, and the tasks that train on them and score models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..utils.extras import require
from . import training
from .binning import every_code
from .blocks import Blocks
from .sums import FAN_IN, Sums
from .training import Goal, Network, Scheme
from .workers import attempts, gathered, host_of, one_per_process, run_together, waited

_FEWEST_ROWS = 10_000  # per worker; with fewer, workers wait for one another most of the time


class Crew:
    """Trains on all partitions of a collection, which workers keep as bytes.

    Parameters
    ----------
    client : distributed.Client
    blocks : Blocks
    lengths : list of int
        The number of rows of each partition.
    scheme : Scheme
    goal : Goal
    params : dict
        The parameters of LightGBM.
    """

    def __init__(
        self,
        client: Any,
        blocks: Blocks,
        lengths: Sequence[int],
        scheme: Scheme,
        goal: Goal,
        params: dict[str, Any],
    ) -> None:
        self._client, self._goal, self._params = client, goal, params
        self._every_code = every_code(scheme.edges, scheme.missing)
        parts = blocks.map(training.prepared, scheme, numbered=True)
        full = [(part, n) for part, n in zip(parts, lengths, strict=True) if n]
        self._lengths = [n for _, n in full]
        self._parts = client.compute([part for part, _ in full])

    def train(self, rates: Sequence[float], n_rounds: int, *, everything: bool) -> list[str]:
        """Return a model for each learning rate, fitted to all rows or to those not held out."""

        def once() -> list[str]:
            waited(self._client, self._parts)
            shares = self._shares()
            machines = self._machines(list(shares))
            threads = self._client.ncores()
            tasks = {
                worker: (
                    [self._parts[i] for i in share],
                    self._every_code,
                    self._goal,
                    self._params | {"num_threads": threads.get(worker, 1)},
                    list(rates),
                    n_rounds,
                    Network(machines, rank),
                    everything,
                )
                for rank, (worker, share) in enumerate(shares.items())
            }
            texts: list[str] = run_together(self._client, training.train, tasks)[0]
            return texts

        return attempts(once, self._client)

    def held_out_losses(self, rates: list[float], counts: list[int]) -> list[list[Sums]]:
        """Return the sums of SCEL on all held-out rows, for each rate and number of rounds."""
        texts = self.train(rates, counts[-1], everything=False)
        client = self._client
        dask: Any = require("dask", "dask", "ybar.distributed")
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
            # In the graph, so that it is there again if a worker is lost.
            shared = client.submit(tuple, [texts, counts, self._goal], pure=False)
        level = [client.submit(_losses, part, shared, pure=False) for part in self._parts]
        while len(level) > 1:
            level = [
                client.submit(training.merged, level[i : i + FAN_IN], pure=False)
                for i in range(0, len(level), FAN_IN)
            ]
        sums: list[list[Sums]] = gathered(client, level)[0]
        return sums

    def _shares(self) -> dict[str, list[int]]:
        """Return the partitions that each worker trains on: about as many rows each.

        A partition stays where it is, unless that worker has more than its share.
        """
        n_workers = max(1, sum(self._lengths) // _FEWEST_ROWS)
        workers = one_per_process(self._client)[:n_workers]
        holders = self._client.who_has(self._parts)
        fair = sum(self._lengths) / len(workers)
        shares: dict[str, list[int]] = defaultdict(list)
        rows = dict.fromkeys(workers, 0)
        for i in sorted(range(len(self._parts)), key=lambda i: -self._lengths[i]):
            here = [w for w in holders.get(self._parts[i].key, ()) if w in rows]
            room = [w for w in here if rows[w] + self._lengths[i] / 2 <= fair]
            worker = min(room or workers, key=lambda w: rows[w])
            shares[worker].append(i)
            rows[worker] += self._lengths[i]
        return {worker: sorted(share) for worker, share in shares.items()}

    def _machines(self, workers: list[str]) -> list[str]:
        """Return ``host:port`` of each worker, with ports that are free there."""
        if len(workers) == 1:
            return ["only one"]
        of_host: dict[str, list[str]] = defaultdict(list)
        for worker in workers:
            of_host[host_of(worker)].append(worker)
        machines: dict[str, str] = {}
        for host, here in of_host.items():
            ports = self._client.run(training.free_ports, len(here), workers=here[:1])[here[0]]
            machines |= {w: f"{host}:{port}" for w, port in zip(here, ports, strict=True)}
        return [machines[worker] for worker in workers]


def _losses(part: training.Part, shared: tuple[Any, ...]) -> list[list[Sums]]:
    texts, counts, goal = shared
    return training.losses(part, texts, counts, goal)
