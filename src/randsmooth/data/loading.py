"""From the name of a data set, or from a folder, to images."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.data.dataset_spec import SPLITS, DatasetSpec
from randsmooth.data.decode import MODES, decode_many, form
from randsmooth.data.encoded import Encoded, check_labels
from randsmooth.data.hub import from_hub
from randsmooth.data.images import Images, StreamedImages, TensorImages
from randsmooth.data.infer import infer
from randsmooth.data.layout import open_split, present, recognised
from randsmooth.data.registry import DATASETS, dataset_folder, readable
from randsmooth.errors import InputError, unknown

HOME = "RANDSMOOTH_DATA"


def load(dataset: str, split: str = "train", *, device: torch.device | str = "cpu") -> Images:
    """The images of one split of a data set that has a name, or of a folder of Parquet files or class folders.

    Images of a name are made where the data set makes its own, as digits does. Otherwise they are looked for in the
    folder $RANDSMOOTH_DATA/<name>, then on the Hugging Face hub.

    Args:
        dataset: a name in `DATASETS`, or the path of a folder.
        split: "train" or "test".
        device: where batches are to be.

    Raises:
        InputError: an unknown name or split, or data that are missing or damaged.

    Example:
        >>> images = load("digits", "test")
        >>> len(images), images.spec.shape
        (364, (1, 8, 8))
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    named: DatasetSpec | None = DATASETS.get(dataset)
    if named is not None and named.read is not None:
        return TensorImages(named, split, *_made(named, *named.read(split)), device)
    with readable(dataset):
        spec, encoded = _open(dataset, split)
    check_labels(encoded, spec.num_classes, f"{dataset} ({split})")
    if spec.streams:
        return StreamedImages(spec, split, encoded, device)
    decoded = decode_many(encoded, torch.arange(len(encoded.labels)), spec)
    return TensorImages(spec, split, decoded, encoded.labels, device)


def describe(dataset: str) -> DatasetSpec:
    """The facts about a data set that has a name, or about a folder, from its files and a sample of its images.

    Raises:
        InputError: an unknown name, or a folder without images.

    Example:
        >>> describe("cifar10").classes[:3]
        ('airplane', 'automobile', 'bird')
    """
    if dataset in DATASETS:
        return DATASETS[dataset]
    with readable(dataset):
        return _folder(dataset_folder(dataset))[0]


def _made(spec: DatasetSpec, pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """What `spec.read` gave, as tensors. Raises InputError where it is not what it should be."""
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), *spec.shape) or labels.shape != (len(pixels),):
        raise InputError(
            f"the data set {spec.name} gave {pixels.dtype} pixels {pixels.shape} and labels {labels.shape}; expected "
            f"uint8 (N, {', '.join(map(str, spec.shape))}) and (N,): report it to the package that brings it"
        )
    return torch.from_numpy(pixels), torch.from_numpy(labels.astype(np.int64, copy=False))


def _open(dataset: str, split: str) -> tuple[DatasetSpec, Encoded]:
    """The spec, with the sizes and class names of the data themselves, and the split."""
    if dataset in DATASETS:
        spec = DATASETS[dataset]
        encoded = _named(spec, split)
        return _as_found(spec, {split: encoded}), encoded
    spec, splits = _folder(dataset_folder(dataset))
    # Opening a split that is missing raises the error that says so.
    return spec, splits[split] if split in splits else open_split(dataset_folder(dataset), split)


def _named(spec: DatasetSpec, split: str) -> Encoded:
    home = os.environ.get(HOME)
    folder = Path(home or f"${HOME}") / spec.name
    if folder.is_dir():
        return open_split(folder, split, spec)
    if spec.hub is None:
        raise InputError(f"{spec.name} is a local folder only: put it at {folder} (set {HOME} to its parent)")
    try:
        return from_hub(spec, split)
    except InputError as error:
        raise InputError(
            f"{spec.name} is not at {folder} ({HOME} is {home or 'not set'}), and {error}. Either connect to "
            f"the hub, or run `hf download {spec.hub} --repo-type dataset --local-dir {folder}` where there "
            f"is a network, and set {HOME} to the parent of that folder"
        ) from error


def _folder(folder: Path) -> tuple[DatasetSpec, dict[str, Encoded]]:
    """The spec of a folder and its splits, still compressed."""
    name = folder.resolve().name
    spec: DatasetSpec | None = DATASETS.get(name)
    if spec and not _fits(spec, folder):
        spec = None
    splits = {split: open_split(folder, split, spec) for split in present(folder, spec)}
    if not splits:
        raise InputError(
            f"no data set in {folder}: it needs train.parquet and test.parquet, or train/ and test/ with a "
            "folder of image files for each class"
        )
    return (_as_found(spec, splits) if spec else infer(name, splits)), splits


def _fits(spec: DatasetSpec, folder: Path) -> bool:
    """Whether the folder's classes and its first image are those of the spec."""
    encoded = recognised(folder, spec)
    if encoded is None or not len(encoded.labels):
        return False
    with encoded.open(0) as stream:
        found = form(stream, encoded.where(0))
    channels, height, width = spec.shape
    return spec.resize is not None or found == (MODES[channels], height, width)


def _as_found(spec: DatasetSpec, splits: dict[str, Encoded]) -> DatasetSpec:
    """The spec with the sizes on disk, and with the class names of the data where its own are only numbers."""
    sizes = {split: len(encoded.labels) for split, encoded in splits.items()}
    names = next(iter(splits.values())).classes
    numbered = spec.classes == tuple(map(str, range(spec.num_classes)))
    if numbered and names and len(names) == spec.num_classes:
        spec = replace(spec, classes=names)
    return replace(spec, sizes=spec.sizes | sizes)
