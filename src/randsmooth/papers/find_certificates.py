"""Which certificates belong to which row of a paper: by what their header says, or by the path of a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import certificates
from randsmooth.certificates import Certificates, FolderFile, PathFacts
from randsmooth.certificates.folder import grouped, names_of
from randsmooth.errors import InputError
from randsmooth.papers.log_settings import allows
from randsmooth.papers.rows import is_main

SAME_IMAGES = {"cifar10-jpeg": "cifar10"}
NAMED = 3  # how many files a note names of those that say too little


@dataclass(frozen=True)
class CertificateFile:
    """A certificate file, and what its certificates are about.

    Attributes:
        preset: of the model, as the header says; empty for a log and for a model without a preset.
        place: what the path of a published log says; None for a table of counts.
    """

    path: Path
    table: Certificates
    dataset: str
    sigma: float
    method: str
    preset: str
    place: PathFacts | None = None

    @property
    def log(self) -> bool:
        """Whether it is a published log, about whose model only its path says anything."""
        return self.place is not None


@dataclass(frozen=True)
class FolderScan:
    """The certificates of a folder, and a sentence for each file that could not be used."""

    found: tuple[CertificateFile, ...] = ()
    skipped: tuple[str, ...] = ()

    def __add__(self, other: FolderScan) -> FolderScan:
        return FolderScan(self.found + other.found, self.skipped + other.skipped)


def scan_folder(folder: Path) -> FolderScan:
    """All certificates below `folder` whose header or path gives data set, sigma and method.

    A log lies at DATASET-sigmaSIGMA/METHOD.tsv, or where its authors keep it (see `certificates.path_facts`). A file
    that cannot be used is named among the skipped ones, and the scan goes on.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; --from takes the folder that holds certificates or logs")
    found, faults, predicted, incomplete = [], dict[Path, str](), list[Path](), dict[str, list[Path]]()
    for file in certificates.read_folder(folder):
        if file.predictions:
            predicted.append(file.path)
        elif file.fault and not (file.foreign and file.path.suffix == ".parquet"):  # images lie beside certificates
            faults[file.path] = file.fault
        for table in file.tables:
            lacks = certificates.unplaced(table)
            if lacks:
                incomplete.setdefault(lacks, []).append(file.path)
            else:
                found.append(_described(file, table))
    return FolderScan(tuple(found), tuple(_skipped(faults, predicted, incomplete)))


def _skipped(
    faults: Mapping[Path, str], predicted: Sequence[Path], incomplete: Mapping[str, Sequence[Path]]
) -> Iterator[str]:
    """A sentence for each reason for which files could not be used."""
    if predicted:
        yield f"skipped as logs of predictions, which certify nothing: {names_of(predicted, NAMED)}"
    for reason, paths in grouped(faults).items():
        one = len(paths) == 1
        yield f"skipped: {faults[paths[0]] if one else f'{names_of(paths, NAMED)}: {reason}'}"
    for lacks, places in incomplete.items():
        yield (
            f"left out {names_of(places, NAMED)}: nothing says the {lacks}; a log may be put at "
            "DATASET-sigmaSIGMA/METHOD.tsv"
        )


def _described(file: FolderFile, table: Certificates) -> CertificateFile:
    """The table, of which data set, sigma and method are known."""
    header, model = table.header, table.header.model or {}
    return CertificateFile(
        file.path,
        table,
        SAME_IMAGES.get(str(header.dataset), str(header.dataset)),
        header.sigma or 0.0,
        str(model["method"]),
        str(model.get("preset", "")),
        place=certificates.path_facts(file.place) if table.is_log else None,
    )


def certificates_for(
    found: Iterable[CertificateFile], datasets: Sequence[str], sigma: float, method: str, preset: str
) -> list[CertificateFile]:
    """The certificates of one row: first those of its preset, then logs; for a main row, also other main presets."""
    there = [f for f in found if f.dataset in datasets and f.sigma == sigma]
    exact = [f for f in there if f.preset == preset]
    return [*exact, *(f for f in there if f.method == method and f not in exact and _similar(f, preset))]


def _similar(found: CertificateFile, preset: str) -> bool:
    """Whether a log may be of the preset, by its path; or whether a table and the preset are main runs of a method."""
    place = found.place
    if place is None:
        return is_main(found.preset) and is_main(preset)
    usual = place.training_sigma in (None, found.sigma) and place.split != "train"
    return usual and allows(preset, found.dataset, found.sigma, place)
