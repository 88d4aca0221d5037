"""Where a Ray cluster is, as users write it, and whether one answers there. Loads Ray only to ask."""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs

AUTO = "auto"
EXPECTED = "expected auto, or HOST:PORT such as 10.0.0.1:6379"
START = "start one with `ray start --head`"
JOIN = "ray start --address="
# What Ray reads when it is loaded.
AT_IMPORT = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without it, Ray warns of what its next versions will do
    "RAY_gcs_rpc_server_connect_timeout_s": "1",  # what it says of a silent port comes while its stderr is closed
}
PATIENCE = 4.0  # seconds to wait for an answer, so that five have not gone by when the lack of one is told


def check_address(written: str) -> None:
    """Raise InputError unless `written` is `auto` or HOST:PORT; asks nobody.

    Example:
        >>> check_address("10.0.0.1:6379")
        >>> check_address("10.0.0.1")
        Traceback (most recent call last):
        randsmooth.errors.InputError: --ray 10.0.0.1 is no address of a Ray cluster: expected auto, or HOST:PORT ...
    """
    if written != AUTO:
        host_and_port(written)


def check_installed() -> None:
    """Raise MissingPackage where Ray is not installed; loads it."""
    for name, value in AT_IMPORT.items():
        os.environ.setdefault(name, value)
    with needs("--ray"):
        import ray  # noqa: F401


def host_and_port(written: str) -> tuple[str, int]:
    """The two halves of HOST:PORT; an IPv6 host stands in brackets.

    Raises:
        InputError: it is written differently.

    Example:
        >>> host_and_port("[::1]:6379")
        ('::1', 6379)
    """
    if "://" in written:
        raise InputError(
            f"--ray {shown(written)}: run this on a machine of the cluster and give its address as HOST:PORT; Ray's "
            "client, which ray:// stands for, is not used"
        )
    host, _, port = written.rpartition(":")
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536) or not _is_host(host):
        raise InputError(f"--ray {shown(written)} is no address of a Ray cluster: {EXPECTED}")
    return host.strip("[]"), int(port)


def _is_host(host: str) -> bool:
    if host.startswith("[") and host.endswith("]"):
        return ":" in host
    return bool(host) and ":" not in host and host.isprintable() and " " not in host and "/" not in host


def found(written: str) -> str:
    """HOST:PORT of the cluster that `written` means, which has answered.

    Raises:
        InputError: nothing answers there within five seconds, or no Ray does, or one that has another Python or Ray;
            for `auto`, none runs on this machine.
        MissingPackage: Ray is not installed.
    """
    check_installed()
    address = _running_here() if written == AUTO else written
    host, port = host_and_port(address)
    called = address if written == address else f"{address} (--ray {written})"
    _check_versions(_asked(host, port, called), called)
    return _bracketed(host, port)


def _running_here() -> str:
    """The address of the cluster whose node runs on this machine, or that RAY_ADDRESS names."""
    named = os.environ.get("RAY_ADDRESS", "")
    if named and named != AUTO:
        return named
    from ray._private import services

    try:
        return str(services.canonicalize_bootstrap_address(AUTO))
    except ConnectionError as error:
        raise InputError(
            f"--ray auto: no Ray runs on this machine: {START}, or let it join a cluster with `{JOIN}HOST:PORT`; "
            "--workers N needs no Ray"
        ) from error


def _bracketed(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _asked(host: str, port: int, called: str) -> dict[str, str]:
    """What the cluster says of itself: its `ray_version` and `python_version`.

    A thread asks, which may be left behind: names may take long to resolve, and Ray retries for a minute where what
    listens is no Ray.
    """
    said: dict[str, str] = {}
    refused: list[OSError] = []

    def ask() -> None:
        try:
            socket.create_connection((host, port), timeout=PATIENCE).close()
        except OSError as error:
            refused.append(error)
            return
        with suppress(Exception):  # a wrong protocol, a missing token, ...: there is no list of them
            said.update(_metadata(_bracketed(host, port)))

    asking = threading.Thread(target=ask, daemon=True)
    with stderr_of_libraries_closed():
        asking.start()
        asking.join(PATIENCE)
    if refused:
        why = refused[0].strerror or str(refused[0])
        raise InputError(f"no Ray cluster answers at {called} ({why}): {START} there, or give another address")
    if not said:
        raise InputError(
            f"what is at {called} does not answer as a Ray cluster does, in {PATIENCE:g} seconds: {EXPECTED}"
        )
    return said


def _metadata(address: str) -> dict[str, str]:
    from ray._private import ray_constants
    from ray._raylet import GcsClient  # type: ignore[attr-defined]  # which its stub leaves out

    kept = GcsClient(address=address).internal_kv_get(b"CLUSTER_METADATA", namespace=ray_constants.KV_NAMESPACE_CLUSTER)
    return {name: str(value) for name, value in json.loads(kept).items()}


@contextmanager
def stderr_of_libraries_closed() -> Iterator[None]:
    """Whatever compiled code writes to stderr goes nowhere, such as Ray's about each try to connect."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _check_versions(said: Mapping[str, str], called: str) -> None:
    """Raise InputError where the cluster has another Python or Ray than this process: they could not talk."""
    import ray

    theirs = (said.get("python_version"), said.get("ray_version"))
    ours = (platform.python_version(), ray.__version__)
    if theirs != ours:
        there, here = (f"Python {python} and Ray {its}" for python, its in (theirs, ours))
        raise InputError(
            f"the Ray cluster at {called} runs {there}, this process {here}: install the same versions on every machine"
        )
