"""Which certificates belong to which row of a paper: by what their header says, or by the path of a log.

A log's path may tell settings (`num_2/lbd_5.0/eta_0.5`, `pgd_255.0_10_10`), which have to be those of the preset.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from randsmooth import certificates
from randsmooth.certificates import Certificates, FolderFile, PathFacts
from randsmooth.certificates.files import grouped, names_of
from randsmooth.errors import NotFound
from randsmooth.papers.published_values import PaperRow, is_main
from randsmooth.report.grouping import gathered

if TYPE_CHECKING:
    from randsmooth.training.presets import Preset
    from randsmooth.training.schedule import Optimisation

SAME_IMAGES = {"cifar10-jpeg": "cifar10"}


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


class FolderScan(NamedTuple):
    """The certificates of folders, and a sentence for each reason for which files could not be used."""

    found: tuple[CertificateFile, ...] = ()
    skipped: tuple[str, ...] = ()


def scan_folder(*folders: Path) -> FolderScan:
    """All certificates below the folders whose header or path gives data set, sigma and method.

    A log lies at DATASET-sigmaSIGMA/METHOD.tsv, or where its authors keep it (see `certificates.path_facts`). A file
    that cannot be used is named among the skipped ones, and the scan goes on.

    Raises:
        Problem: no such folder.
    """
    if missing := [folder for folder in folders if not folder.is_dir()]:
        raise NotFound(
            f"{missing[0]} is no folder; a log lies in one, as FOLDER/DATASET-sigmaSIGMA/METHOD.tsv"
        )
    files = [file for folder in folders for file in certificates.read_folder(folder)]
    # A Parquet file of something else holds images, and needs no word.
    told = [
        file
        for file in files
        if not (file.predictions or (file.foreign and file.path.suffix == ".parquet"))
    ]
    faults = {file.path: file.fault for file in told if file.fault}
    placed = gathered(
        (certificates.unplaced(file.table), file)
        for file in files
        if file.table is not None
    )
    found = tuple(_described(file) for file in placed.pop("", []))
    return FolderScan(
        found,
        tuple(
            _skipped([file.path for file in files if file.predictions], faults, placed)
        ),
    )


def _skipped(
    predicted: list[Path],
    faults: dict[Path, str],
    unplaced: dict[str, list[FolderFile]],
) -> Iterator[str]:
    """A sentence for each reason for which files could not be used."""
    if predicted:
        yield f"skipped as logs of predictions, which certify nothing: {names_of(predicted)}"
    for reason, paths in grouped(faults).items():
        yield f"skipped: {faults[paths[0]] if len(paths) == 1 else f'{names_of(paths)}: {reason}'}"
    for lacks, files in unplaced.items():
        place = "a log may be put at DATASET-sigmaSIGMA/METHOD.tsv"
        yield f"left out {names_of([file.path for file in files])}: nothing says the {lacks}; {place}"


def _described(file: FolderFile) -> CertificateFile:
    """The table of a file, of which data set, sigma and method are known."""
    table = file.table
    assert table is not None
    header, model = table.header, table.header.model or {}
    dataset, place = (
        str(header.dataset),
        certificates.path_facts(file.place) if table.is_log else None,
    )
    named = (
        SAME_IMAGES.get(dataset, dataset),
        header.sigma or 0.0,
        str(model["method"]),
        str(model.get("preset", "")),
    )
    return CertificateFile(file.path, table, *named, place)


def certificates_for(
    found: Iterable[CertificateFile], row: PaperRow, dataset: str
) -> list[CertificateFile]:
    """The certificates of one row, on `dataset`: of its preset, then logs; for a main row, also other main presets."""
    there = [f for f in found if f.dataset == dataset and f.sigma == row.sigma]
    exact = [f for f in there if f.preset == row.preset]
    return [
        *exact,
        *(
            f
            for f in there
            if f.method == row.method and f not in exact and _similar(f, row.preset)
        ),
    ]


def _similar(found: CertificateFile, preset: str) -> bool:
    """Whether a log may be of the preset, by its path; or whether a table and the preset are papers' main runs."""
    place = found.place
    if place is None:
        return (
            is_main(found.preset)
            and is_main(preset)
            and not found.preset.startswith("randsmooth/")
        )
    usual = place.training_sigma in (None, found.sigma) and place.split != "train"
    return usual and allows(preset, found.dataset, found.sigma, place)


ARCHS = {"imagenet": "resnet50", "mnist": "lenet"} | dict.fromkeys(
    ("cifar10", "cifar100", "svhn"), "resnet110"
)
CLOSE = 0.01  # relative; some papers write 1 for 255/256
# What a preset need not say, as it is usual: a path may say it all the same.
USUAL = {
    "attack": "pgd",
    "warmup": 10,
    "start": 0.0,
    "lbd_from": 0,
    "norm": "l2",
    "reweight_every": 10,
}


def allows(preset: str, dataset: str, sigma: float, place: PathFacts) -> bool:
    """Whether a log's path says nothing against the preset at `sigma`, and all that sets it apart from a main one.

    No path tells the schedule, so that no log is of a row that varies it.
    """
    own, mains = _with_mains(preset, dataset)
    if own is None:  # a row of a paper that no preset trains
        return not place.other_parts and place.settings.items() <= USUAL.items()
    known = own.hyperparameters(sigma)
    told = {
        ("k" if name == "m" and "k" in known else name): value
        for name, value in place.settings.items()
    }
    others = (
        main.hyperparameters(sigma)
        for main in mains
        if _schedule(main) == _schedule(own)
    )
    varied = (
        {key for key in known if known[key] != other.get(key)} for other in others
    )
    apart = any(
        keys <= told.keys() and keys >= set(place.other_parts) for keys in varied
    )
    usual = ARCHS.get(dataset, "")
    same_arch = (place.arch or usual) == (own.arch or usual)
    return (
        apart
        and same_arch
        and all(_same((USUAL | known).get(name), value) for name, value in told.items())
    )


def _same(here: Any, there: float | str) -> bool:
    if isinstance(there, str) or not isinstance(here, int | float):
        return bool(here == there)
    return math.isclose(here, there, rel_tol=CLOSE)


@lru_cache(maxsize=512)  # a survey asks for each row and log
def _with_mains(name: str, dataset: str) -> tuple[Preset | None, tuple[Preset, ...]]:
    """The preset, and the main ones that it is a variation of."""
    from randsmooth.training.presets import PRESETS

    serving = [preset for preset in PRESETS if preset.serves(dataset)]
    own = next((preset for preset in serving if preset.name == name), None)
    return own, tuple(
        main for main in serving if own and main.main and main.base == own.base
    )


def _schedule(preset: Preset) -> Optimisation | None:
    """That of the preset, whatever its batch."""
    return preset.optimisation and preset.optimisation.replace(batch=1)
