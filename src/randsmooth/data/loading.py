"""From whatever a data set is given as, to images: the one way in."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.data import hf_datasets, npz
from randsmooth.data.arrays import fitted, tensor
from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.csv_paths import read_csv
from randsmooth.data.dataset_spec import SPLITS, DatasetSpec
from randsmooth.data.decode import MODES, decode_many, form
from randsmooth.data.encoded import Encoded, check_labels
from randsmooth.data.fitting import Fit
from randsmooth.data.hub import from_hub
from randsmooth.data.images import Images, StreamedImages, TensorImages
from randsmooth.data.infer import infer, refitted, with_statistics
from randsmooth.data.items import Items
from randsmooth.data.layout import open_split, open_whole, present, recognised
from randsmooth.data.objects import from_arrays, from_items, from_object
from randsmooth.data.registry import DATASETS, dataset_path, readable
from randsmooth.data.remote import parquet_splits
from randsmooth.data.sources import unknown_form
from randsmooth.data.table import read_parquet
from randsmooth.data.tar_shards import TarShards, shards_of
from randsmooth.errors import InputError, unknown
from randsmooth.transfer import naming_urls
from randsmooth.urls import is_url, name_of

HOME = "RANDSMOOTH_DATA"


def load(
    dataset: Any,
    split: str = "train",
    *,
    device: torch.device | str = "cpu",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Any = None,
    crop: Any = None,
    stream: bool = False,
) -> Images:
    """The images of one split of a data set, in whatever form it comes (docs/data.md has an example of each).

    Images of a name are made where the data set makes its own, as digits does. Otherwise they are looked for in the
    folder $RANDSMOOTH_DATA/<name>, then on the Hugging Face hub.

    Args:
        dataset: a name in `DATASETS`; the path or URL of a folder (of class folders, of images, of train/ and test/, of
            Parquet or WebDataset tar files, or written by `save_to_disk`) or of an .npz, .csv, .parquet or .tar file;
            arrays or tensors (x, y) or x alone; a torch Dataset or DataLoader; a `datasets` Dataset or DatasetDict.
        split: "train" or "test". What has no splits is the split that is asked for.
        device: where batches are to be.
        image_column, label_column: the columns, arrays or extensions that hold the images and the labels, where their
            names are not the usual ones; label_column="none" says that there are no labels.
        resize: the length of the shorter side, or (height, width), that every image is scaled to.
        crop: the side, or (height, width), that is then cut from the centre.
        stream: decode images when they are asked for, even if all of them would fit into memory.

    Raises:
        InputError: an unknown name, form or split, data that are missing or damaged, or images of several sizes without
            `resize` and `crop`. The message names the file, row or image.

    Example:
        >>> images = load("digits", "test")
        >>> len(images), images.spec.shape
        (364, (1, 8, 8))
        >>> x, y = np.zeros((2, 28, 20, 3), np.uint8), [0, 1]
        >>> load((x, y), "test", resize=32, crop="32x24").batch(torch.tensor([0]))[0].shape
        torch.Size([1, 3, 32, 24])
        >>> load(x, "test").labelled
        False
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    columns, fit = ColumnNames(image_column, label_column), Fit.of(resize, crop)
    if isinstance(dataset, Images):
        return _as_given(dataset, columns, fit, device)
    if isinstance(dataset, str) and dataset in DATASETS:
        return _named(dataset, split, columns, fit, device, stream)
    if is_url(dataset) and (splits := parquet_splits(dataset, split, columns)):
        spec = infer(name_of(dataset), splits, fit)
        if split not in splits:
            raise InputError(f"no split {split!r} at {dataset}; splits there: {', '.join(splits)}")
        return _images(spec, split, splits[split], device, stream)
    if isinstance(dataset, str | Path):
        with readable(str(dataset)), naming_urls():
            return _from_path(dataset_path(str(dataset)), split, columns, fit, device, stream)
    if hf_datasets.is_hub_object(dataset):
        return _from_hub_object(dataset, split, columns, fit, device, stream, name=None)
    return from_object(dataset, split, columns, fit, device)


def describe(
    dataset: Any,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Any = None,
    crop: Any = None,
) -> DatasetSpec:
    """The facts about a data set: those of its name, or those that a sample of its images shows.

    Arguments and errors as in `load`.

    Example:
        >>> describe("cifar10").classes[:3]
        ('airplane', 'automobile', 'bird')
        >>> describe((np.full((2, 8, 6), 51, np.uint8), [0, 1])).mean
        (0.2,)
    """
    columns, fit = ColumnNames(image_column, label_column), Fit.of(resize, crop)
    if isinstance(dataset, str) and dataset in DATASETS:
        return refitted(DATASETS[dataset], fit)
    if isinstance(dataset, str | Path):
        if is_url(dataset) and (splits := parquet_splits(str(dataset), "train", columns)):
            return infer(name_of(dataset), splits, fit, statistics=True)
        with readable(str(dataset)), naming_urls():
            path = dataset_path(str(dataset))
            found = npz.splits_in(path) if path.suffix.lower() == ".npz" else []
            if path.suffix.lower() != ".npz" and not hf_datasets.is_saved(path):
                return _opened(path, "train", columns, fit, statistics=True)[0]
    else:
        found = []
    images = load(
        dataset,
        found[0] if found else "train",
        image_column=image_column,
        label_column=label_column,
        resize=resize,
        crop=crop,
    )
    return with_statistics(images.spec, images)


