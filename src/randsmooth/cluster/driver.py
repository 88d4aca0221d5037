"""The driver: has workers, wherever they are, certify the images of an order."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from randsmooth.certificates import Header, JournalRow, Machine
from randsmooth.certification.crew import Crew, RunFacts
from randsmooth.certification.kept_counts import KeptCounts
from randsmooth.certification.order import Order
from randsmooth.cluster.agreement import Agreement, unlike_this_program
from randsmooth.cluster.dealer import Dealer
from randsmooth.cluster.transport import (
    Certify,
    Died,
    Event,
    Failed,
    Forget,
    Joined,
    Prepare,
    Ready,
    Row,
    Transport,
)
from randsmooth.errors import InputError, Note, setting

LONGEST = 1.0  # seconds to wait for events before looking for slow workers again
SECOND = 20.0  # seconds that one worker that is ready waits for another to agree with it
IDLE = 0.2  # where workers have nothing to do until another is slow
NAMED = 5  # workers that a note lists by name
TRIES = 3  # a worker that dies so often without an answer in between is not started again

NOT_AGAIN = "it is not started again"
ENDPOINT = (
    "workers do not make an endpoint faster: how many requests are under way is the endpoint's own setting (parallel, "
    "per_second); leave out --workers"
)


@contextmanager
def driven(transport: Transport, order: Order, clock: Callable[[], float] = time.monotonic) -> Iterator[Crew]:
    """The workers of `transport` as a crew for `order`; however the block ends, none is left.

    Args:
        transport: starts them and carries messages.
        order: what they certify.
        clock: seconds.

    Raises:
        InputError: the order cannot be carried out, no worker is left, or the workers disagree.
    """
    driver = Driver(transport, order, clock)
    try:
        transport.start()
        driver.gather()
        yield driver
    finally:
        transport.close()


@dataclass(frozen=True)
class Member:
    """A worker that takes part, or will once it is settled what the run is: the header that it came to, and where."""

    header: Header
    machine: Machine


class Driver:
    """A crew of workers behind a transport.

    What the first ones agree on is the run (see `Agreement`); others are left out with a note. Where the backend or the
    precision is "auto", the first worker chooses it for all. One that dies gives its images back and is started again,
    unless it dies TRIES times without an answer in between.
    """

    def __init__(self, transport: Transport, order: Order, clock: Callable[[], float] = time.monotonic) -> None:
        self.transport, self.order, self.clock = transport, order, clock
        self.agreement, self.dealer = Agreement(order.begun), Dealer(())
        self._preparing: dict[str, Order] = {}
        self._waiting: list[str] = []  # told nothing until the first worker has chosen the backend
        self._members: dict[str, Member] = {}
        self._idle: dict[str, None] = {}
        self._to_come: int | None = None  # workers
        self._deaths: dict[str, int] = {}  # of a worker, since its last answer
        self._faults: dict[str, list[str]] = {}  # what kept workers from taking part -> which they are
        self._said: set[str] = set()
        self._heard: float | None = None  # when the first worker was ready
        self._here: Machine | None = None  # what rows that name no machine stand for

    @property
    def facts(self) -> RunFacts:
        """Of the run."""
        assert self.agreement.settled is not None, "gather() first"
        return self.agreement.settled

    def gather(self) -> None:
        """Wait until it is clear what the run is."""
        while not self._settled():
            self._check_hope()
            for event in self.transport.wait(LONGEST):
                self._handle(event)
        if self.facts.metered:
            raise InputError(ENDPOINT)

    def rows(self, left: Sequence[int], kept: KeptCounts | None = None) -> Iterator[JournalRow]:
        """The evidence of the images at positions `left`, as the workers decide them (see `Crew.rows`)."""
        self.dealer = Dealer(left)
        for worker in self._members:
            self.dealer.join(worker, self.clock())
        for worker in self._members:
            self._deal(worker)
        while self.dealer.unanswered:
            for event in self.transport.wait(LONGEST if not self._idle else IDLE):
                row = self._handle(event)
                if row is not None:
                    yield row
            self._deal_to_idle()
            self._check_hope()

    def _handle(self, event: Event) -> JournalRow | None:
        """What an event changes; the row, if it brings the first one about an image."""
        if not isinstance(event, Row):
            self._to_come = None  # to be counted again
        match event:
            case Joined():
                self._join(event)
            case Ready():
                self._hear(event)
            case Row(worker, row):
                return self._take(worker, row)
            case Failed(worker, why):
                self._fail(worker, why)
            case Died(worker, why):
                self._bury(worker, why)
        return None

    def _join(self, event: Joined) -> None:
        unlike = unlike_this_program(event.worker, event.versions)
        if unlike is not None:
            self._leave_out(event.worker, unlike)
        elif self.order.settings.chooses and self._preparing:
            self._waiting.append(event.worker)
        else:
            self._prepare([event.worker])

    def _prepare(self, workers: Iterable[str]) -> None:
        for worker in workers:
            self._preparing[worker] = self.order
            self.transport.send(worker, Prepare(self.order))

    def _hear(self, event: Ready) -> None:
        """A worker is ready. The backend and the batch of the first one are those of all."""
        worker, facts = event.worker, event.facts
        told = self._preparing.pop(worker, None)
        if told is None:
            return  # sent before it was ended
        if self._heard is None:
            self._heard, self.order = self.clock(), self.order.like(facts.header)
            self._prepare(self._waiting)
            self._waiting = []
        elif told is not self.order and facts.header.batch != self.order.settings.batch:
            self._prepare([worker])  # it chose a batch before there was one to keep
            return
        for each in event.warnings:
            self._note(each)
        self.agreement.hear(worker, facts)
        self._members[worker] = Member(facts.header, event.machine)
        if self.agreement.settled is not None:
            self._admit(worker)

    def _settled(self) -> bool:
        """Whether it is clear what the run is; who is about another is left out as soon as it is."""
        if self.agreement.settled is None and self._heard is not None:
            more = self._hoped() and self.clock() - self._heard < SECOND
            if self.agreement.settle(more=more) is None:
                return False
            self._here = Machine.here(self.facts.header)
            for worker in list(self._members):
                self._admit(worker)
            for why, workers in self._faults.items():
                self._note(f"without {_listed(workers)}: {why}")
        return self.agreement.settled is not None

    def _admit(self, worker: str) -> None:
        """Let a worker take part, if it is about the same run."""
        left_out = self.agreement.left_out(worker, self._members[worker].header)
        if left_out is not None:
            del self._members[worker]
            self._leave_out(worker, left_out)
            return
        needed = len(self.facts.indices)
        if len(self.dealer.hands) >= needed:
            del self._members[worker]
            self.transport.end(worker)
            self._note(f"{needed} images need no more than {needed} workers")
            return
        self.dealer.join(worker, self.clock())
        self._deal(worker)

    def _leave_out(self, worker: str, why: str) -> None:
        self.transport.end(worker)
        self._fault(worker, why)

    def _fault(self, worker: str, why: str) -> None:
        """Remember what keeps a worker from taking part; said once it is clear that the run goes on without it."""
        self._faults.setdefault(why, []).append(worker)
        if self.agreement.settled is not None:
            self._note(f"without {_listed([worker])}: {why}")

    def _take(self, worker: str, row: JournalRow) -> JournalRow | None:
        if worker not in self._members:
            return None  # sent before it was ended
        self._deaths.pop(worker, None)
        first = self.dealer.answer(worker, row, self.clock())
        self._deal(worker)
        if not first:
            return None
        machine = self._members[worker].machine
        return row if machine == self._here else replace(row, machine=machine)

    def _fail(self, worker: str, why: str) -> None:
        if worker in self._members:
            raise InputError(why)  # as the image would do anywhere
        self._preparing.pop(worker, None)
        self._fault(worker, why)

    def _bury(self, worker: str, why: str) -> None:
        """A worker died: take its images back, and start another in its place."""
        self._idle.pop(worker, None)
        self._preparing.pop(worker, None)
        if worker in self._waiting:
            self._waiting.remove(worker)
        back = self.dealer.leave(worker, died=why) if self._members.pop(worker, None) is not None else []
        self._deaths[worker] = self._deaths.get(worker, 0) + 1
        again = self._deaths[worker] < TRIES and self.transport.again(worker)
        given_back = f"; {len(back)} images go to others" if back else ""
        self._note(f"worker {worker} died ({why}){given_back}; {'it is started again' if again else NOT_AGAIN}")
        if not again:
            self._faults.setdefault(f"it died ({why})", []).append(worker)
        if not self._preparing and self._waiting:
            self._prepare([self._waiting.pop(0)])

    def _deal(self, worker: str) -> None:
        """Give a worker what it shall have now."""
        if self._to_come is None:
            self._to_come = len(self._preparing) + len(self._waiting) + self.transport.expected()
        self.dealer.crowd = len(self._members) + self._to_come
        while (dealt := self.dealer.deal(worker, self.clock())) is not None:
            self.transport.send(worker, Certify(dealt.positions))
            if dealt.instead_of is not None:
                self.transport.send(dealt.instead_of, Forget(dealt.positions))
        if self.dealer.hands[worker].images:
            self._idle.pop(worker, None)
        else:
            self._idle[worker] = None

    def _deal_to_idle(self) -> None:
        for worker in list(self._idle):
            self._deal(worker)
            if worker in self._idle:
                return  # there is nothing for the others either

    def _hoped(self) -> bool:
        """Whether other workers may get ready without anything being done for it."""
        return bool(self._preparing or self._waiting or self.transport.expected())

    def _check_hope(self) -> None:
        """Raise InputError where no worker is left, and none will come."""
        if self._members or self._hoped():
            return
        why, workers = next(iter(self._faults.items()), ("there is none", []))
        if self._heard is None and not why.startswith("it died"):
            raise InputError(why)
        raise InputError(
            f"no worker is left ({_listed(workers)}: {why}); what is finished is kept. To go on: {setting(resume=True)}"
        )

    def _note(self, text: str) -> None:
        """Say something, once."""
        if text not in self._said:
            self._said.add(text)
            warnings.warn(text, Note, stacklevel=2)


def _listed(workers: Sequence[str]) -> str:
    """Workers by name, of many the first few."""
    more = f" and {len(workers) - NAMED} more" if len(workers) > NAMED else ""
    return f"worker{'s' if len(workers) > 1 else ''} {', '.join(workers[:NAMED])}{more}"
