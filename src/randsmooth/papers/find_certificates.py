"""Which certificates belong to which row of a paper.

The header of a table says so, or the path of a log. The path may give settings
(`num_2/lbd_5.0/eta_0.5`, `pgd_255.0_10_10`), which must then be those of the preset.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from randsmooth import certificates
from randsmooth.certificates import Certificates, FolderFile, PathFacts
from randsmooth.certificates.files import grouped
from randsmooth.errors import NotFound
from randsmooth.escape import names_of
from randsmooth.papers.rows import PaperRow, is_main
from randsmooth.report.grouping import gathered

if TYPE_CHECKING:
    from randsmooth.training.presets import Preset

# Data set -> the one that papers name for the same images.
SAME_IMAGES = {"cifar10-jpeg": "cifar10"}

# Data set -> the network that papers train on it, which a path need not name.
USUAL_ARCHITECTURES = {
    "imagenet": "resnet50",
    "mnist": "lenet",
    "cifar10": "resnet110",
    "cifar100": "resnet110",
    "svhn": "resnet110",
}
# The largest relative difference of two settings that count as the same: some papers
# write 1 for 255/256.
SAME_SETTING_TOLERANCE = 0.01
# The usual values of settings. Presets leave them out, and a path may give them.
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
        path: the path of the file.
        table: the certificates.
        dataset, sigma, method: the data set, the noise level of certification, and the
            method of training.
        preset: the preset of the model, as the header says; empty for a log and for a
            model without a preset.
        place: the facts that the path of a published log gives; None for a table of
            counts.
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
        """Return whether it is a published log: only its path tells of its model."""
        return self.place is not None


class FolderScan(NamedTuple):
    """The certificates of folders, and why other files could not be used.

    Attributes:
        found: the files whose data set, sigma and method are known.
        skipped: sentences on the other files, one for each reason to leave files out.
    """

    found: tuple[CertificateFile, ...] = ()
    skipped: tuple[str, ...] = ()


def scan_folder(*folders: Path) -> FolderScan:
    """Find all certificates below the folders.

    Their header or path gives data set, sigma and method. A log lies at
    DATASET-sigmaSIGMA/METHOD.tsv, or where its authors keep it (see
    `certificates.path_facts`). A file that cannot be used does not end the scan: it is
    named in the sentences `skipped`.

    Raises:
        Problem: no such folder.
    """
    for folder in folders:
        if not folder.is_dir():
            raise NotFound(
                f"{folder} is not a folder; expected "
                "FOLDER/DATASET-sigmaSIGMA/METHOD.tsv"
            )
    files = [file for folder in folders for file in certificates.read_folder(folder)]

    # The unknown facts of a table, in words -> the files with such tables.
    files_of_lack = gathered(
        (certificates.unplaced(file.table), file)
        for file in files
        if file.table is not None
    )
    # No fact of these is unknown.
    complete = files_of_lack.pop("", [])

    predicted = [file.path for file in files if file.predictions]
    faults = {
        file.path: file.fault for file in files if file.fault and not _is_expected(file)
    }
    return FolderScan(
        found=tuple(_described(file) for file in complete),
        skipped=tuple(_skipped(predicted, faults, files_of_lack)),
    )


def _is_expected(file: FolderFile) -> bool:
    """Return whether a file that holds no table needs no message about its fault.

    Logs of predictions get a sentence of their own. A foreign Parquet file mostly holds
    images, and nobody needs to be told of it.
    """
    return file.predictions or (file.foreign and file.path.suffix == ".parquet")


def _skipped(
    predicted: Sequence[Path],
    faults: Mapping[Path, str],
    files_of_lack: Mapping[str, Sequence[FolderFile]],
) -> Iterator[str]:
    """Yield a sentence for each reason for which files could not be used.

    Args:
        predicted: logs of predictions.
        faults: file -> why it cannot be read.
        files_of_lack: the facts that nothing says of a table, in words -> the files of
            such tables.
    """
    if predicted:
        yield (
            "skipped as logs of predictions, which certify nothing: "
            f"{names_of(predicted)}"
        )
    for reason, paths in grouped(faults).items():
        # The fault of a single file names the file itself.
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
    """Describe a file with a known data set, sigma and method."""
    table = file.table
    assert table is not None, "a file without a table is not described"
    header = table.header
    assert header.sigma is not None, "a table without sigma is left out"
    model = header.model or {}
    dataset = str(header.dataset)
    return CertificateFile(
        path=file.path,
        table=table,
        dataset=SAME_IMAGES.get(dataset, dataset),
        sigma=header.sigma,
        method=str(model["method"]),
        preset=str(model.get("preset", "")),
        place=certificates.path_facts(file.place) if table.is_log else None,
    )


def certificates_for(
    files: Iterable[CertificateFile], row: PaperRow, dataset: str
) -> list[CertificateFile]:
    """Return the files that hold certificates of one row, on `dataset`.

    Tables of the row's own preset come first. After them come files that may be of the
    same run: logs whose path allows it, and, for a row that is no ablation, tables of
    another paper's preset of the same method.
    """
    of_the_preset = []
    of_a_similar_run = []
    for file in files:
        if file.dataset != dataset or file.sigma != row.sigma:
            continue
        if file.preset == row.preset:
            of_the_preset.append(file)
        elif file.method == row.method and _is_similar(file, row.preset):
            of_a_similar_run.append(file)
    return [*of_the_preset, *of_a_similar_run]


def _is_similar(file: CertificateFile, preset: str) -> bool:
    """Return whether a file of another preset may be of the run of `preset`.

    A table of counts may be where both presets are main ones of papers. A log may be
    where its path allows it.
    """
    place = file.place
    if place is None:
        # The presets "randsmooth/..." are ours, and of no paper.
        is_of_a_paper = not file.preset.startswith("randsmooth/")
        return is_of_a_paper and is_main(file.preset) and is_main(preset)

    # Papers certify with the sigma that they trained with, on test images.
    if place.training_sigma not in (None, file.sigma) or place.split == "train":
        return False
    return allows(preset, file.dataset, file.sigma, place)


def allows(preset_name: str, dataset: str, sigma: float, place: PathFacts) -> bool:
    """Return whether a log may be of the preset at `sigma`, by its path.

    The path must contradict nothing in the preset. It must give each setting in which
    the preset differs from one of the main presets of its method. No path tells the
    schedule, so that no log is of a row that varies the schedule.
    """
    preset, mains = _with_mains(preset_name, dataset)
    if preset is None:
        # No preset trains this row on the data set: nothing in the path may be unusual.
        return (
            not place.other_parts and place.settings.items() <= USUAL_SETTINGS.items()
        )

    usual = USUAL_ARCHITECTURES.get(dataset, "")
    if (place.arch or usual) != (preset.arch or usual):
        return False

    hyperparameters = preset.hyperparameters(sigma)
    settings_in_path = {
        _name_of_setting(name, hyperparameters): value
        for name, value in place.settings.items()
    }
    settings_of_preset = USUAL_SETTINGS | hyperparameters
    for name, value in settings_in_path.items():
        if not _is_same_setting(settings_of_preset.get(name), value):
            return False

    return any(
        _tells_apart(place, settings_in_path.keys(), preset, main, sigma)
        for main in mains
    )


def _tells_apart(
    place: PathFacts,
    names_in_path: Set[str],
    preset: Preset,
    main: Preset,
    sigma: float,
) -> bool:
    """Return whether a path gives each setting in which a preset differs from `main`.

    Args:
        place: the facts in the path.
        names_in_path: our names of the settings that the path gives.
        main: the preset of a main row.
    """
    if _schedule(main) != _schedule(preset):
        return False
    of_main = main.hyperparameters(sigma)
    varied = {
        name
        for name, value in preset.hyperparameters(sigma).items()
        if value != of_main.get(name)
    }
    # Other parts of the path give no value: they may only name what varies.
    return set(place.other_parts) <= varied <= names_in_path


def _name_of_setting(name: str, hyperparameters: Mapping[str, Any]) -> str:
    """Return our name of a setting in a path: what logs call m is k in MACER."""
    if name == "m" and "k" in hyperparameters:
        return "k"
    return name


def _is_same_setting(of_preset: Any, in_path: float | str) -> bool:
    """Return whether two values of a setting are the same, numbers to a tolerance."""
    if isinstance(in_path, str) or not isinstance(of_preset, int | float):
        return bool(of_preset == in_path)
    return math.isclose(of_preset, in_path, rel_tol=SAME_SETTING_TOLERANCE)


# A survey asks again for each pair of a row and a log. The rows are some hundred.
@lru_cache(maxsize=512)
def _with_mains(name: str, dataset: str) -> tuple[Preset | None, tuple[Preset, ...]]:
    """Return a preset by name, and the main presets of the same paper and method.

    Returns:
        None and no main presets, where no preset for the data set has the name.
    """
    # Reading all presets takes time, which a folder without logs need not pay.
    from randsmooth.training.presets import PRESETS

    serving = [preset for preset in PRESETS if preset.serves(dataset)]
    for preset in serving:
        if preset.name == name:
            mains = [
                other for other in serving if other.main and other.base == preset.base
            ]
            return preset, tuple(mains)
    return None, ()


def _schedule(preset: Preset) -> dict[str, Any] | None:
    """Return the schedule of a preset; None if it is the one usual for its data set.

    The batch is left out: presets of one table may have another where memory asks for
    it, and no table compares batches.
    """
    if preset.optimisation is None:
        return None
    return preset.optimisation.model_dump(exclude={"batch"})
