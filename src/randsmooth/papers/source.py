"""Which certificates belong to which row of a paper: found by what their headers say, or by where a log lies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from randsmooth import certificates
from randsmooth.certificates import Certificates, ForeignFile
from randsmooth.errors import InputError

# What logs and papers call a method, where that is not its name here.
ALIASES = {"catrs": "cat-rs", "ours": "amplify", "cohen": "gaussian", "salman": "smoothadv"}
SAME_IMAGES = {"cifar10-jpeg": "cifar10"}
PLACE = re.compile(r"(?P<dataset>.+)-sigma(?P<sigma>[\d.]+)")
LOGS = {"n": 100_000, "alpha": 0.001}  # what every log of the literature was made with


@dataclass(frozen=True)
class Found:
    """A certificate file and what it was made from.

    Attributes:
        preset: as its header says; empty for a log and for a model of no preset.
        log: whether it is a published log, whose model is known by its method alone.
    """

    path: Path
    table: Certificates
    dataset: str
    sigma: float
    method: str
    preset: str
    log: bool


def scan(folder: Path) -> list[Found]:
    """All certificates below `folder` that say, or whose place says, data set, sigma and method.

    A log lies at DATASET-sigmaSIGMA/METHOD.tsv.

    Raises:
        InputError: no such folder, or a damaged table.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; --from takes the folder that holds certificates or logs")
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".parquet", ".tsv"))
    return [found for found in map(_found, files) if found is not None]


def _found(path: Path) -> Found | None:
    return _log(path) if path.suffix == ".tsv" else _certified(path)


def _log(path: Path) -> Found | None:
    place = PLACE.fullmatch(path.parent.name)
    if place is None:
        return None
    sigma, dataset = float(place["sigma"]), place["dataset"]
    table = certificates.read(path).assuming(sigma=sigma, **LOGS)  # type: ignore[arg-type]
    return Found(path, table, dataset, sigma, method_named(path.stem), preset="", log=True)


def _certified(path: Path) -> Found | None:
    try:
        table = certificates.read(path)
    except ForeignFile:
        return None
    header, model = table.header, table.header.model or {}
    method = model.get("method")
    if header.sigma is None or header.dataset is None or method is None:
        return None
    dataset = SAME_IMAGES.get(header.dataset, header.dataset)
    return Found(path, table, dataset, header.sigma, str(method), str(model.get("preset", "")), log=False)


def method_named(name: str) -> str:
    """The method's name here for what a log or a paper calls it."""
    plain = name.lower().strip()
    return ALIASES.get(plain, plain)


def pick(found: Iterable[Found], datasets: Sequence[str], sigma: float, method: str, preset: str) -> Found | None:
    """The certificates of one row: of its preset; else, for a main row, a log or another main preset of its method."""
    fitting = [f for f in found if f.dataset in datasets and f.sigma == sigma]
    exact = [f for f in fitting if f.preset == preset]
    main = preset.count("/") == 1
    similar = [f for f in fitting if main and f.method == method and (f.log or f.preset.count("/") == 1)]
    return next(iter([*exact, *similar]), None)
