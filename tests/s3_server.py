"""A real S3 server on loopback, moto's, behind which now and then a request fails."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socket import SHUT_RDWR
from typing import Any
from urllib.request import Request, urlopen

import boto3
import s3fs
from botocore.config import Config
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "bucket"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "someone",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
FAULTS = ("500", "503", "drop")
Respond = Callable[..., Any]


class Flaky:
    """The application `app`, but every `every`-th request fails: by an error of the server, or without an answer.

    Attributes:
        every: 0: none fails.
        requests, failed: how many came, and how many of them failed.
        before: whether a failure comes before the request is carried out; else after it, so that only the answer is
            lost. They take turns.
        forbidden: methods that nobody may use.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app, self.every, self.requests, self.failed = app, 0, 0, 0
        self.forbidden: set[str] = set()
        self.lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], respond: Respond) -> Iterable[bytes]:
        with self.lock:
            self.requests += 1
            number = self.failed
            fails = bool(self.every) and self.requests % self.every == 0
            self.failed += fails
        if environ["REQUEST_METHOD"] in self.forbidden:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            return self._refuse(respond, "403 Forbidden", "AccessDenied")
        if not fails:
            return self.app(environ, respond)
        if number % 2:  # carried out, and the answer lost
            list(self.app(environ, lambda *answer: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        fault = FAULTS[number % len(FAULTS)]
        if fault == "drop":
            environ["werkzeug.socket"].shutdown(
                SHUT_RDWR
            )  # else the client waits a minute for its answer
            raise ConnectionResetError  # which werkzeug takes for a client that went away
        return self._refuse(
            respond, f"{fault} Oh", "InternalError" if fault == "500" else "SlowDown"
        )

    @staticmethod
    def _refuse(respond: Respond, status: str, code: str) -> Iterable[bytes]:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        respond(
            status,
            [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))],
        )
        return [body]


class S3:
    """The server.

    Attributes:
        flaky: its faults.
        url: where it answers.
        environment: what a process needs to reach it.
    """

    def __init__(self, flaky: Flaky, url: str) -> None:
        self.flaky, self.url = flaky, url
        self.environment = CREDENTIALS | {"AWS_ENDPOINT_URL": url}
        keys = {
            "aws_access_key_id": "someone",
            "aws_secret_access_key": "secret",
            "region_name": "us-east-1",
        }
        config = Config(proxies={}, s3={"addressing_style": "path"})
        self.client = boto3.client("s3", endpoint_url=url, config=config, **keys)

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def get(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def names(self) -> list[str]:
        """The names of all objects in the bucket."""
        return [
            each["Key"]
            for each in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        ]


@contextmanager
def s3_server() -> Iterator[S3]:
    """A server with an empty bucket; what moto held of an earlier one in this process is gone."""
    s3fs.S3FileSystem.clear_instance_cache()  # which would go on with the address of the earlier one
    flaky = Flaky(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, flaky, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        urlopen(
            Request(
                f"http://127.0.0.1:{server.server_port}/moto-api/reset", method="POST"
            )
        ).close()
        store = S3(flaky, f"http://127.0.0.1:{server.server_port}")
        store.client.create_bucket(Bucket=BUCKET)
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
