"""A certification rule: when to look at samples, when to stop, and what they prove."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.bounds.levels import GRAIN
from randsmooth.errors import BadValue, Problem
from randsmooth.noise import Noise, round_down
from randsmooth.rules.limits import (
    ANY_CLASS,
    MOST_SAMPLES,
    MOST_WATCHED,
    ConfidenceBound,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MORE_THAN_HALF = float(np.nextafter(0.5, 0.0))


@dataclass(frozen=True)
class Claim:
    """What one image's samples prove.

    Attributes:
        q: upper bound on 1 - p_A. At 1/2 or more nothing is certified, unless the
            runner-up is bounded too.
        radius: that the noise certifies for it, in the noise's norm and unit.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> rule = make_rule("fixed", noise=Gaussian(0.5), n=1000, alpha=0.001)
        >>> claim = rule.claim([990])
        >>> round(claim.q, 3), round(claim.radius, 3)
        (0.024, 0.989)
    """

    q: float
    radius: float


NO_CLAIM = Claim(1.0, 0.0)


@dataclass(frozen=True)
class Evidence:
    """The samples of N images that bound p_A.

    Attributes:
        idx: (N,) positions of the images.
        picked: (N,) class whose probability is bounded.
        counts: (N, K) class counts at the last look.
        paths: for each image, how often `picked` had come out at each look.
        u: (N,) the uniform numbers of the randomised bound, which were drawn without these
            samples; else None.
        words: (N,) how many words each text has, where the noise `counts_words`; else
            None.

    Example:
        >>> counts0 = np.array([[9, 1], [4, 6]])
        >>> counts = np.array([[90, 10], [30, 70]])
        >>> evidence = Evidence.of(counts0, counts)
        >>> evidence.picked.tolist(), [path.tolist() for path in evidence.paths]
        ([0, 1], [[90], [70]])
    """

    idx: Ints
    picked: Ints
    counts: Ints
    paths: tuple[Ints, ...]
    u: Floats | None = None
    words: Ints | None = None

    @classmethod
    def of(
        cls,
        counts0: Ints,
        counts: Ints,
        *,
        idx: Ints | None = None,
        paths: Sequence[Ints] | None = None,
        u: Floats | None = None,
        words: Ints | None = None,
    ) -> Evidence:
        """Return the evidence in counts0 and counts (N, K).

        Without `paths`, every image that has samples was looked at once, when they were
        complete.
        """
        picked = counts0.argmax(axis=1)
        if paths is None:
            paths = [
                row[k : k + 1] if row.any() else row[:0]
                for row, k in zip(counts, picked, strict=True)
            ]
        if idx is None:
            idx = np.arange(len(counts))
        return cls(idx, picked, counts, tuple(paths), u, words)

    def rows(self, rows: Ints) -> Evidence:
        """Return the evidence of the images numbered `rows` (M,), without their words."""
        return Evidence(
            idx=self.idx[rows],
            picked=self.picked[rows],
            counts=self.counts[rows],
            paths=tuple(self.paths[row] for row in rows),
            u=None if self.u is None else self.u[rows],
        )


@dataclass(frozen=True)
class Rule(ABC):
    """Decides, by how often the picked class came out so far, whether to go on.

    A subclass is a frozen dataclass with `name`, `usage` and `summary`, and with
    `next_look`, `claim` and `guarantee`. A rule that `takes` bounds has a field `bound` for
    the one that the user gave; the field called in `number` gets the number that a user
    gives behind the name.

    Attributes:
        name: by which it is chosen: "grid".
        usage: how a user writes the rule: "grid[=STEP]".
        summary: what the rule draws, and what then holds with probability 1 - alpha, in
            one sentence.
        number: the field that the number behind the name sets; None where there is none.
        number_is_required: whether that number must be given.
        noise: of the samples. A rule asks it for the q that a radius takes, and for the
            radius that a q proves.
        n: the most samples that an image may take.
        alpha: probability that one image's certificate is wrong.
        certain: whether all copies are counted, so that a certificate holds with
            certainty; alpha is 0 then.
        sequential: whether samples stop as soon as the question is answered, so that they
            do not measure p_A.
        stops_anywhere: whether samples may also stop at an earlier look than the rule
            would.
        most: the largest n that the rule allows.
        block: samples between looks are a multiple of this; None if only the last look
            matters.
        takes: which bounds a user may ask for; none of a rule that has its own.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> from randsmooth.rules import make_rule
        >>> rule = make_rule("radius=0.5", noise=Gaussian(0.5), n=1000, alpha=0.001)
        >>> rule.next_look([]), rule.next_look([32])
        (32, 64)
        >>> rule.claim([32]).radius, rule.claim([32, 64]).radius
        (0.0, 0.5)
    """

    name: ClassVar[str]
    usage: ClassVar[str]
    summary: ClassVar[str]
    number: ClassVar[str | None] = None
    number_is_required: ClassVar[bool] = False
    certain: ClassVar[bool] = False
    sequential: ClassVar[bool] = True
    stops_anywhere: ClassVar[bool] = False
    most: ClassVar[int] = MOST_SAMPLES
    block: ClassVar[int | None] = None
    takes: ClassVar[tuple[ConfidenceBound, ...]] = ()
    noise: Noise
    n: int
    alpha: float

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know before a run, such as radii that are left out."""
        return ()

    @property
    def any_class(self) -> bool:
        """Whether the claim holds for the class that the same samples picked.

        A path tells of the most frequent class then.
        """
        return self.stated_bound == ANY_CLASS

    @property
    def stated_bound(self) -> str | None:
        """The bound as a header states it; None for a rule that has one only."""
        return getattr(self, "bound", None)

    @abstractmethod
    def guarantee(self) -> str:
        """What a certificate guarantees, in one sentence."""

    @property
    def level_kept(self) -> str:
        """How such a sentence begins."""
        return f"Each certificate is wrong with probability at most {self.alpha:g}"

    @abstractmethod
    def next_look(self, path: Sequence[int]) -> int | None:
        """Return how many samples to draw in all before the next decision.

        None says that there are enough.

        Args:
            path: how often the picked class had come out at each look so far; where none
                was picked, the most frequent.
        """

    @abstractmethod
    def claim(self, path: Sequence[int]) -> Claim:
        """Return what the looks of `path` prove together."""

    def complete(self, path: Sequence[int]) -> bool:
        """Return whether an image's samples may end with `path`."""
        return len(path) > 0 and (self.stops_anywhere or self.next_look(path) is None)

    def samples(self, path: Sequence[int]) -> int:
        """Return how many samples were drawn along `path`; 0 if no image can have it."""
        if len(path) == 0:
            return 0
        return self.next_look(path[:-1]) or 0

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """Return (N,) q and (N,) radius of every image."""
        claims = [
            self.claim(path.tolist()) if len(path) else NO_CLAIM
            for path in evidence.paths
        ]
        q = np.array([claim.q for claim in claims], np.float64)
        radius = np.array([claim.radius for claim in claims], np.float64)
        return q, radius

    def judged(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """Return (N,) q and (N,) radius of every image, of a text by its own words.

        Texts with as many words are judged together, under the noise of so many.
        """
        if evidence.words is None:
            return self.claims(evidence)
        q = np.ones(len(evidence.words))
        radius = np.zeros(len(evidence.words))
        for d in np.unique(evidence.words):
            rows = np.flatnonzero(evidence.words == d)
            rule = self.under(self.noise.of_words(int(d)))
            q[rows], radius[rows] = rule.claims(evidence.rows(rows))
        return q, radius

    def under(self, noise: Noise) -> Self:
        """Return this rule under another noise."""
        return replace(self, noise=noise)

    def certifies(self, q: Floats, radius: Floats) -> NDArray[np.bool_]:
        """Return (N,) whether the picked class is certified.

        Args:
            q: (N,) of `claims`.
            radius: (N,) of `claims`.
        """
        return np.asarray(q < 0.5)

    @property
    def farthest(self) -> float:
        """The largest radius that the rule asks any image's samples for.

        It is what the rule proves where all of them agree.
        """
        path: list[int] = []
        while (look := self.next_look(path)) is not None:
            path.append(look)
        return self.claim(path).radius

    @property
    def asked_radii(self) -> tuple[float, ...] | None:
        """The only radii that the samples are drawn to decide on, ascending.

        None says that every radius is asked about.
        """
        return None

    def by_q(self, q: float) -> Claim:
        """Return the claim of an upper bound `q` on 1 - p_A."""
        return Claim(q, float(self.noise.radius(q)))


class Watching(Rule):
    """A rule that looks at the samples on the way, at the counts of `bounds.looks`.

    Its subclass has `ends`.
    """

    block: ClassVar[int | None] = GRAIN
    most: ClassVar[int] = MOST_WATCHED

    @cached_property
    def looks(self) -> Ints:
        """(K,) sample counts of the looks, growing by a tenth."""
        return bounds.looks(self.n)

    def out_of_reach(self, wanted: str, least: int, farthest: float) -> Problem:
        """Return the error for a radius that n samples cannot certify.

        It names the way out: more samples if that helps, or a smaller radius.

        Args:
            wanted: the radius, in words.
            least: how many samples could certify it.
            farthest: the largest radius that n samples can certify.
        """
        way_out = f"no n up to {MOST_WATCHED:,} suffices"
        if least <= MOST_WATCHED:
            way_out = f"allow n >= {least}"
        if farthest > 0.0:
            digits = max(3, 2 - math.floor(math.log10(farthest)))
            largest = f"{round_down(farthest, digits).normalize():f}"
            way_out += f", or ask for a radius of at most {largest}"
        return BadValue(
            f"n={self.n} samples cannot certify {wanted} under {self.noise.text} at "
            f"alpha={self.alpha:g}, even if all agree: {way_out}"
        )

    @abstractmethod
    def ends(self, path: Sequence[int]) -> bool:
        """Return whether the samples end with `path`, although there are further looks.

        Args:
            path: of one look at least.
        """

    def next_look(self, path: Sequence[int]) -> int | None:
        k = len(path)
        if k >= len(self.looks):
            return None
        if k > 0 and self.ends(path):
            return None
        return int(self.looks[k])

    def samples(self, path: Sequence[int]) -> int:
        """Return how many samples were drawn along `path`; 0 if no image can have it.

        None can if a count falls from look to look, or grows by more than was drawn.
        """
        if len(path) > len(self.looks):
            return 0
        gained = np.diff(path, prepend=0)
        drawn = np.diff(self.looks[: len(path)], prepend=0)
        if not np.all((gained >= 0) & (gained <= drawn)):
            return 0
        return super().samples(path)
