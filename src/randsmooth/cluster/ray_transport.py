"""Workers on the nodes of a Ray cluster: an actor each, started where there is room and asked for what it has done."""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from randsmooth.certification.order import Order
from randsmooth.cluster.ray_actor import actor_class, last_line
from randsmooth.cluster.ray_shares import Node, Share, shares
from randsmooth.cluster.transport import Died, Event, Failed, Joined, Message, Prepare
from randsmooth.errors import InputError, Note
from randsmooth.versions import PACKAGES

LOOK = 2.0  # seconds between two looks at which nodes there are
ENDING = 10.0  # seconds that actors have to be gone once they are killed
# What tells a worker where data are and how a processor is to compute, where its node does not say so itself.
CARRIED = ("RANDSMOOTH_DATA", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")


@dataclass
class Seat:
    """An actor with its share of a node. `awaited` is the call whose answer is awaited: `versions`, then `events`."""

    share: Share
    actor: Any
    awaited: Any
    joined: bool = False


class RayTransport:
    """A `Transport` over Ray. This process must be connected to the cluster (see `ray_session.connected`).

    Nodes that are there at first have workers as `shares` says, and so have those that join.

    Args:
        workers: how many in all; default: as many as each node has room for.
        device: auto, cpu or cuda. auto is cuda if some node has GPUs at first, and then the nodes without have no
            workers: a CPU draws other noise than a GPU.
    """

    def __init__(self, workers: int | None = None, device: str = "auto") -> None:
        self.workers, self.device = workers, device
        self._seats: dict[str, Seat] = {}
        self._left: dict[str, Share] = {}  # by workers that died
        self._known: set[str] = set()  # ids of nodes that were looked at
        self._looked = 0.0
        self._numbers = itertools.count(1)
        self._news: list[Event] = []
        self._stored: tuple[Order, Any] | None = None  # the order that is in Ray's object store, and where
        self._actor: Any = None

    def start(self) -> None:
        """Begin to start an actor for each share of the nodes that there are.

        Raises:
            InputError: no node has what the device needs.
        """
        nodes = alive()
        if self.device == "auto":
            self.device = "cuda" if any(node.gpus for node in nodes) else "cpu"
        self._actor = actor_class()
        planned = self._hire_on(nodes)
        if not planned:
            what = "GPU" if self.device == "cuda" else "CPU"
            raise InputError(
                f"no node of the Ray cluster ({', '.join(node.host for node in nodes)}) has a {what} to give"
            )
        if self.workers is not None and len(planned) < self.workers:
            warnings.warn(f"{len(planned)} workers instead of {self.workers}: one for each GPU", Note, stacklevel=2)
        note_those_in_use(planned)

    def send(self, worker: str, message: Message) -> None:
        seat = self._seats.get(worker)
        if seat is not None:
            seat.actor.tell.remote(self._packed(message))

    def wait(self, seconds: float) -> Sequence[Event]:
        until = time.monotonic() + seconds
        while not self._news:
            self._look_for_nodes()
            left = until - time.monotonic()
            self._listen(min(max(left, 0.0), LOOK))
            if left <= 0:
                break
        news, self._news = self._news, []
        return news

    def again(self, worker: str) -> bool:
        share = self._left.pop(worker, None)
        if share is None or share.node not in alive():
            return False  # where a node joins in its place, its workers do
        self._hire(share, worker)
        return True

    def end(self, worker: str) -> None:
        import ray

        seat = self._seats.pop(worker, None)
        if seat is not None:
            ray.kill(seat.actor)

    def expected(self) -> int:
        return sum(not seat.joined for seat in self._seats.values())

    def close(self) -> None:
        import ray

        seats = [*self._seats.values()]
        for worker in [*self._seats]:
            self.end(worker)
        if seats:
            ray.wait([seat.awaited for seat in seats], num_returns=len(seats), timeout=ENDING)

    def _hire_on(self, nodes: Sequence[Node]) -> list[Share]:
        """Start the workers that these nodes have room for, or that are wanting."""
        self._known |= {node.id for node in nodes}
        wanted = None if self.workers is None else max(0, self.workers - len(self._seats))
        planned = shares(nodes, wanted, on_gpus=self.device == "cuda")
        for share in planned:
            self._hire(share, f"{next(self._numbers)} on {share.node.host}")
        return planned

    def _hire(self, share: Share, worker: str) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(share.node.id, soft=False)
        make = self._actor.options(num_cpus=share.cpus, num_gpus=share.gpus, scheduling_strategy=there)
        environment = {name: os.environ[name] for name in CARRIED if name in os.environ}
        actor = make.remote(worker, str(Path.cwd()), environment)
        self._seats[worker] = Seat(share, actor, actor.versions.remote(PACKAGES))

    def _look_for_nodes(self) -> None:
        """Start workers on nodes that have joined; at most every LOOK seconds."""
        if time.monotonic() - self._looked >= LOOK:
            self._looked = time.monotonic()
            self._hire_on([node for node in alive() if node.id not in self._known])

    def _listen(self, seconds: float) -> None:
        """Take what workers have said, as soon as one has, and for so long at most."""
        import ray

        awaited = {seat.awaited: worker for worker, seat in self._seats.items()}
        if not awaited:
            time.sleep(seconds)
            return
        if ray.wait([*awaited], timeout=seconds)[0]:
            for answered in ray.wait([*awaited], num_returns=len(awaited), timeout=0)[0]:
                self._hear(awaited[answered])

    def _hear(self, worker: str) -> None:
        """Take the answer that is there, and ask again."""
        import ray

        seat = self._seats[worker]
        try:
            answer = ray.get(seat.awaited)
        except ray.exceptions.RayError as error:
            self._news.append(self._lost(worker, why(error, seat.share)))
            return
        if seat.joined:
            self._news += answer
            if answer and isinstance(answer[-1], Died | Failed):
                self._lost(worker)
                return
        else:
            self._news.append(Joined(worker, answer))
        seat.joined, seat.awaited = True, seat.actor.events.remote()

    def _lost(self, worker: str, why: str = "") -> Died:
        """An actor is gone, or its worker cannot go on; there may be life in it yet."""
        self._left[worker] = self._seats[worker].share
        self.end(worker)
        return Died(worker, why)

    def _packed(self, message: Message) -> Any:
        """A message as `Line.tell` takes it; an order is put into the object store, once for all workers."""
        import ray

        if not isinstance(message, Prepare):
            return message
        if self._stored is None or self._stored[0] is not message.order:
            order = replace(message.order, device=self.device)
            try:
                self._stored = message.order, ray.put(Prepare(order))
            except Exception as error:  # of whatever cannot be pickled, or does not fit
                cause = last_line(error.__cause__ or error)
                raise InputError(
                    f"the model or the data set cannot be sent to other machines ({cause}): name them, as folders or "
                    "files that every node can open"
                ) from error
        return [self._stored[1]]


def alive() -> list[Node]:
    """The nodes that the cluster has now."""
    import ray

    return [Node.of(told) for told in ray.nodes() if told["Alive"]]


def note_those_in_use(planned: Sequence[Share]) -> None:
    """Say so where others use what workers are to have: these start when it is free."""
    import ray

    free = ray.available_resources()
    for what, wanted in (("CPU", sum(share.cpus for share in planned)), ("GPU", sum(share.gpus for share in planned))):
        left = free.get(what, 0.0)
        if round(wanted - left, 3) > 0:
            warnings.warn(
                f"others use the Ray cluster, too: of {wanted:g} {what}s for workers {left:g} are free; workers for "
                "the rest start when the others end",
                Note,
                stacklevel=2,
            )


def why(error: Exception, share: Share) -> str:
    """Why an actor is gone, in a few words; Ray needs many."""
    if share.node not in alive():
        return "its node is gone"
    return {
        "ActorUnavailableError": "its node does not answer",
        "ActorUnschedulableError": "its node is gone",
        "OutOfMemoryError": "out of memory",
        "ActorDiedError": "its process was killed, as where memory runs out",
    }.get(type(error).__name__, last_line(error))
