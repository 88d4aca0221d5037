"""One table of the shards of a run: nothing is merged that is missing, doubled, or of another run."""

from __future__ import annotations

import shlex
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
    table_of,
)
from randsmooth.certificates.parquet import read_parquet, write_parquet
from randsmooth.certificates.rows import hashed_images, numbered
from randsmooth.certificates.sameness import evidence_difference
from randsmooth.certificates.selection import Shard, chosen_by, whole_of
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.errors import (
    OutputExists,
    Problem,
    SeveralProblems,
    WrongFile,
    WrongTable,
    about,
)
from randsmooth.urls import (
    Place,
    beside,
    delivered,
    is_url,
    kind_at,
    name_of,
    place_of,
    unsent_path,
)

SOME_FOLDER = "<FOLDER>/"  # stands in a command for the folder of a path, which shards do not name
OF_A_SHARD = (
    "shard",
    "command",
    "data",
    "machines",
)  # facts in which the shards of one run differ


class NotWhole(WrongTable):
    """Shards that do not hold every image.

    Attributes:
        faults: what is missing, a sentence each.
        missing: positions of the images that no shard holds.
        commands: that make what is missing.

    Example:
        >>> print(NotWhole(["1 of 2 images is missing"], [1], ["randsmooth certify a --shard 2/2"]))
        1 of 2 images is missing
        To make what is missing:
        randsmooth certify a --shard 2/2
    """

    def __init__(
        self, faults: list[str], missing: list[int], commands: list[str]
    ) -> None:
        self.faults, self.missing, self.commands = (
            tuple(faults),
            tuple(missing),
            tuple(commands),
        )
        way_out = ["To make what is missing:", *commands] if commands else []
        super().__init__("\n".join([*faults, *way_out]))


def merge(
    shards: Iterable[Place],
    *,
    out: Place | None = None,
    overwrite: bool = False,
    images: Sequence[int] | None = None,
) -> Certificates:
    """The table of a whole run from its shards: the one that a single process would have made, in every count.

    Shards may be made on different machines as long as the classifier's outputs were the same to the last bit; the
    column `machine` says which made each row.

    Args:
        shards: Parquet files that `certify` wrote with `shard`, and journals (`*.partial`) of unfinished ones, which
            say what is missing.
        out: Parquet file to write, or its URL; None: none is written.
        overwrite: replace a file that exists.
        images: positions of all images of the run, ascending, where its header has no words for them.

    Raises:
        NotWhole: images are missing; it has all of them, and the commands that make them.
        Problem: a file cannot be read, is no shard, holds the same share as another file or one of another cut, or
            is of another run, in what is said; or `out` exists.

    Example:
        >>> import randsmooth as rs
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> for shard in ("1/2", "2/2"):
        ...     table = rs.certify(model, "digits", sigma=0.25, n=100, take=5, out="mine.parquet", shard=shard)
        >>> rs.merge(["mine-1-of-2.parquet", "mine-2-of-2.parquet"], out="mine.parquet")
        Certificates('mine': 5 of digits test, sigma 0.25, n 100, rule fixed)
    """
    places, chosen = (
        [place_of(shard) for shard in shards],
        None if images is None else np.array(images, np.int64),
    )
    if out is None:
        return _merged(places, "", chosen)
    out = place_of(out)
    check_parquet(out)
    if out in places:
        raise OutputExists(f"{out} is one of the shards: give another out (--out)")
    with delivered(out, overwrite=overwrite) as path, claimed(path):
        _check_absent(path, overwrite)
        table = _merged(places, path.stem, chosen)
        write_parquet(table, path)
        journal_path(path).unlink(missing_ok=True)
    return table


def _merged(places: Sequence[Place], name: str, chosen: Ints | None) -> Certificates:
    parts, absent = _read_parts(places, chosen)
    _check_one_run(parts)
    _check_each_once(parts, absent)
    return _together(parts, name)


def _check_absent(out: Path, overwrite: bool) -> None:
    """Raise Problem for a table at `out`, and for the images of a run into it that is not finished."""
    journal = journal_path(out)
    if not overwrite and (
        out.exists() or (journal.exists() and journal.stat().st_size)
    ):
        what = (
            f"{out} exists"
            if out.exists()
            else f"{journal} holds the images of an unfinished run"
        )
        raise OutputExists(f"{what}; use overwrite=True, or another out (--out)")


