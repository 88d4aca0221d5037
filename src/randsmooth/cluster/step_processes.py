"""Steps as processes of this machine, side by side, which end with the process that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from randsmooth.cluster.carry_out import Ended
from randsmooth.cluster.graph import Step
from randsmooth.errors import InputError
from randsmooth.escape import printable, shortened

LOOK_EVERY = 0.1  # seconds between two looks at the processes
LOOKS = 10  # before `ended` returns without any
PATIENCE = 30.0  # seconds that an interrupted step has to write what it must keep
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
OURS = "randsmooth: "  # begins the sentence of an error
LAST = 2**16  # bytes of a log in which its last sentence is looked for
PR_SET_PDEATHSIG = 1


class Processes:
    """An `Executor` of `workers` processes, with the threads of this machine shared out among them.

    What a step says goes to a log beside its output. Each process ends with this one, even if this one is killed, so
    that the next start finds nothing that still runs. Where there are GPUs, each worker has one, in turn.
    """

    def __init__(self, workers: int = 1, gpus: Sequence[str] = ()) -> None:
        self.workers, self.gpus = workers, gpus
        self.running: dict[str, tuple[subprocess.Popen[bytes], Step, int]] = {}
        self.places = dict[str, int]()  # step -> which of the workers it is

    def start(self, step: Step) -> None:
        free = next(place for place in range(self.workers) if place not in self.places.values())
        log = log_of(step)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as said:
            said.write(f"$ {step.command()}\n".encode(errors="backslashreplace"))
            said.flush()
            process = begin(step.words(), said.fileno(), self._environment(free))
            self.running[step.name], self.places[step.name] = (process, step, said.tell()), free

    def ended(self) -> list[Ended]:
        for _ in range(LOOKS):
            if found := [name for name, (process, *_) in self.running.items() if process.poll() is not None]:
                return [self._ended(name) for name in found]
            time.sleep(LOOK_EVERY)
        return []

    def stop(self) -> None:
        for process, *_ in self.running.values():
            process.send_signal(signal.SIGINT)
        until = time.monotonic() + PATIENCE
        for process, *_ in self.running.values():
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()
        self.places.clear()

    def _ended(self, name: str) -> Ended:
        process, step, begins = self.running.pop(name)
        del self.places[name]
        return Ended(name, failure(process.returncode, log_of(step), begins))

    def _environment(self, place: int) -> Mapping[str, str]:
        """What the process of a worker is told: its share of the threads, and its GPU."""
        given = dict(os.environ)
        if self.workers > 1 and not any(name in given for name in THREADS):
            given |= dict.fromkeys(THREADS, str(max(1, cores() // self.workers)))
        if self.gpus:
            given["CUDA_VISIBLE_DEVICES"] = self.gpus[place % len(self.gpus)]
        return given


def processes_here(workers: int) -> Processes:
    """So many processes, which share the GPUs of this machine, if any. InputError for fewer than one."""
    if workers < 1:
        raise InputError(f"workers={workers} must be at least 1")
    return Processes(workers, gpus_here())


def begin(words: Sequence[str], said: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """`randsmooth WORDS` in a process that ends with this one; what it says goes to the descriptor `said`.

    It has a session of its own: Ctrl-C reaches this process alone, which then interrupts it once.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "randsmooth", *words],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        env=environment,
        start_new_session=True,
        preexec_fn=_ends_with(os.getpid()) if sys.platform == "linux" else None,
    )


def _ends_with(parent: int) -> Callable[[], None]:
    """Called in the new process: asks Linux to kill it when its parent is gone."""
    library = ctypes.CDLL(None)  # loaded here, since little may be done between fork and exec

    def ask() -> None:
        library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it went before it could be asked
            os._exit(1)

    return ask


def log_of(step: Step) -> Path:
    """The file beside a step's output that keeps what the step says."""
    return step.makes.with_name(f"{step.makes.name}.log")


def failure(code: int, log: Path, begins: int = 0) -> str:
    """Why a step failed, in a sentence: the last of its own, or how its process ended. Empty for code 0.

    Args:
        code: of its process; below 0 the signal that ended it.
        log: what it said.
        begins: where in the log.
    """
    if code == 0:
        return ""
    if code < 0:
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
        memory = ", as the system does where memory runs out" if -code == signal.SIGKILL else ""
        return f"its process was ended by {name}{memory}; see {log}"
    lines = [line for line in _end_of(log, begins).splitlines() if line.strip()]
    own = [line.removeprefix(OURS) for line in lines if line.startswith(OURS)]
    return shortened(printable((own or lines or [f"its process ended with code {code}; see {log}"])[-1]), 2_000)


def _end_of(log: Path, begins: int) -> str:
    with log.open("rb") as said:
        said.seek(max(begins, log.stat().st_size - LAST))
        return said.read().decode(errors="replace")


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus_here() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name.strip()]
    import torch

    return [str(index) for index in range(torch.cuda.device_count())]
