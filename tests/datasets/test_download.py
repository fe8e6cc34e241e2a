"""`fetch` leaves whole, verified files in the cache, or nothing."""

import json
import subprocess
import sys
import threading
import time
from base64 import b64encode

import numpy as np
import pytest
import requests

from idx_files import FILES, IMAGES, KANA, LABELS, PUBLISHED, flipped, held, idx, write
from ybar import datasets
from ybar.datasets import download as downloading

# --- YBAR_DATA, cache, download ------------------------------------------------------------------


@pytest.mark.usefixtures("tiny")
def test_a_good_download_lands_in_the_cache_and_is_asked_for_once(serve, tmp_path):
    server = serve()
    for _ in range(2):
        data = datasets.load("kmnist", mirror=server.url)
        assert data.X_train.shape == (20, 6)
        assert data.classes[data.y_test].tolist() == KANA
    assert held(tmp_path / "cache") == FILES
    assert server.asked == dict.fromkeys(FILES, 1)
    assert datasets.fetch("kmnist") == tmp_path / "cache" / "kmnist"


@pytest.mark.usefixtures("tiny")
def test_the_cache_argument_wins_over_the_environment(serve, tmp_path):
    folder = datasets.fetch("kmnist", cache=tmp_path / "mine", mirror=serve().url + "/")
    assert folder == tmp_path / "mine" / "kmnist"
    assert held(folder) == FILES
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("tiny")
def test_flipped_bytes_are_refused_and_leave_nothing(serve, tmp_path):
    def answer(file, nth):
        body = flipped(FILES[file]) if file == LABELS else FILES[file]
        return [body], len(body)

    server = serve(answer)
    with pytest.raises(ValueError, match=rf"{LABELS} is not the .*mirror=.*YBAR_DATA") as caught:
        datasets.fetch("kmnist", mirror=server.url)
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {IMAGES: FILES[IMAGES]}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("declared", [True, False])
def test_a_connection_cut_every_time_leaves_nothing(declared, serve, tmp_path):
    def answer(file, nth):
        return [FILES[file][:20]], len(FILES[file]) if declared else None

    server = serve(answer)
    with pytest.raises((ConnectionError, ValueError), match=rf"{IMAGES}.*YBAR_DATA") as caught:
        datasets.fetch("kmnist", mirror=server.url)
    assert isinstance(caught.value, ConnectionError) == declared
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {}
    assert server.asked == {IMAGES: 1 + downloading.RETRIES}


@pytest.mark.usefixtures("tiny")
def test_a_connection_cut_once_is_tried_again(serve, tmp_path):
    def answer(file, nth):
        return [FILES[file][: 20 if nth == 1 else None]], len(FILES[file])

    server = serve(answer)
    datasets.fetch("kmnist", mirror=server.url)
    assert held(tmp_path) == FILES
    assert server.asked == dict.fromkeys(FILES, 2)


@pytest.mark.usefixtures("tiny")
def test_a_server_that_sends_too_much_is_stopped(serve, tmp_path):
    piece, count = bytes(2**20), 256

    def answer(file, nth):
        return (piece for _ in range(count)), None

    server = serve(answer)
    with pytest.raises(
        ValueError, match=rf"{IMAGES} is not the published file: it is oversized: more than \d+ b"
    ):
        datasets.fetch("kmnist", mirror=server.url)
    assert held(tmp_path) == {}
    assert server.sent[IMAGES] < count * len(piece) / 2  # what socket buffers took


