"""The journal of a run: the evidence of each finished image on a line of its own, so
that a crash loses none.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from randsmooth.atomic import opened_anew, sync_folder
from randsmooth.certificates.header import Header, parse_header
from randsmooth.certificates.journal_rows import JournalRow, table_of
from randsmooth.certificates.sameness import check_same_run
from randsmooth.certificates.selection import images_planned
from randsmooth.certificates.table import Certificates
from randsmooth.errors import (
    OVERWRITE,
    RESUME,
    BadValue,
    Problem,
    Setting,
    WrongFile,
)
from randsmooth.notes import Note
from randsmooth.urls import Place

# Suffix of a journal.
UNFINISHED = ".partial"

# After a sync, the next one waits so many times as long as the sync took: syncs then take
# half a percent of the time, however slow the disk is.
PAUSE_AFTER_SYNC = 200

START_AGAIN = ("start again with ", OVERWRITE)


def check_parquet(out: Place) -> None:
    """Raise Problem unless the name of `out` ends as that of a table does."""
    if not str(out).endswith(".parquet"):
        raise BadValue(
            f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such "
            "a file",
            field="out",
            value=out,
            file=out,
        )


def journal_path(out: Path) -> Path:
    """Return the journal of a run into the table `out`.

    Example:
        >>> journal_path(Path("runs/mine.parquet")).name
        'mine.parquet.partial'
    """
    return out.with_name(out.name + UNFINISHED)


def shards_path(out: Path) -> Path:
    """Return the folder for the shards of a run into the table `out`, where workers
    share the run.

    Example:
        >>> shards_path(Path("runs/mine.parquet")).as_posix()
        'runs/mine.shards'
    """
    return out.with_suffix(".shards")


@dataclass
class Journal:
    """An append-only file: the header on its first line, then one row a line.

    An unfinished last line is dropped.

    A line ends in a tab and a checksum of itself and all lines before it. A journal
    that `create` or `resume` opened is closed by its `with` block, or by `close`.

    Attributes:
        path: the path of the file.
        header: the header of the run.
        rows: the rows of all finished lines.
        checksum: the checksum of the last line.
        size: the bytes up to the end of the last finished line, as `read` found them.
        safe: how many rows are known to be on the disk.
        judged: how many rows `judge` has returned.
        next_sync: the time, of `time.monotonic`, from which `settle` syncs again.
        file: the open file; None where the journal is only read.

    Example:
        >>> header = Header(sigma=0.5, n0=100, n=100, alpha=0.001)
        >>> import numpy as np
        >>> counts = np.array([99, 1])
        >>> with Journal.create(Path("run.partial"), header) as journal:
        ...     row = JournalRow(0, 0, counts, counts, counts[:1], seconds=0.5)
        ...     journal.append(row)
        >>> with Journal.resume(Path("run.partial"), header) as journal:
        ...     journal.table([0]).radius.round(3).tolist()
        [0.675]
    """

    path: Path
    header: Header
    rows: list[JournalRow] = field(default_factory=list)
    checksum: str = ""
    size: int = 0
    safe: int = 0
    judged: int = 0
    next_sync: float = -float("inf")
    file: BinaryIO | None = None

    @classmethod
    def create(cls, path: Path, header: Header) -> Self:
        """Begin a journal at `path`, in place of any file there.

        When this returns, the file, its name and its header are on the disk.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        # Empties the file, or makes one; a journal is only ever appended to.
        opened_anew(path).close()
        journal = cls(path, header).opened()
        journal.write_line(header.model_dump_json())
        journal.sync()
        sync_folder(path.parent)
        return journal

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what the journal at `path` holds; None if not even its header was
        finished.

        Nothing is changed on the disk.

        Raises:
            Problem: a finished line is damaged, lost, doubled or of another file, or
                the rows are none that the run can have made.
        """
        journal = None
        for line_number, (text, checksum, end) in enumerate(_lines(path), start=1):
            if journal is None:
                journal = cls(path, parse_header(text, path))
            else:
                row = JournalRow.from_json(text, f"{path}, line {line_number}")
                journal.rows.append(row.slim())
            journal.checksum = checksum
            journal.size = end
        if journal is None:
            return None
        try:
            # The table is made for its checks alone: it refuses impossible rows.
            table_of(journal.header, journal.rows)
        except Problem as error:
            raise WrongFile(f"{path}: {error}", fix=START_AGAIN, file=path) from error
        return journal

    @classmethod
    def resume(cls, path: Path, header: Header) -> Self:
        """Return the journal at `path` with its finished rows, to go on with.

        Raises:
            Problem: it belongs to a run with another header (all differences are
                named), a finished line is damaged, or it is a link, whose file would be
                written to.
        """
        if path.is_symlink():
            raise WrongFile(
                f"{path} is a link, and a journal is not written elsewhere: "
                "put the file there itself",
                file=path,
            )
        journal = cls.read(path)
        if journal is None:
            # The run was killed while the header was being written.
            return cls.create(path, header)
        # Where each row says which machine made it, another machine may go on. The rows
        # of a shard will say it, also if there is none yet.
        several = header.shard is not None or any(row.machine for row in journal.rows)
        check_same_run(journal.header, header, path, several=several)
        # The file is not rewritten: a kill here loses no finished line.
        os.truncate(path, journal.size)
        # A kill may have come before the rows that were read were synced.
        journal.opened().sync()
        return journal

    def append(self, row: JournalRow) -> None:
        """Add a row and hand it to the operating system, which keeps it if this process
        is killed.
        """
        self.write_line(row.to_json())
        self.rows.append(row.slim())

    def settle(self) -> int:
        """Sync if it is time to, and return how many rows this brought to the disk.

        It is time once the pause after the last sync is over (see PAUSE_AFTER_SYNC).
        """
        return self.sync() if time.monotonic() >= self.next_sync else 0

    def sync(self) -> int:
        """Wait until the disk reports all rows as written, and return how many of them
        were not known to be there before.

        Raises:
            Problem: the file was removed meanwhile.
        """
        assert self.file is not None
        # A file that was removed has no name any more: what is written to it is lost.
        if os.fstat(self.file.fileno()).st_nlink == 0:
            raise WrongFile(
                f"{self.path} was removed while its run was writing to it: "
                "start the run again",
                file=self.path,
            )
        start = time.monotonic()
        os.fsync(self.file.fileno())
        end = time.monotonic()
        self.next_sync = end + PAUSE_AFTER_SYNC * (end - start)
        newly_safe = len(self.rows) - self.safe
        self.safe = len(self.rows)
        return newly_safe

    def close(self) -> None:
        if self.file is not None:
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
        """Return the rows as a table, in the given `order` of image positions."""
        row_of = {row.idx: row for row in self.rows}
        return table_of(self.header, [row_of[index] for index in order], name)

    def judge(self) -> Certificates:
        """Return the rows that were not judged before, as a table.

        Its radii can differ in their last bits from those of `table`: a rule may
        compute the bounds of many images at once otherwise than of few.

        Raises:
            Problem: what `from_evidence` refuses.
        """
        table = table_of(self.header, self.rows[self.judged :])
        self.judged = len(self.rows)
        return table

    def opened(self) -> Self:
        """Open the file to append to it, and return this journal."""
        self.file = self.path.open("ab")
        return self

    def write_line(self, text: str) -> None:
        """Append a line with its checksum, and hand it to the operating system."""
        assert self.file is not None
        line = text.encode()
        self.checksum = _link(self.checksum, line)
        self.file.write(line + b"\t" + self.checksum.encode() + b"\n")
        self.file.flush()


def _link(before: str, line: bytes) -> str:
    """Return the checksum of `line` and of all lines before it, 16 hexadecimal digits
    of sha256.

    `before` is the checksum of the line before, so that checksums reveal a line that is
    damaged, lost, doubled, moved or of another file.
    """
    return hashlib.sha256(before.encode() + line).hexdigest()[:16]


def journal_header(path: Path) -> Header | None:
    """Return the header of the journal at `path` without its rows; None if the header
    was not finished.

    Raises:
        Problem: the header is damaged, or of another file.

    Example:
        >>> header = Header(sigma=0.5, n0=100, n=100, alpha=0.001)
        >>> Journal.create(Path("run.partial"), header).close()
        >>> journal_header(Path("run.partial")).sigma
        0.5
    """
    return next((parse_header(text, path) for text, _, _ in _lines(path)), None)


def _lines(path: Path) -> Iterator[tuple[bytes, str, int]]:
    """Yield for each finished line of a journal its text without the checksum, its
    checksum, and the bytes up to its end.

    Raises:
        Problem: the checksum of a line is not that of the lines up to it.
    """
    checksum = ""
    end = 0
    with path.open("rb") as file:
        for line_number, line in enumerate(file, start=1):
            # Only the last line can be unfinished: a kill came while it was written.
            if not line.endswith(b"\n"):
                return
            text, _, stored = line[:-1].rpartition(b"\t")
            checksum = _link(checksum, text)
            end += len(line)
            if stored != checksum.encode():
                raise _damaged_line(path, line_number)
            yield text, checksum, end


def _damaged_line(path: Path, line_number: int) -> WrongFile:
    """Return the error for a line whose checksum is not right, and the way out."""
    # The header stands on line 1, the first image on line 2.
    images_before = line_number - 2
    fix: tuple[str | Setting, ...] = START_AGAIN
    if images_before > 0:
        fix = (
            f"to keep the {images_before} images before it, delete all from this line "
            "on and go on with ",
            RESUME,
            "; or ",
            *START_AGAIN,
        )
    return WrongFile(
        f"{path}, line {line_number} is damaged (its checksum is not that of the lines "
        "up to it)",
        field="line",
        value=line_number,
        fix=fix,
        file=path,
    )


def read_unfinished(path: Path) -> Certificates:
    """Return the table of the images that are finished in the journal at `path`, in the
    order of their positions.

    The name of the table and a warning say how many of all images are finished.

    Raises:
        Problem: the journal is damaged, or not one image is finished.
    """
    journal = Journal.read(path)
    if journal is None or not journal.rows:
        raise WrongFile(
            f"{path} is the journal of a run that has not finished any image yet",
            file=path,
        )
    header = journal.header
    finished = len(journal.rows)
    planned = images_planned(header.selection, header.shard)
    known = f"{finished:,} of {planned:,}" if planned else f"the first {finished:,}"
    # A journal has two suffixes: mine.parquet.partial.
    name = Path(path.stem).stem
    positions = sorted(row.idx for row in journal.rows)
    table = journal.table(positions, f"{name} ({known})")

    note = Note("unfinished", path=str(path), known=known)
    # Under a sequential rule, images that need few samples finish first.
    if table.rule.sequential:
        note = Note(
            "unfinished_easy_first", path=str(path), known=known, rule=header.rule
        )
    # The warning points to the line that called `files.read`, which called this.
    warnings.warn(note, stacklevel=3)
    return table
