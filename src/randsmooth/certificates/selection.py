"""Which images of a split a run certifies, and which of these a shard does: as a header says it, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.urls import Place, beside, name_of

Ints = NDArray[np.int64]
T = TypeVar("T")

N = r"\d{1,18}"
SELECTION = re.compile(rf"all (?P<all>{N})|(?P<how>take|one in) (?P<number>{N}) of (?P<total>{N})", re.ASCII)
SHARD = re.compile(rf"({N})/({N})", re.ASCII)
SHARD_FILE = re.compile(r"(.+)-\d+-of-\d+\.parquet(?:\.partial)?", re.ASCII)
MOST_IMAGES = 10**7  # of a split: ImageNet has 1.28 million training images


@lru_cache(maxsize=16)
def chosen_by(words: str | None) -> Ints | None:
    """(chosen,) the positions of the images that a header's selection names, in order.

    Either that many spread evenly over the split, or every so-manieth. None where it names none, or in words that are
    not known here.

    Example:
        >>> [len(chosen_by(words)) for words in ("all 364", "take 5 of 364", "one in 20 of 364")]
        [364, 5, 19]
        >>> chosen_by("take 4 of 10").tolist(), chosen_by("the two best")
        ([0, 2, 5, 7], None)
    """
    found = SELECTION.fullmatch(words or "")
    if found is None:
        return None
    number, total = int(found["number"] or found["all"]), int(found["total"] or found["all"])
    if not 0 < number <= (MOST_IMAGES if found["how"] == "one in" else total) or not 0 < total <= MOST_IMAGES:
        return None
    return np.arange(0, total, number) if found["how"] == "one in" else np.arange(number) * total // number


def places_in(chosen: Ints, idx: Ints) -> Ints:
    """(N,) where each of the images `idx` stands among the `chosen` ones, ascending; -1 for one that is not among them.

    Example:
        >>> places_in(np.array([0, 2, 5, 7]), np.array([5, 6, 7])).tolist()
        [2, -1, 3]
    """
    places = np.minimum(np.searchsorted(chosen, idx), len(chosen) - 1)
    return np.where(chosen[places] == idx, places, -1)


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
            raise InputError(f"shard={shown(repr(text))} must read NUMBER/OF, such as 3/16")
        number, of = int(found[1]), int(found[2])
        if not 1 <= number <= of:
            raise InputError(f"shard={shown(repr(text))} is not one of {of}: number them from 1/{of or 1} to {of}/{of}")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, chosen: Sequence[T]) -> Sequence[T]:
        """Its share of the `chosen` images, which interleaves with those of the other shards.

        Raises:
            InputError: there are more shards than images.
        """
        if self.of > len(chosen):
            raise InputError(f"shard={str(self)!r} cuts {len(chosen):,} images into more shares than there are images")
        return chosen[self.number - 1 :: self.of]

    def holds(self, places: Ints) -> NDArray[np.bool_]:
        """(N,) whether the images at these places among the chosen ones belong to the shard."""
        return np.asarray((places >= 0) & (places % self.of == self.number - 1))

    def images_of(self, chosen: int) -> int:
        """How many images it has if so many are chosen."""
        return len(range(self.number - 1, chosen, self.of))

    def file(self, out: Place) -> Place:
        """The file of the shard of a run into `out`, beside it; `out` itself if it has that name already."""
        ending = f"{self.number}-of-{self.of}"
        stem, dot, suffix = name_of(out).rpartition(".")
        return out if f"-{stem}".endswith(f"-{ending}") else beside(out, f"{stem}-{ending}{dot}{suffix}")


def whole_of(file: Place) -> Place | None:
    """The `out` of a run of which `file` holds a shard, finished or not; None where its name does not say.

    Example:
        >>> from pathlib import Path
        >>> whole_of(Path("runs/table-2-of-3.parquet")), whole_of(Path("2-of-3.parquet"))
        (PosixPath('runs/table.parquet'), None)
    """
    found = SHARD_FILE.fullmatch(name_of(file))
    return beside(file, f"{found[1]}.parquet") if found else None


def images_planned(selection: str | None, shard: str | None) -> int | None:
    """How many images a run certifies in the end whose header says these; None where the selection does not tell.

    Example:
        >>> images_planned("one in 20 of 10000", None), images_planned("take 500 of 10000", "2/3")
        (500, 167)
    """
    chosen = chosen_by(selection)
    return None if chosen is None else Shard.parse(shard or "1/1").images_of(len(chosen))


def check_belong(selection: str | None, shard: str | None, idx: Ints) -> None:
    """Raise InputError for an image that a header with this selection and shard is not about."""
    chosen = chosen_by(selection)
    if chosen is None:
        return
    held = Shard.parse(shard or "1/1").holds(places_in(chosen, idx))
    if not held.all():
        which = selection if shard is None else f"shard {shard} of {selection}"
        raise InputError(f"image {idx[np.argmin(held)]} is not one of {which}: `randsmooth merge` puts shards together")
