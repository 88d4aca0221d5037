"""The journal of a run: the evidence of each finished image on a line of its own, so that a crash loses none."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from randsmooth.atomic import sync_folder
from randsmooth.certificates.digest import link
from randsmooth.certificates.header import WITH_DIGESTS, Header
from randsmooth.certificates.journal_row import ADDRESS, JournalRow
from randsmooth.certificates.machine import NumberedMachines
from randsmooth.certificates.pace import Pace
from randsmooth.certificates.same_run import as_begun, check_same_run
from randsmooth.certificates.stored_header import parse_header
from randsmooth.certificates.table import Certificates, Ints, from_evidence
from randsmooth.errors import InputError, NoDigest

UNFINISHED = ".partial"  # suffix of a journal
AT_ONCE = 4096  # rows whose counts are checked together: of a thousand classes they take 64 MiB


def journal_path(out: Path) -> Path:
    """The journal of a run into the table `out`.

    Example:
        >>> journal_path(Path("runs/mine.parquet")).name
        'mine.parquet.partial'
    """
    return out.with_name(out.name + UNFINISHED)


def shards_path(out: Path) -> Path:
    """The folder of the shards of a run into the table `out` that is shared out.

    Example:
        >>> shards_path(Path("runs/mine.parquet")).as_posix()
        'runs/mine.shards'
    """
    return out.with_suffix(".shards")


@dataclass
class Journal:
    """An append-only file: the header on its first line, then one row a line. An unfinished last line is dropped.

    A line ends in a tab and a checksum of itself and all lines before it. Use it as a context manager, or `close` it.

    Attributes:
        rows: the rows of all finished lines.
        safe: how many of them are known to be on the disk.
        judged: how many of them `judge` was asked about.
        machines: those that its rows name; each is written once.

    Example:
        >>> header = Header(sigma=0.5, n0=100, n=100, alpha=0.001)
        >>> counts = np.array([99, 1])
        >>> with Journal.create(Path("run.partial"), header) as journal:
        ...     journal.append(JournalRow(0, 0, counts, counts, counts[:1], seconds=0.5))
        >>> with Journal.resume(Path("run.partial"), header) as journal:
        ...     journal.table([0]).radius.round(3).tolist()
        [0.675]
    """

    path: Path
    header: Header
    rows: list[JournalRow]
    checksum: str
    pace: Pace = field(default_factory=Pace)
    safe: int = 0
    judged: int = 0
    machines: NumberedMachines = field(default_factory=NumberedMachines)

    def __post_init__(self) -> None:
        self.file: BinaryIO = self.path.open("ab")

    @classmethod
    def create(cls, path: Path, header: Header) -> Self:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        journal = cls(path, header, [], "")
        journal._write(header.model_dump_json())
        journal.sync()
        sync_folder(path.parent)
        return journal

    @classmethod
    def resume(cls, path: Path, header: Header) -> Self:
        """The journal at `path` with its finished rows, to go on with.

        Raises:
            InputError: it belongs to a run with another header (all differences are named), or a finished line is
                damaged.
        """
        content = read_journal(path)
        if content is None:  # killed while the header was being written
            return cls.create(path, header)
        several = header.shard is not None or content.machines.machines  # rows say which machine made them
        check_same_run(content.header, as_begun(content.header, header) if several else header, path)
        os.truncate(path, content.size)  # not rewritten: a kill here loses no finished line
        # An older version's header may hold fewer facts than `header`; it is kept, since no more was recorded.
        journal = cls(path, content.header, content.rows, content.checksum, machines=content.machines)
        journal.sync()
        return journal

    def append(self, row: JournalRow) -> None:
        """Add a row and hand it to the operating system, which keeps it if this process is killed."""
        self._write(row.to_json(self.machines))
        self.rows.append(row.slim())

    def settle(self) -> int:
        """Sync if `pace` says so, and return how many more rows are on the disk."""
        return self.sync() if self.pace.due() else 0

    def sync(self) -> int:
        """Wait until the disk reports all rows as written, and return how many more these are.

        Raises:
            InputError: the file was removed meanwhile.
        """
        if os.fstat(self.file.fileno()).st_nlink == 0:
            raise InputError(f"{self.path} was removed while its run was writing to it: start the run again")
        with self.pace.timed():
            os.fsync(self.file.fileno())
        more, self.safe = len(self.rows) - self.safe, len(self.rows)
        return more

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Sync what was written however the block ends, by Ctrl-C too."""
        try:
            if len(self.rows) > self.safe:
                self.sync()
        finally:
            self.close()

    def table(self, order: Iterable[int], name: str = "") -> Certificates:
        """The rows as a table, in the given `order` of image positions."""
        place = {row.idx: row for row in self.rows}
        return table_of(self.header, [place[index] for index in order], name)

    def judge(self) -> Certificates:
        """The rows that were not judged before, as a table. Errors as `from_evidence`.

        What `table` says can differ from it in the last bits: a rule may judge many images at once otherwise than few.
        """
        new = _evidence(self.header, self.rows[self.judged :])
        self.judged = len(self.rows)
        return new

    def _write(self, text: str) -> None:
        line = text.encode()
        self.checksum = link(self.checksum, line)
        self.file.write(line + b"\t" + self.checksum.encode() + b"\n")
        self.file.flush()


