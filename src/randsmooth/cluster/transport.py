"""What a driver and its workers tell each other, and what must be able to carry it.

The driver decides everything: who gets which images, who is left out, when all is done. A transport starts workers and
carries messages; a worker (see `worker.serve`) opens what it is told to, and certifies what it is sent.

    driver -> worker   Prepare(order)      open model and data; answered by Ready, or by Failed
                       Certify(positions)  certify these too, after what is in hand; answered by a Row for each
                       Forget(positions)   others have these now: leave out those that are not begun (may be ignored)
    worker -> driver   Joined, Ready, Row, Failed
    transport          Died                what a worker that is gone cannot say itself
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from randsmooth.certificates import JournalRow, Machine
from randsmooth.certification.crew import RunFacts
from randsmooth.certification.order import Order


@dataclass(frozen=True)
class Prepare:
    """Open the model and the data of `order`, and try the model out."""

    order: Order


@dataclass(frozen=True)
class Certify:
    """Certify the images at `positions` as well, in this order, after those that are in hand."""

    positions: tuple[int, ...]


@dataclass(frozen=True)
class Forget:
    """The images at `positions` are in other hands: leave out those that are not begun. It is advice."""

    positions: tuple[int, ...]


Message = Prepare | Certify | Forget


@dataclass(frozen=True)
class Joined:
    """A worker is there, at the beginning, late, or again after it died; it waits for a `Prepare`.

    Attributes:
        worker: its name in errors and notes; no two that live at one time have the same.
        versions: of Python and of the packages that its numbers pass through (see `randsmooth.versions`).
    """

    worker: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Ready:
    """A worker has carried out `Prepare`.

    Attributes:
        worker: its name.
        facts: those that it came to.
        machine: which it runs on.
        warnings: what came up meanwhile, in words for the user.
    """

    worker: str
    facts: RunFacts
    machine: Machine
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A worker has certified an image."""

    worker: str
    row: JournalRow


@dataclass(frozen=True)
class Failed:
    """A worker cannot do what it was told, and ends: `why` is the sentence of an InputError.

    Before its `Ready` the others may go on without it; after it, the image would fail anywhere.
    """

    worker: str
    why: str


@dataclass(frozen=True)
class Died:
    """A worker is gone without a word: killed, crashed, out of memory, its machine lost. `why` in a few words."""

    worker: str
    why: str


Event = Joined | Ready | Row | Failed | Died


class Transport(Protocol):
    """Starts workers and carries messages. Every call is made by one thread, that of the driver.

    An exception of a transport ends the run, so that a worker that cannot be reached must be reported as `Died`.
    """

    def start(self) -> None:
        """Begin to start the workers; does not wait for them. Each is announced by `Joined` when it is there.

        Raises:
            InputError: there can be no workers, such as where nothing answers at an address.
        """

    def send(self, worker: str, message: Message) -> None:
        """Hand `message` over, without waiting for the worker. To one that is gone it is lost; its `Died` follows."""

    def wait(self, seconds: float) -> Sequence[Event]:
        """The events since the last call, in the order of each worker; empty if none came within `seconds`.

        No event of a worker comes after its `Died`, and none after `end(worker)`.
        """

    def again(self, worker: str) -> bool:
        """Begin to start a worker in place of one that died; whether there will be one, which `Joined` announces."""

    def end(self, worker: str) -> None:
        """End one worker at once; the driver wants nothing of it any more."""

    def expected(self) -> int:
        """How many workers are being started and have not joined yet, or may join without being asked for."""

    def close(self) -> None:
        """End all workers at once, whatever they do, and wait until none is left."""
