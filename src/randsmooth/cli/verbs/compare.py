"""`randsmooth evaluate`, `randsmooth compare` and `randsmooth leaderboard`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from randsmooth import certificates, data, metrics, report
from randsmooth.atomic import write_atomically
from randsmooth.certificates.files import UNOPENED, grouped, names_of
from randsmooth.cli import certificate_files
from randsmooth.cli.options import Answered, Compared, Judged, as_typed
from randsmooth.cli.output import note, writing
from randsmooth.cli.settings import Argument, Given, words
from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    NotComparable,
    NotFound,
    Problem,
    WrongTable,
    about,
)
from randsmooth.escape import say
from randsmooth.extras import needs
from randsmooth.progress import console, silent
from randsmooth.urls import Place, fetched, with_urls

WITHOUT_PAGE = "`randsmooth evaluate A B` prints the paired comparison without it"
Form = Literal["text", "md", "latex", "csv", "json"]  # of a table of metrics
SUFFIXES: dict[Form, str] = {
    "text": "txt",
    "md": "md",
    "latex": "tex",
    "csv": "csv",
    "json": "json",
}
CURVES = ("radius", "p_A", "sigmas")  # that --figures draws
MANY = 500  # files of which reading takes long enough to show how far it is


class Evaluate(Compared):
    """Settings of `randsmooth evaluate`.

    Attributes:
        format: Of the table.
        out: File to write instead of printing.
        overwrite: Replace a file that exists.
    """

    format: Form = "text"
    out: Path | None = None
    overwrite: bool = False


class Compare(Answered, Compared):
    """Settings of `randsmooth compare`.

    Attributes:
        out: The HTML page to write; it works offline.
        title: Title of the page.
        figures: Also write the plots of certified accuracy and of p_A beside the page, and one of methods or noises at
            their best width where they have several: png, pdf or both.
        tables: Also write the table of metrics beside the page, in any of text, md, latex, csv, json.
        pictures: Show some of the images that the baseline certifies and a method gives up, if the data is on this
            machine.
        overwrite: Replace files that exist.
    """

    out: Path = Path("report.html")
    title: str | None = None
    figures: Annotated[
        list[Literal["png", "pdf"]],
        BeforeValidator(words),
        Given(kind=str, metavar="png,pdf"),
    ] = []
    tables: Annotated[
        list[Form], BeforeValidator(words), Given(kind=str, metavar="md,latex,...")
    ] = []
    pictures: bool = False
    overwrite: bool = False


def evaluate(settings: Evaluate) -> None:
    """Print the metrics of certificate files, one row a file: ACR, certified accuracies, abstention.

    Every figure comes with the number of images and a 95% interval (Clopper-Pearson for shares, Gaffke for ACR).

    Example: randsmooth evaluate gaussian.parquet amplify.parquet --radii 0,0.5,1 --format md
    """
    if settings.out is None:
        say(_rendered(_loaded(settings), settings, settings.format), end="")
    else:
        with writing([settings.out], overwrite=settings.overwrite):
            write_atomically(
                settings.out,
                _rendered(_loaded(settings), settings, settings.format).encode(),
            )
        say(settings.out)


def compare(settings: Compare) -> None:
    """Compare certificate files on one HTML page: curves, each method against the baseline, classes, provenance.

    Example: randsmooth compare gaussian.parquet amplify.parquet --out report.html --figures png --tables latex
    """
    beside = settings.out.with_suffix("")
    wanted = {settings.out: "page"}
    wanted |= {
        Path(f"{beside}-{curve}.{kind}"): curve
        for kind in settings.figures
        for curve in CURVES
    }
    wanted |= {
        Path(f"{beside}-table.{SUFFIXES[kind]}"): kind for kind in settings.tables
    }
    tables = _loaded(settings)
    with (
        needs("randsmooth compare", WITHOUT_PAGE),
        writing(list(wanted), overwrite=settings.overwrite),
    ):
        how: dict[str, Any] = settings.model_dump(
            include={"radii", "baseline", "title"}
        )
        try:
            how["pictures"] = pictures_of(tables) if settings.pictures else None
        except Problem as reason:  # the page is made without
            note(f"no pictures: {reason}")
        command = as_typed(sys.argv[1:])
        summary = report.write_comparison(tables, settings.out, **how, command=command)
        for remark in report.remarks(tables):
            if remark not in summary:
                note(remark)
        written = []
        for path, what in wanted.items():
            try:
                _write(what, path, tables, settings)
                written.append(str(path))
            except Problem as reason:
                note(f"no {path.name}: {reason}")
        settings.answer(
            [*summary, *written], lambda: {"summary": summary, "written": written}
        )


def _loaded(settings: Compared) -> list[certificates.Certificates]:
    return certificate_files.load(
        settings.files,
        **settings.model_dump(include={"sigma", "n", "alpha", "norm", "dimension"}),
    )


def _rendered(
    tables: Sequence[certificates.Certificates], settings: Compared, format: str
) -> str:
    return report.render(
        tables, radii=settings.radii, format=format, baseline=settings.baseline
    )


def _write(
    what: str,
    path: Path,
    tables: Sequence[certificates.Certificates],
    settings: Compare,
) -> None:
    """Draw or write what goes beside the page. Raises Problem where the tables do not tell it."""
    if what == "radius":
        report.draw_radius_accuracy(tables, path, baseline=settings.baseline)
    elif what == "p_A":
        known = [table for table in tables if metrics.knows_p_a(table)]
        silent = [table.name for table in tables if not metrics.knows_p_a(table)]
        if not known:
            raise WrongTable("the p_A of no table is known")
        if silent:
            note(f"{path.name} leaves out {', '.join(silent)}, whose p_A is not known")
        report.draw_p_a_curves(
            known,
            path,
            baseline=settings.baseline if settings.baseline not in silent else None,
        )
    elif what == "sigmas":
        groups = report.group_by_method(tables)
        if not groups:
            raise WrongTable(
                "it needs tables of one method, or of one kind of noise, under several sigmas"
            )
        report.draw_envelopes(groups, path)
        note(f"{path.name}: {metrics.NO_ONE_CLASSIFIER}")
    elif what != "page":
        write_atomically(path, _rendered(tables, settings, what).encode())


def pictures_of(tables: Sequence[certificates.Certificates]) -> report.Pictures:
    """Pixels by position in the split that the first table with a known one was certified on; nothing is fetched.

    Raises:
        Problem: no table names its data set, it is not on this machine, or its images are not those of a table.
    """
    header = next(
        (
            table.header
            for table in tables
            if table.header.dataset and table.header.split
        ),
        None,
    )
    if header is None:
        raise WrongTable("no table says which data set and split its images are from")
    dataset, split = str(header.dataset), str(header.split)
    if dataset not in data.DATASETS:  # a folder that a file names is not opened unasked
        raise WrongTable(
            f"{shown(dataset)} is not the name of a data set, and pictures are shown of those only"
        )
    if not data.is_at_hand(dataset):
        raise NotFound(
            f"{dataset} is not on this machine; set RANDSMOOTH_DATA to the folder that holds it"
        )
    images = data.load(dataset, split, resize=header.resize, crop=header.crop)
    labels = images.labels.numpy()
    for table in tables:
        inside = (table.idx >= 0) & (table.idx < len(images))
        if not inside.all() or (labels[table.idx] != table.label).any():
            raise NotComparable(
                f"the images at hand are not those of {table.name}: their labels differ"
            )

    def pixels(idx: Sequence[int]) -> list[Any]:
        import torch

        x, _ = images.batch(torch.tensor(list(idx)))
        return list(
            (x * 255.0).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
        )

    return pixels


class Leaderboard(Answered, Judged):
    """Settings of `randsmooth leaderboard`.

    Attributes:
        folder: Folder whose certificates, at any depth, are ranked; a clone of a repository will do, or a URL
            (s3://...).
        out: The HTML page to write. A JSON file with the same figures is written beside it.
        title: Title of the page.
        n: Samples n per image that TSV logs were made with. (default: what their paths or radii show)
        alpha: The alpha that TSV logs were made with. (default: logs are judged at 0.001, whatever alpha their radii
            show)
        overwrite: Replace files that exist.
    """

    folder: Argument[Place]
    out: Path = Path("leaderboard.html")
    title: str | None = None
    n: int | None = None
    alpha: float | None = None
    overwrite: bool = False


def leaderboard(settings: Leaderboard) -> None:
    """Rank every certificate below a folder on one page that sorts and filters offline, and as JSON.

    Tables are ordered by the p_A curve; ACR stands last. Logs are recognised by their first line, whatever their
    names, and their data set, sigma, method and settings by their paths. Logs of predictions and files that cannot be
    read are left out, and named here and on the page; the exit code is 0 if at least one could be read.

    Example: randsmooth leaderboard runs --out runs/leaderboard.html
    """
    if settings.out.suffix in ("", ".json"):
        raise BadValue(
            f"--out {settings.out}: name the page, such as board.html; its JSON is written beside it"
        )
    pages = [settings.out, settings.out.with_suffix(".json")]
    certificate_files.check_asked(settings.sigma, settings.n, settings.alpha)
    with writing(pages, overwrite=settings.overwrite):
        entries, left_out = _measured(settings)
        command = as_typed(sys.argv[1:])
        report.write_leaderboard(
            entries,
            settings.out,
            radii=settings.radii,
            title=settings.title,
            command=command,
            left_out=left_out,
        )
    settings.answer(map(str, pages), lambda: {"written": [*map(str, pages)]})


def _measured(settings: Leaderboard) -> tuple[list[report.Entry], dict[str, list[str]]]:
    """Every certificate table below the folder, measured; and heading -> sentences on files that are not ranked.

    Raises:
        Problem: no such folder, or no certificate in it.
    """
    entries, read = [], []
    below = fetched(settings.folder, lambda path: path.suffix not in UNOPENED)
    paths = certificates.find_certificates(below)
    progress = console if len(paths) >= MANY else silent
    with progress("reading certificates", len(paths), "files") as reporter:
        for path in paths:
            file = certificates.read_file_of(
                path, sigma=settings.sigma, n=settings.n, alpha=settings.alpha
            )
            name = path.relative_to(below).as_posix()
            try:
                table = file.table and certificate_files.in_norm(
                    file.table, settings.norm, settings.dimension
                )
                entries += [] if table is None else [report.measure(table, name)]
            except Problem as reason:
                file = replace(file, fault=str(about(path, reason)))
            read.append(replace(file, table=None))
            reporter.advance(1)
    left_out = _left_out(read, entries)
    if not entries:
        raise NotFound(
            f"no certificates below {settings.folder}; `randsmooth certify --out` writes them"
        )
    return entries, left_out


def _left_out(
    read: Sequence[certificates.FolderFile], entries: Sequence[report.Entry]
) -> dict[str, list[str]]:
    """What the page says of files that are not ranked, or not placed; of the former, the terminal gives the reasons."""
    predicted = [file.path for file in read if file.predictions]
    faults = {
        file.path: file.fault for file in read if file.fault and not file.predictions
    }
    said = {}
    if predicted:
        heading = f"{_counted(predicted)} of predictions: they certify nothing, and are not ranked"
        said[heading] = [with_urls(str(path)) for path in predicted]
        note(f"{heading}: {names_of(predicted)}")
    for reason, paths in grouped(faults).items():
        note(
            f"skipped: {faults[paths[0]]}"
            if len(paths) == 1
            else f"skipped: {names_of(paths)}: {reason}"
        )
    if faults:
        said[f"Left out, as {_counted(faults, 'file')} could not be used"] = [
            *map(with_urls, faults.values())
        ]
    unplaced: dict[str, list[str]] = {}
    for entry in entries:
        if entry.logged and (lacks := certificates.unplaced(entry.table)):
            unplaced.setdefault(lacks, []).append(entry.file)
    for lacks, files in unplaced.items():
        said[f"Ranked, though nothing says the {lacks} of {_counted(files)}"] = files
    return said


def _counted(files: Collection[object], what: str = "log") -> str:
    return f"{len(files):,} {what}{'s' * (len(files) != 1)}"
