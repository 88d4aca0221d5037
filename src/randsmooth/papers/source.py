"""Which certificates belong to which row of a paper: found by what their headers say, or by where a log lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import certificates
from randsmooth.certificates import Certificates, Place
from randsmooth.errors import ForeignFile, InputError, about
from randsmooth.papers.rows import is_main
from randsmooth.papers.settings import allows

SAME_IMAGES = {"cifar10-jpeg": "cifar10"}
ARCHS = {"imagenet": "resnet50", "mnist": "lenet"} | dict.fromkeys(("cifar10", "cifar100", "svhn"), "resnet110")
NAMED = 3  # files named of those that say too little


@dataclass(frozen=True)
class Found:
    """A certificate file and what it was made from.

    Attributes:
        preset: as its header says; empty for a log and for a model of no preset.
        place: what the path of a published log says; None for a table of counts.
    """

    path: Path
    table: Certificates
    dataset: str
    sigma: float
    method: str
    preset: str
    place: Place | None = None

    @property
    def log(self) -> bool:
        """Whether it is a published log, whose model is known by what its path says alone."""
        return self.place is not None


@dataclass(frozen=True)
class Scan:
    """What a folder holds, and what of it could not be used, in sentences."""

    found: tuple[Found, ...] = ()
    skipped: tuple[str, ...] = ()

    def __add__(self, other: Scan) -> Scan:
        return Scan(self.found + other.found, self.skipped + other.skipped)


def scan(folder: Path) -> Scan:
    """All certificates below `folder` that say, or whose place says, data set, sigma and method.

    A log lies at DATASET-sigmaSIGMA/METHOD.tsv, or where its authors keep it (see `certificates.place_of`). A file that
    cannot be read is named, and the scan goes on.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; --from takes the folder that holds certificates or logs")
    found, skipped, silent = [], [], dict[str, list[Path]]()
    for path in certificates.find_certificates(folder):
        try:
            item = _found(path)
        except (InputError, OSError) as reason:
            if not (isinstance(reason, ForeignFile) and path.suffix == ".parquet"):  # data sets lie beside
                skipped.append(f"skipped: {about(path, reason)}")
            continue
        if isinstance(item, Found):
            found.append(item)
        else:
            silent.setdefault(item, []).append(path)
    return Scan(tuple(found), (*skipped, *(_silent(lacks, paths) for lacks, paths in silent.items())))


def _silent(lacks: str, paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return (
        f"left out {', '.join(map(str, paths[:NAMED]))}{more}: nothing says the {lacks}; a log may be put at "
        "DATASET-sigmaSIGMA/METHOD.tsv"
    )


def _found(path: Path) -> Found | str:
    """What is at `path`, or what nobody says of it."""
    table = certificates.infer(certificates.read(path), path)
    header, model = table.header, table.header.model or {}
    said = {"data set": header.dataset, "sigma": header.sigma, "method": model.get("method")}
    lacks = " and ".join(what for what, value in said.items() if value is None)
    if lacks:
        return lacks
    return Found(
        path,
        table,
        SAME_IMAGES.get(str(header.dataset), str(header.dataset)),
        header.sigma or 0.0,
        str(model["method"]),
        str(model.get("preset", "")),
        place=certificates.place_of(path) if table.is_log else None,
    )


def fitting(found: Iterable[Found], datasets: Sequence[str], sigma: float, method: str, preset: str) -> list[Found]:
    """The certificates of one row: first those of its preset; for a main row, also logs and other main presets."""
    there = [f for f in found if f.dataset in datasets and f.sigma == sigma]
    exact = [f for f in there if f.preset == preset]
    main = is_main(preset)
    similar = [f for f in there if main and f.method == method and f not in exact and _main(f, preset)]
    return [*exact, *similar]


def _main(found: Found, preset: str) -> bool:
    """Whether it is a main run of its method; a log is one unless its path says what the preset has otherwise."""
    place = found.place
    if place is None:
        return is_main(found.preset)
    usual = place.arch in ("", ARCHS.get(found.dataset, "")) and place.trained in (None, found.sigma)
    return usual and place.split != "train" and allows(preset, found.dataset, found.sigma, place.besides)