class _Lines:
    """The finished lines of a journal without their checksums, each checked when it is read.

    Attributes:
        checksum: of the last line that was read.
        size: bytes of the lines that were read.
        bare: how many of them, at the beginning, have no checksum.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path
        self.checksum, self.size, self.bare = "", 0, 0

    def __iter__(self) -> Iterator[bytes]:
        """Raises InputError at the first line whose checksum is not that of all up to it."""
        for place, line in enumerate(self.file, start=1):
            if not line.endswith(b"\n"):
                return
            text, tab, stored = line[:-1].rpartition(b"\t")
            if not tab and self.bare == place - 1:
                text, self.bare = line[:-1], place
                self.checksum = link(self.checksum, text)
            else:
                self.checksum = link(self.checksum, text)
                if stored != self.checksum.encode():
                    raise _damaged(self.path, place, "its checksum is not that of the lines up to it")
            self.size += len(line)
            yield text


@dataclass(frozen=True)
class JournalContent:
    """What a journal holds.

    Attributes:
        header, rows: of its finished lines.
        checksum: of the last of them.
        size: bytes of the finished lines.
        bare: how many lines have no checksum, since an older version wrote them.
        machines: those that the rows name.
    """

    header: Header
    rows: list[JournalRow]
    checksum: str
    size: int
    bare: int
    machines: NumberedMachines


def read_journal(path: Path) -> JournalContent | None:
    """What the journal at `path` holds; None if not even its header was finished. Changes nothing on the disk.

    Lines of older versions, without checksums, are read with a `NoDigest`; the next line's checksum covers them, too.

    Raises:
        InputError: a finished line is damaged, lost, doubled or of another file.
    """
    with path.open("rb") as file:
        lines = _Lines(file, path)
        texts = iter(lines)
        first = next(texts, None)
        if first is None:
            return None
        header, machines = parse_header(first, path), NumberedMachines()
        parsed = (JournalRow.from_json(text, f"{path}, line {at}", machines) for at, text in enumerate(texts, start=2))
        rows = [row.slim() for row in parsed]
    _check_rows(header, rows, path)
    bare = lines.bare
    if bare and header.version >= WITH_DIGESTS:
        raise _damaged(path, 1, "its checksum is lost")
    if bare:
        warnings.warn(f"{path} was begun before journals carried checksums: {bare} lines are read without", NoDigest, 2)
    return JournalContent(header, rows, lines.checksum, lines.size, bare, machines)


def journal_header(path: Path) -> Header | None:
    """The header of the journal at `path`, without its rows; None if it was not finished. Errors as `read_journal`.

    Example:
        >>> Journal.create(Path("run.partial"), Header(sigma=0.5, n0=100, n=100, alpha=0.001)).close()
        >>> journal_header(Path("run.partial")).sigma
        0.5
    """
    with path.open("rb") as file:
        first = next(iter(_Lines(file, path)), None)
    return None if first is None else parse_header(first, path)


def table_of(header: Header, rows: list[JournalRow], name: str = "") -> Certificates:
    """The table of `rows`. Errors as `from_evidence`."""
    if not any(row.machine for row in rows):
        return _evidence(header, rows, name)
    numbered = NumberedMachines()
    machine = np.array([-1 if row.machine is None else numbered.number(row.machine) for row in rows], np.int64)
    return _evidence(header.having(machines=tuple(numbered.machines)), rows, name, machine)


def _evidence(header: Header, rows: list[JournalRow], name: str = "", machine: Ints | None = None) -> Certificates:
    classes = len(rows[0].counts) if rows else max(1, len(header.classes or ()))
    images = b"".join(row.image or b"" for row in rows)
    addressed = len(images) == ADDRESS * len(rows) > 0
    u = [row.u for row in rows if row.u is not None]
    return from_evidence(
        header,
        idx=np.array([row.idx for row in rows], np.int64),
        label=np.array([row.label for row in rows], np.int64),
        counts0=np.array([row.counts0 for row in rows], np.int64).reshape(len(rows), classes),
        counts=np.array([row.counts for row in rows], np.int64).reshape(len(rows), classes),
        seconds=np.array([row.seconds for row in rows], np.float64),
        paths=[row.path for row in rows],
        machine=machine,
        image=np.frombuffer(images, np.uint8).reshape(len(rows), ADDRESS) if addressed else None,
        u=np.array(u, np.float64) if header.bound == "randomised" and len(u) == len(rows) else None,
        name=name,
    )


def _check_rows(header: Header, rows: list[JournalRow], path: Path) -> None:
    """Raise InputError for an image that occurs twice, or whose counts are impossible under this header."""
    classes, seen = len(header.classes or ()), set()
    for place, row in enumerate(rows, start=2):
        classes = classes or len(row.counts)
        if not len(row.counts0) == len(row.counts) == classes:
            raise _damaged(path, place, f"it counts {len(row.counts)} classes, not {classes}")
        if row.idx in seen:
            raise _damaged(path, place, f"image {row.idx} is there twice")
        seen.add(row.idx)
    try:
        for start in range(0, max(1, len(rows)), AT_ONCE):
            table_of(header, rows[start : start + AT_ONCE])
    except InputError as error:
        raise InputError(f"{path}: {error}; use --overwrite to start again") from error


def _damaged(path: Path, place: int, fault: str) -> InputError:
    keep = f"delete all from this line on to --resume with the {place - 2} images before it, or " if place > 2 else ""
    return InputError(f"{path}, line {place} is damaged ({fault}): {keep}use --overwrite to start again")
