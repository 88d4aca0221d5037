"""`randsmooth merge`: one table of the shards of a run."""

from __future__ import annotations

from randsmooth import certificates
from randsmooth.certificates.selection import whole_of
from randsmooth.cli.options import Answered
from randsmooth.cli.output import say_lines
from randsmooth.cli.settings import Argument
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

    It is the one that a single process would have made, in every count. Shards may come
    from different machines, which the table records for each row. Shards of another run
    are refused, with what differs. If images are missing, each is named, and the
    commands that make them are printed on stdout, ready for a shell.

    Example: randsmooth merge gaussian-*-of-16.parquet --out gaussian.parquet
    """
    out = settings.out or _whole(settings.shards)
    try:
        table = certificates.merge(
            settings.shards, out=out, overwrite=settings.overwrite
        )
    except certificates.NotWhole as error:
        say_lines(error.commands)
        faults = list(error.faults)
        if error.commands:
            faults.append("the commands above, on stdout, make what is missing")
        raise SeveralProblems(*map(Problem, faults)) from None
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


def _whole(shards: list[Place]) -> Place:
    """Return the file of the whole run, by the names of its shards."""
    wholes = {whole_of(shard) for shard in shards}
    whole = wholes.pop() if len(wholes) == 1 else None
    if whole is None:
        raise MissingValue(
            "the names of the shards do not say what the whole is called: give --out"
        )
    return whole
