"""`randsmooth merge`: one table of the shards of a run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from randsmooth import certificates
from randsmooth.certificates.selection import whole_of
from randsmooth.cli.options import Answered
from randsmooth.cli.output import say_lines
from randsmooth.cli.settings import Argument, option_named
from randsmooth.errors import MissingValue, Problem, SeveralProblems
from randsmooth.urls import Place


class Merge(Answered):
    """Settings of `randsmooth merge`.

    Attributes:
        shards: Shards that `randsmooth certify --shard` wrote, or their URLs, and
            journals of unfinished ones.
        out: Parquet file of the whole run. (default: T.parquet, of shards
            T-1-of-16.parquet, ...)
        overwrite: Replace a file that exists.
    """

    shards: Argument[list[Place]]
    out: Place | None = None
    overwrite: bool = False


def run(settings: Merge) -> None:
    """Make one table of the shards of a run.

    The table equals that of a single process, in every count. Shards may come from
    different machines; the table records the machine of each row. The command refuses
    shards of another run, and names the differences. If images are missing, it names
    them, and prints the commands that make them on stdout, ready for a shell.

    Example: randsmooth merge gaussian-*-of-16.parquet --out gaussian.parquet
    """
    out = settings.out or _whole(settings.shards)
    try:
        table = certificates.merge(
            settings.shards, out=out, overwrite=settings.overwrite
        )
    except certificates.NotWhole as error:
        say_lines(_commands(error))
        faults = list(error.faults)
        # There is nothing to make where shards are not of one run.
        if error.to_make:
            if error.command is not None:
                faults += _unnamed_folders(error.command)
            faults.append("the commands above, on stdout, make the missing shards")
        raise SeveralProblems(*map(Problem, faults)) from None
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


def _commands(error: certificates.NotWhole) -> list[str]:
    """Return the commands that make what is missing, as the other shards were made.

    If Python made the other shards, they are calls of Python.
    """
    if error.command is None:
        return [f"{call}  # the rest as for the other shards" for call in error.to_make]
    commands = []
    for to_make in error.to_make:
        options = ["--shard", str(to_make.shard), "--out", str(to_make.out)]
        # It is --resume, or --overwrite for a finished shard that lacks rows.
        way_on = option_named(to_make.how.name)
        commands.append(shlex.join(["randsmooth", *error.command, *options, way_on]))
    return commands


def _unnamed_folders(command: Sequence[str]) -> list[str]:
    """Return a sentence on the folders to fill in by hand; none where there are none.

    A shard records its command without the folders of paths, which may be private.
    """
    # Late, as it loads Arrow, which the help of merge does not need.
    from randsmooth.certificates.merging import SOME_FOLDER

    names = sorted(
        {word.partition(SOME_FOLDER)[2] for word in command if SOME_FOLDER in word}
    )
    if not names:
        return []
    return [
        f"shards do not name the folders of {', '.join(names)}: before you run the "
        f"commands, put a folder in place of {SOME_FOLDER.rstrip('/')}"
    ]


def _whole(shards: list[Place]) -> Place:
    """Return the file of the whole run, by the names of its shards.

    Raises:
        MissingValue: the names do not say it, or not the same.
    """
    wholes = {whole_of(shard) for shard in shards}
    whole = wholes.pop() if len(wholes) == 1 else None
    # `whole_of` has None for a name that does not say it.
    if whole is None:
        raise MissingValue(
            "the names of the shards do not give one for the whole table: give --out"
        )
    return whole
