"""`randsmooth compare`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from randsmooth.atomic import write_atomically
from randsmooth.cli.messages import note, writing
from randsmooth.cli.options import FILES, Compared
from randsmooth.cli.settings import argument, option, words
from randsmooth.documents import shown
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


class Compare(Compared):
    """Settings of `randsmooth compare`."""

    files: list[Place] = argument(FILES)
    out: Path = option("The HTML page to write; it works offline.", Path("report.html"))
    title: str | None = option("Title of the page.")
    figures: Annotated[list[str], BeforeValidator(words)] = option(
        "Also write the plots of certified accuracy and of p_A beside the page, and one of methods at their best sigma "
        "where they have several: png, pdf or both.",
        [],
        as_typed=(str, "png,pdf"),
    )
    tables: Annotated[list[str], BeforeValidator(words)] = option(
        "Also write the table of metrics beside the page, in any of text, md, latex, csv, json.",
        [],
        as_typed=(str, "md,latex,..."),
    )
    pictures: bool = option(
        "Show some of the images that the baseline certifies and a method gives up, if the data is on this machine.",
        False,
    )
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
        try:
            if what in DRAWN:
                DRAWN[what](loaded, path, settings.baseline)
            elif what != "page":
                text = report.render(loaded, radii=settings.radii, format=what, baseline=settings.baseline)
                write_atomically(path, text.encode())
        except InputError as reason:
            note(f"no {path.name}: {reason}")
        else:
            say(path)


def _draw_radius(tables: Sequence[Certificates], path: Path, baseline: str | None) -> None:
    from randsmooth import report

    report.draw_radius_accuracy(tables, path, baseline=baseline)


def _draw_p_a(tables: Sequence[Certificates], path: Path, baseline: str | None) -> None:
    """Draw the p_A curves of the tables that have one. Raises InputError where none has."""
    from randsmooth import metrics, report

    known = [table for table in tables if metrics.knows_p_a(table)]
    silent = [table.name for table in tables if not metrics.knows_p_a(table)]
    if not known:
        raise InputError("the p_A of no table is known")
    if silent:
        note(f"{path.name} leaves out {', '.join(silent)}, whose p_A is not known")
    report.draw_p_a_curves(known, path, baseline=baseline if baseline not in silent else None)


def _draw_sigmas(tables: Sequence[Certificates], path: Path, baseline: str | None) -> None:
    """Draw the methods at their best sigma. Raises InputError where none has tables at several."""
    from randsmooth import metrics, report

    groups = report.group_by_method(tables)
    if not groups:
        raise InputError("no method has tables at several sigma")
    report.draw_envelopes(groups, path)
    note(f"{path.name}: {metrics.NO_ONE_CLASSIFIER}")


DRAWN = {"radius": _draw_radius, "p_A": _draw_p_a, "sigmas": _draw_sigmas}


def _pictures(tables: Sequence[Certificates]) -> Pictures | None:
    """Pixels by position in the split that the first table with a known one was certified on.

    None, with a note, where they cannot be shown: nothing is fetched for a picture, and the page is made without.
    """
    try:
        return pictures_of(tables)
    except InputError as reason:
        note(f"no pictures: {reason}")
        return None


def pictures_of(tables: Sequence[Certificates]) -> Pictures:
    known = [table for table in tables if table.header.dataset and table.header.split]
    if not known:
        raise InputError("no table says which data set and split its images are from")
    from randsmooth import data

    header = known[0].header
    dataset, split = str(header.dataset), str(header.split)
    if dataset not in data.DATASETS:  # a folder that a file names is not opened unasked
        raise InputError(f"{shown(dataset)} is not the name of a data set, and pictures are shown of those only")
    if not data.is_at_hand(dataset):
        raise InputError(f"{dataset} is not on this machine; set RANDSMOOTH_DATA to the folder that holds it")
    images = data.load(dataset, split, resize=header.resize, crop=header.crop)
    labels = images.labels.numpy()
    for table in tables:
        inside = (table.idx >= 0) & (table.idx < len(images))
        if not inside.all() or (labels[table.idx] != table.label).any():
            raise InputError(f"the images at hand are not those of {table.name}: their labels differ")

    def pixels(idx: Sequence[int]) -> list[Any]:
        import torch

        x, _ = images.batch(torch.tensor(list(idx)))
        return list((x * 255.0).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy())

    return pixels


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
        wanted |= {Path(f"{beside}-{name}.{kind}"): name for name in DRAWN}
    return wanted | {Path(f"{beside}-table.{SUFFIXES[kind]}"): kind for kind in settings.tables}
