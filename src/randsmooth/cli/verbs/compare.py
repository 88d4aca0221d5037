"""`randsmooth evaluate` and `randsmooth compare`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator

from randsmooth.atomic import write_atomically
from randsmooth.cli.messages import note, writing
from randsmooth.cli.options import Compared
from randsmooth.cli.settings import Given, words
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.escape import say
from randsmooth.extras import needs

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates
    from randsmooth.report import Pictures

WITHOUT_PAGE = "`randsmooth evaluate A B` prints the paired comparison without it"
SUFFIXES = {"text": "txt", "md": "md", "latex": "tex", "csv": "csv", "json": "json"}
CURVES = ("radius", "p_A", "sigmas")  # that --figures draws


class Evaluate(Compared):
    """Settings of `randsmooth evaluate`.

    Attributes:
        format: Of the table.
        out: File to write instead of printing.
        overwrite: Replace a file that exists.
    """

    format: Literal["text", "md", "latex", "csv", "json"] = "text"
    out: Path | None = None
    overwrite: bool = False


class Compare(Compared):
    """Settings of `randsmooth compare`.

    Attributes:
        out: The HTML page to write; it works offline.
        title: Title of the page.
        figures: Also write the plots of certified accuracy and of p_A beside the page, and one of methods at their best
            sigma where they have several: png, pdf or both.
        tables: Also write the table of metrics beside the page, in any of text, md, latex, csv, json.
        pictures: Show some of the images that the baseline certifies and a method gives up, if the data is on this
            machine.
        overwrite: Replace files that exist.
    """

    out: Path = Path("report.html")
    title: str | None = None
    figures: Annotated[list[Literal["png", "pdf"]], BeforeValidator(words), Given(kind=str, metavar="png,pdf")] = []
    tables: Annotated[
        list[Literal["text", "md", "latex", "csv", "json"]],
        BeforeValidator(words),
        Given(kind=str, metavar="md,latex,..."),
    ] = []
    pictures: bool = False
    overwrite: bool = False


def evaluate(settings: Evaluate) -> None:
    """Print the metrics of certificate files, one row a file: ACR, certified accuracies, abstention.

    Every figure comes with the number of images and a 95% interval (Wilson for shares, Gaffke for ACR).

    Example: randsmooth evaluate gaussian.parquet amplify.parquet --radii 0,0.5,1 --format md
    """
    if settings.out is None:
        say(_rendered(_loaded(settings), settings, settings.format), end="")
    else:
        with writing([settings.out], overwrite=settings.overwrite):
            write_atomically(settings.out, _rendered(_loaded(settings), settings, settings.format).encode())
        say(settings.out)


def compare(settings: Compare) -> None:
    """Compare certificate files on one HTML page: curves, each method against the baseline, classes, provenance.

    Example: randsmooth compare gaussian.parquet amplify.parquet --out report.html --figures png --tables latex
    """
    beside = settings.out.with_suffix("")
    wanted = {settings.out: "page"}
    wanted |= {Path(f"{beside}-{curve}.{kind}"): curve for kind in settings.figures for curve in CURVES}
    wanted |= {Path(f"{beside}-table.{SUFFIXES[kind]}"): kind for kind in settings.tables}
    with needs("randsmooth compare", WITHOUT_PAGE), writing(list(wanted), overwrite=settings.overwrite):
        tables = _loaded(settings)
        from randsmooth import report

        how = settings.model_dump(include={"radii", "baseline", "title"})
        how |= {"pictures": _pictures(tables) if settings.pictures else None}
        report.write_comparison(tables, settings.out, **how, command="randsmooth " + shlex.join(sys.argv[1:]))
        for remark in report.remarks(tables):
            note(remark)
        for path, what in wanted.items():
            try:
                _write(what, path, tables, settings)
            except InputError as reason:
                note(f"no {path.name}: {reason}")
            else:
                say(path)


def _loaded(settings: Compared) -> list[Certificates]:
    from randsmooth.cli import reading

    return reading.load(settings.files, sigma=settings.sigma, n=settings.n, alpha=settings.alpha)


def _rendered(tables: Sequence[Certificates], settings: Compared, format: str) -> str:
    from randsmooth.report import render  # once there is something to report

    return render(tables, radii=settings.radii, format=format, baseline=settings.baseline)


def _write(what: str, path: Path, tables: Sequence[Certificates], settings: Compare) -> None:
    """Draw or write what goes beside the page. Raises InputError where the tables do not tell it."""
    from randsmooth import metrics, report

    if what == "radius":
        report.draw_radius_accuracy(tables, path, baseline=settings.baseline)
    elif what == "p_A":
        known = [table for table in tables if metrics.knows_p_a(table)]
        silent = [table.name for table in tables if not metrics.knows_p_a(table)]
        if not known:
            raise InputError("the p_A of no table is known")
        if silent:
            note(f"{path.name} leaves out {', '.join(silent)}, whose p_A is not known")
        report.draw_p_a_curves(known, path, baseline=settings.baseline if settings.baseline not in silent else None)
    elif what == "sigmas":
        groups = report.group_by_method(tables)
        if not groups:
            raise InputError("no method has tables at several sigma")
        report.draw_envelopes(groups, path)
        note(f"{path.name}: {metrics.NO_ONE_CLASSIFIER}")
    elif what != "page":
        write_atomically(path, _rendered(tables, settings, what).encode())


def _pictures(tables: Sequence[Certificates]) -> Pictures | None:
    """As `pictures_of`; None, with a note, where they cannot be shown: the page is made without."""
    try:
        return pictures_of(tables)
    except InputError as reason:
        note(f"no pictures: {reason}")
        return None


def pictures_of(tables: Sequence[Certificates]) -> Pictures:
    """Pixels by position in the split that the first table with a known one was certified on; nothing is fetched.

    Raises:
        InputError: no table names its data set, it is not on this machine, or its images are not those of a table.
    """
    header = next((table.header for table in tables if table.header.dataset and table.header.split), None)
    if header is None:
        raise InputError("no table says which data set and split its images are from")
    from randsmooth import data

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
