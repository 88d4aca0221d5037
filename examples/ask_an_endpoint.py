"""Certify a classifier behind HTTP: every sample is sent once, failures are retried, and a limit on requests is kept.

    python examples/ask_an_endpoint.py

The server runs here, on loopback, and now and then fails; in its place there may be any that answers `predictions` to
`instances`, or any function that asks one.
"""

from __future__ import annotations

import json
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import randsmooth as rs

SIGMA, N0, N = 0.25, 100, 1000


class Digits(BaseHTTPRequestHandler):
    """Answers with logits; every tenth request fails."""

    pixels, labels = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(pixels / 16, labels)
    requests = answered = 0

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        images = np.array(sent["instances"]).reshape(len(sent["instances"]), -1)
        Digits.requests += 1
        if Digits.requests % 10 == 0:
            self.send_error(503)
            return
        Digits.answered += len(images)
        body = json.dumps({"predictions": self.model.decision_function(images).tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Digits)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/predict"
    with tempfile.TemporaryDirectory() as folder:
        out, resume = Path(folder) / "digits.parquet", False
        while True:
            endpoint = rs.Endpoint(url, batch=20, max_requests=150, backoff=0.01, identity="digits, version 1")
            try:
                table = rs.certify(endpoint, "digits", sigma=SIGMA, n0=N0, n=N, take=4, out=out, resume=resume)
                break
            except rs.models.EndpointError as stopped:
                print(stopped)
                resume = True
    server.shutdown()
    print(f"{len(table)} images certified, radii {table.radius.round(3).tolist()}")
    print(f"{Digits.answered:,} images were answered for {len(table) * (N0 + N):,} samples")


if __name__ == "__main__":
    main()
