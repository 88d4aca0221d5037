"""`randsmooth leaderboard`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth import certificates
from randsmooth.certificates.files import OTHERS, grouped, names_of
from randsmooth.cli.messages import note, writing
from randsmooth.cli.options import Judged
from randsmooth.cli.reading import check_asked
from randsmooth.cli.settings import Argument
from randsmooth.errors import InputError, about
from randsmooth.escape import say
from randsmooth.progress import console, silent
from randsmooth.urls import Place, fetched, with_urls

if TYPE_CHECKING:
    from randsmooth.certificates import FolderFile
    from randsmooth.report import Entry

MANY = 500  # files of which reading takes long enough to show how far it is


class Leaderboard(Judged):
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
    from randsmooth import report

    if settings.out.suffix in ("", ".json"):
        raise InputError(
            f"--out {settings.out}: name the page, such as leaderboard.html; its JSON is written beside it"
        )
    pages = [settings.out, settings.out.with_suffix(".json")]
    check_asked(settings.sigma, settings.n, settings.alpha)
    if settings.n is not None and settings.alpha is not None:
        certificates.check_budget(1, settings.n, settings.alpha)
    with writing(pages, overwrite=settings.overwrite):
        entries, left_out = load(settings)
        command = "randsmooth " + shlex.join(sys.argv[1:])
        how = {"radii": settings.radii, "title": settings.title, "command": command, "left_out": left_out}
        report.write_leaderboard(entries, settings.out, **how)
    for path in pages:
        say(path)


def load(settings: Leaderboard) -> tuple[list[Entry], dict[str, list[str]]]:
    """Every certificate table below the folder, measured; and heading -> sentences on files that are not ranked.

    Raises:
        InputError: no such folder, or no certificate in it.
    """
    from randsmooth import report

    entries, read = [], []
    below = fetched(settings.folder, lambda path: path.suffix not in OTHERS)
    paths = certificates.find_certificates(below)
    progress = console if len(paths) >= MANY else silent
    with progress("reading certificates", len(paths), "files") as reporter:
        for path in paths:
            file = certificates.read_file_of(path, sigma=settings.sigma, n=settings.n, alpha=settings.alpha)
            name = path.relative_to(below).as_posix()
            try:
                entries += [] if file.table is None else [report.measure(file.table, name)]
            except InputError as reason:
                file = replace(file, fault=about(path, reason))
            read.append(replace(file, table=None))
            reporter.advance(1)
    left_out = _left_out(read, entries)
    if not entries:
        raise InputError(f"no certificates below {settings.folder}; `randsmooth certify --out` writes them")
    return entries, left_out


def _left_out(read: Sequence[FolderFile], entries: Sequence[Entry]) -> dict[str, list[str]]:
    """What the page says of files that are not ranked, or not placed; of the former, the terminal gives the reasons."""
    predicted = [file.path for file in read if file.predictions]
    faults = {file.path: file.fault for file in read if file.fault and not file.predictions}
    said = {}
    if predicted:
        heading = f"{_counted(predicted)} of predictions: they certify nothing, and are not ranked"
        said[heading] = [with_urls(str(path)) for path in predicted]
        note(f"{heading}: {names_of(predicted)}")
    for reason, paths in grouped(faults).items():
        note(f"skipped: {faults[paths[0]]}" if len(paths) == 1 else f"skipped: {names_of(paths)}: {reason}")
    if faults:
        said[f"Left out, as {_counted(faults, 'file')} could not be used"] = [*map(with_urls, faults.values())]
    unplaced: dict[str, list[str]] = {}
    for entry in entries:
        if entry.logged and (lacks := certificates.unplaced(entry.table)):
            unplaced.setdefault(lacks, []).append(entry.file)
    for lacks, files in unplaced.items():
        said[f"Ranked, though nothing says the {lacks} of {_counted(files)}"] = files
    return said


def _counted(files: Collection[object], what: str = "log") -> str:
    return f"{len(files):,} {what}{'s' * (len(files) != 1)}"
