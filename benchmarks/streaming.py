"""What `run.py` measures of networks that learn from Parquet files."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from ybar import labels, transition

N_ROWS, N_COLUMNS, N_CLASSES, N_FILES, N_TEST = 5_000_000, 50, 10, 10, 100_000
MAX_BYTES = 400_000_000

# A process of its own for each way, so that its peak of memory is that of this way alone.
TRAIN = """
import json, re, sys, time
import numpy as np
from ybar import ComplementaryNetClassifier, datasets, transition
way, folder, test, max_bytes = sys.argv[1:]
def peak():  # in GB; ru_maxrss would count the parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 2**20
clf = ComplementaryNetClassifier("cpe-f", (100,), transition=transition.strong(10, 0),
    dropout=0.0, input_dropout=0.0, batch_size=1024, max_epochs=3, random_state=0)
import torch
before, start = peak(), time.perf_counter()
rows = datasets.stream(f"{folder}/*.parquet", max_bytes=int(max_bytes))
if way == "stream":
    clf.fit(rows, "not_label")
else:
    features = rows.features_beside("not_label")
    X, y = features.rows(np.arange(len(rows))), rows.labels("not_label", None)[0].astype(int)
    clf.fit(X, y)
seconds = time.perf_counter() - start
test = datasets.stream(test)
X_test = test.features_beside("y")
predicted = clf.predict(X_test if way == "stream" else X_test.rows(np.arange(len(test))))
accuracy = 100 * float(np.mean(predicted == test.labels("y", None)[0]))
figures = {"accuracy": accuracy, "seconds": seconds, "GB before": before, "peak GB": peak()}
print(json.dumps(figures))
"""


# As many rows as 100 files hold, from one file: 20 GB need not lie on the disk.
TRAIN_LARGE = """
import json, re, sys, time
from ybar import ComplementaryNetClassifier, datasets, transition
start = time.perf_counter()
rows = datasets.stream([sys.argv[1]] * 100)
clf = ComplementaryNetClassifier("cpe-f", (100,), transition=transition.strong(10, 0),
    dropout=0.0, input_dropout=0.0, batch_size=8192, max_epochs=1, random_state=0)
clf.fit(rows, "not_label")
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 2**20
seconds = {"seconds": time.perf_counter() - start, "CPU seconds": time.process_time()}
print(json.dumps({"rows": len(rows), "peak GB": peak, **seconds}))
"""


def write(path: Path, n: int, seed: int, column: str) -> None:
    """Write rows of normal distributions around the mean of each class, sorted by class."""
    means = np.random.default_rng(0).normal(0, 0.3, (N_CLASSES, N_COLUMNS))
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, N_CLASSES, n))
    X = rng.standard_normal((n, N_COLUMNS), np.float32) + means.astype(np.float32)[y]
    if column == "not_label":
        y = labels.draw(y, transition.strong(N_CLASSES, 0), rng)
    columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)} | {column: y.astype(np.int8)}
    pa.parquet.write_table(pa.table(columns), path)


def in_new_process(program: str, *arguments: object) -> dict[str, Any]:
    """Return what a program prints, whose memory is then its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def network_stream() -> dict[str, Any]:
    """Train on 5 million rows of 50 columns in Parquet, sorted by class, and from memory."""
    with tempfile.TemporaryDirectory() as folder:
        (train := Path(folder, "train")).mkdir()
        for number in range(N_FILES):
            file = train / f"{number}.parquet"
            write(file, N_ROWS // N_FILES, number + 1, "not_label")
        write(test := Path(folder, "test.parquet"), N_TEST, N_FILES + 1, "y")
        figures = {}
        for way in ("stream", "memory"):
            figures[way] = in_new_process(TRAIN, way, train, test, MAX_BYTES)
    gap = abs(figures["stream"]["accuracy"] - figures["memory"]["accuracy"])
    return {
        "what": "peak GB of a process that trains on 5 million rows × 50 columns from Parquet",
        **{f"{name}, {way}": value for way in figures for name, value in figures[way].items()},
        "difference in accuracy, points": gap,
        "measured": figures["stream"]["peak GB"],
        "target": "at most 1, accuracy within 0.5 points",
        "reached": figures["stream"]["peak GB"] <= 1 and gap <= 0.5,
    }


def network_stream_large() -> dict[str, Any]:
    """Train for an epoch on 100 million rows of 50 columns."""
    with tempfile.TemporaryDirectory() as folder:
        write(file := Path(folder, "million.parquet"), 1_000_000, 1, "not_label")
        figures = in_new_process(TRAIN_LARGE, file)
    return {
        "what": "peak GB of a process that trains an epoch on 100 million rows × 50 columns",
        **figures,
        "measured": figures["peak GB"],
        "target": "at most 2",
        "reached": figures["peak GB"] <= 2,
    }


BENCHMARKS = (network_stream, network_stream_large)
