"""A worker: does what a driver tells it, whatever carries the messages."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from randsmooth.certificates import Machine
from randsmooth.certification.order import Order
from randsmooth.certification.prepared import Prepared
from randsmooth.cluster.transport import Certify, Died, Event, Failed, Forget, Joined, Message, Prepare, Ready, Row
from randsmooth.errors import InputError
from randsmooth.versions import versions


class Inbox:
    """Messages that one thread puts in and the worker takes out, in their order; those to `Forget` come first.

    Example:
        >>> inbox = Inbox()
        >>> inbox.put(Certify((3, 5, 8)))
        >>> inbox.put(Forget((5,)))
        >>> list(inbox.positions())
        [3, 8]
    """

    def __init__(self) -> None:
        self._orders: deque[Order] = deque()
        self._positions: dict[int, None] = {}
        self._changed = threading.Condition()

    def put(self, message: Message) -> None:
        """Take in a message; called by the thread that receives."""
        with self._changed:
            match message:
                case Prepare(order):
                    self._orders.append(order)
                case Certify(positions):
                    self._positions |= dict.fromkeys(positions)
                case Forget(positions):
                    for position in positions:
                        self._positions.pop(position, None)
            self._changed.notify()

    def wait(self) -> Order | None:
        """Wait until there is something to do: an order to prepare, or None where there are images."""
        with self._changed:
            self._changed.wait_for(lambda: self._orders or self._positions)
            return self._orders.popleft() if self._orders else None

    def positions(self) -> Iterator[int]:
        """The images to certify, up to the moment when there are none; those that come meanwhile are among them."""
        while True:
            with self._changed:
                position = next(iter(self._positions), None)
                if position is None:
                    return
                del self._positions[position]
            yield position


def serve(worker: str, inbox: Inbox, send: Callable[[Event], None], device: str | None = None) -> None:
    """Do what comes into `inbox`, and `send` what comes of it; returns where the worker cannot go on.

    Args:
        worker: its name.
        inbox: where the transport puts messages, in another thread, so that the next images are here in time.
        send: hands an event to the transport.
        device: where to compute, in place of the order's.
    """
    send(Joined(worker, versions()))
    prepared: Prepared | None = None
    try:
        while True:
            order = inbox.wait()
            if order is not None:
                prepared = _prepare(worker, order if device is None else replace(order, device=device), send)
            else:
                assert prepared is not None, "images before an order"
                for row in prepared.rows(inbox.positions()):
                    send(Row(worker, row))
    except InputError as error:
        send(Failed(worker, str(error)))
    except Exception as error:
        send(Died(worker, f"{type(error).__name__}: {error}"))


def _prepare(worker: str, order: Order, send: Callable[[Event], None]) -> Prepared:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        prepared = order.prepare()
    said = dict.fromkeys(str(warning.message) for warning in caught)
    send(Ready(worker, prepared.facts, Machine.here(prepared.facts.header), tuple(said)))
    return prepared
