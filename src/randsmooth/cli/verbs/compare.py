"""`randsmooth compare`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from randsmooth.atomic import write_atomically
from randsmooth.cli import shared_options
from randsmooth.cli.messages import note
from randsmooth.cli.outputs import writing
from randsmooth.cli.settings import Settings, argument, numbers, option, words
from randsmooth.errors import InputError, unknown
from randsmooth.escape import say
from randsmooth.extras import needs
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates
    from randsmooth.report import Pictures

FIGURES = ("png", "pdf")
WITHOUT_PAGE = "`randsmooth evaluate A B` prints the paired comparison without it"
SUFFIXES = {"text": "txt", "md": "md", "latex": "tex", "csv": "csv", "json": "json"}


class Compare(Settings):
    """Settings of `randsmooth compare`."""

    files: list[Place] = argument(shared_options.FILES)
    out: Path = option("The HTML page to write; it works offline.", Path("report.html"))
    title: str | None = option("Title of the page.")
    radii: Annotated[list[float] | None, BeforeValidator(numbers)] = option(
        shared_options.RADII, json_schema_extra=shared_options.COMMA_SEPARATED
    )
    baseline: str | None = option(shared_options.BASELINE)
    figures: Annotated[list[str], BeforeValidator(words)] = option(
        "Also write the plots of certified accuracy and of p_A beside the page, and one of methods at their best sigma "
        "where they have several: png, pdf or both.",
        [],
        json_schema_extra={"cli": str, "metavar": "png,pdf"},
    )
    tables: Annotated[list[str], BeforeValidator(words)] = option(
        "Also write the table of metrics beside the page, in any of text, md, latex, csv, json.",
        [],
        json_schema_extra={"cli": str, "metavar": "md,latex,..."},
    )
    pictures: bool = option(
        "Show some of the images that the baseline certifies and a method gives up, if the data is on this machine.",
        False,
    )
    sigma: float | None = option(shared_options.SIGMA)
    n: int | None = option(shared_options.N)
    alpha: float | None = option(shared_options.ALPHA)
    overwrite: bool = option("Replace files that exist.", False)


def compare(settings: Compare) -> None:
    """Compare certificate files on one HTML page: curves, each method against the baseline, classes, provenance.

    Example: randsmooth compare gaussian.parquet amplify.parquet --out report.html --figures png --tables latex
    """
    from randsmooth.cli import reading

    wanted = outputs(settings)
    with needs("randsmooth compare", WITHOUT_PAGE), writing(list(wanted), overwrite=settings.overwrite):
        loaded = reading.load(settings.files, sigma=settings.sigma, n=settings.n, alpha=settings.alpha)
        _write(loaded, wanted, settings)


def _write(loaded: Sequence[Certificates], wanted: dict[Path, str], settings: Compare) -> None:
    """Write the files that are wanted, and print where each is."""
    from randsmooth import report

    report.write_comparison(
        loaded,
        settings.out,
        radii=settings.radii,
        baseline=settings.baseline,
        title=settings.title,
        command="randsmooth " + shlex.join(sys.argv[1:]),
        pictures=_pictures(loaded) if settings.pictures else None,
    )
    for remark in report.remarks(loaded):
        note(remark)
    for path, what in wanted.items():
        if what == "radius":
            report.draw_radius_accuracy(loaded, path, baseline=settings.baseline)
        elif what == "p_A":
            if not _draw_p_a(loaded, path, settings.baseline):
                continue
        elif what == "sigmas":
            if not _draw_sigmas(loaded, path):
                continue
        elif what != "page":
            text = report.render(loaded, radii=settings.radii, format=what, baseline=settings.baseline)
            write_atomically(path, text.encode())
        say(path)


def _draw_p_a(tables: Sequence[Certificates], path: Path, baseline: str | None) -> bool:
    """Draw the p_A curves of the tables that have one. Whether there were any."""
    from randsmooth import metrics, report

    known = [table for table in tables if metrics.knows_p_a(table)]
    silent = [table.name for table in tables if not metrics.knows_p_a(table)]
    if silent:
        note(f"{path.name} leaves out {', '.join(silent)}, whose p_A is not known")
    if known:
        named = baseline if baseline in {table.name for table in known} else None
        report.draw_p_a_curves(known, path, baseline=named)
    return bool(known)


def _draw_sigmas(tables: Sequence[Certificates], path: Path) -> bool:
    """Draw the methods that have tables at several sigma, each at its best sigma. Whether there were any."""
    from randsmooth import metrics, report

    groups = report.group_by_method(tables)
    if not groups:
        return False
    try:
        report.draw_envelopes(groups, path)
    except InputError as reason:
        note(f"no {path.name}: {reason}")
        return False
    note(f"{path.name}: {metrics.NO_ONE_CLASSIFIER}")
    return True


def _pictures(tables: Sequence[Certificates]) -> Pictures | None:
    """The images, or None where they cannot be shown: the page is then made without them."""
    from randsmooth.cli.verbs.pictures import pictures_of

    try:
        return pictures_of(tables)
    except InputError as reason:
        note(f"no pictures: {reason}")
        return None


def outputs(settings: Compare) -> dict[Path, str]:
    """The files to write and what each is; InputError for a format that is not known."""
    for kind in settings.figures:
        if kind not in FIGURES:
            raise unknown("figure format", kind, FIGURES)
    for kind in settings.tables:
        if kind not in SUFFIXES:
            raise unknown("table format", kind, SUFFIXES)
    beside = settings.out.with_suffix("")
    wanted = {settings.out: "page"}
    for kind in settings.figures:
        wanted |= {Path(f"{beside}-{name}.{kind}"): name for name in ("radius", "p_A", "sigmas")}
    return wanted | {Path(f"{beside}-table.{SUFFIXES[kind]}"): kind for kind in settings.tables}
