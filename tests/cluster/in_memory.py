"""Workers without processes: a transport whose clock jumps from event to event."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from randsmooth.certificates import CertificationSettings, Header, JournalRow, Machine
from randsmooth.certification.crew import RunFacts
from randsmooth.certification.order import Order
from randsmooth.cluster.transport import (
    Certify,
    Died,
    Event,
    Failed,
    Forget,
    Joined,
    Message,
    Prepare,
    Ready,
    Row,
)
from randsmooth.versions import versions

HEADER = Header(
    sigma=0.5, n0=10, n=100, alpha=0.001, seed=0, classes=("0", "1"), data="these", backend="torch", batch=128,
    device="cpu", versions={"torch": "2"}, model={"weights": "sha256:aa"}, behaviour={"made-up images": "x"},
)  # fmt: skip
ORDER = Order(model="runs/mine", settings=CertificationSettings(sigma=0.5, n0=10, n=100))


def facts(images: int, **changed: object) -> RunFacts:
    return RunFacts(HEADER.having(**changed), tuple(range(images)), (0,) * images)


def row(image: int) -> JournalRow:
    """What every honest worker counts for an image."""
    counts = np.array([100 - image % 50, image % 50])
    return JournalRow(image, 0, np.array([10, 0]), counts, counts[:1], seconds=0.5)


@dataclass
class Worker:
    """How a worker of these behaves.

    Attributes:
        facts: what it comes to.
        seconds: what an image takes it, by the image.
        joins: when it is there.
        dies: when it dies, for each of its lives.
        row: what it counts for an image.
        wrong: the images that it counts wrongly.
        poison: whether it dies of an image, asked when it begins with it.
        refuses: the sentence of an InputError that it meets when it prepares.
        about: versions.
    """

    facts: RunFacts
    seconds: Callable[[int], float] = lambda image: 1.0
    joins: float = 0.0
    dies: tuple[float, ...] = ()
    row: Callable[[int], JournalRow] = row
    wrong: frozenset[int] = frozenset()
    poison: Callable[[int], bool] = lambda image: False
    refuses: str = ""
    about: dict[str, str] = field(default_factory=versions)


class InMemory:
    """A `Transport` to such workers. An image takes its time; nothing else does.

    Attributes:
        now: the time.
        begun: (worker, image) in the order in which they were begun.
        orders: (worker, order) in the order in which they were given.
        closed: whether all was ended.
    """

    def __init__(self, workers: dict[str, Worker], restarts: bool = True, pause: float = 1.0) -> None:
        """`pause`: seconds until a worker that died is there again, if it `restarts`."""
        self.workers, self.restarts, self.pause, self.now, self.closed = workers, restarts, pause, 0.0, False
        self.begun: list[tuple[str, int]] = []
        self.orders: list[tuple[str, Order]] = []
        self._events: list[tuple[float, int, int, Event]] = []  # time, number, life of the worker
        self._numbers = 0
        self._lives: dict[str, int] = defaultdict(int)
        self._gone: set[str] = set()
        self._hands: dict[str, list[int]] = defaultdict(list)
        self._to_join = 0

    def clock(self) -> float:
        return self.now

    def start(self) -> None:
        for name, worker in self.workers.items():
            self._live(name, worker.joins)

    def _live(self, name: str, at: float) -> None:
        self._to_join += 1
        self._gone.discard(name)
        self._hands[name] = []
        self._happens(at, Joined(name, self.workers[name].about))
        dies = self.workers[name].dies
        if self._lives[name] < len(dies):
            self._happens(max(at, dies[self._lives[name]]), Died(name, "killed by SIGKILL"))

    def _happens(self, at: float, event: Event) -> None:
        self._numbers += 1
        heapq.heappush(self._events, (at, self._numbers, self._lives[event.worker], event))

    def send(self, worker: str, message: Message) -> None:
        assert not self.closed
        if worker in self._gone:
            return
        match message:
            case Prepare(order):
                self._prepare(worker, order)
            case Certify(positions):
                idle = not self._hands[worker]
                self._hands[worker] += positions
                if idle:
                    self._begin(worker)
            case Forget(positions):
                kept = self._hands[worker][1:]
                self._hands[worker][1:] = [image for image in kept if image not in positions]

    def _prepare(self, name: str, order: Order) -> None:
        self.orders.append((name, order))
        worker = self.workers[name]
        if worker.refuses:
            self._happens(self.now, Failed(name, worker.refuses))
            return
        found = worker.facts
        batch, backend = order.settings.batch or found.header.batch, order.settings.backend or found.header.backend
        backend = found.header.backend if backend == "auto" else backend
        found = replace(found, header=found.header.having(batch=batch, backend=backend))
        self._happens(self.now, Ready(name, found, Machine(host=name, device="cpu")))

    def _begin(self, name: str) -> None:
        """Take the first image of a hand, and let its answer happen."""
        image, worker = self._hands[name][0], self.workers[name]
        self.begun.append((name, image))
        done = self.now + worker.seconds(image)
        if worker.poison(image):
            self._happens(done, Died(name, "killed by SIGKILL"))
            return
        answer = worker.row(image) if image not in worker.wrong else replace(row(image), counts=np.array([1, 99]))
        self._happens(done, Row(name, answer))

    def wait(self, seconds: float) -> Sequence[Event]:
        until = self.now + seconds
        while self._events and self._events[0][0] <= until:
            at, _, life, event = heapq.heappop(self._events)
            self.now = max(self.now, at)
            if event.worker in self._gone or life != self._lives[event.worker]:
                continue
            self._note(event)
            return [event]
        self.now = until
        return []

    def _note(self, event: Event) -> None:
        if isinstance(event, Joined):
            self._to_join -= 1
        if isinstance(event, Died | Failed):
            self._leave(event.worker)
        if isinstance(event, Row):
            self._hands[event.worker].pop(0)
            if self._hands[event.worker]:
                self._begin(event.worker)

    def _leave(self, worker: str) -> None:
        self._gone.add(worker)
        self._lives[worker] += 1

    def again(self, worker: str) -> bool:
        if self.restarts:
            self._live(worker, self.now + self.pause)
        return self.restarts

    def end(self, worker: str) -> None:
        self._leave(worker)

    def expected(self) -> int:
        return self._to_join

    def close(self) -> None:
        self.closed = True
