"""Which images of a split a run certifies, and which of these a shard does: as a header says it, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.urls import Place, beside, name_of

Ints = NDArray[np.int64]
T = TypeVar("T")

TAKEN = re.compile(r"(?:all (\d{1,18})|take (\d{1,18}) of (\d{1,18}))", re.ASCII)
ONE_IN = re.compile(r"one in (\d{1,18}) of (\d{1,18})", re.ASCII)
SHARD = re.compile(r"(\d{1,18})/(\d{1,18})", re.ASCII)
SHARD_FILE = re.compile(r"(.+)-\d+-of-\d+\.parquet(?:\.partial)?", re.ASCII)
MOST_IMAGES = 2**31  # of a split: so that no product of two positions overflows


@dataclass(frozen=True)
class Selection:
    """`chosen` images spread evenly over `total`, or, with a `step`, every so-manieth.

    Example:
        >>> [Selection.parse(words).chosen for words in ("all 364", "take 5 of 364", "one in 20 of 364")]
        [364, 5, 19]
        >>> Selection.parse("take 4 of 10").positions().tolist()
        [0, 2, 5, 7]
        >>> Selection.parse("take 4 of 10").places(np.array([5, 6, 7])).tolist()  # of which 6 is not chosen
        [2, -1, 3]
    """

    chosen: int
    total: int
    step: int | None = None

    @classmethod
    def parse(cls, words: str | None) -> Self | None:
        """The selection that a header names; None where it names none, or in words that are not known here."""
        if found := TAKEN.fullmatch(words or ""):
            chosen, total = (int(found[1]), int(found[1])) if found[1] else (int(found[2]), int(found[3]))
            possible, step = chosen <= total, None
        elif found := ONE_IN.fullmatch(words or ""):
            step, total = int(found[1]), int(found[2])
            possible, chosen = step > 0, -(-total // max(1, step))
        else:
            return None
        return cls(chosen, total, step) if possible and 0 < total <= MOST_IMAGES else None

    def positions(self) -> Ints:
        """(chosen,) the images, in their order."""
        places = np.arange(self.chosen)
        return places * self.step if self.step else places * self.total // self.chosen

    def places(self, idx: Ints) -> Ints:
        """(N,) where each of the images `idx` stands among the chosen ones; -1 for one that is not among them."""
        within = np.clip(idx, 0, self.total - 1)
        places = -(-within // self.step) if self.step else -(-within * self.chosen // self.total)
        places = np.minimum(places, self.chosen - 1)
        found = places * self.step if self.step else places * self.total // self.chosen
        return np.where(found == idx, places, -1)


@dataclass(frozen=True)
class Listed:
    """Images that were chosen one by one, in the place of a `Selection`; `images` are their positions, in order.

    Example:
        >>> Listed((3, 5, 9)).places(np.array([5, 6])).tolist()
        [1, -1]
    """

    images: tuple[int, ...]

    @property
    def chosen(self) -> int:
        return len(self.images)

    def positions(self) -> Ints:
        """(chosen,) the images, in their order."""
        return np.array(self.images, np.int64)

    def places(self, idx: Ints) -> Ints:
        """(N,) where each of the images `idx` stands among the chosen ones; -1 for one that is not among them."""
        places = {image: place for place, image in enumerate(self.images)}
        return np.array([places.get(image, -1) for image in idx.tolist()], np.int64)


@dataclass(frozen=True)
class Shard:
    """One of `of` shares of the images that a run certifies: the first, or the second, ..., of every `of` images.

    Attributes:
        number: which, from 1 on.
        of: how many shares there are.

    Example:
        >>> from pathlib import Path
        >>> shard = Shard.parse("2/3")
        >>> shard.share([0, 10, 20, 30, 40])
        [10, 40]
        >>> shard.file(Path("runs/table.parquet"))
        PosixPath('runs/table-2-of-3.parquet')
        >>> Shard.parse("4/3")
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: shard='4/3' is not one of 3: number them from 1/3 to 3/3
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: object) -> Self:
        """The shard that is written as NUMBER/OF.

        Raises:
            InputError: it is written in another way, or there is no such shard.
        """
        if isinstance(text, cls):
            return text
        found = SHARD.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise InputError(
                f"shard={shown(repr(text))} must read NUMBER/OF, such as 3/16 for the third of sixteen shares"
            )
        number, of = int(found[1]), int(found[2])
        if not 1 <= number <= of:
            numbered = f"number them from 1/{of} to {of}/{of}" if of else "there is at least one: 1/1"
            raise InputError(f"shard={shown(repr(text))} is not one of {of}: {numbered}")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, chosen: Sequence[T]) -> Sequence[T]:
        """Its share of the `chosen` images, which interleaves with those of the other shards.

        Raises:
            InputError: there are more shards than images.
        """
        if self.of > len(chosen):
            raise InputError(
                f"shard={str(self)!r} cuts {len(chosen):,} images into {self.of:,} shares: there are at most as many "
                "shares as images"
            )
        return chosen[self.number - 1 :: self.of]

    def holds(self, places: Ints) -> NDArray[np.bool_]:
        """(N,) whether the images at these places among the chosen ones belong to the shard."""
        return np.asarray((places >= 0) & (places % self.of == self.number - 1))

    def images_of(self, chosen: int) -> int:
        """How many images it has if so many are chosen."""
        return max(0, -(-(chosen - self.number + 1) // self.of))

    def file(self, out: Place) -> Place:
        """The file of the shard of a run into `out`, beside it; `out` itself if it has that name already."""
        ending = f"{self.number}-of-{self.of}"
        stem, dot, suffix = name_of(out).rpartition(".")
        named = stem == ending or stem.endswith(f"-{ending}")
        return out if named else beside(out, f"{stem}-{ending}{dot}{suffix}")


def whole_of(file: Place) -> Place | None:
    """The `out` of a run of which `file` holds a shard, finished or not; None where its name does not say.

    Example:
        >>> from pathlib import Path
        >>> whole_of(Path("runs/table-2-of-3.parquet")), whole_of(Path("2-of-3.parquet"))
        (PosixPath('runs/table.parquet'), None)
    """
    found = SHARD_FILE.fullmatch(name_of(file))
    return beside(file, f"{found[1]}.parquet") if found else None


def check_belong(selection: str | None, shard: str | None, idx: Ints) -> None:
    """Raise InputError for an image that a header with this selection and shard is not about."""
    chosen = Selection.parse(selection)
    if chosen is None:
        return
    places = chosen.places(idx)
    strange = np.flatnonzero(places < 0 if shard is None else ~Shard.parse(shard).holds(places))
    if len(strange):
        which = f"{selection}" if shard is None else f"shard {shard} of {selection}"
        raise InputError(
            f"image {idx[strange[0]]} is not one of {which}, as which the header describes {len(idx):,} rows: were "
            "tables put together by hand? `randsmooth merge` puts shards together"
        )
