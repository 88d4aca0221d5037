"""`randsmooth route`: one table of a router's table and its experts' tables."""

from __future__ import annotations

from pathlib import Path

from randsmooth import certificates
from randsmooth.cli.options import Answered, certification_option
from randsmooth.cli.output import writing
from randsmooth.cli.settings import Argument
from randsmooth.errors import BadValue
from randsmooth.urls import Place


class Route(Answered):
    """Settings of `randsmooth route`.

    Attributes:
        router: Certificates of the router, a classifier whose class k is the expert
            number k, counted from 0.
        experts: Certificates of the experts, in the order of the router's classes.
            Published logs may be among them.
        n: Judge tables of counts as if n samples per image had been drawn: a random
            subset is taken. (default: all samples)
        one_expert: Let every certificate rest on the one expert that the router names
            first, and never on several that agree.
        out: Parquet file for the routed table.
        overwrite: Replace a file that exists.
    """

    router: Argument[Place]
    experts: Argument[list[Place]]
    alpha: float = certification_option("alpha", default=0.001)
    n: int | None = None
    one_expert: bool = False
    out: Path
    overwrite: bool = False


def run(settings: Route) -> None:
    """Make one table of a router's and its experts': a sigma for each image.

    The routed classifier answers with the expert that the router picks. Each
    certificate says: within this radius that answer cannot change. It is the least of
    the router's radius and those of the experts that it rests on, and it is wrong with
    probability at most alpha. Experts need to hold the images that they get. The table
    names its sources by their digests. For another alpha, run the command again.

    Example: randsmooth route router.parquet small.parquet large.parquet --out
    routed.parquet
    """
    out = settings.out
    if out.suffix != ".parquet":
        raise BadValue(f"{out} must end in .parquet", field="out", value=str(out))
    with writing([out], overwrite=settings.overwrite):
        table = certificates.route(
            settings.router,
            settings.experts,
            alpha=settings.alpha,
            n=settings.n,
            sets=not settings.one_expert,
            name=out.stem,
        )
        certificates.write_parquet(table, out)
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))
