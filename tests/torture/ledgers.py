"""Ledgers with one bit flipped."""

import warnings

import numpy as np

RUNS = 20


def _entry(number):
    """Return a run with figures and curves, all of which follow from its number."""
    from ybar.experiments.plan import jobs as planned
    from ybar.experiments.plan.model import Dataset, Network, Setting
    from ybar.experiments.runs import ledger

    training = planned.Training("cpe-f", 1e-3 * (1 + number))
    setting, network = Setting("s", "strong"), Network("l")
    job = planned.Job(Dataset("digits"), "0" * 64, setting, 0, network, 0.1, (training,))
    config = planned.config(job, training)
    return ledger.Entry(
        planned.hash_of(config),
        config,
        scores={"last.scel": 2.25 + number, "last.accuracy_l1": 75.5},
        curves={"scel": np.linspace(2, 1, 50) * (1 + number)},
        seconds=1.5,
        finished="2026-01-01T00:00:00+00:00",
        versions={"ybar": "0", "python": "3"},
    )


def record(path, numbers):
    from ybar.experiments.runs.ledger import Ledger

    with Ledger(path) as ledger:
        for number in numbers:
            ledger.record([_entry(number)])


def _read(path):
    from ybar.experiments.runs.ledger import Ledger

    with warnings.catch_warnings(record=True) as caught, Ledger(path, write=False) as ledger:
        warnings.simplefilter("always")
        found = {entry.hash: entry for entry in ledger.entries(curves=True)}
    return found, [str(warning.message) for warning in caught]


def _equal(one, two):
    return (
        one.scores == two.scores
        and one.cause == two.cause
        and one.curves.keys() == two.curves.keys()
        and all(np.array_equal(one.curves[k], np.float32(two.curves[k])) for k in two.curves)
    )


def holds(path, numbers, among=None):
    """Return whether runs are in a ledger, all of it as recorded, and no others but `among`."""
    found, messages = _read(path)
    possible = {entry.hash: entry for entry in map(_entry, among or numbers)}
    sound = all(name in possible and _equal(found[name], possible[name]) for name in found)
    return not messages and sound and {_entry(number).hash for number in numbers} <= found.keys()


def prepare(folder):
    record(folder / "runs.sqlite", range(RUNS))


def flipped(folder, number):
    """Flip one bit: each run is as it was, or is named and left out; or the file is refused."""
    from ybar.utils.errors import InputError

    content = bytearray((folder / "runs.sqlite").read_bytes())
    place = int(np.random.default_rng([5, number]).integers(8 * len(content)))
    content[place // 8] ^= 1 << place % 8
    path = folder / "flipped.sqlite"
    path.write_bytes(content)
    try:
        found, messages = _read(path)
    except (OSError, InputError) as error:
        return ("refused" if "\n" not in str(error) else "traceback"), str(error)
    expected = {entry.hash: entry for entry in map(_entry, range(RUNS))}
    wrong = [name for name, entry in found.items() if not _equal(entry, expected.get(name, entry))]
    if wrong or not found.keys() <= expected.keys():
        return "silent", f"bit {place}: {wrong}"
    missing = expected.keys() - found.keys()
    if missing and not messages:
        return "lost", f"bit {place}: {len(missing)} runs"
    return ("refused", messages[0]) if missing else ("right", "")
