"""Certificate tables on disk: which files hold some, how any of them is read and checked, and writing logs."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from randsmooth.atomic import write_atomically
from randsmooth.certificates.header import CLOPPER_PEARSON, guarantee_of
from randsmooth.certificates.journal import UNFINISHED, Journal, read_unfinished
from randsmooth.certificates.logs.inferred import infer
from randsmooth.certificates.logs.lines import (
    TSV_COLUMNS,
    PredictionLog,
    looks_like_log,
)
from randsmooth.certificates.logs.paths import in_repository
from randsmooth.certificates.logs.tsv import read_tsv
from randsmooth.certificates.selection import images_planned
from randsmooth.certificates.table import Certificates
from randsmooth.errors import (
    ForeignFile,
    NotFound,
    Problem,
    WrongFile,
    WrongTable,
    about,
)
from randsmooth.noise import NORMS, round_down
from randsmooth.notes import Note
from randsmooth.urls import Place, delivered, fetched

# Suffix -> the reader of such logs; any other file that looks like a log is read as .tsv is.
LOGS: dict[str, Callable[[Path], Certificates]] = {".tsv": read_tsv}
SUFFIXES = (".parquet", *LOGS)

# Suffixes of files that surely hold no certificates, and are not opened.
UNOPENED = (
    *(".html", ".json", ".md", ".pdf", ".png", ".tex", ".yaml"),
    *(".pt", ".pth", ".py", ".safetensors"),
)

# Relative: radii computed on another processor or with another library agree to this.
RADIUS_TOLERANCE = 1e-9


def read(place: Place) -> Certificates:
    """Read a certificate table, named after its file: Parquet if its suffix says so, else a TSV log.

    A table at a URL, such as s3://bucket/a.parquet, is read from a copy on this machine (see `transfer.fetched`).
    Of an unfinished run, `read` takes the journal, OUT.parquet.partial: the table holds the images finished so far.

    Raises:
        Problem: there is no such file, it is damaged, or it holds no certificates.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> write_tsv(from_radii([0.0, 0.75]), "log.tsv")
        >>> read("log.tsv").radius.tolist()
        [0.0, 0.75]
    """
    path = fetched(place)
    if not path.is_file():
        raise _no_file(path)
    if path.suffix == UNFINISHED:
        return read_unfinished(path)
    if path.suffix != ".parquet":
        return LOGS.get(path.suffix, read_tsv)(path)
    from randsmooth.certificates.parquet import read_parquet  # logs need no Arrow

    table = read_parquet(path)
    if table.header.shard is not None:
        note = Note(
            "part_of_a_run",
            path=str(path),
            shard=table.header.shard,
            selection=table.header.selection,
            images=len(table),
        )
        warnings.warn(note, stacklevel=2)
    return table


def _no_file(path: Path) -> WrongFile:
    """Return the error for a path that is no file, with the file of a similar name, if there is one."""
    near: list[str] = []
    if path.exists():
        fault = f"{path} is no file of certificates"
    else:
        fault = f"{path} is not there"
        names = [neighbour.name for neighbour in path.parent.glob("*.*")]
        near = get_close_matches(path.name, names, 1)
    hint = "`randsmooth certify` writes them"
    if near:
        hint = f"did you mean {path.with_name(near[0])}?"
    return WrongFile(f"{fault}; {hint}")


def find_certificates(folder: Path) -> list[Path]:
    """Return the files at any depth below `folder` that may hold certificates, by suffix or first line, sorted.

    Raises:
        Problem: no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> Path("runs").mkdir()
        >>> write_tsv(from_radii([0.0, 0.75]), "runs/gaussian.tsv")
        >>> _ = Path("runs/notes.md").write_text("Trained twice.")
        >>> [path.name for path in find_certificates(Path("runs"))]
        ['gaussian.tsv']
    """
    if not folder.is_dir():
        raise NotFound(
            f"{folder} is no folder; give one that holds certificates or logs",
            file=folder,
        )
    files = list[Path]()
    for top, folders, names in os.walk(folder):
        # The history of a clone has thousands of files.
        folders[:] = [name for name in folders if name != ".git"]
        files += [Path(top, name) for name in names]
    return sorted(path for path in files if _may_hold(path))


def _may_hold(path: Path) -> bool:
    """Return whether a file may hold certificates; True for one that cannot be read, so that its reader names it."""
    if path.suffix in UNOPENED or not path.is_file():
        return False
    try:
        return path.suffix in SUFFIXES or looks_like_log(path)
    except OSError:
        return True


@dataclass(frozen=True)
class FolderFile:
    """A file of a folder: the table in it, or why there is none.

    Attributes:
        path: where it lies.
        place: `path` as it lies in the repository that was cloned there, which says more of a log.
        table: with what place and radii tell of a log.
        fault: why there is none.
        predictions: whether it is a log of predictions, which certifies nothing.
        foreign: whether it holds something else altogether.

    Example:
        >>> read_file_of(Path("nowhere.tsv")).fault
        'nowhere.tsv is not there; `randsmooth certify` writes them'
    """

    path: Path
    place: Path
    table: Certificates | None = None
    fault: str = ""
    predictions: bool = False
    foreign: bool = False


def read_folder(
    folder: Path,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
) -> Iterator[FolderFile]:
    """Every file at any depth below `folder` that may hold certificates, read one after the other; none is left out.

    Args:
        sigma, n, alpha: of the logs; what is given takes precedence over what place and
            radii tell.

    Raises:
        Problem: no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> Path("released").mkdir()
        >>> write_tsv(from_radii([0.0, 0.75]), "released/noise_0.25.tsv")
        >>> _ = Path("released/predicted.tsv").write_text("idx\\tlabel\\tpredict\\tcorrect\\ttime\\n")
        >>> for file in read_folder(Path("released")):
        ...     print(file.path.name, file.table and file.table.header.sigma, file.predictions)
        noise_0.25.tsv 0.25 False
        predicted.tsv None True
    """
    return (
        read_file_of(path, sigma=sigma, n=n, alpha=alpha)
        for path in find_certificates(folder)
    )


def read_file_of(
    path: Path,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
) -> FolderFile:
    """Return one file of `read_folder`: its table, or what is wrong with it.

    The other arguments are those of `read_folder`.

    Example:
        >>> _ = Path("broken.tsv").write_text("idx")
        >>> read_file_of(Path("broken.tsv")).table is None
        True
    """
    place = in_repository(path)
    try:
        table = infer(read(path), place, sigma=sigma, n=n, alpha=alpha)
        return FolderFile(path, place, table)
    except (Problem, OSError) as reason:
        return FolderFile(
            path,
            place,
            fault=str(about(path, reason)),
            predictions=type(reason) is PredictionLog,
            foreign=type(reason) is ForeignFile,
        )


def unplaced(table: Certificates) -> str:
    """Return what neither a table nor its path says of data set, sigma and method, such as "sigma and method".

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> unplaced(from_radii([0.5], sigma=0.25))
        'data set and method'
    """
    header = table.header
    sigma = "sigma" if header.distribution is None else "sigma of Gaussian noise"
    if table.sigmas is not None:
        sigma = "one sigma of all images"
    known = {
        "data set": header.dataset,
        sigma: header.sigma,
        "method": (header.model or {}).get("method"),
    }
    return " and ".join(what for what, value in known.items() if value is None)


def grouped(faults: Mapping[Path, str]) -> dict[str, list[Path]]:
    """Return the files by their reasons, which are told apart without the names of the files."""
    files_by_reason: dict[str, list[Path]] = {}
    for path, reason in faults.items():
        without_name = reason.replace(str(path), "").lstrip(",: ").rstrip()
        files_by_reason.setdefault(without_name, []).append(path)
    return files_by_reason


def names_of(paths: Sequence[Path | str], most: int = 3) -> str:
    """Return the first of the paths, and how many more there are: `a, b, c and 4 more`."""
    names = ", ".join(map(str, paths[:most]))
    others = len(paths) - most
    return f"{names} and {others:,} more" if others > 0 else names


def write_tsv(table: Certificates, path: Place) -> None:
    """Write a log as the literature does; radii are rounded *down* to six decimals, so that they stay certified.

    A log does not say how it was made. Its readers assume n samples of every image, judged by Clopper-Pearson, and
    recover p_A from a radius by inverting that bound at the sigma, n and alpha that accompany the file.

    Raises:
        Problem: the table was made in another way, so that its log would be misread.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> write_tsv(from_radii([0.0, 0.75]), "log.tsv")
        >>> print(Path("log.tsv").read_text().splitlines()[2].expandtabs(4))
        1   0   0   0.750000    1   0:00:00
    """
    _check_a_log_can_say(table)
    radii = [round_down(radius, 6) for radius in table.radius]
    took = [timedelta(seconds=seconds) for seconds in table.seconds.tolist()]
    columns = (
        table.idx,
        table.label,
        table.predict,
        radii,
        table.correct.astype(int),
        took,
    )
    lines = [
        "\t".join(map(str, cells))
        for cells in (TSV_COLUMNS, *zip(*columns, strict=True))
    ]
    with delivered(path, overwrite=True) as local:
        write_atomically(local, ("\n".join(lines) + "\n").encode())


def _check_a_log_can_say(table: Certificates) -> None:
    """Raise Problem unless all rows are CERTIFY's: Gaussian noise, n samples each, one-sided Clopper-Pearson."""
    header = table.header
    if table.sigmas is not None:
        raise WrongTable(
            f"{table.name or 'this log'} has a sigma for each image, which a TSV log of ours cannot say"
        )
    if header.distribution is not None or table.converted is not None:
        radii = NORMS[table.norm].radius.replace("radius", "radii")
        noise = f"{header.noise_words}, {radii}"
        raise WrongTable(
            f"{table.name or 'this table'} ({noise}): a TSV log has L2 radii; keep the Parquet file"
        )
    usual = header.rule == "fixed" and header.bound in (None, CLOPPER_PEARSON)
    if not usual or header.n0 == 0 or header.label_aware or not table.labelled:
        said = f"{table.name or 'this table'} was certified otherwise than readers of a TSV log assume"
        raise WrongTable(
            f"{said}, who would recover a false p_A",
            fix="keep the Parquet file, or certify by the rule fixed with the bound clopper-pearson, n0 and labels",
        )


