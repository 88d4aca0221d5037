"""Which certificates belong to which row of a paper.

A table's header says so, or the path of a log. A path may tell settings
(`num_2/lbd_5.0/eta_0.5`, `pgd_255.0_10_10`), which have to be those of the preset.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from randsmooth import certificates
from randsmooth.certificates import Certificates, FolderFile, PathFacts
from randsmooth.certificates.files import grouped, names_of
from randsmooth.errors import NotFound
from randsmooth.papers.rows import PaperRow, is_main
from randsmooth.report.grouping import gathered

if TYPE_CHECKING:
    from randsmooth.training.presets import Preset

# Data sets whose images are those of another one.
SAME_IMAGES = {"cifar10-jpeg": "cifar10"}

# The network that papers train on a data set, which a path need not name.
ARCHS = {
    "imagenet": "resnet50",
    "mnist": "lenet",
    "cifar10": "resnet110",
    "cifar100": "resnet110",
    "svhn": "resnet110",
}
# The relative difference of settings that are the same: some papers write 1 for 255/256.
SAME_SETTING = 0.01
# What a preset need not say, as it is usual: a path may say it all the same.
USUAL_SETTINGS = {
    "attack": "pgd",
    "warmup": 10,
    "start": 0.0,
    "lbd_from": 0,
    "norm": "l2",
    "reweight_every": 10,
}


@dataclass(frozen=True)
class CertificateFile:
    """A certificate file, and what its certificates are about.

    Attributes:
        preset: of the model, as the header says; empty for a log and for a model
            without a preset.
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
        """Whether it is a published log, of whose model only its path tells."""
        return self.place is not None


class FolderScan(NamedTuple):
    """The certificates of folders, and why other files could not be used."""

    found: tuple[CertificateFile, ...] = ()
    skipped: tuple[str, ...] = ()


def scan_folder(*folders: Path) -> FolderScan:
    """Find all certificates below the folders.

    Their header or path gives data set, sigma and method. A log lies at
    DATASET-sigmaSIGMA/METHOD.tsv, or where its authors keep it (see
    `certificates.path_facts`). A file that cannot be used is named among the skipped
    ones, and the scan goes on.

    Raises:
        Problem: no such folder.
    """
    for folder in folders:
        if not folder.is_dir():
            raise NotFound(
                f"{folder} is no folder; a log lies in one, "
                "as FOLDER/DATASET-sigmaSIGMA/METHOD.tsv"
            )
    files = [file for folder in folders for file in certificates.read_folder(folder)]
    files_of_lack = gathered(
        (certificates.unplaced(file.table), file)
        for file in files
        if file.table is not None
    )
    found = tuple(_described(file) for file in files_of_lack.pop("", []))
    faults = {
        file.path: file.fault for file in files if file.fault and not _is_other(file)
    }
    predicted = [file.path for file in files if file.predictions]
    return FolderScan(found, tuple(_skipped(predicted, faults, files_of_lack)))


def _is_other(file: FolderFile) -> bool:
    """Whether a file is of another kind than certificates.

    A Parquet file of something else holds images, and needs no word.
    """
    return file.predictions or (file.foreign and file.path.suffix == ".parquet")


def _skipped(
    predicted: Sequence[Path],
    faults: Mapping[Path, str],
    files_of_lack: Mapping[str, Sequence[FolderFile]],
) -> Iterator[str]:
    """Say for which reasons files could not be used."""
    if predicted:
        yield (
            "skipped as logs of predictions, which certify nothing: "
            f"{names_of(predicted)}"
        )
    for reason, paths in grouped(faults).items():
        if len(paths) == 1:
            yield f"skipped: {faults[paths[0]]}"
        else:
            yield f"skipped: {names_of(paths)}: {reason}"
    for lack, files in files_of_lack.items():
        names = names_of([file.path for file in files])
        yield (
            f"left out {names}: nothing says the {lack}; "
            "a log may be put at DATASET-sigmaSIGMA/METHOD.tsv"
        )


