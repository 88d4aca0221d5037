"""`randsmooth leaderboard`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from randsmooth import bounds, certificates
from randsmooth.cli import shared_options
from randsmooth.cli.messages import note
from randsmooth.cli.outputs import writing
from randsmooth.cli.settings import Settings, argument, numbers, option
from randsmooth.errors import InputError, about
from randsmooth.escape import say

if TYPE_CHECKING:
    from randsmooth.report import Entry


class Leaderboard(Settings):
    """Settings of `randsmooth leaderboard`."""

    folder: Path = argument("Folder whose certificates, at any depth, are ranked.")
    out: Path = option(
        "The HTML page to write. A JSON file with the same figures is written beside it.", Path("leaderboard.html")
    )
    title: str | None = option("Title of the page.")
    radii: Annotated[list[float] | None, BeforeValidator(numbers)] = option(
        shared_options.RADII, json_schema_extra=shared_options.COMMA_SEPARATED
    )
    sigma: float | None = option(shared_options.SIGMA)
    n: int | None = option(
        "Samples n per image that TSV logs were made with. (default: what their paths or radii show)"
    )
    alpha: float | None = option(
        "The alpha that TSV logs were made with. (default: logs are judged at 0.001, whatever alpha their radii show)"
    )
    overwrite: bool = option("Replace files that exist.", False)


def leaderboard(settings: Leaderboard) -> None:
    """Rank every certificate below a folder on one page that sorts and filters offline, and as JSON.

    Tables are ordered by the p_A curve; ACR stands last. Logs are recognised by their first line, whatever their
    names. Files that cannot be read are left out, and named here and on the page; the exit code is 0 if at least one
    could be read.

    Example: randsmooth leaderboard runs --out runs/leaderboard.html
    """
    from randsmooth import report

    pages = outputs(settings.out)
    check(settings)
    with writing(pages, overwrite=settings.overwrite):
        entries, left_out = load(settings)
        report.write_leaderboard(
            entries,
            settings.out,
            radii=settings.radii,
            title=settings.title,
            command="randsmooth " + shlex.join(sys.argv[1:]),
            left_out=left_out,
        )
    for path in pages:
        say(path)


def outputs(out: Path) -> list[Path]:
    """The page and its JSON; InputError where they would be none or one file."""
    if not out.name:
        raise InputError(f"--out {out} names no file; give one such as leaderboard.html")
    beside = out.with_suffix(".json")
    if beside == out:
        raise InputError(f"--out {out} is where the JSON goes; name the page, such as {out.with_suffix('.html')}")
    return [out, beside]


def check(settings: Leaderboard) -> None:
    """Raise InputError for a sigma, n or alpha that no log can have been made with."""
    if settings.sigma is not None:
        bounds.check_sigma(settings.sigma)
    if settings.alpha is not None:
        bounds.check_level(settings.alpha)
    if settings.n is not None:
        certificates.check_samples("n", settings.n)
    if settings.n is not None and settings.alpha is not None:
        certificates.check_budget(1, settings.n, settings.alpha)


def load(settings: Leaderboard) -> tuple[list[Entry], list[str]]:
    """Every certificate table below the folder, measured, and a sentence about each file that was left out.

    Raises:
        InputError: no such folder, or no certificate in it.
    """
    entries, left_out = [], []
    for path in certificates.find_certificates(settings.folder):
        try:
            entries.append(_entry(path, settings))
        except (InputError, OSError) as reason:
            left_out.append(about(path, reason))
            note(f"skipped: {left_out[-1]}")
    if not entries:
        raise InputError(f"no certificates below {settings.folder}; `randsmooth certify --out` writes them")
    return entries, left_out


def _entry(path: Path, settings: Leaderboard) -> Entry:
    from randsmooth import report

    read = certificates.read(path)
    table = certificates.infer(read, path, sigma=settings.sigma, n=settings.n, alpha=settings.alpha)
    return report.measure(table, path.relative_to(settings.folder).as_posix())
