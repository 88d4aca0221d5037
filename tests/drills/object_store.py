"""An S3 server, a real one on loopback, that fails every tenth request, while a run reads and writes there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from drills.bench import Bench
from s3_server import BUCKET, S3, s3_server

TENTH = 10
KEEPS_STATE = threading.Lock()  # of the server, which is one for all in this process


def every_tenth(bench: Bench) -> None:
    """Run into a bucket `times` times, each second run killed at a random moment first: the result is equal."""
    with KEEPS_STATE, s3_server() as s3:
        for number in range(bench.times):
            bench.clear()
            with failing(s3, number % TENTH):
                if number % 2:
                    _kill(bench, s3)
                bench.tally.tried += 1
                code, said = bench.run(_words(bench), partial(at, s3.environment, bench.folder))
            bench.tally.end(code, said)
            bench.tally.judge(_left(bench, s3) or bench.difference(bench.whole))
            for name in s3.names():
                s3.client.delete_object(Bucket=BUCKET, Key=name)
        if not s3.flaky.failed:
            bench.tally.note("not one request failed")
        bench.tally.sentence = f"{s3.flaky.failed} of {s3.flaky.requests} requests to the store failed"


@contextmanager
def failing(s3: S3, before: int) -> Iterator[None]:
    """Every tenth request fails, the first after so many."""
    s3.flaky.every, s3.flaky.requests = TENTH, s3.flaky.requests + before
    try:
        yield
    finally:
        s3.flaky.every = 0


def at(environment: dict[str, str], folder: Path) -> None:
    """Have this process find the server, and keep its cache in the folder of the drill."""
    os.environ.update(environment | {"RANDSMOOTH_CACHE": str(folder / "cache")})


def _words(bench: Bench) -> list[str]:
    """The command, into the bucket in place of the folder `out`."""
    return [f"s3://{BUCKET}/{word}" if word.startswith("out/") else word for word in bench.command()]


def _kill(bench: Bench, s3: S3) -> None:
    process = bench.begin(_words(bench), partial(at, s3.environment, bench.folder))
    time.sleep(bench.rng.uniform(0.0, bench.took))
    process.kill()
    process.join()


def _left(bench: Bench, s3: S3) -> str:
    """Copy what the bucket holds to the folder `out`; what waits on this machine although the run has ended."""
    for name in s3.names():
        if not name.endswith(".probe"):  # of a run that was killed at that moment
            (bench.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (bench.folder / name).write_bytes(s3.get(name))
    unsent = [path.name for path in (bench.folder / "cache" / "unsent").rglob("*") if path.is_file()]
    return f"not sent: {', '.join(unsent)}" if unsent else ""
