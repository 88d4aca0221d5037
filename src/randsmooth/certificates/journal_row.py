"""One line of a journal: the evidence of one image as JSON."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.machine import Machine, NumberedMachines
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError

Ints = NDArray[np.int64]

EVIDENCE = ("counts0", "counts", "path")
OPTIONAL = ("machine", "image", "u")
ADDRESS = 32  # bytes of an image's address
MOST = 2**53  # of any number in a row: JSON readers disagree about larger ones


@dataclass(frozen=True)
class JournalRow:
    """One image's evidence.

    Attributes:
        idx, label: position and true class of the image; label -1 where it has none.
        counts0, counts: (K,) class counts of the samples that picked the class, and of those that bounded it.
        path: how often the picked class had come out at each look.
        seconds: time that the image took.
        machine: which made this row; None for the one that the header tells.
        image: the address of the image, a hash of its pixels; only the rows of a shard need it, from which the `data`
            of the whole table is made.
        u: the uniform number of the image, under the randomised bound.

    Example:
        >>> counts0, counts = np.array([10, 0]), np.array([99, 1])
        >>> row = JournalRow(idx=0, label=0, counts0=counts0, counts=counts, path=counts[:1], seconds=0.5)
        >>> print(row.to_json())
        {"idx": 0, "label": 0, "seconds": 0.5, "counts0": [10, 0], "counts": [99, 1], "path": [99]}
        >>> JournalRow.from_json(row.to_json()).counts.tolist()
        [99, 1]
    """

    idx: int
    label: int
    counts0: Ints
    counts: Ints
    path: Ints
    seconds: float
    machine: Machine | None = None
    image: bytes | None = None
    u: float | None = None

    def slim(self) -> JournalRow:
        """The same with its counts in the smallest types that hold them, so that many rows fit into memory."""
        return replace(self, counts0=_slim(self.counts0), counts=_slim(self.counts), path=_slim(self.path))

    def to_json(self, machines: NumberedMachines | None = None) -> str:
        """The row as a line. It says the number of its machine, and describes one that is not yet among `machines`.

        Args:
            machines: those of the lines before; one that is not among them is added.
        """
        values: dict[str, Any] = {"idx": self.idx, "label": self.label, "seconds": self.seconds}
        values |= {key: getattr(self, key).tolist() for key in EVIDENCE}
        if self.machine is not None:
            known = machines is not None and self.machine in machines
            number = machines.number(self.machine) if machines is not None else 0
            values["machine"] = number if known else self.machine.model_dump()
        if self.image is not None:
            values["image"] = self.image.hex()
        if self.u is not None:
            values["u"] = self.u
        return json.dumps(values)

    @classmethod
    def from_json(
        cls, line: str | bytes, where: object = "the row", machines: NumberedMachines | None = None
    ) -> JournalRow:
        """The row that `to_json` wrote as `line`; `where` names the line in errors.

        Args:
            machines: those of the lines before; one that this line is the first to name is added.

        Raises:
            InputError: `to_json` cannot have written it.
        """
        raw = parse_json(line, where)
        needed = {"idx", "label", "seconds", *EVIDENCE}
        if not isinstance(raw, dict) or raw.keys() - OPTIONAL != needed:
            raise InputError(f"{where} is no row: expected idx, label, seconds, {', '.join(EVIDENCE)}")
        for key, least in (("idx", 0), ("label", -1)):
            if type(raw[key]) is not int or not least <= raw[key] < MOST:
                raise InputError(f"{where} holds {key}={shown(repr(raw[key]))}; expected a whole number from {least}")
        for key in EVIDENCE:
            if not _are_counts(raw[key]):
                raise InputError(f"{where} holds {key} other than a list of whole numbers from 0")
        seconds = raw["seconds"]
        if type(seconds) not in (int, float) or not (0 <= seconds < math.inf):
            raise InputError(f"{where} holds seconds={shown(repr(seconds))}; expected a number from 0")
        evidence = {key: np.array(raw[key], np.int64) for key in EVIDENCE}
        machine = _machine(raw["machine"], machines or NumberedMachines(), where) if "machine" in raw else None
        image = _image(raw["image"], where) if "image" in raw else None
        u = raw.get("u")
        if "u" in raw and not (type(u) is float and 0 < u < 1):
            raise InputError(f"{where} holds u={shown(repr(u))}; expected a number strictly between 0 and 1")
        return cls(
            idx=raw["idx"], label=raw["label"], seconds=float(seconds), machine=machine, image=image, u=u, **evidence
        )


def _slim(counts: Ints) -> Ints:
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


def _are_counts(values: object) -> bool:
    if not isinstance(values, list) or set(map(type, values)) - {int}:
        return False
    return not values or 0 <= min(values) <= max(values) < MOST


def _machine(value: object, machines: NumberedMachines, where: object) -> Machine:
    """The machine that a line describes, or says the number of."""
    if type(value) is int and 0 <= value < len(machines.machines):
        return machines.machines[value]
    if not isinstance(value, dict):
        raise InputError(
            f"{where} holds machine={shown(repr(value))}; expected one that this or an earlier line describes"
        )
    try:
        return machines.machines[machines.number(Machine(**value))]
    except InputError as error:
        raise InputError(f"{where} holds a machine that cannot be: {error}") from error


def _image(value: object, where: object) -> bytes:
    if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{2 * ADDRESS}}}", value):
        raise InputError(f"{where} holds image={shown(repr(value))}; expected {2 * ADDRESS} hexadecimal digits")
    return bytes.fromhex(value)
