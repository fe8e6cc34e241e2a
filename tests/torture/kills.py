"""Kill `save` and ``ybar predict`` at random instants."""

import contextlib
import os
import signal
import time

import child
import numpy as np


def prepare_save(folder):
    import ybar

    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 60)), rng.integers(0, 3, 3000)
    for name, rows in (("old", 2900), ("new", 3000)):
        model = ybar.CPEKNeighborsClassifierCV(random_state=0).fit(X[:rows], y[:rows])
        ybar.save(model, folder / f"{name}.model")


def save(folder, number):
    """Kill a process that saves again and again, at a random instant."""
    import ybar

    old, new = (ybar.load(folder / f"{name}.model") for name in ("old", "new"))
    target = folder / "target" / "m.ybar"
    target.parent.mkdir(exist_ok=True)
    ybar.save(old, target)
    worker = os.fork()
    if not worker:
        while True:
            ybar.save(new, target)
            ybar.save(old, target)
    time.sleep(np.random.default_rng([3, number]).uniform(0.0, 0.2))
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    left = len(list(target.parent.iterdir())) - 1
    # skops writes the addresses of objects, so equal models can differ in their bytes.
    X = np.random.default_rng(1).random((50, 60))
    found, *known = (model.predict_proba(X) for model in (ybar.load(target), old, new))
    if not any(np.array_equal(found, each) for each in known):
        return "lost", "neither the old model nor the new one"
    ybar.save(new, target)
    if [path.name for path in target.parent.iterdir()] != [target.name]:
        return "lost", "a temporary file stays"
    return "right", f"{left} temporary files were left"


def prepare_predict(folder):
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((4000, 5)), columns=list("abcde")).round(4)
    frame["not"] = rng.choice(["cat", "dog", "bird"], 4000)
    frame.to_csv(folder / "rows.csv", index=False)
    fit = ("fit", folder / "rows.csv", "--label", "not", "--model", folder / "m.ybar")
    code, _, errors = child.command(folder, *fit, "--method", "logistic")
    if code:
        raise RuntimeError(errors)
    out = folder / "expected.csv"
    code, _, errors = child.command(
        folder, "predict", folder / "m.ybar", folder / "rows.csv", "--output", out
    )
    if code:
        raise RuntimeError(errors)


def predict(folder, number):
    """Kill ``ybar predict`` at a random instant; the old file stays, or the new one is whole."""
    out = folder / "out" / "out.csv"
    out.parent.mkdir(exist_ok=True)
    out.write_bytes(b"before\n")
    worker = os.fork()
    if not worker:
        child.command(folder, "predict", folder / "m.ybar", folder / "rows.csv", "--output", out)
        os._exit(0)
    started = time.monotonic()
    latest = np.random.default_rng([4, number]).uniform(0.0, 1.5)
    while time.monotonic() - started < latest and not os.waitpid(worker, os.WNOHANG)[0]:
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    content = out.read_bytes()
    if content not in (b"before\n", (folder / "expected.csv").read_bytes()):
        return "lost", "neither the old file nor the whole new one"
    return "right", "old" if content == b"before\n" else "new"
