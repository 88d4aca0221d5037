"""One table of the shards of a run: nothing is merged that is missing, doubled, or of another run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from randsmooth.atomic import claimed
from randsmooth.certificates.digest import hashed_images
from randsmooth.certificates.header import Header
from randsmooth.certificates.image_lists import named
from randsmooth.certificates.journal import journal_path
from randsmooth.certificates.machine import NumberedMachines
from randsmooth.certificates.missing import commands_for
from randsmooth.certificates.parquet import write_parquet
from randsmooth.certificates.part import Part, read_parts
from randsmooth.certificates.same_run import evidence_difference
from randsmooth.certificates.selection import Listed
from randsmooth.certificates.table import Certificates, from_evidence
from randsmooth.errors import InputError, SeveralErrors
from randsmooth.urls import Place, delivered, name_of, place_of

OF_A_SHARD = ("shard", "command", "data", "machines")  # facts in which the shards of one run differ
MADE_UP = "made-up images"  # key of a header's `behaviour`


class NotWhole(InputError):
    """Shards that hold not every image once.

    Attributes:
        faults: what is missing or doubled, a sentence each.
        missing: positions of the images that no shard holds.
        doubled: positions of those that several hold.
        commands: that make what is missing.

    Example:
        >>> print(NotWhole(["1 of 2 images is missing"], [1], [], ["randsmooth certify a --shard 2/2"]))
        1 of 2 images is missing
        To make what is missing:
        randsmooth certify a --shard 2/2
    """

    def __init__(
        self, faults: Sequence[str], missing: Sequence[int], doubled: Sequence[int], commands: Sequence[str]
    ) -> None:
        self.faults, self.commands = tuple(faults), tuple(commands)
        self.missing, self.doubled = tuple(missing), tuple(doubled)
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

    Shards may be cut differently, such as 1/2, 3/4 and 4/4, and made on different machines as long as the classifier's
    outputs were the same to the last bit; the column `machine` says which made each row.

    Args:
        shards: Parquet files that `certify` wrote with `shard`, and journals (`*.partial`) of unfinished ones, which
            say what is missing.
        out: Parquet file to write, or its URL; None: none is written.
        overwrite: replace a file that exists.
        images: positions of all images of the run, in order, where its header has no words for them.

    Raises:
        NotWhole: an image is missing or doubled; all of them are named, with the commands that make what is missing.
        InputError: a file cannot be read, is no shard, or is of another run, in what is said; or `out` exists.

    Example:
        >>> import randsmooth as rs
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> for shard in ("1/2", "2/2"):
        ...     table = rs.certify(model, "digits", sigma=0.25, n=100, take=5, out="mine.parquet", shard=shard)
        >>> rs.merge(["mine-1-of-2.parquet", "mine-2-of-2.parquet"], out="mine.parquet")
        Certificates('mine': 5 of digits test, sigma 0.25, n 100, rule fixed)
    """
    places = [place_of(shard) for shard in shards]
    listed = None if images is None else Listed(tuple(images))
    if out is None:
        return _merged(places, "", listed)
    out = place_of(out)
    if not str(out).endswith(".parquet"):
        raise InputError(f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such a file")
    if out in places:
        raise InputError(f"{out} is one of the shards: give another out (--out)")
    with delivered(out, overwrite=overwrite) as path:
        _check_absent(path, overwrite)
        table = _merged(places, path.stem, listed)
        with claimed(path):
            _check_absent(path, overwrite)
            write_parquet(table, path)
            journal_path(path).unlink(missing_ok=True)
    return table


def _merged(places: Sequence[Place], name: str, listed: Listed | None) -> Certificates:
    parts, absent = read_parts(places, listed)
    _check_one_run(parts)
    _check_each_once(parts, absent)
    return _together(parts, name)


def _check_absent(out: Path, overwrite: bool) -> None:
    """Raise InputError for a table at `out`, and for the images of a run into it that is not finished."""
    way_out = "use overwrite=True (--overwrite), or another out (--out)"
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists; {way_out}")
    journal = journal_path(out)
    if not overwrite and journal.exists() and journal.stat().st_size:
        raise InputError(f"{journal} holds the images of an unfinished run; {way_out}")


def _check_one_run(parts: Sequence[Part]) -> None:
    """Raise InputError unless all shards are of the run of the first, each about the images that it was begun with."""
    first, *others = parts
    faults = []
    for part in others:
        alike = part.header.model_copy(update={name: getattr(first.header, name) for name in OF_A_SHARD})
        sides = f"in {name_of(first.path)}", f"in {name_of(part.path)}"
        differ = _other_images(first.header, alike) or evidence_difference(first.header, alike, sides)
        if differ:
            faults.append(f"{part.path} is of another run than {first.path} ({differ}): leave out one of them")
    for part in parts:
        try:
            part.check_images()
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise SeveralErrors(faults) if len(faults) > 1 else InputError(faults[0])


def _other_images(one: Header, other: Header) -> str:
    """Whether the classifier answers alike to made-up images and not to those of the data set; empty if it does not."""
    a, b = dict(one.behaviour or {}), dict(other.behaviour or {})
    same_model = one.model == other.model and a.get(MADE_UP) is not None and a.pop(MADE_UP) == b.pop(MADE_UP, None)
    if not same_model or a == b or one.having(behaviour=None) != other.having(behaviour=None):
        return ""
    return "the images of the data set differ: equal models answer alike to made-up images, and not to these"


def _check_each_once(parts: Sequence[Part], absent: Sequence[Place]) -> None:
    """Raise `NotWhole` unless every image that was selected has one row."""
    selection = parts[0].selection
    holders = np.zeros(selection.chosen, np.int64)
    for part in parts:
        holders[part.places] += 1
    positions = selection.positions()
    missing, doubled = np.flatnonzero(holders == 0), np.flatnonzero(holders > 1)
    faults = [*_unfinished(parts, missing), *_nowhere(parts, missing), *_doubled(parts, doubled)]
    faults += [f"{path} is not there" for path in absent]
    if faults:
        in_all = f"{len(missing):,} of {selection.chosen:,} images are missing, {len(doubled):,} are doubled"
        commands = commands_for(parts, missing)
        raise NotWhole([*faults, in_all], positions[missing].tolist(), positions[doubled].tolist(), commands)


def _unfinished(parts: Sequence[Part], missing: np.ndarray) -> list[str]:
    """What is missing of the shards that are there."""
    faults = []
    for part in parts:
        lacks = np.intersect1d(part.meant, missing)
        if len(lacks):
            which = f"lacks {len(lacks):,} of the {len(part.meant):,} images of shard {part.shard}"
            how = which if part.finished else f"is unfinished, and {which}"
            faults.append(f"{part.path} {how}: {named(part.selection.positions()[lacks].tolist())}")
    return faults


def _nowhere(parts: Sequence[Part], missing: np.ndarray) -> list[str]:
    """What is missing and of no shard that is there."""
    nowhere = np.setdiff1d(missing, np.concatenate([part.meant for part in parts]))
    if not len(nowhere):
        return []
    images = named(parts[0].selection.positions()[nowhere].tolist())
    whose = f"none of these {len(parts)} shards is" if len(parts) > 1 else "this shard is not"
    return [f"{whose} about {len(nowhere):,} of the images: {images}"]


def _doubled(parts: Sequence[Part], doubled: np.ndarray) -> list[str]:
    """Which images are doubled, by the files that hold them."""
    holders: dict[int, list[str]] = {place: [] for place in doubled.tolist()}
    for part in parts:
        for place in np.intersect1d(part.places, doubled).tolist():
            holders[place].append(str(part.path))
    together: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, paths in holders.items():
        together[tuple(paths)].append(place)
    positions = parts[0].selection.positions()
    return [
        f"{' and '.join(paths)} hold the same {len(places):,} images, leave all but one of them out: "
        f"{named(positions[places].tolist())}"
        for paths, places in together.items()
    ]


def _together(parts: Sequence[Part], name: str) -> Certificates:
    """The table of parts that hold every image once."""
    tables, numbered = [part.table for part in parts], NumberedMachines()
    order = np.argsort(np.concatenate([part.places for part in parts]))
    rows = {
        column: np.concatenate([getattr(table, column) for table in tables])[order]
        for column in ("idx", "label", "counts0", "counts", "seconds")
    }
    machine = np.concatenate([part.machines(numbered) for part in parts])[order]
    paths = [path for table in tables for path in table.paths or ()]
    images = np.concatenate([table.image for table in tables if table.image is not None])[order]
    whole = parts[0].header.having(
        shard=None,
        command=None,
        data=hashed_images(rows["label"].astype("<i8").tobytes(), map(bytes, images)),
        machines=tuple(numbered.machines),
    )
    u = [table.u for table in tables if table.u is not None]
    return from_evidence(
        whole,
        **rows,
        paths=[paths[place] for place in order],
        machine=machine,
        u=np.concatenate(u)[order] if u else None,
        name=name,
    )
