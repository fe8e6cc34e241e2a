"""A ledger in which a bit has flipped: no run changes silently, and others stay usable."""

import sqlite3
import warnings

import numpy as np
import pytest

from ledger_helpers import entry, same
from ybar.experiments.runs.ledger import Ledger, LedgerError
from ybar.utils.errors import InputError


def reading_of(path):
    """The runs of a ledger, and what was said of it: warnings, or the error that ended it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with Ledger(path, write=False) as opened:
                entries = opened.entries(curves=True)
        except (LedgerError, InputError) as error:
            return None, [str(error)]
    return {e.hash: e for e in entries}, [str(each.message) for each in caught]


@pytest.fixture
def flipped(ledger, tmp_path):
    """A function from a seed to a ledger in which one bit is flipped, and its runs."""
    made = [
        entry(rate / 1e6, cause=None if rate % 4 else "it broke", traceback="a\nb" * 40)
        for rate in range(1, 13)
    ]
    ledger.record(made)
    ledger.close()
    sound = ledger.path.read_bytes()

    def flip(seed):
        content = bytearray(sound)
        at = int(np.random.default_rng(seed).integers(8 * len(content)))
        content[at // 8] ^= 1 << at % 8
        path = tmp_path / "flipped.sqlite"
        path.write_bytes(content)
        return path, {e.hash: e for e in made}

    return flip


def test_a_flipped_bit_is_said_and_no_run_changes_silently(flipped):
    n_named = 0
    for seed in range(250):
        path, made = flipped(seed)
        found, said = reading_of(path)
        assert all("\n" not in line for line in said)
        if found is None:
            continue
        for name, each in found.items():
            same(each, made[name])
        missing = made.keys() - found.keys()
        assert not missing or said, seed
        n_named += bool(missing)
    assert n_named >= 20  # the others hit free space, claims, or the file as a whole


def test_a_damaged_run_is_named_left_out_and_run_again(flipped):
    n_mended = 0
    for seed in range(40):
        path, made = flipped(seed)
        found, said = reading_of(path)
        missing = made.keys() - (found or {}).keys()
        if found is None or not missing:
            continue
        assert all(name in said[0] for name in missing)
        with Ledger(path) as opened:
            opened.forget(made, failed=False)
            assert opened.claim(sorted(made)).mine == sorted(missing)
            assert opened.record(list(made.values())) == len(missing)
            assert {e.hash for e in opened.entries()} == made.keys()
        n_mended += 1
    assert n_mended >= 3


def test_a_ledger_from_before_checksums_is_read_and_written_to(ledger, tmp_path):
    ledger.record([entry(1e-3)])
    ledger.close()
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("DROP TABLE checksum")
    connection.close()
    with Ledger(ledger.path, write=False) as opened:
        same(opened.entries(curves=True)[0], entry(1e-3))
    with Ledger(ledger.path) as opened:
        assert opened.record([entry(1e-3), entry(1e-4)]) == 1
        assert len(opened.entries()) == 2


@pytest.mark.parametrize("owner", ["../precious.lock", "a\0b", "precious.lock"])
def test_a_claim_cannot_name_another_file(ledger, owner):
    precious = ledger.path.parent / "precious.lock"
    precious.touch()
    name = entry().hash
    ledger._connection.execute("INSERT INTO claim VALUES (?, ?)", (name, owner))
    assert ledger.claim([name]).mine == [name]
    assert precious.exists()
