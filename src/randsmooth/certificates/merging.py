"""One table of the shards of a run: nothing is merged that is missing, doubled, or of
another run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from randsmooth.atomic import claimed
from randsmooth.certificates.evidence import ARRAYS, Ints, name_images
from randsmooth.certificates.header import Machine
from randsmooth.certificates.journal import (
    UNFINISHED,
    Journal,
    check_parquet,
    journal_path,
)
from randsmooth.certificates.journal_rows import table_of
from randsmooth.certificates.parquet import read_parquet, write_parquet
from randsmooth.certificates.rows import hashed_images, numbered
from randsmooth.certificates.sameness import evidence_difference
from randsmooth.certificates.selection import Shard, chosen_by, whole_of
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.errors import (
    ANOTHER_OUT,
    BEGIN_ANEW,
    OVERWRITE,
    RESUME,
    MissingValue,
    NotComparable,
    NotFound,
    OutputExists,
    Problem,
    Setting,
    SeveralProblems,
    WrongFile,
    WrongTable,
    about,
)
from randsmooth.urls import (
    Place,
    beside,
    delivered,
    fetched,
    is_url,
    kind_at,
    name_of,
    place_of,
    unsent_path,
)

# Stands in a command for the folder of a path: headers do not name folders.
SOME_FOLDER = "<FOLDER>/"

# The facts of a header in which the shards of one run differ.
OF_A_SHARD = ("shard", "command", "data", "machines")


@dataclass(frozen=True)
class ShardToMake:
    """A shard that is to be made, or gone on with, before the whole can be merged.

    Attributes:
        shard: the share of the images.
        out: the file of the shard.
        how: `RESUME`, which begins one that is not there, too; or `OVERWRITE` for a
            finished one that lacks some of its rows.

    Example:
        >>> print(ShardToMake(Shard(2, 4), Path("t-2-of-4.parquet"), RESUME))
        rs.certify(..., shard='2/4', out='t-2-of-4.parquet', resume=True)
    """

    shard: Shard
    out: Place
    how: Setting

    def __str__(self) -> str:
        shard = Setting("shard", str(self.shard))
        out = Setting("out", str(self.out))
        return f"rs.certify(..., {shard}, {out}, {self.how})"


class NotWhole(WrongTable):
    """Shards that do not hold every image.

    Attributes:
        faults: a sentence for each thing that is missing.
        missing: positions of the images that no shard holds.
        to_make: the shards to make, or to go on with, for the missing images.
        command: the words of the command line that certified the given shards, without
            --shard and --out; None where Python did, or no shard says it.

    Example:
        >>> to_make = ShardToMake(Shard(2, 2), Path("t-2-of-2.parquet"), RESUME)
        >>> print(NotWhole(["1 of 2 images is missing"], [1], [to_make]))
        1 of 2 images is missing
        To make the missing shards, with all other settings as before:
        rs.certify(..., shard='2/2', out='t-2-of-2.parquet', resume=True)
    """

    def __init__(
        self,
        faults: Sequence[str],
        missing: Sequence[int],
        to_make: Sequence[ShardToMake],
        command: Sequence[str] | None = None,
    ) -> None:
        self.faults = tuple(faults)
        self.missing = tuple(missing)
        self.to_make = tuple(to_make)
        self.command = tuple(command) if command else None
        way_out = []
        if to_make:
            way_out = [
                "To make the missing shards, with all other settings as before:",
                *map(str, to_make),
            ]
        super().__init__("\n".join([*faults, *way_out]))


def merge(
    shards: Iterable[Place],
    *,
    out: Place | None = None,
    overwrite: bool = False,
    images: Sequence[int] | None = None,
) -> Certificates:
    """Return the table of a whole run from its shards: the one that a single process
    would have made, in every count.

    Shards may be made on different machines as long as the classifier's outputs were
    the same to the last bit; the column `machine` says which made each row.

    Args:
        shards: Parquet files that `certify` wrote with `shard`, and journals
            (`*.partial`) of unfinished ones, which say what is missing.
        out: Parquet file to write, or its URL; None: none is written.
        overwrite: replace a file that exists.
        images: positions of all images of the run, ascending, where its header has no
            words for them.

    Raises:
        NotWhole: images are missing; it has all of them, and the shards that are to be
            made.
        Problem: a file cannot be read, is no shard, holds the same share as another
            file or one of another cut, or is of another run (the message says how they
            differ); or `out` exists.

    Example:
        >>> import randsmooth as rs
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> settings = rs.CertificationSettings(sigma=0.25, n=100)
        >>> for shard in ("1/2", "2/2"):
        ...     table = rs.certify(
        ...         model, "digits", settings, take=5, out="mine.parquet", shard=shard
        ...     )
        >>> rs.merge(["mine-1-of-2.parquet", "mine-2-of-2.parquet"], out="mine.parquet")
        Certificates('mine': 5 of digits test, sigma 0.25, n 100, rule fixed)
    """
    places = [place_of(shard) for shard in shards]
    chosen = None if images is None else np.array(images, np.int64)
    if out is None:
        return _merged(places, chosen, name="")
    out = place_of(out)
    check_parquet(out)
    if out in places:
        raise OutputExists(f"{out} is one of the shards", fix=ANOTHER_OUT, file=out)
    with delivered(out, overwrite=overwrite) as path, claimed(path):
        _check_absent(path, overwrite)
        table = _merged(places, chosen, name=path.stem)
        write_parquet(table, path)
        # With `overwrite`, an unfinished run into the same file is given up.
        journal_path(path).unlink(missing_ok=True)
    return table


def _merged(places: Sequence[Place], chosen: Ints | None, name: str) -> Certificates:
    """Return the table, called `name`, of the shards in these files.

    `chosen` are the positions of all images of the run, where the user gave them.
    """
    parts, absent = _read_parts(places, chosen)
    _check_one_run(parts)
    _check_each_once(parts, absent)
    return _put_together(parts, name)


def _check_absent(out: Path, overwrite: bool) -> None:
    """Raise Problem where a table is at `out`, or the journal of an unfinished run into
    it, unless the user wants to `overwrite` them.
    """
    if overwrite:
        return
    if out.exists():
        raise OutputExists(f"{out} exists", fix=BEGIN_ANEW, file=out)
    journal = journal_path(out)
    if journal.exists() and journal.stat().st_size:
        fault = f"{journal} holds the images of an unfinished run"
        raise OutputExists(fault, fix=BEGIN_ANEW, file=out)


@dataclass(frozen=True)
class _Part:
    """One shard of a run, and those of its rows that are there.

    Attributes:
        path: the file that was read, or its URL.
        table: the rows of the file.
        shard: the share of the images that the file is meant to hold.
        chosen: (N,) the positions of all images of the run.
    """

    path: Place
    table: Certificates
    shard: Shard
    chosen: Ints

    @classmethod
    def of(cls, path: Place, table: Certificates, chosen: Ints | None) -> _Part:
        """Return the part that `table`, which was read from `path`, is.

        `chosen` are the positions of all images of the run; None where the header says
        them.

        Raises:
            Problem: it is no shard, or has lost what a shard holds.
        """
        header = table.header
        if chosen is None:
            chosen = chosen_by(header.selection)
        if header.shard is None or chosen is None:
            tells = header.selection or "no selection"
            raise WrongFile(
                f"{path} is not a shard: its header tells {tells}. Give what "
                "`certify` wrote of one",
                file=path,
            )
        if table.image is None and len(table):
            raise WrongFile(
                f"{path} has lost its column 'image', which shards have: make it again",
                file=path,
            )
        if not np.isin(table.idx, chosen).all():
            raise WrongFile(
                f"{path} holds images that are none of the {len(chosen):,} of this "
                "run: leave it out",
                file=path,
            )
        return cls(path, table, Shard.parse(header.shard), chosen)

    @property
    def finished(self) -> bool:
        """Whether the file is a table, and no journal."""
        return not str(self.path).endswith(UNFINISHED)

    @property
    def out(self) -> Place:
        """The file of the finished shard."""
        return beside(self.path, name_of(self.path).removesuffix(UNFINISHED))

    @property
    def lacks(self) -> Ints:
        """Positions of the images of this shard that its file does not hold."""
        return np.setdiff1d(self.shard.share(self.chosen), self.table.idx)

    @property
    def machines(self) -> list[Machine]:
        """The machine that made each row."""
        header = self.table.header
        if self.table.machine is None:
            return [Machine.of(header)] * len(self.table)
        # -1 stands for the machine that the header itself tells: the last.
        known = (*header.machines, Machine.of(header))
        return [known[number] for number in self.table.machine]

    def difference(self, first: _Part) -> str | None:
        """Return how the run of this part differs from the run of the `first` part.

        It is None if they are parts of one run.
        """
        header_of_first = first.table.header
        # Shards of one run differ in these facts: they are made equal before the rest
        # is compared.
        shared = {name: getattr(header_of_first, name) for name in OF_A_SHARD}
        header = self.table.header.model_copy(update=shared)
        sides = (f"in {name_of(first.path)}", f"in {name_of(self.path)}")
        return evidence_difference(header_of_first, header, sides)

    def has_other_images(self) -> bool:
        """Return whether the rows are about other images than the run was begun with.

        It can be told only once all rows are there; until then it is False.
        """
        if len(self.lacks):
            return False
        # The header's hash is of the shard's images in the order of their positions.
        rows = self.table.rows(np.argsort(self.table.idx))
        addresses = [] if rows.image is None else map(bytes, rows.image)
        return hashed_images(rows.label, addresses) != rows.header.data


def _read_parts(
    places: Sequence[Place], chosen: Ints | None
) -> tuple[list[_Part], list[Place]]:
    """Return the shards in these files, in the order of their numbers, and the places
    at which there is neither a table nor its journal.

    Raises:
        Problem: no file is there, or some cannot be read as shards. It names all of
            these.
    """
    files = set[Place]()
    absent = list[Place]()
    for place in dict.fromkeys(places):
        file = _file_at(place)
        if file is None:
            absent.append(place)
        else:
            files.add(file)
    # A kill may have come between writing a table and removing its journal.
    files -= {_journal(file) for file in files}

    parts = list[_Part]()
    faults = list[Problem]()
    for file in sorted(files, key=str):
        try:
            table = _read(file)
            if table is not None:
                parts.append(_Part.of(file, table, chosen))
        except (Problem, OSError) as error:
            faults.append(about(file, error))
    if faults:
        raise SeveralProblems(*faults)
    if not parts:
        way = ("`certify` writes shards, with ", Setting("shard", "1/2"))
        if absent:
            raise NotFound(f"{absent[0]} is not there", fix=way, file=absent[0])
        raise MissingValue(
            "none of the given shards has a finished image", field="shards", fix=way
        )
    return sorted(parts, key=_order), absent


def _order(part: _Part) -> tuple[int, int, str]:
    """Return what parts are sorted by: the cut, the number of the share, the path."""
    return part.shard.of, part.shard.number, str(part.path)


def _file_at(place: Place) -> Place | None:
    """Return `place` if a table is there, or its journal on this machine; None where
    neither is.
    """
    if is_url(place) and kind_at(str(place)) == "file":
        return place
    if not is_url(place) and Path(place).exists():
        return place
    journal = _journal(place)
    return journal if journal.exists() else None


def _journal(place: Place) -> Path:
    """Return where the journal of a run into `place` lies on this machine."""
    out = unsent_path(str(place)) if is_url(place) else Path(place)
    return journal_path(out)


def _read(place: Place) -> Certificates | None:
    """Return the table in a file, which is a table or a journal.

    It is None for a journal in which not even the header is finished.
    """
    if not str(place).endswith(UNFINISHED):
        return read_parquet(place)
    # A journal is written on this machine alone, but users may upload one.
    journal = Journal.read(fetched(place))
    return None if journal is None else table_of(journal.header, journal.rows)


def _check_one_run(parts: Sequence[_Part]) -> None:
    """Raise Problem unless all shards are of the run of the first, each about the
    images that it was begun with.
    """
    first = parts[0]
    faults = list[Problem]()
    for part in parts[1:]:
        difference = part.difference(first)
        if difference is not None:
            faults.append(
                NotComparable(
                    f"{part.path} is of another run than {first.path} ({difference})",
                    fix="leave out one of them",
                    file=part.path,
                )
            )
    for part in parts:
        if part.has_other_images():
            faults.append(
                WrongFile(
                    f"{part.path} is about other images than it was begun with: they "
                    "changed while it was made",
                    fix="make it again",
                    file=part.path,
                )
            )
    if faults:
        raise SeveralProblems(*faults)


def _check_each_once(parts: Sequence[_Part], absent: Sequence[Place]) -> None:
    """Raise `NotWhole` unless every image that was selected has one row."""
    _check_one_cut(parts)
    missing = _missing_shards(parts)
    for part in parts:
        if len(part.lacks):
            missing.append(_lacking_in(part))
    faults = [lack.fault for lack in missing]
    faults += [f"{path} is not there" for path in absent]
    if not faults:
        return

    # The empty array is for the case that only files are absent, and no images.
    images = [np.zeros(0, np.int64), *(lack.images for lack in missing)]
    lost = np.sort(np.concatenate(images))
    faults.append(f"{len(lost):,} of {len(parts[0].chosen):,} images are missing")
    to_make = [lack.to_make for lack in missing]
    raise NotWhole(faults, lost.tolist(), to_make, _command(parts))


def _check_one_cut(parts: Sequence[_Part]) -> None:
    """Raise Problem where two parts hold the same share, or shares of different cuts."""
    first = parts[0]
    # The last part of each share: it is another one where two hold the same share.
    last_part_of = {part.shard: part for part in parts}
    for part in parts:
        held_twice = last_part_of[part.shard] is not part
        if part.shard.of != first.shard.of or held_twice:
            raise WrongFile(
                f"{part.path} holds shard {part.shard}, {first.path} {first.shard}: "
                "give each share of one cut once, such as 1/2 and 2/2",
                file=part.path,
            )


@dataclass(frozen=True)
class _Lack:
    """Images that no part holds.

    Attributes:
        fault: the sentence that reports them.
        images: their positions.
        to_make: the shard that is to hold them.
    """

    fault: str
    images: Ints
    to_make: ShardToMake


def _missing_shards(parts: Sequence[_Part]) -> list[_Lack]:
    """Return what is missing because no part is of some shard."""
    first = parts[0]
    # Other shards are called after the table of the whole run, as `first` is. If it was
    # renamed, the name of that table is not known, and its own stands for it.
    out = whole_of(first.out) or first.out
    given = {part.shard for part in parts}
    every = [Shard(number, first.shard.of) for number in range(1, first.shard.of + 1)]
    return [
        _Lack(
            fault=f"shard {shard} is in none of these files",
            images=shard.share(first.chosen),
            to_make=ShardToMake(shard, shard.file(out), RESUME),
        )
        for shard in every
        if shard not in given
    ]


def _lacking_in(part: _Part) -> _Lack:
    """Return what a part lacks of its share."""
    lacks = part.lacks
    state = "" if part.finished else "is unfinished, and "
    how = OVERWRITE if part.finished else RESUME
    return _Lack(
        fault=f"{part.path} {state}lacks {len(lacks):,} images: {name_images(lacks)}",
        images=lacks,
        to_make=ShardToMake(part.shard, part.out, how),
    )


def _command(parts: Sequence[_Part]) -> Sequence[str] | None:
    """Return the words of the command that made one of the parts, where one says it."""
    for part in parts:
        if part.table.header.command:
            return part.table.header.command
    return None


def _put_together(parts: Sequence[_Part], name: str) -> Certificates:
    """Return the table, called `name`, of parts that together hold every image once."""
    # A part without rows has no columns to put together.
    parts = [part for part in parts if len(part.table)]
    tables = [part.table for part in parts]
    first = tables[0]
    order = np.argsort(np.concatenate([table.idx for table in tables]))
    columns = {
        column: np.concatenate([getattr(table, column) for table in tables])[order]
        for column in ARRAYS
        if column != "machine" and getattr(first, column) is not None
    }
    paths = [path for table in tables for path in table.paths or ()]
    machines, machine_numbers = numbered(
        [machine for part in parts for machine in part.machines]
    )

    # The whole table is about all images, and needs no hash of each.
    addresses = map(bytes, columns.pop("image"))
    header = first.header.replace(
        shard=None,
        command=None,
        data=hashed_images(columns["label"], addresses),
        machines=machines,
    )
    return from_evidence(
        header,
        **columns,
        paths=[paths[row] for row in order],
        machine=machine_numbers[order],
        name=name,
    )
