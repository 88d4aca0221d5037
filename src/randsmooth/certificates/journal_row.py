"""One line of a journal: the evidence of one image as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError

Ints = NDArray[np.int64]

EVIDENCE = ("counts0", "counts", "path")
MOST = 2**53  # of any number in a row: JSON readers disagree about larger ones


@dataclass(frozen=True)
class JournalRow:
    """One image's evidence.

    Attributes:
        idx, label: position and true class of the image; label -1 where it has none.
        counts0, counts: (K,) class counts of the samples that picked the class, and of those that bounded it.
        path: how often the picked class had come out at each look.
        seconds: time that the image took.

    Example:
        >>> counts = np.array([99, 1])
        >>> row = JournalRow(idx=0, label=0, counts0=counts, counts=counts, path=counts[:1], seconds=0.5)
        >>> print(row.to_json())
        {"idx": 0, "label": 0, "seconds": 0.5, "counts0": [99, 1], "counts": [99, 1], "path": [99]}
        >>> JournalRow.from_json(row.to_json()).counts.tolist()
        [99, 1]
    """

    idx: int
    label: int
    counts0: Ints
    counts: Ints
    path: Ints
    seconds: float

    def to_json(self) -> str:
        values: dict[str, Any] = {"idx": self.idx, "label": self.label, "seconds": self.seconds}
        return json.dumps(values | {key: getattr(self, key).tolist() for key in EVIDENCE})

    @classmethod
    def from_json(cls, line: str | bytes, where: object = "the row") -> JournalRow:
        """The row that `to_json` wrote as `line`; `where` names the line in errors.

        Raises:
            InputError: `to_json` cannot have written it.
        """
        raw = parse_json(line, where)
        if not isinstance(raw, dict) or raw.keys() != {"idx", "label", "seconds", *EVIDENCE}:
            raise InputError(f"{where} is no row: expected idx, label, seconds, {', '.join(EVIDENCE)}")
        for key, least in (("idx", 0), ("label", -1)):
            if type(raw[key]) is not int or not least <= raw[key] < MOST:
                raise InputError(f"{where} holds {key}={shown(repr(raw[key]))}; expected a whole number from {least}")
        for key in EVIDENCE:
            if not isinstance(raw[key], list) or not all(map(_is_count, raw[key])):
                raise InputError(f"{where} holds {key} other than a list of whole numbers from 0")
        seconds = raw["seconds"]
        if type(seconds) not in (int, float) or not (0 <= seconds < math.inf):
            raise InputError(f"{where} holds seconds={shown(repr(seconds))}; expected a number from 0")
        evidence = {key: np.array(raw[key], np.int64) for key in EVIDENCE}
        return cls(idx=raw["idx"], label=raw["label"], seconds=float(seconds), **evidence)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST
