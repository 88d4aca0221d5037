"""Certificate files as the verbs read them: what a log does not say is filled in, another budget is applied."""

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

from randsmooth import bounds, certificates, data
from randsmooth.certificates import Certificates, Header, check_budget
from randsmooth.errors import (
    BadValue,
    MissingValue,
    Problem,
    Setting,
    SeveralProblems,
    about,
)
from randsmooth.noise import check_sigma
from randsmooth.rules import check_samples
from randsmooth.urls import Place, fetched

T = TypeVar("T")


def load(
    places: Sequence[Place],
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
    norm: str | None = None,
    dimension: int | None = None,
) -> list[Certificates]:
    """The tables at `places`, files or URLs, at another n or alpha, with radii in another norm, where asked for.

    Raises:
        Problem: no file, unreadable ones, of which each is named, a budget that tables cannot be judged at, or a
            norm in which nothing is proved of them.
    """
    if not places:
        raise MissingValue("no certificate file given")
    check_asked(sigma, n, alpha)
    files = _all(fetched, places)
    tables = _all(certificates.read, files)
    known = {
        table.header.sigma
        for table in tables
        if table.is_log or table.header.sigma is not None
    }
    if sigma is not None and not known & {None, sigma}:
        raise BadValue(
            f"{tables[0].name} was certified at {tables[0].header.noise_words}",
            field="sigma",
            value=sigma,
            fix=(Setting("sigma", sigma), " is for TSV logs, which do not say"),
        )

    silent = [table.sigmas is None and table.header.sigma is None for table in tables]

    def judged(file: Path, table: Certificates) -> Certificates:
        says_itself = table.sigmas is not None or table.header.sigma is not None
        # The sigma that is given is that of the tables that do not say theirs, if there are some.
        given = None if says_itself and any(silent) else sigma
        whole = certificates.infer(table, file, sigma=given, n=n, alpha=alpha)
        asked = not table.is_log and (n, alpha) != (None, None)
        return in_norm(whole.at(n=n, alpha=alpha) if asked else whole, norm, dimension)

    return _all(judged, files, _by_path(tables, files))


def check_asked(sigma: float | None, n: int | None, alpha: float | None) -> None:
    """Raise Problem for a sigma, or for an n and alpha, that no log can have been made with."""
    if sigma is not None:
        check_sigma(sigma)
    if alpha is not None:
        bounds.check_level(alpha)
    if n is not None:
        check_samples("n", n)
    if n is not None and alpha is not None:
        check_budget(1, n, alpha)


def _all(
    make: Callable[..., T], files: Sequence[Place], *more: Sequence[object]
) -> list[T]:
    """What `make` makes of each of the `files`, and of what `more` says; Problem names all that it refuses."""
    made = []
    faults: list[Problem] = []
    for file, *known in zip(files, *more, strict=True):
        try:
            made.append(make(file, *known))
        except (Problem, OSError) as error:
            faults.append(about(file, error))
    if len(faults) > 1:
        counted = f"{len(faults)} of {len(files)} files cannot be used"
        faults.append(Problem(counted, fix="mend them or leave them out"))
    if faults:
        raise SeveralProblems(*faults)
    return made


def _by_path(
    tables: Sequence[Certificates], files: Sequence[Path]
) -> list[Certificates]:
    """The tables, those of one name called by the fewest last parts of their paths that tell them all apart."""
    folders = [file.absolute().parent.parts for file in files]

    def called(name: str, folder: tuple[str, ...]) -> str:
        among = {
            where
            for table, where in zip(tables, folders, strict=True)
            if table.name == name
        }
        depth = next(
            d
            for d in count()
            if len({where[max(0, len(where) - d) :] for where in among}) == len(among)
        )
        return "/".join([*folder[max(0, len(folder) - depth) :], name])

    return [
        table.renamed(called(table.name, folder))
        for table, folder in zip(tables, folders, strict=True)
    ]


def in_norm(
    table: Certificates, norm: str | None, dimension: int | None = None
) -> Certificates:
    """The table with radii in `norm`, of inputs of so many numbers; as many as its data set has where none are given.

    Raises:
        Problem: as `Certificates.in_norm`, or nothing says how many numbers an input has.
    """
    if norm is None or norm == table.norm:
        return table
    certificates.require_reachable(table)
    shape = (
        ()
        if norm != "linf"
        else _shape_of(table.header)
        if dimension is None
        else (dimension,)
    )
    return table.in_norm(norm, shape=shape)


def _shape_of(header: Header) -> tuple[int, ...]:
    """Of an input, by the name of its data set; empty where the noise tells it."""
    if "std" in (header.distribution or {}):
        return ()
    dataset = header.dataset or ""
    if dataset not in data.DATASETS or header.resize or header.crop:
        raise MissingValue(
            "radii in linf take how many numbers make up an input: give --dimension, such as 3072"
        )
    return data.DATASETS[dataset].shape
