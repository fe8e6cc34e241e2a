"""Rename recorded runs whose names had the hash of a source file to names that have its version.

Runs of ybar's convolutional network and of the losses in ``choices/by_label.py`` were named by the
sha256 of the file that defines the function, so that editing a comment renamed them. Now they are
named by the ``version`` of the function. This script rewrites the configurations and the names of
such runs in exports (``.csv``) and ledgers (``.sqlite``), and nothing else. Runs of other versions
of the files stay as they are.

    python studies/rename_runs.py results/leaderboard/runs.csv results/choices/runs.csv
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

from ybar.experiments.plan.jobs import hash_of
from ybar.experiments.runs.ledger import Ledger
from ybar.utils.files import write_whole

# By the old reference: the new one, and the sha256 of the file that is version 1.
MODULES = {
    "ybar.neural.cnn:small": (
        "ybar.neural.networks:small_cnn",
        "ad0ad1eff17aef7c45cd1fb1ded47f36ed4ae982e77d04ee0d4e4a49ebbf568e",
    ),
}
LOSSES = dict.fromkeys(
    ("by_label:gradient_ascent", "by_label:gradient_ascent_counted"),
    "13d9afc833c1db72ebf46f6289d9bdc4dd72a21b08f38f61b5c0ef66d4b0963a",
)


def renamed(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with versions in place of hashes."""
    config, how = dict(config), dict(config["how"])
    reference, sha256 = MODULES.get(how.get("module", ""), ("", ""))
    if reference and how.get("module_sha256") == sha256:
        del how["module_sha256"]
        how |= {"module": reference, "module_version": 1}
    if "source" in config and config["source"] == LOSSES.get(config.get("loss", "")):
        del config["source"]
        config["loss_version"] = 1
    return config | {"how": how}


def rename_export(file: Path) -> int:
    """Rewrite a CSV and return how many runs were renamed."""
    csv.field_size_limit(2**24)
    with file.open(newline="", encoding="utf-8") as opened:
        header, *rows = csv.reader(opened)
    n_renamed = 0
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        config = renamed(json.loads(cells["config"]))
        name = hash_of(config)
        if name != cells["hash"]:
            row[header.index("hash")] = name
            row[header.index("config")] = json.dumps(config, sort_keys=True, separators=(",", ":"))
            n_renamed += 1
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([header, *rows])
    if n_renamed:
        write_whole(file, buffer.getvalue().encode())
    return n_renamed


def rename_ledger(file: Path) -> int:
    """Rewrite an SQLite ledger in one transaction and return how many runs were renamed."""
    n_renamed = 0
    Ledger(file).close()  # adds a table of checksums, where it has none
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        for old, text in connection.execute("SELECT hash, config FROM run").fetchall():
            config = renamed(json.loads(text))
            name = hash_of(config)
            if name != old:
                connection.execute(
                    "UPDATE run SET hash = ?, config = ? WHERE hash = ?",
                    (name, json.dumps(config, sort_keys=True), old),
                )
                connection.execute("DELETE FROM checksum WHERE hash = ?", (old,))
                n_renamed += 1
    return n_renamed


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]):
        rename = rename_export if each.suffix == ".csv" else rename_ledger
        print(f"{each}: {rename(each)} runs renamed")
