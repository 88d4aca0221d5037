"""A shard as far as it is there: its table, or the journal of one that is not finished."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from randsmooth.certificates.digest import hashed_images
from randsmooth.certificates.header import Header
from randsmooth.certificates.journal import UNFINISHED, journal_path, read_journal, table_of
from randsmooth.certificates.machine import OF_THE_MACHINE, Machine, NumberedMachines
from randsmooth.certificates.parquet import read_parquet
from randsmooth.certificates.selection import Listed, Selection, Shard
from randsmooth.certificates.table import Certificates, Ints
from randsmooth.errors import InputError, SeveralErrors
from randsmooth.urls import Place, beside, is_url, kind_at, name_of, place_of, unsent_path


@dataclass(frozen=True)
class Part:
    """One shard of a run, and the rows of it that are there.

    Attributes:
        path: the file that was read, or its URL.
        table: its rows.
        shard, selection: which images it is meant to hold.
    """

    path: Place
    table: Certificates
    shard: Shard
    selection: Selection | Listed

    @classmethod
    def of(cls, path: Place, table: Certificates, listed: Listed | None = None) -> Part:
        """Raises InputError for a table that is no shard, or has lost what a shard holds."""
        header = table.header
        selection = listed or Selection.parse(header.selection)
        if header.shard is None or selection is None:
            raise InputError(
                f"{path} is no shard: its header tells {header.selection or 'no selection'}, and no share of it. Give "
                "what `certify --shard` wrote"
            )
        if table.image is None and len(table):
            raise InputError(
                f"{path} has lost its column 'image', which shards have: make it again by `certify --shard`"
            )
        return cls(path, table, Shard.parse(header.shard), selection)

    @property
    def header(self) -> Header:
        return self.table.header

    @property
    def finished(self) -> bool:
        """Whether it is the table that a shard ends with."""
        return not str(self.path).endswith(UNFINISHED)

    @property
    def out(self) -> Place:
        """The file of the finished shard."""
        return self.path if self.finished else beside(self.path, name_of(self.path).removesuffix(UNFINISHED))

    @property
    def places(self) -> Ints:
        """(N,) where its images stand among all that were selected."""
        return self.selection.places(self.table.idx)

    @property
    def meant(self) -> Ints:
        """The places that it holds once it is finished."""
        return np.arange(self.shard.number - 1, self.selection.chosen, self.shard.of)

    def machines(self, numbered: NumberedMachines) -> Ints:
        """(N,) the number among `numbered`, to which its own are added, of the machine that made each row."""
        of_header = Machine(**{name: getattr(self.header, name) for name in OF_THE_MACHINE})
        numbers = [numbered.number(machine) for machine in self.header.machines]
        machine = np.full(len(self.table), -1) if self.table.machine is None else self.table.machine
        own = numbered.number(of_header) if (machine < 0).any() else -1
        return np.array([*numbers, own], np.int64)[machine]  # of which -1 is the last

    def check_images(self) -> None:
        """Raise InputError where the rows are all there, and not of the images that the run was begun with."""
        table = self.table
        if len(table) < len(self.meant) or table.image is None:
            return
        order = np.argsort(self.places)
        found = hashed_images(table.label[order].astype("<i8").tobytes(), map(bytes, table.image[order]))
        if found != self.header.data:
            raise InputError(
                f"{self.path} is about other images than it was begun with: they changed while it was made. Make it "
                "again"
            )


def read_parts(shards: Iterable[Place], listed: Listed | None = None) -> tuple[list[Part], list[Place]]:
    """The shards in these files, and the files that are not there; for a table that is not there its journal is read.

    Args:
        shards: the files.
        listed: the images of the run, where its header has no words for them.

    Raises:
        InputError: none is there, or some cannot be read as shards, all of which are named.
    """
    found = {place: _there(place) for place in map(place_of, shards)}
    absent = [path for path, at in found.items() if at is None]
    files = {at for at in found.values() if at is not None}
    # A kill may have come between writing a table and removing its journal.
    files -= {_journal(file) for file in files}
    parts: list[Part] = []
    faults: list[str] = []
    for file in sorted(files, key=str):
        try:
            parts += _read(file, listed)
        except (InputError, OSError) as error:
            faults.append(str(error) if str(file) in str(error) else f"{file}: {error}")
    if faults:
        raise SeveralErrors(faults) if len(faults) > 1 else InputError(faults[0])
    if not parts:
        named = f"{absent[0]} is not there" if absent else "no shard is given, of which any image is finished"
        raise InputError(f"{named}; `randsmooth certify --shard` writes shards")
    return sorted(parts, key=lambda part: (part.shard.of, part.shard.number, str(part.path))), absent


def _there(place: Place) -> Place | None:
    """The table at `place`, or its journal on this machine where the table is not there; None where neither is."""
    there = kind_at(str(place)) == "file" if is_url(place) else Path(place).exists()
    journal = _journal(place)
    return place if there else journal if journal.exists() else None


def _journal(place: Place) -> Path:
    path = unsent_path(str(place)) if is_url(place) else Path(place)
    return journal_path(path)


def _read(place: Place, listed: Listed | None) -> list[Part]:
    """The shard in a file; none in a journal in which not even the header is finished."""
    if not str(place).endswith(UNFINISHED):
        return [Part.of(place, read_parquet(place), listed)]
    content = read_journal(Path(place))
    return [] if content is None else [Part.of(place, table_of(content.header, content.rows), listed)]
