"""The evidence of one image as a line of a journal, and the table of many such lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from randsmooth.certificates.counts_given import ANY_LENGTH, whole_numbers
from randsmooth.certificates.evidence import ADDRESS, COLUMNS, Ints
from randsmooth.certificates.header import Header, Machine
from randsmooth.certificates.rows import numbered
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.documents import parse_json, shown
from randsmooth.errors import WrongFile

# The fields of a row that are arrays of whole numbers.
ARRAYS_OF_COUNTS = ("counts0", "counts", "path")


@dataclass(frozen=True)
class JournalRow:
    """One image's evidence.

    Attributes:
        idx, label: position and true class of the image; label -1 where it has none.
        counts0, counts: (K,) class counts of the samples that picked the class, and of
            those that bounded it.
        path: the counts of the picked class, one for each look.
        seconds: time that the image took.
        machine: the machine that made this row; None for that of the header.
        image: the address of the image, a hash of its pixels; only the rows of a shard
            need it, to make the `data` of the whole table.
        u: the uniform number of the image, under the randomised bound.
        words: how many words a text has; None where inputs are no texts.

    Example:
        >>> row = JournalRow(
        ...     idx=0,
        ...     label=0,
        ...     counts0=np.array([10, 0]),
        ...     counts=np.array([99, 1]),
        ...     path=np.array([99]),
        ...     seconds=0.5,
        ... )
        >>> print(row.to_json())
        {"idx": 0, "label": 0, "seconds": 0.5, "counts0": [10, 0], ...}
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
    words: int | None = None

    def slim(self) -> JournalRow:
        """Return the same row with its counts in the smallest types that hold them.

        A journal keeps the rows of all images in memory.
        """
        return replace(
            self,
            counts0=_in_smallest_type(self.counts0),
            counts=_in_smallest_type(self.counts),
            path=_in_smallest_type(self.path),
        )

    def to_json(self) -> str:
        """Return the row as a line."""
        values: dict[str, Any] = {
            "idx": self.idx,
            "label": self.label,
            "seconds": self.seconds,
            "counts0": self.counts0.tolist(),
            "counts": self.counts.tolist(),
            "path": self.path.tolist(),
        }
        if self.machine is not None:
            values["machine"] = self.machine.model_dump()
        if self.image is not None:
            values["image"] = self.image.hex()
        if self.u is not None:
            values["u"] = self.u
        if self.words is not None:
            values["words"] = self.words
        return json.dumps(values)

    @classmethod
    def from_json(cls, line: str | bytes, where: object = "the row") -> JournalRow:
        """Return the row that `to_json` wrote as `line`.

        Args:
            where: the name for the line in errors.

        Raises:
            WrongFile: `to_json` cannot have written it.
        """
        raw = parse_json(line, where)
        try:
            fields = {name: _of_json(name, value) for name, value in raw.items()}
            return cls(**fields)
        # A line may hold any JSON: no mapping (AttributeError), other fields or types
        # (TypeError), other values (ValueError, as each Problem is), numbers too large
        # for a float (OverflowError).
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise WrongFile(
                f"{where} is not a row of a journal: {shown(error)}"
            ) from None


def _in_smallest_type(counts: Ints) -> Any:
    """Return counts in the smallest unsigned type that holds the largest of them."""
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


def _of_json(name: str, value: Any) -> Any:
    """Return the value of the field `name` of a `JournalRow` that JSON has as `value`."""
    if name in ARRAYS_OF_COUNTS:
        # Classes are counted later, by `_check_classes`, and looks are not limited.
        return whole_numbers(name, value, ANY_LENGTH)
    if name == "machine":
        return Machine(**value)
    if name == "image":
        return bytes.fromhex(value)
    if name in ("seconds", "u"):
        return float(value)
    # A single number, which has no shape.
    return int(whole_numbers(name, value))


def table_of(
    header: Header, rows: Sequence[JournalRow], name: str = ""
) -> Certificates:
    """Return the table of `rows`.

    Raises:
        WrongFile: rows have counts of different lengths, or only some of them have the
            address of their image.
        Problem: what `from_evidence` refuses.
    """
    _check_classes(header, rows)
    columns = {
        "idx": _column("idx", header, rows),
        "label": _column("label", header, rows),
        "counts0": _column("counts0", header, rows),
        "counts": _column("counts", header, rows),
        "seconds": _column("seconds", header, rows),
    }
    if header.bound == "randomised":
        columns["u"] = _column("u", header, rows)
    if header.noise is not None and header.noise.counts_words:
        columns["words"] = _words(header, rows)

    # The header lists the machines, and a column numbers them.
    machines, machine_numbers = numbered([row.machine for row in rows])
    if machines:
        header = header.replace(machines=machines)
        columns["machine"] = machine_numbers

    # Either all rows have the address of their image, or none has.
    addresses = b"".join(row.image or b"" for row in rows)
    if len(addresses) not in (0, ADDRESS * len(rows)):
        raise WrongFile(
            f"{len(addresses):,} bytes of image hashes are not {ADDRESS} for each of "
            f"{len(rows):,} images"
        )
    if addresses:
        columns["image"] = np.frombuffer(addresses, np.uint8).reshape(len(rows), -1)
    return from_evidence(header, **columns, paths=[row.path for row in rows], name=name)


def _words(header: Header, rows: Sequence[JournalRow]) -> Ints:
    """Return (N,) how many words the text of each row has.

    Raises:
        WrongFile: a row does not say it.
    """
    for row in rows:
        if row.words is None:
            raise WrongFile(
                f"the row of text {row.idx} lacks its number of words", field="words"
            )
    words: Ints = _column("words", header, rows)
    return words


def _number_of_classes(header: Header, rows: Sequence[JournalRow]) -> int:
    """Return K, how many numbers the counts of an image are.

    The header says it, or else the first row.
    """
    if header.count_columns:
        return header.count_columns
    return len(rows[0].counts) if rows else 1


def _check_classes(header: Header, rows: Sequence[JournalRow]) -> None:
    """Raise WrongFile for a row whose counts0 or counts are not K numbers."""
    K = _number_of_classes(header, rows)
    for row in rows:
        for name, counts in (("counts0", row.counts0), ("counts", row.counts)):
            if len(counts) != K:
                raise WrongFile(
                    f"{name} of image {row.idx} hold {len(counts)} classes, not {K}",
                    field=name,
                    value=len(counts),
                )


def _column(name: str, header: Header, rows: Sequence[JournalRow]) -> Any:
    """Return the field `name` of all rows, in the shape and type of the column."""
    column = COLUMNS[name]
    values = [getattr(row, name) for row in rows]
    array: Any = np.array(values, column.dtype)
    # Without rows, an array of counts has shape (0,), and is to have (0, K).
    return array.reshape(column.shape(len(rows), _number_of_classes(header, rows)))
