"""A Slurm of our own on this machine: munged, slurmctld and one slurmd in a temporary folder, stopped afterwards.

`python tests/real_slurm.py COMMAND...` runs a command in it, to try things by hand.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel")
PATIENCE = 60.0  # seconds until the node must be idle
PARTITIONS = {"gpu": "Default=YES", "low": "PriorityTier=1 PreemptMode=REQUEUE", "high": "PriorityTier=10"}
# No accounting, no cgroups, no GPUs: what a container lets root do. The times are short, so that tests need not wait: a
# job that is queued again waits as long as its credential holds.
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,default_queue_depth=10000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
MpiDefault=none
ReturnToService=2
InactiveLimit=0
KillWait=5
MinJobAge=60
MaxArraySize=101
RebootProgram=/bin/false
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
{partitions}
"""


class NoSlurm(Exception):
    """No Slurm can be started here; says why."""


class Slurm(NamedTuple):
    """A running Slurm.

    Attributes:
        folder: its configuration, state and logs.
        environment: of a process that is to use it.
    """

    folder: Path
    environment: Mapping[str, str]

    def run(self, *words: str) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def jobs(self) -> str:
        """What squeue prints, for a message."""
        return self.run("squeue", "--all", "--array", "--format=%i %j %T %r %M")


@contextmanager
def slurm(cpus: int = 2, grace: int = 0) -> Iterator[Slurm]:
    """A Slurm whose one node, this machine, runs `cpus` tasks at once.

    Args:
        cpus: the node's.
        grace: seconds that a preempted task is left after its signal.

    Raises:
        NoSlurm: a program is missing, or one of them does not start.
    """
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        raise NoSlurm(f"not installed: {', '.join(missing)} (Debian: apt-get install slurm-wlm munge)")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        _write_files(folder, cpus, grace)
        for words in _daemons(folder):
            stack.enter_context(_running(words, folder))
            if words[0] == "munged":
                _wait_for(folder / "munge.socket")
        cluster = Slurm(folder, os.environ | {"SLURM_CONF": str(folder / "slurm.conf")})
        _wait_until_idle(cluster)
        try:
            yield cluster
        finally:
            _cancel_all(cluster)


def _write_files(folder: Path, cpus: int, grace: int) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    ctld_port, slurmd_port = _free_ports(2)
    host = socket.gethostname().partition(".")[0]
    limits = f"Nodes={host} MaxTime=INFINITE State=UP GraceTime={grace}"
    values = {
        "partitions": "\n".join(f"PartitionName={name} {how} {limits}" for name, how in PARTITIONS.items()),
        **{"ctld_port": ctld_port, "slurmd_port": slurmd_port, "host": host, "cpus": cpus},
        **{"user": getpass.getuser(), "folder": folder},
    }
    (folder / "slurm.conf").write_text(CONF.format(**values))


def _daemons(folder: Path) -> list[list[str]]:
    """The programs in the order in which they are started, each in the foreground."""
    of_munge = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    conf = str(folder / "slurm.conf")
    return [
        # --force: a temporary folder lies below one that everybody may write
        ["munged", "--foreground", "--force", *(f"--{name}={folder}/munge.{end}" for name, end in of_munge.items())],
        ["slurmctld", "-D", "-c", "-f", conf],
        ["slurmd", "-D", "-c", "-f", conf],
    ]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def _running(words: list[str], folder: Path) -> Iterator[None]:
    """A daemon, which is stopped at the end; what it says goes to a file."""
    with (folder / f"{words[0]}.said").open("wb") as said:
        environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        process = subprocess.Popen(words, stdout=said, stderr=said, stdin=subprocess.DEVNULL, env=environment)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > deadline:
            raise NoSlurm(f"munged did not start: {_last_words(path.parent)}")
        time.sleep(0.05)


def _wait_until_idle(cluster: Slurm) -> None:
    deadline, state = time.monotonic() + PATIENCE, ""
    while state != "idle":
        if time.monotonic() > deadline:
            raise NoSlurm(f"the node is {state or 'unknown'}, not idle: {_last_words(cluster.folder)}")
        time.sleep(0.2)
        with suppress(RuntimeError, subprocess.TimeoutExpired):  # slurmctld does not answer yet
            state = cluster.run("sinfo", "--noheader", "--format=%T").split("\n")[0].strip()


def _last_words(folder: Path) -> str:
    """The end of whatever the daemons wrote."""
    files = [*folder.glob("*.said"), *folder.glob("*.log")]
    return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-500:]}" for file in files)


def _cancel_all(cluster: Slurm) -> None:
    """Cancel every job, and wait until none runs: a job that is left would outlive its slurmd."""
    with suppress(RuntimeError, subprocess.TimeoutExpired):
        cluster.run("scancel", f"--user={getpass.getuser()}")
        deadline = time.monotonic() + PATIENCE
        while cluster.run("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(0.2)


if __name__ == "__main__":
    with slurm() as started:
        sys.exit(subprocess.run(sys.argv[1:] or ["sinfo"], env=started.environment, check=False).returncode)
