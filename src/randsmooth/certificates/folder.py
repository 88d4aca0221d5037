"""All certificates of a folder, such as a clone of a repository as it is; what holds none is named with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth.certificates.files import find_certificates, read_all
from randsmooth.certificates.logs.inferred import infer
from randsmooth.certificates.logs.repositories import in_repository
from randsmooth.certificates.logs.tsv import PredictionLog
from randsmooth.certificates.table import Certificates
from randsmooth.errors import ForeignFile, InputError, about


@dataclass(frozen=True)
class FolderFile:
    """A file of a folder: the tables in it, or why there are none.

    Attributes:
        path: where it lies.
        place: `path` as it lies in the repository that was cloned there, which says more of a log.
        tables: with what place and radii tell of logs.
        fault: why there is none.
        predictions: whether it is a log of predictions, which certifies nothing.
        foreign: whether it holds something else altogether.

    Example:
        >>> read_file_of(Path("nowhere.tsv")).tables
        ()
    """

    path: Path
    place: Path
    tables: tuple[Certificates, ...] = ()
    fault: str = ""
    predictions: bool = False
    foreign: bool = False


def read_folder(folder: Path, **known: float | None) -> Iterator[FolderFile]:
    """Every file at any depth below `folder` that may hold certificates, read one after the other; none is left out.

    Args:
        known: sigma, n and alpha of the logs, as far as they are to take precedence over what place and radii tell.

    Raises:
        InputError: no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("runs").mkdir()
        >>> write_tsv(from_radii([0.0, 0.75]), "runs/noise_0.25.tsv")
        >>> _ = Path("runs/predicted.tsv").write_text("idx\\tlabel\\tpredict\\tcorrect\\ttime\\n")
        >>> for file in read_folder(Path("runs")):
        ...     print(file.path.name, [table.header.sigma for table in file.tables], file.predictions)
        noise_0.25.tsv [0.25] False
        predicted.tsv [] True
    """
    return (read_file_of(path, **known) for path in find_certificates(folder))


def read_file_of(path: Path, **known: float | None) -> FolderFile:
    """One file of `read_folder`.

    Example:
        >>> read_file_of(Path("nowhere.tsv")).fault
        'nowhere.tsv is not there; `randsmooth certify` writes them'
    """
    place = in_repository(path)
    try:
        return FolderFile(path, place, tuple(infer(table, place, **known) for table in read_all(path)))  # type: ignore[arg-type]
    except (InputError, OSError) as reason:
        predictions = isinstance(reason, PredictionLog)
        foreign = isinstance(reason, ForeignFile) and not predictions
        return FolderFile(path, place, fault=about(path, reason), predictions=predictions, foreign=foreign)


def unplaced(table: Certificates) -> str:
    """What neither a table nor its path says of data set, sigma and method, such as "sigma and method".

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> unplaced(from_radii([0.5], sigma=0.25))
        'data set and method'
    """
    header = table.header
    known = {"data set": header.dataset, "sigma": header.sigma, "method": (header.model or {}).get("method")}
    return " and ".join(what for what, value in known.items() if value is None)


def grouped(faults: Mapping[Path, str]) -> dict[str, list[Path]]:
    """The files by their reasons, which are told apart without the names of the files."""
    reasons: dict[str, list[Path]] = {}
    for path, reason in faults.items():
        reasons.setdefault(reason.replace(str(path), "").removeprefix(": ").strip(), []).append(path)
    return reasons


def names_of(paths: Sequence[Path], most: int = 3) -> str:
    """The first of the paths, and how many more there are: `a, b, c and 4 more`."""
    more = f" and {len(paths) - most:,} more" if len(paths) > most else ""
    return ", ".join(map(str, paths[:most])) + more