@dataclass(frozen=True)
class _Part:
    """One shard of a run, and the rows of it that are there.

    Attributes:
        path: the file that was read, or its URL.
        table: its rows.
        shard, chosen: which images it is meant to hold, of the positions of all images of the run.
    """

    path: Place
    table: Certificates
    shard: Shard
    chosen: Ints

    @classmethod
    def of(cls, path: Place, table: Certificates, chosen: Ints | None) -> _Part:
        """Raises Problem for a table that is no shard, or has lost what a shard holds."""
        header = table.header
        chosen = chosen_by(header.selection) if chosen is None else chosen
        if header.shard is None or chosen is None:
            tells = header.selection or "no selection"
            raise WrongFile(
                f"{path} is no shard: its header tells {tells}. Give what `certify --shard` wrote"
            )
        if table.image is None and len(table):
            raise WrongFile(
                f"{path} has lost its column 'image', which shards have: make it again"
            )
        if not np.isin(table.idx, chosen).all():
            raise WrongFile(
                f"{path} holds images that are none of the {len(chosen):,} of this run: leave it out"
            )
        return cls(path, table, Shard.parse(header.shard), chosen)

    @property
    def finished(self) -> bool:
        return not str(self.path).endswith(UNFINISHED)

    @property
    def out(self) -> Place:
        """The file of the finished shard."""
        return beside(self.path, name_of(self.path).removesuffix(UNFINISHED))

    @property
    def lacks(self) -> Ints:
        """Positions of the images that it will hold once it is finished, and does not yet."""
        return np.setdiff1d(self.shard.share(self.chosen), self.table.idx)

    @property
    def machines(self) -> list[Machine]:
        """The machine that made each row."""
        table, known = (
            self.table,
            (*self.table.header.machines, Machine.of(self.table.header)),
        )
        return [
            known[number]
            for number in (
                np.full(len(table), -1) if table.machine is None else table.machine
            )
        ]

    def difference(self, first: _Part) -> str | None:
        """In what its run is another than that of the `first` part; None if they are the same."""
        one, sides = (
            first.table.header,
            (f"in {name_of(first.path)}", f"in {name_of(self.path)}"),
        )
        alike = self.table.header.model_copy(
            update={name: getattr(one, name) for name in OF_A_SHARD}
        )
        return evidence_difference(one, alike, sides)

    def has_other_images(self) -> bool:
        """Whether the rows are all there, and not of the images that the run was begun with."""
        if len(self.lacks):
            return False
        rows = self.table.rows(np.argsort(self.table.idx))
        return (
            hashed_images(
                rows.label, [] if rows.image is None else map(bytes, rows.image)
            )
            != rows.header.data
        )


def _read_parts(
    places: Sequence[Place], chosen: Ints | None
) -> tuple[list[_Part], list[Place]]:
    """The shards in these files, and the files that are not there; for a table that is not there its journal is read.

    Raises:
        Problem: none is there, or some cannot be read as shards, all of which are named.
    """
    found = {place: _there(place) for place in places}
    absent = [path for path, at in found.items() if at is None]
    files = {at for at in found.values() if at is not None}
    files -= {
        _journal(file) for file in files
    }  # a kill may have come between writing a table and removing its journal
    parts, faults = list[_Part](), list[str]()
    for file in sorted(files, key=str):
        try:
            table = _read(file)
            parts += [] if table is None else [_Part.of(file, table, chosen)]
        except (Problem, OSError) as error:
            faults.append(about(file, error))
    if faults:
        raise SeveralProblems(*map(Problem, faults))
    if not parts:
        named = (
            f"{absent[0]} is not there"
            if absent
            else "no shard is given, of which any image is finished"
        )
        raise WrongFile(f"{named}; `randsmooth certify --shard` writes shards")
    return sorted(
        parts, key=lambda part: (part.shard.of, part.shard.number, str(part.path))
    ), absent


def _there(place: Place) -> Place | None:
    """The table at `place`, or its journal on this machine where the table is not there; None where neither is."""
    there = kind_at(str(place)) == "file" if is_url(place) else Path(place).exists()
    return (
        place if there else journal if (journal := _journal(place)).exists() else None
    )


def _journal(place: Place) -> Path:
    return journal_path(unsent_path(str(place)) if is_url(place) else Path(place))


def _read(place: Place) -> Certificates | None:
    """The table in a file; None for a journal in which not even the header is finished."""
    if not str(place).endswith(UNFINISHED):
        return read_parquet(place)
    journal = Journal.read(Path(place))
    return None if journal is None else table_of(journal.header, journal.rows)


