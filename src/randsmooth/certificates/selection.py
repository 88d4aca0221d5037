"""Which images of a split a run certifies, and which of these a shard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from randsmooth.errors import BadValue, WrongTable
from randsmooth.urls import Place, beside, name_of

Ints = NDArray[np.int64]
Positions = TypeVar("Positions", bound="Sequence[Any] | Ints")

# A text of digits that is surely cheap to read as a number.
NUMBER = r"\d{1,18}"

# The words by which a header names the selected images, such as "take 500 of 10000".
SELECTION = re.compile(
    rf"all (?P<all>{NUMBER})"
    rf"|(?P<how>take|one in) (?P<number>{NUMBER}) of (?P<total>{NUMBER})",
    re.ASCII,
)
SHARD = re.compile(rf"({NUMBER})/({NUMBER})", re.ASCII)
SHARD_FILE = re.compile(r"(.+)-\d+-of-\d+\.parquet(?:\.partial)?", re.ASCII)

# Images of a split: ImageNet has 1.28 million for training.
MOST_IMAGES = 10**7


@lru_cache(maxsize=16)
def chosen_by(words: str | None) -> Ints | None:
    """Return the positions, ascending, of the images that a header's selection names.

    "all" takes every image of the split, "take 5" five that are spread evenly over it,
    and "one in 20" the first of every 20. The result is None without a selection, and
    for words that are not known here.

    Example:
        >>> selections = ("all 364", "take 5 of 364", "one in 20 of 364")
        >>> [len(chosen_by(selection)) for selection in selections]
        [364, 5, 19]
        >>> chosen_by("take 4 of 10").tolist(), chosen_by("the two best")
        ([0, 2, 5, 7], None)
    """
    match = SELECTION.fullmatch(words or "")
    if match is None:
        return None
    number = int(match["number"] or match["all"])
    total = int(match["total"] or match["all"])
    if not 0 < total <= MOST_IMAGES:
        return None
    if match["how"] == "one in":
        step = number
        return np.arange(0, total, step) if 0 < step <= MOST_IMAGES else None
    return np.arange(number) * total // number if 0 < number <= total else None


@dataclass(frozen=True)
class Shard:
    """One of `of` shares of the images that a run certifies: the first, or the second,
    ..., of every `of` images.

    Attributes:
        number: the number of the share, from 1 on.
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
        randsmooth.errors.BadValue: shard='4/3' must have a NUMBER from 1 to OF, ...
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: object) -> Self:
        """Return the shard that is written as NUMBER/OF.

        Raises:
            Problem: it is written in another way, or there is no such shard.
        """
        if isinstance(text, cls):
            return text
        match = SHARD.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise BadValue(
                field="shard", value=text, expected="must read NUMBER/OF, such as 3/16"
            )
        number = int(match[1])
        of = int(match[2])
        if not 1 <= number <= of:
            raise BadValue(
                field="shard",
                value=text,
                expected="must have a NUMBER from 1 to OF, such as 3/16",
            )
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, chosen: Positions) -> Positions:
        """Return those of the `chosen` images that this shard holds.

        The images of the shards interleave.

        Raises:
            Problem: there are more shards than images.
        """
        if self.of > len(chosen):
            raise BadValue(
                field="shard",
                value=str(self),
                expected=f"cuts {len(chosen):,} images into more shares than there are "
                "images",
            )
        return chosen[self.number - 1 :: self.of]  # type: ignore[return-value]

    def file(self, out: Place) -> Place:
        """Return the file, beside `out`, of this shard of a run into `out`.

        It is `out` itself if that is called as a file of this shard.
        """
        ending = f"{self.number}-of-{self.of}"
        stem, dot, suffix = name_of(out).rpartition(".")
        # The dash before the stem is for an `out` that is called 2-of-3.parquet.
        if f"-{stem}".endswith(f"-{ending}"):
            return out
        return beside(out, f"{stem}-{ending}{dot}{suffix}")


def whole_of(file: Place) -> Place | None:
    """Return the `out` of the run that `file` holds a shard of, finished or not.

    It is None where the name of the file does not say it.

    Example:
        >>> from pathlib import Path
        >>> whole_of(Path("runs/table-2-of-3.parquet"))
        PosixPath('runs/table.parquet')
        >>> whole_of(Path("2-of-3.parquet")) is None
        True
    """
    match = SHARD_FILE.fullmatch(name_of(file))
    return beside(file, f"{match[1]}.parquet") if match else None


def images_planned(selection: str | None, shard: str | None) -> int | None:
    """Return how many images a run certifies whose header has these facts.

    It is None where they do not tell it.

    Example:
        >>> images_planned("one in 20 of 10000", shard=None)
        500
        >>> images_planned("take 500 of 10000", shard="2/3")
        167
    """
    chosen = chosen_by(selection)
    if chosen is None:
        return None
    # A run without shards is the one shard of itself.
    return len(Shard.parse(shard or "1/1").share(chosen))


def check_belong(selection: str | None, shard: str | None, idx: Ints) -> None:
    """Raise Problem for an image of `idx` (N,) that is not of this selection and shard.

    A selection that does not name its images is not checked.
    """
    chosen = chosen_by(selection)
    if chosen is None:
        return
    belongs = np.isin(idx, Shard.parse(shard or "1/1").share(chosen))
    if not belongs.all():
        images = selection if shard is None else f"shard {shard} of {selection}"
        stranger = idx[np.argmin(belongs)]
        raise WrongTable(
            f"image {stranger} is not one of {images}: "
            "`randsmooth merge` puts shards together"
        )
