"""Certify a classifier behind HTTP: a function that asks it is a model like any other, and urllib3 repeats what failed.

    python examples/ask_over_http.py

The server runs here, on loopback, and now and then fails; in its place there may be any that answers `predictions` to
`instances`, as TensorFlow Serving, KServe (v1) and MLflow do.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import urllib3
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import randsmooth as rs

SIGMA, N0, N = 0.25, 100, 1000


def asking(
    url: str, key: str, *, batch: int = 100
) -> Callable[[np.ndarray], np.ndarray]:
    """A function from images (B, C, H, W) to the logits (B, K) that the server at `url` gives them.

    A request has `batch` images at most. One that fails, or that the server puts off (429, 502, 503, 504), is sent
    again up to eight times, after pauses that double or are as long as the server asks for. An answer that sends the
    request to another address is an error: whoever is there would be sent the key.
    """
    retries = urllib3.Retry(
        8,
        redirect=False,
        status_forcelist=(429, 502, 503, 504),
        allowed_methods=None,
        backoff_factor=0.05,
    )
    pool = urllib3.PoolManager(
        headers={"Authorization": f"Bearer {key}"}, timeout=30, retries=retries
    )

    def ask(images: np.ndarray) -> np.ndarray:
        parts = [
            images[start : start + batch] for start in range(0, len(images), batch)
        ]
        return np.concatenate([answered(part) for part in parts])

    def answered(images: np.ndarray) -> np.ndarray:
        reply = pool.request(
            "POST", url, json={"instances": images.tolist()}, redirect=False
        )
        if reply.status != 200:
            raise RuntimeError(f"the server answered with status {reply.status}")
        return np.array(reply.json()["predictions"], np.float32)

    return ask


class Digits(BaseHTTPRequestHandler):
    """Answers with logits; every tenth request fails."""

    pixels, labels = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(pixels / 16, labels)
    requests = 0

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        images = np.array(sent["instances"]).reshape(len(sent["instances"]), -1)
        Digits.requests += 1
        if Digits.requests % 10 == 0:
            self.send_error(503)
            return
        body = json.dumps(
            {"predictions": self.model.decision_function(images).tolist()}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Digits)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask = asking(f"http://127.0.0.1:{server.server_port}/predict", "a key of yours")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "digits.parquet"
        # Its code cannot be compared, so it needs a name; where the server gives up, resume=True goes on with the run.
        table = rs.certify(
            ask,
            "digits",
            sigma=SIGMA,
            n0=N0,
            n=N,
            take=4,
            identity="digits, version 1",
            out=out,
        )
    server.shutdown()
    print(f"{len(table)} images certified, radii {table.radius.round(3).tolist()}")
    print(f"{Digits.requests} requests, of which a tenth failed and was sent again")


if __name__ == "__main__":
    main()
