"""`randsmooth merge`."""

from __future__ import annotations

import sys

import typer

from randsmooth.cli.messages import BAD_INPUT
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.urls import Place


class Merge(Settings):
    """Settings of `randsmooth merge`."""

    shards: list[Place] = argument(
        "Shards that `randsmooth certify --shard` wrote, or their URLs, and journals of unfinished ones."
    )
    out: Place | None = option("Parquet file of the whole run. (default: T.parquet, of shards T-1-of-16.parquet, ...)")
    overwrite: bool = option("Replace a file that exists.", False)


def merge(settings: Merge) -> None:
    """Make one table of the shards of a run: the one that a single process would have made, in every count.

    Shards may be cut differently (1/2, 3/4, 4/4) and come from different machines, which the table records for each
    row. Shards of another run are refused, with what differs. If images are missing or doubled, each is named, and the
    commands that make what is missing are printed on stdout, ready for a shell.

    Example: randsmooth merge gaussian-*-of-16.parquet --out gaussian.parquet
    """
    from randsmooth import certificates

    out = settings.out or _whole(settings.shards)
    try:
        table = certificates.merge(settings.shards, out=out, overwrite=settings.overwrite)
    except certificates.NotWhole as error:
        say("\n".join(f"randsmooth: {printable(fault)}" for fault in error.faults), file=sys.stderr)
        if error.commands:
            say("randsmooth: the commands that make what is missing:", file=sys.stderr)
            say("\n".join(printable(command) for command in error.commands))
        raise typer.Exit(BAD_INPUT) from None
    from randsmooth.report import render

    say(render([table]), end="")
    say(printable(f"certificates in {out}"))


def _whole(shards: list[Place]) -> Place:
    """The file of the whole run that all these names of shards are made of."""
    from randsmooth.certificates.selection import whole_of

    found = {whole_of(path) for path in shards}
    whole = found.pop() if len(found) == 1 else None
    if whole is None:
        raise InputError("the names of the shards do not say what the whole is called: give --out")
    return whole
