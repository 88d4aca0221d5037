"""Certificate tables on disk: which files hold some, and how any of them is read."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from randsmooth.certificates.journal import UNFINISHED, read_unfinished
from randsmooth.certificates.logs.first_line import PredictionLog, looks_like_log
from randsmooth.certificates.logs.inferred import infer
from randsmooth.certificates.logs.repositories import in_repository
from randsmooth.certificates.logs.tsv import read_tsv
from randsmooth.certificates.table import Certificates
from randsmooth.errors import (
    ForeignFile,
    NotFound,
    Problem,
    WrongFile,
    about,
)
from randsmooth.notes import Note
from randsmooth.urls import Place, fetched

# Suffix -> the reader of such logs. Any other file that looks like a log is read as a
# .tsv file.
LOGS: dict[str, Callable[[Path], Certificates]] = {".tsv": read_tsv}
SUFFIXES = (".parquet", *LOGS)

# Suffixes of files that surely hold no certificates, and are not opened.
UNOPENED = (
    *(".html", ".json", ".md", ".pdf", ".png", ".tex", ".yaml"),
    *(".pt", ".pth", ".py", ".safetensors"),
)


def as_table(source: Place | Certificates) -> Certificates:
    """Return a table as it is, or read it from its file or URL."""
    return source if isinstance(source, Certificates) else read(source)


def read(place: Place) -> Certificates:
    """Read a certificate table, named after its file.

    The file is read as Parquet if its suffix says so, else as a TSV log. A table at a
    URL, such as s3://bucket/a.parquet, is read from a copy on this machine (see
    `urls.fetched`). The journal of an unfinished run, OUT.parquet.partial, gives a table
    of the images finished so far.

    Raises:
        Problem: there is no such file, it is damaged, or it holds no certificates.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
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
    # Imported here: it loads Arrow, which takes long, and logs are read without it.
    from randsmooth.certificates.parquet import read_parquet

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
    """Return the error for a path at which there is no file.

    It names a file beside it of a similar name, if there is one.
    """
    writer = "`randsmooth certify` writes them"
    if path.exists():
        # A folder, say.
        return WrongFile(f"{path} is not a file of certificates; {writer}", file=path)
    names = [neighbour.name for neighbour in path.parent.glob("*.*")]
    similar = get_close_matches(path.name, names, n=1)
    hint = f"did you mean {path.with_name(similar[0])}?" if similar else writer
    return WrongFile(f"{path} is not there; {hint}", file=path)


def find_certificates(folder: Path) -> list[Path]:
    """Return the files at any depth below `folder` that may hold certificates, sorted.

    Their suffix or their first line says that they may.

    Raises:
        Problem: there is no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("runs").mkdir()
        >>> write_tsv(from_radii([0.0, 0.75]), "runs/gaussian.tsv")
        >>> _ = Path("runs/notes.md").write_text("Trained twice.")
        >>> [path.name for path in find_certificates(Path("runs"))]
        ['gaussian.tsv']
    """
    if not folder.is_dir():
        raise NotFound(
            f"{folder} is not a folder; give one that holds certificates or logs",
            file=folder,
        )
    files = list[Path]()
    for top, folders, names in os.walk(folder):
        # The history of a clone has thousands of files: `walk` leaves out the folders
        # that are taken from its list.
        folders[:] = [name for name in folders if name != ".git"]
        files += [Path(top, name) for name in names]
    return sorted(path for path in files if _may_hold(path))


def _may_hold(path: Path) -> bool:
    """Return whether a file may hold certificates.

    It is True for one that cannot be opened, so that reading it fails and is reported.
    """
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
        path: where the file lies.
        place: the path in the cloned repository that the file lies in, as
            OWNER+NAME/...; `path` itself where it lies in none. It says more of a log.
        table: the table; of a log with the facts that place and radii tell. None where
            there is none.
        fault: why there is no table; empty where there is one.
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
    """Read every file at any depth below `folder` that may hold certificates.

    They are read one after the other. A file that cannot be used is among them, with
    its fault.

    Args:
        sigma, n, alpha: how the logs were certified; what is given takes precedence
            over what place and radii tell.

    Raises:
        Problem: there is no such folder.

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> Path("released").mkdir()
        >>> write_tsv(from_radii([0.0, 0.75]), "released/noise_0.25.tsv")
        >>> predictions = "idx\\tlabel\\tpredict\\tcorrect\\ttime\\n"
        >>> _ = Path("released/predicted.tsv").write_text(predictions)
        >>> for file in read_folder(Path("released")):
        ...     print(file.path.name, file.table is not None, file.predictions)
        noise_0.25.tsv True False
        predicted.tsv False True
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
    """Return the table in the file at `path`, or its fault, as `read_folder` does.

    `read_folder` explains the other arguments.

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
            predictions=isinstance(reason, PredictionLog),
            # A PredictionLog is a ForeignFile too, and not meant here.
            foreign=type(reason) is ForeignFile,
        )


def unplaced(table: Certificates) -> str:
    """Return the words for those of data set, sigma and method that a table lacks.

    The text is empty where it lacks none. A published log has those that its path
    tells (see `read_file_of`).

    Example:
        >>> from randsmooth.certificates import from_radii, write_tsv
        >>> unplaced(from_radii([0.5], sigma=0.25))
        'data set and method'
    """
    header = table.header
    model_facts = header.model or {}
    unknown = []
    if header.dataset is None:
        unknown.append("data set")
    if header.sigma is None:
        unknown.append(_missing_sigma(table))
    if model_facts.get("method") is None:
        unknown.append("method")
    return " and ".join(unknown)


def _missing_sigma(table: Certificates) -> str:
    """Return what to call the sigma that a table lacks whose header has none."""
    if table.sigmas is not None:
        return "one sigma of all images"
    if table.header.noise is not None:
        return "sigma of Gaussian noise"
    return "sigma"


def grouped(faults: Mapping[Path, str]) -> dict[str, list[Path]]:
    """Return reason -> the files that cannot be used for it, of path -> reason.

    The path is cut from the reason, so that files with the same fault come together.
    """
    files_by_reason: dict[str, list[Path]] = {}
    for path, reason in faults.items():
        without_name = reason.replace(str(path), "").lstrip(",: ").rstrip()
        files_by_reason.setdefault(without_name, []).append(path)
    return files_by_reason