def check_file(path: Path | str) -> str:
    """Check a certificate table, a journal or a log, and say in one sentence what was found to be right.

    Raises:
        ForeignFile: a Parquet file that holds no certificates.
        Problem: the file is damaged or cut short, or its columns contradict each other.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> write_tsv(from_radii([0.0, 0.75]), "log.tsv")
        >>> check_file("log.tsv")
        'log: 2 images; ...'
    """
    path = Path(path)
    if path.suffix == ".parquet":
        return _check_table(path)
    if path.suffix == UNFINISHED:
        return _check_journal(path)
    found = f"log: {len(read(path))} images; it has no digest"
    return (
        f"{found}, each of its numbers is possible and `correct` fits label and predict"
    )


def _check_table(path: Path) -> str:
    from randsmooth.certificates.parquet import (
        check_numeric,
        open_parquet,
        read_parquet,
    )

    table = read_parquet(path)
    header, derived = table.header, table.derived()
    with open_parquet(path) as file:
        names = [name for name in derived if name in file.schema_arrow.names]
        for name in names:
            check_numeric(file, name, path)
        stored = dict(zip(names, file.read(names).columns, strict=True))
    for name in names:
        right, found = derived[name], stored[name].to_numpy()
        close = right.dtype.kind == found.dtype.kind == "f"
        wrong = np.flatnonzero(
            ~np.isclose(found, right, rtol=RADIUS_TOLERANCE, atol=RADIUS_TOLERANCE)
            if close
            else found != right
        )
        if len(wrong):
            row = wrong[0]
            image = f"image {table.idx[row]}, whose counts give {right[row]}"
            raise WrongFile(
                f"{path} holds {name}={found[row]} for {image}: it was changed. Readers go by the counts",
                file=path,
            )
    part = (
        "" if header.shard is None else f"shard {header.shard} of {header.selection}: "
    )
    data = f"{part}{len(table)} images of {header.dataset or 'unnamed data'}"
    facts = {
        "seed": header.seed,
        "model": header.model,
        "images": header.data,
        "n0": header.n0,
    }
    unknown = ", ".join(name for name, value in facts.items() if value is None)
    unchecked = (
        f". Not checked: {guarantee_of(header).rstrip('.')}; not known are {unknown}"
        if header.source
        else ""
    )
    found = f"header and evidence are as they were written, and {', '.join(names)} follow from the counts"
    return f"certificate table: {data}, rule {header.rule}, {header.noise_words}; {found}{unchecked}"


def _check_journal(path: Path) -> str:
    journal = Journal.read(path)
    if journal is None:
        return "journal of a run that stopped before its first line"
    planned = images_planned(journal.header.selection, journal.header.shard)
    images = f"{len(journal.rows)}{f' of {planned}' if planned else ''} image{'s' * (len(journal.rows) != 1)}"
    torn = (
        "; the unfinished one behind them does not count"
        if journal.size < path.stat().st_size
        else ""
    )
    data = journal.header.dataset or "unnamed data"
    return f"journal of a run under way: {images} of {data}; every line is as it was written{torn}"