def _as_given(images: Images, columns: ColumnNames, fit: Fit | None, device: torch.device | str) -> Images:
    if fit is not None or columns != USUAL:
        raise InputError(
            "the images are loaded already: give resize, crop and columns to `data.load`, which reads them"
        )
    return images.to(device)


def _from_path(
    path: Path, split: str, columns: ColumnNames, fit: Fit | None, device: torch.device | str, stream: bool
) -> Images:
    if path.suffix.lower() == ".npz" and path.is_file():
        x, y = npz.read_npz(path, split, columns)
        return from_arrays(x, y, str(path), split, fit, device, source=path.name)
    if path.is_dir() and hf_datasets.is_saved(path):
        name = path.resolve().name
        return _from_hub_object(hf_datasets.from_disk(path), split, columns, fit, device, stream, name=name)
    spec, splits = _opened(path, split, columns, fit)
    # Opening a split that is missing raises the error that says so.
    encoded = splits[split] if split in splits else open_split(path, split, None, columns)
    return _images(spec, split, encoded, device, stream)


def _images(spec: DatasetSpec, split: str, encoded: Encoded, device: torch.device | str, stream: bool) -> Images:
    check_labels(encoded, spec.num_classes, f"{spec.name} ({split})")
    if spec.streams or stream:
        return StreamedImages(spec, split, encoded, device)
    decoded = decode_many(encoded, torch.arange(len(encoded.labels)), spec)
    return TensorImages(spec, split, decoded, encoded.labels, device)


def _from_hub_object(
    source: Any,
    split: str,
    columns: ColumnNames,
    fit: Fit | None,
    device: torch.device | str,
    stream: bool,
    name: str | None,
) -> Images:
    """A split of a Dataset or DatasetDict of `datasets`; with a `name`, it was read from a folder called so."""
    found = hf_datasets.hub_splits(source)
    splits = {split: source} if found is None else found
    if split not in splits:
        there = ", ".join(map(str, source)) or "none"
        raise InputError(f"no split {split!r} in the DatasetDict; splits there: {there}")
    called = hf_datasets.called(splits[split]) if name is None else name
    if hf_datasets.is_transformed(splits[split]):
        return from_items(Items(splits[split], called, columns), split, fit, device)
    if (arrays := hf_datasets.stored_arrays(splits[split], called, columns)) is not None:
        return from_arrays(*arrays, called, split, fit, device, source=called)
    rows = {each: hf_datasets.HubRows(splits[each], called, columns, follow=name is None) for each in splits}
    return _images(infer(called, rows, fit), split, rows[split], device, stream)


def _made(spec: DatasetSpec, pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """What `spec.read` gave, as tensors. Raises InputError where it is not what it should be."""
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), *spec.shape) or labels.shape != (len(pixels),):
        raise InputError(
            f"the data set {spec.name} gave {pixels.dtype} pixels {pixels.shape} and labels {labels.shape}; expected "
            f"uint8 (N, {', '.join(map(str, spec.shape))}) and (N,): report it to the package that brings it"
        )
    return torch.from_numpy(pixels), torch.from_numpy(labels.astype(np.int64, copy=False))


def _named(
    name: str, split: str, columns: ColumnNames, fit: Fit | None, device: torch.device | str, stream: bool
) -> Images:
    if columns != USUAL:
        raise InputError(
            f"{name} is a data set with a name, whose columns are known: leave image_column and label_column out"
        )
    usual = DATASETS[name]
    spec = refitted(usual, fit)
    if usual.read is not None:
        pixels, labels = _made(usual, *usual.read(split))
        if fit is not None:
            pixels = tensor(fitted(pixels.numpy(), spec.fit, lambda index: f"image {index} of {name}"))
        return TensorImages(spec, split, pixels, labels, device)
    with readable(name):
        encoded = _found(spec, split)
    return _images(_as_found(spec, {split: encoded}), split, encoded, device, stream)


def _found(spec: DatasetSpec, split: str) -> Encoded:
    """A split of a data set with a name, where it is at hand or on the hub."""
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


def _opened(
    path: Path, split: str, columns: ColumnNames, fit: Fit | None, *, statistics: bool = False
) -> tuple[DatasetSpec, dict[str, Encoded]]:
    """The spec of a folder or file and its splits, still compressed. What has no splits is the one asked for."""
    if not path.is_dir():
        splits = {split: _open_file(path, columns)}
        return infer(path.name, splits, fit, statistics=statistics), splits
    name = path.resolve().name
    spec: DatasetSpec | None = DATASETS.get(name)
    if spec and not _fits(spec, path):
        spec = None
    splits = {each: open_split(path, each, spec, columns) for each in present(path, spec)}
    if spec and splits:
        return _as_found(refitted(spec, fit), splits), splits
    whole = None if splits else open_whole(path, columns)
    if whole is not None:
        splits = {split: whole}
    if not splits:
        raise unknown_form(f"no data set in {path}")
    return infer(name, splits, fit, statistics=statistics), splits


def _open_file(path: Path, columns: ColumnNames) -> Encoded:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return read_parquet([path], columns)
    if suffix == ".tar":
        return TarShards(shards_of(str(path)), columns)
    return read_csv(path, columns)


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
