"""Counts of samples whose images are not finished, kept on disk: what was paid for is not asked for again."""

from __future__ import annotations

import json
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from randsmooth.atomic import write_atomically
from randsmooth.certificates import Header
from randsmooth.certificates.digest import link
from randsmooth.certification.segments import Segment
from randsmooth.errors import Note

Ints = NDArray[np.int64]
IDLE = 4096  # lines about finished images after which the file is written anew without them


class KeptCounts:
    """A file with a line for each answered part of a segment; used as a context manager.

    The first line is a digest of the run's header, since counts are good for that run alone. Each line ends in a tab
    and a checksum of itself and all lines before. What follows a damaged line is dropped, and asked for again.

    Attributes:
        samples: how many are kept, of unfinished images.

    Example:
        >>> import tempfile, torch
        >>> from randsmooth.noise import Stream
        >>> header = Header(sigma=0.5, n0=100, n=100, alpha=0.001)
        >>> stream = Stream(0, "certify/estimate").at(7, 0)  # of the image with address 7
        >>> segment = Segment(0, torch.zeros(1, 2, 2), stream, samples=100)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with KeptCounts.open(Path(folder) / "run.answers", header) as kept:
        ...         kept.add(segment.part(0, 4), np.array([1, 1, 0, 1]))
        ...     with KeptCounts.open(Path(folder) / "run.answers", header) as kept:
        ...         counts, left = kept.of(segment, classes=2)
        >>> counts, [(part.skip, part.samples) for part in left]
        (array([1, 3]), [(4, 96)])
    """

    def __init__(self, path: Path, run: str) -> None:
        self.path, self.run, self.samples = path, run, 0
        self._lines: dict[int, list[bytes]] = defaultdict(list)  # by the address of the image
        self._found: dict[tuple[object, ...], list[tuple[int, Ints]]] = defaultdict(list)  # of earlier runs
        self._of_image: dict[int, int] = defaultdict(int)  # samples
        self._idle = 0
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """The counts at `path`, to go on with; none where the file is missing or of another run."""
        kept = cls(path, link("", header.model_dump_json().encode()))
        for line in kept._read():
            kept._take(line)
        kept._rewrite()
        return kept

    def of(self, segment: Segment, classes: int) -> tuple[Ints, list[Segment]]:
        """The counts (classes,) of the samples of `segment` that earlier runs kept, and the parts that are left."""
        counts, left, end = np.zeros(classes, np.int64), [], 0
        for skip, predicted in sorted(self._found.get(_key(segment), ()), key=lambda part: part[0]):
            if skip < end or skip + len(predicted) > segment.samples:
                continue  # equal images were counted side by side
            if skip > end:
                left.append(segment.part(end, skip - end))
            counts += np.bincount(predicted, minlength=classes)
            end = skip + len(predicted)
        if not end:
            return counts, [segment]
        return counts, [*left, segment.part(end, segment.samples - end)] if end < segment.samples else left

    def add(self, segment: Segment, classes: Ints) -> None:
        """Keep the `classes` (samples,) of a segment. Any thread may call this."""
        name, address, block = segment.stream.name, *segment.stream.position
        text = json.dumps([name, hex(address), block, segment.drawn, segment.skip, classes.tolist()]).encode()
        with self._lock:
            self._lines[address].append(text)
            self._count(address, len(classes))
            self._write(text)

    def finish(self, address: int) -> None:
        """Forget the image with this address, which is finished."""
        with self._lock:
            self._idle += len(self._lines.pop(address, ()))
            self.samples -= self._of_image.pop(address, 0)
            if self._idle > IDLE:
                self._file.close()
                self._rewrite()

    def remove(self) -> None:
        """Delete the file, when the run is finished."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def _read(self) -> Iterator[bytes]:
        """The lines of the file up to the first that is not as it was written; none if it is of another run."""
        content = self.path.read_bytes() if self.path.exists() else b""
        lines, checksum = content.split(b"\n")[:-1], ""  # the last is empty, or was not finished
        for place, line in enumerate(lines):
            text, _, stored = line.rpartition(b"\t")
            checksum = link(checksum, text)
            if stored != checksum.encode():
                lost = len(lines) - place
                warnings.warn(f"{self.path}, line {place + 1} is damaged: {lost} lines are asked for again", Note, 4)
                return
            if place == 0 and text != self.run.encode():
                return
            if place > 0:
                yield text

    def _take(self, line: bytes) -> None:
        name, address, block, drawn, skip, classes = json.loads(line)
        self._found[name, int(address, 16), block, drawn].append((skip, np.array(classes, np.int64)))
        self._lines[int(address, 16)].append(line)
        self._count(int(address, 16), len(classes))

    def _count(self, address: int, samples: int) -> None:
        self._of_image[address] += samples
        self.samples += samples

    def _rewrite(self) -> None:
        """Write the file anew, with the lines about unfinished images alone."""
        lines, checksum = [self.run.encode(), *(line for image in self._lines.values() for line in image)], ""
        signed = []
        for line in lines:
            checksum = link(checksum, line)
            signed.append(line + b"\t" + checksum.encode() + b"\n")
        write_atomically(self.path, b"".join(signed))
        self._checksum, self._idle = checksum, 0
        self._file: BinaryIO = self.path.open("ab")

    def _write(self, line: bytes) -> None:
        self._checksum = link(self._checksum, line)
        self._file.write(line + b"\t" + self._checksum.encode() + b"\n")
        self._file.flush()


def _key(segment: Segment) -> tuple[object, ...]:
    return (segment.stream.name, *segment.stream.position, segment.drawn)
