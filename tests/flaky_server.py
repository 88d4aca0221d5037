"""A real HTTP server on loopback that classifies images, now and then fails, and counts what it was sent."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTS = np.random.default_rng(0).normal(size=(64, 10)).astype(np.float32)
SLOW = 1.0  # seconds


def logits_of(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """(B, 10) of images (B, 1, 8, 8)."""
    answer: NDArray[np.float32] = (images.reshape(len(images), -1).astype(np.float64) @ WEIGHTS).astype(np.float32)
    return answer


class FlakyServer(ThreadingHTTPServer):
    """Answers request i as `faults[i % len(faults)]` says: ok, 500, 429, 400, drop, slow, shape, nan or other.

    Attributes:
        requests: how many came.
        answered: how often each image (its bytes) was answered rightly.
        headers: what was sent as authorisation.
        largest: images in a request.
        together: the most requests that were under way at once.
    """

    daemon_threads = True

    def __init__(self, faults: Sequence[str], delay: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults, self.delay = faults, delay
        self.requests = self.together = self.under_way = 0
        self.largest = 0
        self.answered: Counter[bytes] = Counter()
        self.headers: list[str] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/predict"

    @property
    def images(self) -> int:
        """How many images were answered rightly."""
        return sum(self.answered.values())

    def handle_error(self, *args: Any) -> None:
        """Clients that have given up are no news."""


class _Handler(BaseHTTPRequestHandler):
    server: FlakyServer

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        images = np.array(sent["instances"], np.float32)
        with self.server.lock:
            fault = self.server.faults[self.server.requests % len(self.server.faults)]
            self.server.requests += 1
            self.server.under_way += 1
            self.server.together = max(self.server.together, self.server.under_way)
            self.server.headers += [self.headers[name] for name in ("Authorization",) if name in self.headers]
            self.server.largest = max(self.server.largest, len(images))
        try:
            time.sleep(self.server.delay)
            self._answer(fault, images)
        finally:
            with self.server.lock:
                self.server.under_way -= 1

    def _answer(self, fault: str, images: NDArray[np.float32]) -> None:
        if fault == "drop":
            self.connection.close()
            return
        if fault.isdecimal():
            self.send_response(int(fault))
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"busy")
            return
        if fault == "slow":
            time.sleep(SLOW)
        logits = logits_of(images)
        said: Any = {"shape": logits[:-1], "nan": np.full_like(logits, np.nan)}.get(fault, logits)
        body = json.dumps({"error": "no"} if fault == "other" else {"predictions": said.tolist()}).encode()
        if fault == "ok":
            with self.server.lock:
                self.server.answered.update(image.tobytes() for image in images)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@contextmanager
def serving(*faults: str, delay: float = 0.0) -> Iterator[FlakyServer]:
    """A server in a thread of its own; without faults it answers every request."""
    server = FlakyServer(faults or ("ok",), delay=delay)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
