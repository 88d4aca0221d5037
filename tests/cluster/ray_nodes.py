"""A real Ray cluster on this machine, of nodes that are started and killed one by one, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

STORE = 80_000_000  # bytes of a node's object store, the least that Ray takes is 75 MB
MARK = "RANDSMOOTH_TEST_NODE"  # the environment variable by which the processes of a node are found
RAY = Path(sys.executable).with_name("ray")
WAIT = 120.0  # seconds for a node to start on a busy machine


class Cluster:
    """Nodes with one core each; the first one has the cluster's address.

    Everything that a node starts inherits its mark, so that it is found, and killed at the end, whatever becomes of it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, uuid.uuid4().hex
        self.address = f"127.0.0.1:{free_port()}"
        self.nodes = 0

    def keep(self, nodes: int) -> None:
        """Start nodes until so many are alive."""
        while len(self.alive()) < nodes:
            self.start()

    def alive(self) -> list[int]:
        """The numbers of the nodes whose raylet runs."""
        return [number for number in range(self.nodes) if self._raylet(number)]

    def start(self, environment: Mapping[str, str] | None = None, cpus: int = 1) -> int:
        """Start a node, and wait until it is there; its number."""
        number, self.nodes = self.nodes, self.nodes + 1
        words = [
            f"--num-cpus={cpus}",
            "--num-gpus=0",
            f"--object-store-memory={STORE}",
            "--disable-usage-stats",
            "--include-log-monitor=false",
        ]
        words += ["--min-worker-port=0", "--max-worker-port=0", "--node-ip-address=127.0.0.1"]
        if number == 0:
            port = self.address.rpartition(":")[2]
            words += [
                "--head",
                f"--port={port}",
                "--include-dashboard=false",
                "--no-monitor",
                f"--temp-dir={self.folder}",
            ]
        else:
            words += [f"--address={self.address}"]
        quiet = {"RAY_enable_metrics_collection": "0", "OMP_NUM_THREADS": "1", "RAY_ADDRESS": ""}
        mark = {MARK: f"{self.name}-{number}"}
        told = subprocess.run(
            [RAY, "start", *words],
            env={**os.environ, **quiet, **mark, **(environment or {})},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT,
        )
        assert told.returncode == 0, told.stdout + told.stderr
        return number

    def kill(self, number: int) -> None:
        """kill -9 of a node's raylet, upon which its workers end."""
        for pid in self._raylet(number):
            os.kill(pid, signal.SIGKILL)
            while program(pid) == "raylet":
                time.sleep(0.01)

    def _raylet(self, number: int) -> list[int]:
        return [pid for pid in self.pids(number) if program(pid) == "raylet"]

    def actors(self, number: int | None = None) -> list[int]:
        """The processes of the actors of a node, or of all."""
        return [pid for pid in self.pids(number) if "ray::Actor" in command(pid)]

    def pids(self, number: int | None = None) -> list[int]:
        """The processes of a node, or of all."""
        mark = f"{MARK}={self.name}" + ("" if number is None else f"-{number}\0")
        return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if mark in content(folder / "environ")]

    def end(self) -> None:
        """Kill whatever is left of the nodes."""
        deadline = time.monotonic() + WAIT
        while (left := self.pids()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)


@contextmanager
def cluster(nodes: int) -> Iterator[Cluster]:
    """A cluster of so many nodes, of which nothing is left afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # a short path: those of sockets may have 107 characters
    made = Cluster(folder)
    try:
        for _ in range(nodes):
            made.start()
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def content(path: Path) -> str:
    """What a file of /proc holds; nothing where its process is gone or another user's."""
    with suppress(OSError):
        return path.read_bytes().decode(errors="replace")
    return ""


def command(pid: int) -> str:
    return content(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip()


def program(pid: int) -> str:
    return Path(command(pid).partition(" ")[0]).name
