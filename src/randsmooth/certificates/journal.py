"""The certificates of a run under way, one line each, so that a crash loses none that was finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth.certificates.files import parse_header
from randsmooth.certificates.header import Header
from randsmooth.certificates.table import Certificates, Ints, from_counts
from randsmooth.errors import InputError

EVIDENCE = ("counts0", "counts", "path")


@dataclass(frozen=True)
class Row:
    """One image's evidence.

    Attributes:
        idx, label: position and true class of the image.
        counts0, counts: (K,) class counts of the samples that picked the class, and of those that bounded it.
        path: how often the picked class had come out at each look.
        seconds: what the image took.
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
    def from_json(cls, line: str | bytes) -> Row:
        raw = json.loads(line)
        evidence = {key: np.array(raw[key], np.int64) for key in EVIDENCE}
        return cls(idx=raw["idx"], label=raw["label"], seconds=raw["seconds"], **evidence)


@dataclass
class Journal:
    """An append-only file: the header on its first line, then a row a line. A torn last line is dropped."""

    path: Path
    header: Header
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def create(cls, path: Path, header: Header) -> Journal:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header.model_dump_json() + "\n", encoding="utf-8")
        return cls(path, header)

    @classmethod
    def resume(cls, path: Path, header: Header) -> Journal:
        """The journal at `path` with its finished rows.

        Raises:
            InputError: it belongs to a run with another header (the first difference is named), or a line
                that was finished is damaged.
        """
        *lines, torn = path.read_bytes().split(b"\n")
        if not lines:  # killed while the header was being written
            return cls.create(path, header)
        parse_header(lines[0], path).check_same_run(header, path)
        rows = [_row(line, place, path) for place, line in enumerate(lines[1:], start=2)]
        os.truncate(path, path.stat().st_size - len(torn))  # not rewritten: a kill here loses no finished line
        return cls(path, header, rows)

    def append(self, row: Row) -> None:
        """Add a row and hand it to the operating system, which keeps it if this process is killed."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(row.to_json() + "\n")
        self.rows.append(row)

    def table(self, order: Iterable[int], name: str = "") -> Certificates:
        """The rows as a table, in the `order` of image positions given."""
        place = {row.idx: row for row in self.rows}
        rows = [place[index] for index in order]
        return from_counts(
            self.header,
            idx=np.array([row.idx for row in rows], np.int64),
            label=np.array([row.label for row in rows], np.int64),
            counts0=np.stack([row.counts0 for row in rows]),
            counts=np.stack([row.counts for row in rows]),
            seconds=np.array([row.seconds for row in rows]),
            paths=[row.path for row in rows],
            name=name,
        )


def _row(line: bytes, place: int, path: Path) -> Row:
    try:
        return Row.from_json(line)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}, line {place} is damaged ({error}); use --overwrite to start again") from error
