"""Run an attack in a child process with limits, and say how it ended."""

import json
import os
import resource
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

# What an attack may return, and what else can happen to it.
OUTCOMES = {
    "refused": "one line of error that names the file",
    "right": "the same answer as without the attack",
    "other": "another answer, from a forged file whose sums are right",
    "raised": "an exception of Python while a forged model predicts",
    "silent": "another answer, though a sum could have told",
    "lost": "what was there before is gone or damaged",
    "run": "something was run: a program, a connection, a function that the file names",
    "traceback": "an exception that is no line for the user",
    "killed": "a signal: a crash, or the limit of processor time",
    "memory": "more memory than the limit",
    "time": "more time than the limit",
}
GOOD = ("refused", "right", "other", "raised")

MOST_MEGABYTES = 1024  # resident, of the whole process
MOST_SECONDS = 30  # of the processor
_ADDRESS_SPACE = 4 * 2**30  # beyond what is mapped at the start, so that the machine survives
_PATIENCE = 300  # seconds of the clock, on a busy machine
_RUNS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn")
_EXIT_RUN = 97


class Outcome(NamedTuple):
    kind: str
    note: str
    megabytes: float
    seconds: float


def preload():
    """Import once what the attacks use; torch, whose threads do not survive a fork, is left out."""
    import joblib  # noqa: F401
    import lightgbm  # noqa: F401
    import PIL.Image  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import sklearn.ensemble
    import sklearn.neural_network
    import sklearn.svm  # noqa: F401
    import skops.io  # noqa: F401

    import ybar.cli
    import ybar.persistence  # noqa: F401


def run(attack):
    """Return the outcome of a function, which runs in a child process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _in_child(attack, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status, used = os.wait4(child, 0)
    megabytes, seconds = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "time" if number in (signal.SIGXCPU, signal.SIGALRM) else "killed"
        return Outcome(kind, signal.Signals(number).name, megabytes, seconds)
    if os.WEXITSTATUS(status) == _EXIT_RUN:
        return Outcome("run", answer.decode(errors="replace"), megabytes, seconds)
    kind, note = json.loads(answer)
    if kind in GOOD and megabytes > MOST_MEGABYTES:
        kind = "memory"
    if kind in GOOD and seconds > MOST_SECONDS:
        kind = "time"
    return Outcome(kind, note, megabytes, seconds)


def must(work):
    """Run a function in a child process, and raise an error if it fails."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("what an attack needs could not be prepared")


def _in_child(attack, writing):
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _ADDRESS_SPACE,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (2 * MOST_SECONDS, 3 * MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(_PATIENCE)
    warnings.simplefilter("ignore")
    try:
        kind = attack()
        note = ""
        if isinstance(kind, tuple):
            kind, note = kind
    except MemoryError:
        kind, note = "memory", ""
    except BaseException:
        kind, note = "traceback", traceback.format_exc(limit=-4)
    if kind == "refused" and "MemoryError" in note:
        kind = "memory"
    os.write(writing, json.dumps([kind, str(note)[:1000]]).encode())
    os._exit(0)


def watch():
    """End this process, from now on, if it starts a program or opens a connection."""

    def audit(event, arguments):
        if event in _RUNS or event == "socket.connect":
            os._exit(_EXIT_RUN)

    sys.addaudithook(audit)


def canary(*_arguments, **_options):
    """Stand for a function that a file names and that nobody may call while it loads."""
    os._exit(_EXIT_RUN)


def command(folder, *arguments):
    """Run the command line; return its exit code, its output and its errors."""
    from ybar.cli import main

    sys.argv = ["ybar", *map(str, arguments)]
    output, errors = folder / "stdout.txt", folder / "stderr.txt"
    for path, descriptor in ((output, 1), (errors, 2)):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, descriptor)
        os.close(handle)
    code = 0
    try:
        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return code, output.read_text(errors="replace"), errors.read_text(errors="replace")


def judged(code, errors):
    """Return the outcome of a command: an answer, or a refusal in one line."""
    if "Traceback" in errors or "bug" in errors.lower():
        return "traceback", errors[-600:]
    if not code:
        return "right", errors[-300:]
    lines = [line for line in errors.splitlines() if line.strip()]
    return ("refused", errors[-300:]) if code in (1, 2) and lines else ("traceback", errors[-600:])