def _described(file: FolderFile) -> CertificateFile:
    """Describe a file of which data set, sigma and method are known."""
    table = file.table
    assert table is not None
    header = table.header
    model = header.model or {}
    dataset = str(header.dataset)
    return CertificateFile(
        path=file.path,
        table=table,
        dataset=SAME_IMAGES.get(dataset, dataset),
        sigma=header.sigma or 0.0,
        method=str(model["method"]),
        preset=str(model.get("preset", "")),
        place=certificates.path_facts(file.place) if table.is_log else None,
    )


def certificates_for(
    found: Iterable[CertificateFile], row: PaperRow, dataset: str
) -> list[CertificateFile]:
    """Return the certificates of one row, on `dataset`.

    First come those of its preset, then logs; for a main row, also other main presets.
    """
    exact = []
    similar = []
    for file in found:
        if file.dataset != dataset or file.sigma != row.sigma:
            continue
        if file.preset == row.preset:
            exact.append(file)
        elif file.method == row.method and _is_similar(file, row.preset):
            similar.append(file)
    return [*exact, *similar]


def _is_similar(found: CertificateFile, preset: str) -> bool:
    """Whether a file may be of the run that a preset is of.

    A log may be by its path; a table and the preset may both be papers' main runs.
    """
    place = found.place
    if place is None:
        own = found.preset.startswith("randsmooth/")
        return is_main(found.preset) and is_main(preset) and not own
    trained_as_certified = place.training_sigma in (None, found.sigma)
    if not trained_as_certified or place.split == "train":
        return False
    return allows(preset, found.dataset, found.sigma, place)


def allows(preset: str, dataset: str, sigma: float, place: PathFacts) -> bool:
    """Whether a log may be of the preset at `sigma`, by its path.

    The path says nothing against it, and all that sets it apart from a main one. No
    path tells the schedule, so that no log is of a row that varies it.
    """
    own, mains = _with_mains(preset, dataset)
    if own is None:  # a row of a paper that no preset trains
        return (
            not place.other_parts and place.settings.items() <= USUAL_SETTINGS.items()
        )
    usual_arch = ARCHS.get(dataset, "")
    if (place.arch or usual_arch) != (own.arch or usual_arch):
        return False
    hyperparameters = own.hyperparameters(sigma)
    told = {
        _name_of_setting(name, hyperparameters): value
        for name, value in place.settings.items()
    }
    known = USUAL_SETTINGS | hyperparameters
    if not all(_is_same(known.get(name), value) for name, value in told.items()):
        return False
    for main in mains:
        if _schedule(main) != _schedule(own):
            continue
        of_main = main.hyperparameters(sigma)
        varied = {
            name
            for name, value in hyperparameters.items()
            if value != of_main.get(name)
        }
        if set(place.other_parts) <= varied <= told.keys():
            return True
    return False


def _name_of_setting(name: str, hyperparameters: Mapping[str, Any]) -> str:
    """Return our name of a setting: what logs call m is k in MACER."""
    if name == "m" and "k" in hyperparameters:
        return "k"
    return name


def _is_same(here: Any, there: float | str) -> bool:
    if isinstance(there, str) or not isinstance(here, int | float):
        return bool(here == there)
    return math.isclose(here, there, rel_tol=SAME_SETTING)


@lru_cache(maxsize=512)  # a survey asks for each row and log
def _with_mains(name: str, dataset: str) -> tuple[Preset | None, tuple[Preset, ...]]:
    """Return the preset, and the main ones that it is a variation of."""
    from randsmooth.training.presets import PRESETS

    serving = [preset for preset in PRESETS if preset.serves(dataset)]
    own = next((preset for preset in serving if preset.name == name), None)
    if own is None:
        return None, ()
    mains = [preset for preset in serving if preset.main and preset.base == own.base]
    return own, tuple(mains)


def _schedule(preset: Preset) -> dict[str, Any] | None:
    """Return the schedule of the preset, whatever its batch."""
    if preset.optimisation is None:
        return None
    return preset.optimisation.model_dump(exclude={"batch"})
