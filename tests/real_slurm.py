"""A Slurm of our own on this machine: munged, slurmctld and one slurmd in a temporary folder, stopped afterwards."""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "srun",
    "squeue",
    "sinfo",
    "scontrol",
    "scancel",
)
PATIENCE = 60.0  # seconds until the node must be idle
CONF = Path(__file__).with_suffix(".conf")


class NoSlurm(Exception):
    """No Slurm can be started here; says why."""


class Slurm(NamedTuple):
    """A running Slurm: its configuration, state and logs, and the environment of a process that is to use it."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *words: str) -> str:
        """What a command of Slurm prints."""
        how = {
            "env": self.environment,
            "capture_output": True,
            "text": True,
            "timeout": PATIENCE,
        }
        done = subprocess.run(words, **how, check=False)  # type: ignore[call-overload]
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
        return str(done.stdout)


@contextmanager
def slurm() -> Iterator[Slurm]:
    """A Slurm whose one node, this machine, runs two tasks at once.

    Raises:
        NoSlurm: a program is missing, or one of them does not start.
    """
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        raise NoSlurm(
            f"not installed: {', '.join(missing)} (Debian: apt-get install slurm-wlm munge)"
        )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        cluster = Slurm(folder, os.environ | {"SLURM_CONF": str(folder / "slurm.conf")})
        _write_files(folder)
        for words in _daemons(folder):
            stack.enter_context(_running(words, cluster))
            if words[0] == "munged":
                _wait_for((folder / "munge.socket").exists, folder)
        _wait_for(
            lambda: (
                cluster.run("sinfo", "--noheader", "--format=%T").split()[0] == "idle"
            ),
            folder,
        )
        try:
            yield cluster
        finally:  # a job that is left would outlive its slurmd
            with suppress(NoSlurm, RuntimeError, subprocess.TimeoutExpired):
                cluster.run("scancel", f"--user={getpass.getuser()}")
                _wait_for(lambda: not cluster.run("squeue", "--noheader"), folder)


def _write_files(folder: Path) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    host, user = socket.gethostname().partition(".")[0], getpass.getuser()
    (folder / "slurm.conf").write_text(
        CONF.read_text().format(folder=folder, host=host, user=user, ports=ports)
    )


def _daemons(folder: Path) -> list[list[str]]:
    """The programs in the order in which they are started, each in the foreground."""
    of_munge = {
        "socket": "socket",
        "key-file": "key",
        "pid-file": "pid",
        "log-file": "log",
        "seed-file": "seed",
    }
    conf = str(folder / "slurm.conf")
    return [
        # --force: a temporary folder lies below one that everybody may write
        [
            "munged",
            "--foreground",
            "--force",
            *(f"--{name}={folder}/munge.{end}" for name, end in of_munge.items()),
        ],
        ["slurmctld", "-D", "-c", "-f", conf],
        ["slurmd", "-D", "-c", "-f", conf],
    ]


@contextmanager
def _running(words: list[str], cluster: Slurm) -> Iterator[None]:
    """A daemon, which is stopped at the end; what it says goes to a file."""
    with (cluster.folder / f"{words[0]}.said").open("wb") as said:
        process = subprocess.Popen(
            words,
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            env=dict(cluster.environment),
        )
    try:
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()  # unless it has ended
        process.wait()


def _wait_for(holds: Callable[[], bool], folder: Path) -> None:
    """Ask until it holds; NoSlurm, with the end of whatever the daemons wrote, where it does not."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(
            RuntimeError, IndexError, subprocess.TimeoutExpired
        ):  # slurmctld does not answer yet
            if holds():
                return
        time.sleep(0.1)
    files = [*folder.glob("*.said"), *folder.glob("*.log")]
    raise NoSlurm(
        "\n".join(
            f"{file.name}: {file.read_text(errors='replace')[-500:]}" for file in files
        )
    )