@pytest.mark.usefixtures("tiny")
def test_a_server_that_drips_is_given_up(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(downloading, "PATIENCE", 0.5)
    ended = threading.Event()

    def answer(file, nth):
        def drip():
            while not ended.wait(0.05):
                yield b"x"

        return drip(), len(FILES[file]) + 10**6

    server = serve(answer)
    before = time.monotonic()
    try:
        with pytest.raises(ConnectionError, match=rf"{IMAGES}: it took more than .* YBAR_DATA"):
            datasets.fetch("kmnist", mirror=server.url)
        assert time.monotonic() - before < 10
        assert held(tmp_path) == {}
        assert server.asked == {IMAGES: 1}
    finally:
        ended.set()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("missing", [False, True])
def test_the_password_of_a_mirror_is_sent_and_never_shown(
    missing, serve, tmp_path, monkeypatch, capfd
):
    server = serve((lambda file, nth: None) if missing else (lambda file, nth: ([b"x"], 1)))
    sent = []
    original = requests.get

    def get(url, **options):
        sent.append(requests.Request("GET", url, auth=options["auth"]).prepare().headers)
        return original(url, **options)

    monkeypatch.setattr(requests, "get", get)
    mirror = server.url.replace("http://", "http://me:p%40ss-secret@")
    with pytest.raises((ConnectionError, ValueError), match=IMAGES) as caught:
        datasets.fetch("kmnist", mirror=mirror)
    error, shown = caught.value, "".join(capfd.readouterr())
    while error is not None:
        shown, error = shown + str(error), error.__cause__ or error.__context__
    assert "secret" not in shown
    assert sent[0]["Authorization"] == "Basic " + b64encode(b"me:p@ss-secret").decode()


@pytest.mark.usefixtures("tiny")
def test_no_more_than_the_published_size_is_ever_written(serve, tmp_path):
    size = PUBLISHED[IMAGES][0]
    server = serve(lambda file, nth: ([FILES[file] + b"more"], size + 4))
    output = tmp_path / "output"
    with pytest.raises(ValueError, match="oversized"):
        downloading._capped_downloader(size, time.monotonic() + 60)(
            f"{server.url}/{IMAGES}", str(output), None
        )
    assert output.stat().st_size <= size


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("mirror", ["http://127.0.0.1:9/", "ftp://127.0.0.1/", "no url"])
def test_a_mirror_that_cannot_be_reached_is_named(mirror, tmp_path):
    with pytest.raises(ConnectionError, match=rf"{mirror}.*{IMAGES}.*YBAR_DATA") as caught:
        datasets.load("kmnist", mirror=mirror)
    assert "\n" not in str(caught.value)
    assert held(tmp_path) == {}


@pytest.mark.usefixtures("tiny")
def test_a_file_the_mirror_lacks_is_named(serve, tmp_path):
    with pytest.raises(ConnectionError, match=rf"cannot download .*{IMAGES}: 404"):
        datasets.fetch("kmnist", mirror=serve(lambda file, nth: None).url)
    assert held(tmp_path) == {}


@pytest.mark.usefixtures("tiny")
def test_a_cache_that_cannot_be_written_is_named(serve, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=rf"cannot write .*{IMAGES}: .*set YBAR_CACHE"):
        datasets.fetch("kmnist", mirror=serve().url)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("damage", [flipped, lambda body: body[:-1], lambda body: body + b"1"])
def test_a_damaged_cache_is_repaired(damage, serve, tmp_path):
    folder = write(tmp_path / "cache" / "kmnist", FILES | {LABELS: damage(FILES[LABELS])})
    server = serve()
    assert datasets.load("kmnist", mirror=server.url).y_train.tolist() == [*range(10), *range(10)]
    assert server.asked == {LABELS: 1}
    assert held(folder) == FILES


@pytest.mark.usefixtures("tiny")
def test_a_damaged_cache_stays_as_it_is_when_the_repair_fails(tmp_path):
    damaged = FILES | {LABELS: flipped(FILES[LABELS])}
    folder = write(tmp_path / "cache" / "kmnist", damaged)
    with pytest.raises(ConnectionError, match=LABELS):
        datasets.load("kmnist")
    assert held(folder) == damaged


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("damage", "says", "expected"),
    [
        (flipped, "has sha256 [0-9a-f]{64} instead of [0-9a-f]{64}", 1),
        (lambda body: body + b"1", r"has \d+ bytes instead of \d+", 0),
    ],
)
def test_a_damaged_file_in_ybar_data_is_refused_and_never_replaced(
    damage, says, expected, monkeypatch, serve, tmp_path
):
    damaged = FILES | {LABELS: damage(FILES[LABELS])}
    folder = write(tmp_path / "data" / "kmnist", damaged)
    monkeypatch.setenv("YBAR_DATA", str(tmp_path / "data"))
    server = serve()
    with pytest.raises(ValueError, match=rf"{LABELS} {says}.*unset YBAR_DATA") as caught:
        datasets.load("kmnist", mirror=server.url)
    assert str(PUBLISHED[LABELS][expected]) in str(caught.value)
    assert held(folder) == damaged
    assert not server.asked


@pytest.mark.usefixtures("tiny")
def test_ybar_data_is_used_first_and_passed_over_when_a_file_is_missing(
    monkeypatch, serve, tmp_path
):
    folder = write(tmp_path / "data" / "kmnist", FILES)
    monkeypatch.setenv("YBAR_DATA", str(tmp_path / "data"))
    server = serve()
    datasets.load("kmnist", mirror=server.url)
    assert not server.asked
    (folder / IMAGES).unlink()
    datasets.load("kmnist", mirror=server.url)
    assert set(server.asked) == set(FILES)


@pytest.mark.usefixtures("tiny")
def test_an_unverified_plain_file_beside_the_verified_one_is_not_read(monkeypatch, tmp_path):
    plain = {LABELS.removesuffix(".gz"): idx(np.zeros(20))}
    write(tmp_path / "data" / "kmnist", FILES | plain)
    monkeypatch.setenv("YBAR_DATA", str(tmp_path / "data"))
    assert datasets.load("kmnist").y_train.max() == 9


FETCHER = """
import json, sys
from ybar import datasets
from ybar.datasets import registry
published, cache, mirror = json.loads(sys.argv[1])
files = {file: registry.Published(*known) for file, known in published.items()}
datasets.REGISTRY["kmnist"] = datasets.REGISTRY["kmnist"]._replace(files=files)
print(datasets.fetch("kmnist", cache=cache, mirror=mirror))
"""


def test_two_fetchers_at_once_both_succeed(serve, tmp_path):
    both = threading.Barrier(2)

    def answer(file, nth):
        if file == IMAGES:
            both.wait(timeout=120)  # neither gets the file before both have asked for it
        return [FILES[file]], len(FILES[file])

    server = serve(answer)
    task = json.dumps([PUBLISHED, str(tmp_path / "cache"), server.url])
    command = [sys.executable, "-W", "error", "-c", FETCHER, task]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    fetchers = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for fetcher in fetchers:
        printed, complaint = fetcher.communicate(timeout=120)
        assert fetcher.returncode == 0, complaint
        assert printed.strip() == str(tmp_path / "cache" / "kmnist")
    assert server.asked[IMAGES] == 2
    assert held(tmp_path) == FILES
