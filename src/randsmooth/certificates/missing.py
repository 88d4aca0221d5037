"""The commands that make the images of a run that no shard holds yet."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from randsmooth.certificates.part import Part
from randsmooth.certificates.selection import Shard, whole_of
from randsmooth.certificates.table import Ints
from randsmooth.urls import Place, beside, name_of


def commands_for(parts: Sequence[Part], missing: Ints) -> list[str]:
    """The commands that make the images at the places `missing`: each ends a shard that is there, or makes another."""
    commands, rest = [], missing
    for part in parts:
        if len(np.intersect1d(part.meant, rest)):
            commands.append(_command(parts, part.shard, part.out, overwrite=part.finished))
            rest = np.setdiff1d(rest, part.meant)
    cut = _shards_of(rest, [part.shard.of for part in parts], parts[0].selection.chosen)
    return commands + [_command(parts, shard, _file_like(parts[0], shard)) for shard in cut]


def _shards_of(rest: Ints, counts: Sequence[int], chosen: int) -> Iterator[Shard]:
    """Shards that hold the places `rest` and no others: cut as most of the others are, where that is possible."""
    usual = [of for of, _ in Counter(counts).most_common()]
    finest = min(math.lcm(*counts), chosen)
    finer = [of for of in range(1, finest + 1) if finest % of == 0]
    for of in [*usual, *finer, chosen]:
        if not len(rest):
            return
        held = np.bincount(rest % of, minlength=of)
        full = np.flatnonzero(held == np.bincount(np.arange(chosen) % of, minlength=of))
        yield from (Shard(int(number) + 1, of) for number in full)
        rest = rest[~np.isin(rest % of, full)]


def _file_like(part: Part, shard: Shard) -> Place:
    """Where another shard goes, by the name of one that is there."""
    if name_of(part.out) == f"{part.shard.number}-of-{part.shard.of}.parquet":
        return beside(part.out, f"{shard.number}-of-{shard.of}.parquet")
    return shard.file(whole_of(part.out) or part.out)


def _command(parts: Sequence[Part], shard: Shard, out: Place, *, overwrite: bool = False) -> str:
    """The command of one shard, as those that are there were made; `--resume` begins one that is not there, too."""
    flag = "overwrite" if overwrite else "resume"
    words = next((part.header.command for part in parts if part.header.command), None)
    if words is not None:
        return shlex.join(["randsmooth", *words, "--shard", str(shard), "--out", str(out), f"--{flag}"])
    return f"rs.certify(..., shard={str(shard)!r}, out={str(out)!r}, {flag}=True)  # the rest as for the other shards"
