"""`randsmooth leaderboard`: every certificate below a folder, ranked on one page."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from randsmooth import certificates, report
from randsmooth.certificates import FolderFile
from randsmooth.certificates.files import UNOPENED, grouped
from randsmooth.cli import certificate_files
from randsmooth.cli.certificate_files import Judged
from randsmooth.cli.options import Answered
from randsmooth.cli.output import note, writing
from randsmooth.cli.printed_commands import as_typed, words_of
from randsmooth.cli.settings import Argument
from randsmooth.cli.true_labels import labels_at_hand
from randsmooth.errors import BadValue, NotFound, Problem, about
from randsmooth.escape import names_of
from randsmooth.progress import console, silent, terminal_width
from randsmooth.report.headings import ANSWER_HEADING, EVIDENCE_HEADING
from randsmooth.urls import Place, fetched, with_urls

# Number of files from which on reading takes long enough to show progress.
FILES_WITH_PROGRESS = 500


class Leaderboard(Answered, Judged):
    """Settings of `randsmooth leaderboard`.

    Attributes:
        folder: Folder whose certificates, at any depth, are ranked; a clone of a
            repository will do, or a URL (s3://...).
        at: The radius whose certified accuracy ranks the tables; name it before you see
            them. (default: one sigma of each setting)
        out: The HTML page to write. A JSON file with the same figures is written beside
            it.
        title: Title of the page.
        n: Samples n per image that TSV logs were made with. (default: what their paths
            or radii show)
        alpha: The alpha that TSV logs were made with. (default: logs are judged at
            0.001, whatever alpha their radii show)
        anyway: Rank tables that failed a check, too.
        overwrite: Replace files that exist.
    """

    folder: Argument[Place]
    at: float | None = None
    out: Path = Path("leaderboard.html")
    title: str | None = None
    n: int | None = None
    alpha: float | None = None
    anyway: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Ranked:
    """The files below a folder: those that are ranked, and those left out.

    Attributes:
        entries: The tables that are ranked.
        predicted: The logs of predictions, which certify nothing.
        faults: The path of a file that could not be used -> what is wrong with it.
    """

    entries: list[report.Entry]
    predicted: list[Path]
    faults: dict[Path, str]


def run(settings: Leaderboard) -> None:
    """Rank every certificate below a folder, on an offline page and as JSON.

    The tables are checked first: one that fails a check is not ranked. Tables of one
    setting are ranked by certified accuracy at one radius; ACR stands last. The page
    sorts by any column, and filters. The terminal shows the best tables.

    The command recognises a log by its first line, whatever its name. It takes the data
    set, sigma, method and settings from the path. It leaves out logs of predictions and
    unreadable files, and names them here and on the page. The exit code is 0 if it
    could read at least one file.

    Example: randsmooth leaderboard runs --at 0.5 --out runs/leaderboard.html
    """
    if settings.out.suffix in ("", ".json"):
        raise BadValue(
            f"--out {settings.out}: name the page, such as board.html; its JSON is "
            "written beside it"
        )
    # Before any file is read, of which there may be thousands.
    certificate_files.check_asked(settings.sigma, settings.n, settings.alpha)
    pages = [settings.out, settings.out.with_suffix(".json")]
    with writing(pages, overwrite=settings.overwrite):
        ranked = _measured(settings)
        _note_left_out(ranked)
        if not ranked.entries:
            raise NotFound(
                f"no certificates below {settings.folder}; `randsmooth certify --out` "
                "writes them"
            )
        checks = report.write_leaderboard(
            ranked.entries,
            settings.out,
            radii=settings.radii,
            at=settings.at,
            title=settings.title,
            command=as_typed(words_of("leaderboard", settings)),
            left_out=dict(_sections_of_the_page(ranked)),
            labels=labels_at_hand([entry.table for entry in ranked.entries]),
            anyway=settings.anyway,
        )
    # It loads SciPy, which the help of this command does not need.
    from randsmooth.cli.rankings import ranking_lines, records_of

    written = [str(page) for page in pages]
    records = records_of(settings.out)
    lines = [
        *checks.text(terminal_width()),
        f"{ANSWER_HEADING}:",
        *ranking_lines(records),
        f"{EVIDENCE_HEADING}:",
        *written,
    ]
    content = {"checks": checks.content, "answer": records, "written": written}
    settings.answer(lines, lambda: content)


def _measured(settings: Leaderboard) -> Ranked:
    """Read and measure every certificate table below the folder."""
    # Of a URL, files that surely hold no certificates are not fetched.
    below = fetched(settings.folder, lambda path: path.suffix not in UNOPENED)
    paths = certificates.find_certificates(below)
    ranked = Ranked(entries=[], predicted=[], faults={})
    progress = console if len(paths) >= FILES_WITH_PROGRESS else silent
    with progress("reading certificates", len(paths), "files") as reporter:
        for path in paths:
            name = path.relative_to(below).as_posix()
            _add(ranked, path, name, settings)
            reporter.advance(1)
    return ranked


def _add(ranked: Ranked, path: Path, name: str, settings: Leaderboard) -> None:
    """Read a file, and add it to the parts of `ranked` where it belongs.

    Args:
        ranked: the files so far, which this changes.
        path: the path of the file.
        name: the path below the folder, which names the file on the page.
        settings: the settings of the command.
    """
    file: FolderFile = certificates.read_file_of(
        path, sigma=settings.sigma, n=settings.n, alpha=settings.alpha
    )
    if file.predictions:
        ranked.predicted.append(path)
        return
    if file.table is None:
        ranked.faults[path] = file.fault
        return
    try:
        table = certificate_files.in_norm(file.table, settings.norm, settings.dimension)
        ranked.entries.append(report.measure(table, name))
    except Problem as reason:
        ranked.faults[path] = str(about(path, reason))


def _note_left_out(ranked: Ranked) -> None:
    """Print notes on the files that are not ranked, and why."""
    if ranked.predicted:
        note(f"{_heading_of_predictions(ranked)}: {names_of(ranked.predicted)}")
    for reason, paths in grouped(ranked.faults).items():
        # The fault of one file names it; `grouped` cut the names from the reason.
        if len(paths) == 1:
            note(f"skipped: {ranked.faults[paths[0]]}")
        else:
            note(f"skipped: {names_of(paths)}: {reason}")


def _sections_of_the_page(ranked: Ranked) -> Iterator[tuple[str, list[str]]]:
    """Yield sections of the page, each a heading and the lines below it.

    They are on files that are not ranked, and on ranked logs of which it is not known
    where they belong.
    """
    # The paths of copies of a URL are not what the user gave.
    if ranked.predicted:
        names = [with_urls(str(path)) for path in ranked.predicted]
        yield _heading_of_predictions(ranked), names
    if ranked.faults:
        files = _counted(ranked.faults, "file")
        reasons = [with_urls(fault) for fault in ranked.faults.values()]
        yield f"Left out because {files} could not be used", reasons

    unplaced: dict[str, list[str]] = {}
    for entry in ranked.entries:
        unknown = certificates.unplaced(entry.table) if entry.logged else ""
        if unknown:
            # The name is the path below the folder: a copy has no other than the URL.
            unplaced.setdefault(unknown, []).append(entry.file)
    for unknown, logs in unplaced.items():
        yield f"Ranked, though nothing says the {unknown} of {_counted(logs)}", logs


def _heading_of_predictions(ranked: Ranked) -> str:
    """Return a sentence on how many logs of predictions there are."""
    logs = _counted(ranked.predicted)
    return f"{logs} of predictions: they certify nothing, and are not ranked"


def _counted(files: Collection[object], noun: str = "log") -> str:
    """Return how many files there are, in words.

    Example:
        >>> _counted(["a"]), _counted(["a", "b"], "file")
        ('1 log', '2 files')
    """
    ending = "" if len(files) == 1 else "s"
    return f"{len(files):,} {noun}{ending}"