def _check_one_run(parts: Sequence[_Part]) -> None:
    """Raise Problem unless all shards are of the run of the first, each about the images that it was begun with."""
    first, *others = parts
    odd = {part.path: how for part in others if (how := part.difference(first))}
    faults = [
        f"{path} is of another run than {first.path} ({how}): leave out one of them"
        for path, how in odd.items()
    ]
    changed = "is about other images than it was begun with: they changed while it was made. Make it again"
    if faults := faults + [
        f"{part.path} {changed}" for part in parts if part.has_other_images()
    ]:
        raise SeveralProblems(*map(Problem, faults))


def _check_each_once(parts: Sequence[_Part], absent: Sequence[Place]) -> None:
    """Raise `NotWhole` unless every image that was selected has one row."""
    chosen, of, given = (
        parts[0].chosen,
        parts[0].shard.of,
        {part.shard: part for part in parts},
    )
    for part in parts:
        if part.shard.of != of or given[part.shard] is not part:
            held = f"{part.path} holds shard {part.shard}, {parts[0].path} {parts[0].shard}"
            raise WrongFile(
                f"{held}: give each share of one cut once, such as 1/2 and 2/2"
            )
    nowhere = [
        shard
        for number in range(1, of + 1)
        if (shard := Shard(number, of)) not in given
    ]
    missing = [shard.share(chosen) for shard in nowhere]
    faults = [f"shard {shard} is in none of these files" for shard in nowhere]
    whole = whole_of(parts[0].out) or parts[0].out
    commands = [
        _command(parts, shard, shard.file(whole), "resume") for shard in nowhere
    ]
    for part in parts:
        if len(lacks := part.lacks):
            how = "" if part.finished else "is unfinished, and "
            faults.append(
                f"{part.path} {how}lacks {len(lacks):,} images: {name_images(lacks)}"
            )
            commands.append(
                _command(
                    parts,
                    part.shard,
                    part.out,
                    "overwrite" if part.finished else "resume",
                )
            )
            missing.append(lacks)
    faults += [f"{path} is not there" for path in absent]
    if faults:
        lost = np.sort(np.concatenate([np.zeros(0, np.int64), *missing]))
        faults.append(f"{len(lost):,} of {len(chosen):,} images are missing")
        if named := sorted(
            {
                word.partition(SOME_FOLDER)[2]
                for word in _words(parts) or ()
                if SOME_FOLDER in word
            }
        ):
            way = f"before you run the commands, put a folder in place of {SOME_FOLDER.rstrip('/')}"
            faults.append(
                f"shards do not name the folders of {', '.join(named)}: {way}"
            )
        raise NotWhole(faults, lost.tolist(), commands)


def _words(parts: Sequence[_Part]) -> Sequence[str] | None:
    """The words of the command that made one of the parts, where one says it."""
    return next(
        (command for part in parts if (command := part.table.header.command)), None
    )


def _command(parts: Sequence[_Part], shard: Shard, out: Place, flag: str) -> str:
    """The command of one shard, as those that are there were made; `--resume` begins one that is not there, too."""
    words = _words(parts)
    if words is not None:
        return shlex.join(
            [
                "randsmooth",
                *words,
                "--shard",
                str(shard),
                "--out",
                str(out),
                f"--{flag}",
            ]
        )
    return f"rs.certify(..., shard={str(shard)!r}, out={str(out)!r}, {flag}=True)  # the rest as for the other shards"


def _together(parts: Sequence[_Part], name: str) -> Certificates:
    """The table of parts that hold every image once."""
    parts = [part for part in parts if len(part.table)]
    first, tables = parts[0].table, [part.table for part in parts]
    order = np.argsort(np.concatenate([table.idx for table in tables]))
    there = [
        column
        for column in ARRAYS
        if column != "machine" and getattr(first, column) is not None
    ]
    rows = {
        column: np.concatenate([getattr(table, column) for table in tables])[order]
        for column in there
    }
    paths = [path for table in tables for path in table.paths or ()]
    machines, machine = numbered(
        [machine for part in parts for machine in part.machines]
    )
    data = hashed_images(rows["label"], map(bytes, rows.pop("image")))
    whole = first.header.replace(shard=None, command=None, data=data, machines=machines)
    return from_evidence(
        whole,
        **rows,
        paths=[paths[place] for place in order],
        machine=machine[order],
        name=name,
    )
