"""How much memory and disk a certification takes."""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from randsmooth.certificates import Header, JournalRow
from randsmooth.launch.pilot import Pilot, PilotImage

CHECKSUM = 34  # bytes of a journal's line besides its row
COLUMNS = 3 * 8 + 4 * 3 * 4  # bytes of a table's row besides the counts: three numbers, and where its lists end
FOOTER = 16 * 1024  # bytes of a table besides its rows, without the header


@dataclass(frozen=True)
class Usage:
    """What a run takes at most, in bytes.

    Attributes:
        memory: of each process.
        device_memory: of each GPU; None without one.
        journal: the file OUT.parquet.partial, which is there while the run lasts.
        table: the finished file. For a moment both are there.
    """

    memory: int
    device_memory: int | None
    journal: int
    table: int


def usage_of(header: Header, many: int, taken: Sequence[float], pilot: Pilot) -> Usage:
    """The usage of a run of `many` images, by those of the pilot, which take `taken` samples each."""
    rows = [_row(image, samples) for image, samples in zip(pilot.images, taken, strict=True)]
    line = float(np.mean([len(row.to_json()) for row in rows])) + CHECKSUM
    numbers = float(np.mean([len(row.counts0) + len(row.counts) + len(row.path) for row in rows]))
    head = len(header.model_dump_json())
    journal, table = head + many * line, head + FOOTER + many * (COLUMNS + 8.0 * numbers)
    return Usage(_memory(), _device_memory(), round(journal), round(table))


def _row(image: PilotImage, samples: float) -> JournalRow:
    """A row as the run will write it, with counts of the same length in letters."""
    seen = image.counts if image.picked is None else image.picked
    picked = np.zeros(1, np.int64) if seen is None else seen
    share = max(0.0, samples - image.n0) / max(1, int(picked.sum()))
    counts = np.rint(picked * share).astype(np.int64)
    path = np.array([*image.path, image.successes], np.int64)
    return JournalRow(image.index, 0, picked if image.n0 else np.minimum(picked, 1), counts, path, 0.123456)


def _memory() -> int:
    """The most that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _device_memory() -> int | None:
    return torch.cuda.max_memory_reserved() if torch.cuda.is_initialized() else None
