"""A small published set, and servers on this machine to download it from."""

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from idx_files import FILES, PUBLISHED
from ybar import datasets
from ybar.datasets import registry


@pytest.fixture(autouse=True)
def _own_world(monkeypatch, tmp_path):
    """No data, cache, proxy or waiting from outside."""
    monkeypatch.delenv("YBAR_DATA", raising=False)
    monkeypatch.setenv("YBAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def tiny(monkeypatch):
    """Let "kmnist" stand for the tiny files, with a mirror where nobody listens."""
    published = {file: registry.Published(*known) for file, known in PUBLISHED.items()}
    source = datasets.REGISTRY["kmnist"]._replace(files=published, mirror="http://127.0.0.1:9/")
    monkeypatch.setitem(datasets.REGISTRY, "kmnist", source)


@pytest.fixture
def serve():
    """Start servers on loopback; ``answer(file, nth)`` gives pieces to send, length to declare."""
    servers = []

    def start(answer=lambda file, nth: ([FILES[file]], len(FILES[file]))):
        asked, sent, lock = Counter(), Counter(), threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                file = self.path.rpartition("/")[2]
                with lock:
                    asked[file] += 1
                    nth = asked[file]
                reply = answer(file, nth)
                if reply is None:
                    self.send_error(404)
                    return
                pieces, length = reply
                self.send_response(200)
                # As some servers label files whose names end in .gz; the file must stay as it is.
                self.send_header("Content-Encoding", "x-gzip")
                if length is not None:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                try:
                    for piece in pieces:
                        self.wfile.write(piece)
                        sent[file] += len(piece)
                except ConnectionError:
                    pass

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        servers.append((server, thread))
        return SimpleNamespace(
            url=f"http://127.0.0.1:{server.server_port}/data", asked=asked, sent=sent
        )

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()
