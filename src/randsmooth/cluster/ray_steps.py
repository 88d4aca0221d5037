"""Steps as tasks of a Ray cluster: each a process on whatever node has room for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from randsmooth.cluster.carry_out import Ended
from randsmooth.cluster.graph import RESUMED, Step
from randsmooth.cluster.step_processes import begin, failure, log_of
from randsmooth.errors import InputError
from randsmooth.escape import printable

LOOK = 1.0  # seconds that `ended` waits
ENDING = 30.0  # seconds that tasks have to be gone once they are cancelled
TRIES = 3  # of a step whose node or process is lost: it goes on elsewhere
# What tells a step where data are and how a processor is to compute, where its node does not say so itself.
CARRIED = ("RANDSMOOTH_DATA", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")


@contextmanager
def on_ray(address: str, workers: int | None = None) -> Iterator[RaySteps]:
    """An executor on the Ray cluster at `address`, which is HOST:PORT or auto; the connection ends with the context.

    Args:
        address: of the cluster.
        workers: how many steps run at a time; default: one a GPU, or one for at most eight cores.

    Raises:
        InputError: there is no such cluster, or it has room for nothing.
    """
    from randsmooth.cluster.ray_session import connected

    with connected(address):
        yield RaySteps(workers)


class RaySteps:
    """An `Executor` whose steps run where Ray has room for them. This process must be connected to the cluster.

    All nodes must see the folder that the steps write to, under the same path. A step whose node is lost is tried again
    elsewhere, and goes on.
    """

    def __init__(self, workers: int | None = None) -> None:
        import ray

        from randsmooth.cluster.ray_shares import Node, shares

        nodes = [Node.of(told) for told in ray.nodes() if told["Alive"]]
        self.on_gpus = any(node.gpus >= 1 for node in nodes)
        planned = shares(nodes, workers, on_gpus=self.on_gpus)
        if not planned:
            raise InputError("no node of the Ray cluster has a CPU to give")
        self.workers, self.cpus = len(planned), min(share.cpus for share in planned)
        self.running: dict[Any, Step] = {}
        self._task = ray.remote(run_step)

    def start(self, step: Step) -> None:
        heavy = step.verb in RESUMED
        on_gpu = self.on_gpus and heavy and str(step.options.get("device", "auto")) != "cpu"
        options = {"num_cpus": self.cpus if heavy else 0, "num_gpus": int(on_gpu), "max_retries": TRIES}
        carried = {name: os.environ[name] for name in CARRIED if name in os.environ}
        task = self._task.options(**options, name=step.name)
        self.running[task.remote(step, Path.cwd(), carried)] = step

    def ended(self) -> list[Ended]:
        import ray

        over, _ = ray.wait([*self.running], num_returns=len(self.running), timeout=LOOK)
        return [Ended(self.running.pop(task).name, _error(task)) for task in over]

    def stop(self) -> None:
        import ray

        for task in self.running:
            ray.cancel(task, force=True)
        if self.running:
            ray.wait([*self.running], num_returns=len(self.running), timeout=ENDING)
        self.running.clear()


def run_step(step: Step, folder: Path, carried: Mapping[str, str]) -> str:
    """Run a step in `folder`, on a node of the cluster: why it failed, or nothing.

    Args:
        step: what to run. Its process ends with this one.
        folder: where the command was typed.
        carried: environment, where the node does not say otherwise.
    """
    os.chdir(folder)
    if step.is_done():  # an earlier try came to its end, and its node was lost before it could say so
        return ""
    log = log_of(step)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as said:
        said.write(f"$ {step.command()}\n".encode(errors="backslashreplace"))
        said.flush()
        begins = said.tell()
        process = begin(step.words(), said.fileno(), {**carried, **os.environ})
    return failure(process.wait(), log, begins)


def _error(task: Any) -> str:
    """Why a task failed, or nothing."""
    import ray

    try:
        return str(ray.get(task))
    except ray.exceptions.RayError as error:
        return f"Ray could not run it: {printable(' '.join(str(error).split()))[:500]}"
