"""Who gets which images: pure decisions, without processes or a clock of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from randsmooth.certificates import JournalRow
from randsmooth.errors import InputError

ROUNDS = 2  # a group is this fraction of a fair share of what is left, so that groups shrink towards the end
HOLDERS = 6  # of one image, at most
PATIENCE = 0.5  # so long a silence, in times that an image usually takes, makes a worker slow where another is idle
UNKNOWN = 60.0  # seconds of silence that make it slow where nobody has answered yet
ALONE = 3  # workers that died with one image and no other in hand: then it is the image


@dataclass
class Hand:
    """What one worker has to do.

    Attributes:
        images: positions, in the order in which the worker takes them; what others have answered meanwhile stays here
            until this worker answers too, since it is busy with it.
        since: when it last answered, or got something into an empty hand.
        group: how many images it got last.
        alone: whether it shall get no other image beside the one it has.
    """

    since: float
    images: dict[int, None] = field(default_factory=dict)
    group: int = 1
    alone: bool = False


@dataclass(frozen=True)
class Dealt:
    """What one worker gets, and which other had these images not begun and can leave them out."""

    positions: tuple[int, ...]
    instead_of: str | None = None


class Dealer:
    """Deals images to workers in groups that shrink towards the end, and takes back those of a worker that dies.

    Guided self-scheduling: a worker gets half of its fair share of what is left, and the next group when half of that
    is done, so that it never runs dry. Once nothing is left to deal, an idle worker takes half of what another has not
    begun; after that, a copy of the image that the slowest worker is busy with. The first answer counts. A second one
    must be equal, since counts are determined.

    An image that was in the hands of two workers when they died is dealt alone, so that it cannot take others with it,
    and ends the run if more workers die of it.

    Args:
        positions: of the images to certify.

    Attributes:
        crowd: how many workers there will be, with those that have not joined yet.
        unanswered: how many images have no answer yet.
        copies: how many images were given to a second worker while a first one was busy with them.
        second: how many answers came for an image that had one.
    """

    def __init__(self, positions: Iterable[int]) -> None:
        self.fresh = deque(positions)
        self.unanswered = len(self.fresh)
        self.copies = self.second = self.crowd = 0
        self.hands: dict[str, Hand] = {}
        self._suspects: deque[int] = deque()
        self._open = set(self.fresh)
        self._holders: dict[int, set[str]] = {}
        self._deaths: dict[int, int] = {}
        self._alone: dict[int, int] = {}
        self._shared: set[int] = set()  # images that more than one worker may answer
        self._first: dict[int, tuple[str, JournalRow]] = {}  # the answer about each of these, and who gave it
        self._usual = 0.0  # seconds between two answers of a worker, a running mean

    def join(self, worker: str, now: float) -> None:
        """A worker can take images."""
        self.hands[worker] = Hand(since=now)

    def leave(self, worker: str, died: str | None = None) -> list[int]:
        """A worker is gone; the images that come back because nobody else has them.

        Args:
            died: of what, if it did.

        Raises:
            InputError: it died with one image in hand, as others did before.
        """
        back = [image for image in self.hands.pop(worker).images if image in self._open]
        for image in back:
            self._holders[image].discard(worker)
        if died is not None:
            self._blame(back, died)
        orphans = [image for image in back if not self._holders[image]]
        for image in reversed(orphans):
            del self._holders[image]
            (self._suspects if self._deaths.get(image, 0) > 1 else self.fresh).appendleft(image)
        return orphans

    def _blame(self, images: list[int], died: str) -> None:
        for image in images:
            self._deaths[image] = self._deaths.get(image, 0) + 1
        if len(images) != 1:
            return
        (image,) = images
        self._alone[image] = self._alone.get(image, 0) + 1
        if self._alone[image] >= ALONE:
            raise InputError(
                f"{ALONE} workers died while they certified image {image} and nothing else (the last: {died}): if "
                "they ran out of memory, use a smaller batch or fewer workers; what is finished is kept"
            )

    def deal(self, worker: str, now: float) -> Dealt | None:
        """What the worker shall get now, in addition to what it has; None for nothing."""
        hand = self.hands[worker]
        if hand.alone or len(hand.images) > max(1, hand.group // 2):
            return None
        if self._suspects:
            return None if hand.images else self._give(worker, hand, [self._suspects.popleft()], now, alone=True)
        if self.fresh:
            size = -(-len(self.fresh) // (ROUNDS * max(self.crowd, len(self.hands))))
            return self._give(worker, hand, [self.fresh.popleft() for _ in range(size)], now)
        return None if hand.images else self._share(worker, hand, now)

    def _give(self, worker: str, hand: Hand, images: list[int], now: float, *, alone: bool = False) -> Dealt:
        if not hand.images:
            hand.since = now
        hand.images |= dict.fromkeys(images)
        hand.group, hand.alone = len(images), alone
        for image in images:
            self._holders.setdefault(image, set()).add(worker)
        return Dealt(tuple(images))

    def _share(self, worker: str, hand: Hand, now: float) -> Dealt | None:
        """Something of what others have, for a worker that has nothing."""
        slowest = max(self.hands, key=lambda other: self._wait(self.hands[other], now))
        theirs = self.hands[slowest]
        waiting = [image for image in list(theirs.images)[1:] if image in self._open]
        if waiting:
            return self._move(worker, hand, slowest, waiting[len(waiting) // 2 :], now)
        return self._copy(worker, hand, now)

    def _wait(self, hand: Hand, now: float) -> float:
        """Seconds until a worker has done what it has, estimated; those that wait for none but one image come last."""
        pace = max(self._usual, now - hand.since)
        return pace * len(hand.images) if len(hand.images) > 1 else 0.0

    def _move(self, worker: str, hand: Hand, other: str, images: list[int], now: float) -> Dealt:
        for image in images:
            del self.hands[other].images[image]
            self._holders[image].discard(other)
        self._shared.update(images)  # it may have begun them
        return Dealt(self._give(worker, hand, images, now).positions, instead_of=other)

    def _copy(self, worker: str, hand: Hand, now: float) -> Dealt | None:
        """A copy of the image that the slowest workers are busy with: of those in the fewest hands, the longest."""
        patience = PATIENCE * self._usual if self._usual else UNKNOWN
        most, chosen = (-HOLDERS, inf), None
        for other in self.hands.values():
            image = next(iter(other.images), None)
            if image in self._open:
                slow = -len(self._holders[image]), now - other.since
                if slow[1] > patience and slow > most:
                    most, chosen = slow, image
        if chosen is None:
            return None
        self.copies += 1
        self._shared.add(chosen)
        return self._give(worker, hand, [chosen], now)

    def answer(self, worker: str, row: JournalRow, now: float) -> bool:
        """Take an answer; whether it is the first about its image.

        Raises:
            InputError: it is the second, and differs.
        """
        self._heard(worker, row.idx, now)
        if row.idx not in self._open:
            self._compare(worker, row)
            return False
        self._open.remove(row.idx)
        self.unanswered -= 1
        self._holders.pop(row.idx, None)
        if row.idx in self._shared:
            self._first[row.idx] = worker, row
        return True

    def _heard(self, worker: str, image: int, now: float) -> None:
        hand = self.hands.get(worker)
        if hand is None:
            return
        seconds, hand.since = now - hand.since, now
        self._usual += (seconds - self._usual) / 100 if self._usual else seconds
        hand.images.pop(image, None)
        hand.alone &= bool(hand.images)

    def _compare(self, worker: str, row: JournalRow) -> None:
        self.second += 1
        if row.idx not in self._first:
            raise InputError(f"worker {worker} answered about image {row.idx}, which nobody had asked it for")
        other, first = self._first[row.idx]
        if not same_evidence(first, row):
            raise InputError(
                f"workers {other} and {worker} counted differently for image {row.idx} ({_words(first)}, and "
                f"{_words(row)}), although their classifiers gave the same outputs before: one of the two machines "
                "computes wrongly; find out which, and begin anew without it (--overwrite)"
            )


def same_evidence(one: JournalRow, other: JournalRow) -> bool:
    """Whether two rows say the same of the same image.

    Example:
        >>> counts = np.array([99, 1])
        >>> row = JournalRow(0, 0, counts, counts, counts[:1], seconds=0.5)
        >>> same_evidence(row, JournalRow(0, 0, counts, counts, counts[:1], seconds=0.7))
        True
        >>> same_evidence(row, JournalRow(0, 0, counts, counts[::-1], counts[:1], seconds=0.5))
        False
    """
    parts = ((one.counts0, other.counts0), (one.counts, other.counts), (one.path, other.path))
    return (one.idx, one.label) == (other.idx, other.label) and all(np.array_equal(a, b) for a, b in parts)


def _words(row: JournalRow) -> str:
    top = int(row.counts.argmax())
    return f"{int(row.counts[top])} of {int(row.counts.sum())} for class {top}"
