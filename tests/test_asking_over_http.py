"""The example of a model behind HTTP: counts of a local model, another try of what fails, and no redirect followed."""

import json
import runpy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import randsmooth as rs
from models.refusing import refusal

WEIGHTS = np.random.default_rng(0).normal(size=(64, 10)).astype(np.float32)
SETTINGS: dict[str, Any] = {
    "sigma": 0.25,
    "n0": 100,
    "n": 200,
    "take": 3,
    "identity": "linear",
    "progress": False,
}


def logits(images: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = (
        images.reshape(len(images), 64).astype(np.float64) @ WEIGHTS
    ).astype(np.float32)
    return found


class Server(ThreadingHTTPServer):
    """Answers request i with the i-th status of `says`, the last one from then on; `keys` holds what it was sent."""

    def __init__(self, *says: int, to: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.says, self.to, self.keys = says, to, list[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers.get("Authorization", ""))
        status = self.server.says[min(len(self.server.keys), len(self.server.says)) - 1]
        images = np.array(said["instances"], np.float32)
        body = json.dumps(
            {"predictions": logits(images).tolist()} if status == 200 else {}
        ).encode()
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", self.server.to)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args: object) -> None:
        """Nothing."""


@contextmanager
def serving(*says: int, to: str = "") -> Iterator[Server]:
    with Server(*says, to=to) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def asking(url: str) -> Any:
    """What the example makes of a URL."""
    return runpy.run_path(
        str(Path(__file__).parents[1] / "examples" / "ask_over_http.py")
    )["asking"](url, "hush")


def same(table: rs.Certificates, other: rs.Certificates) -> bool:
    assert table.counts is not None and other.counts is not None
    return np.array_equal(table.counts, other.counts) and np.array_equal(
        table.radius, other.radius
    )


def test_counts_over_http_are_those_of_the_function_itself_whatever_fails(
    tmp_path: Path,
) -> None:
    with serving(200, 503, 429, 200, 502, 504, 200) as server:
        table = rs.certify(
            asking(server.url), "digits", **SETTINGS, out=tmp_path / "far.parquet"
        )
    assert {*server.keys} == {"Bearer hush"}
    near = rs.certify(logits, "digits", **SETTINGS, out=tmp_path / "near.parquet")
    assert same(table, near)


def test_no_redirect_is_followed() -> None:
    for status in (301, 302, 303, 307, 308):
        with serving(200) as other, serving(status, to=other.url) as server:
            assert f"status {status}" in refusal(
                rs.certify, asking(server.url), "digits", **SETTINGS
            )
        assert server.keys == ["Bearer hush"] and other.keys == []
