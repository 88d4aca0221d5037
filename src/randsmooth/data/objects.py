"""Data sets that a Python program holds: arrays, and the objects of torch and of `datasets`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from randsmooth.data.arrays import Pixels, as_array, check_values, fitted, images_first, tensor
from randsmooth.data.columns import NONE, ColumnNames
from randsmooth.data.dataset_spec import IN_MEMORY_BYTES
from randsmooth.data.fitting import Fit
from randsmooth.data.images import Images, TensorImages
from randsmooth.data.infer import arch_for, own
from randsmooth.data.items import ItemImages, Items, describe_items
from randsmooth.data.labels import from_numbers, from_texts, no_labels
from randsmooth.data.sources import unknown_form
from randsmooth.documents import shown
from randsmooth.errors import InputError

Device = torch.device | str


def from_object(source: Any, split: str, columns: ColumnNames, fit: Fit | None, device: Device) -> Images:
    """The images that `source` holds, or gives one by one. What has no splits is the split that is asked for.

    Raises:
        InputError: it is no data set, or its images cannot be used.
    """
    if isinstance(source, tuple) and len(source) == 2:
        return from_arrays(source[0], source[1], "x", split, fit, device)
    if isinstance(source, np.ndarray | Tensor):
        return from_arrays(source, None, "x", split, fit, device)
    if isinstance(source, DataLoader):
        return _from_loader(source, split, columns, fit, device)
    if isinstance(source, IterableDataset):
        return _gathered(source, _called(source), split, columns, fit, device, batched=False)
    if hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, str | bytes | dict):
        return from_items(Items(source, _called(source), columns), split, fit, device)
    raise unknown_form(f"dataset={shown(repr(source))} is of the type {type(source).__name__}, which is no data set")


def from_arrays(
    x: Any, y: Any, name: str, split: str, fit: Fit | None, device: Device = "cpu", *, source: str = "arrays"
) -> TensorImages:
    """Images in an array (N, C, H, W), (N, H, W, C) or (N, H, W), uint8 or float in [0, 1], with labels (N,) or None.

    Args:
        x, y: the arrays or tensors.
        name: what to call x in errors.
        source: what to call the data set.

    Raises:
        InputError: values, shapes or labels that cannot be used; the message names the first image that has them.
    """

    def where(index: int) -> str:
        return f"image {index} of {name}"

    pixels = as_array(x)
    classes: tuple[str, ...] | None = None
    labels = None if y is None else as_array(y)
    if labels is not None and (labels.ndim == 0 or labels.shape[:1] != pixels.shape[:1]):
        raise InputError(f"{name} has the shape {pixels.shape}, and the labels {labels.shape}: give one label an image")
    pixels = images_first(pixels, name, None if labels is None else len(labels))
    if not pixels.size:
        raise InputError(f"no images in {name}: its shape is {pixels.shape}")
    if labels is None:
        found = no_labels(len(pixels))
    elif labels.dtype.kind == "U":
        found, classes = from_texts(labels.ravel().tolist(), where, source)
    else:
        found = from_numbers(labels, where)
    ready = fitted(check_values(pixels, name, where), fit, where)
    spec = own(source, {split: len(ready)}, classes, fit)
    numbered = tuple(str(k) for k in range(int(found.max()) + 1))
    shape = (ready.shape[1], ready.shape[2], ready.shape[3])
    spec = replace(spec, shape=shape, arch=arch_for(shape), classes=classes or numbered)
    return TensorImages(spec, split, tensor(ready), found, device)


def from_items(items: Items, split: str, fit: Fit | None, device: Device) -> ItemImages:
    """The images of `items`, which are read when they are asked for."""
    spec = describe_items(items, own(items.source, {split: len(items)}, None, fit))
    stated = items.stated_labels
    if stated is not None:
        spec = replace(spec, classes=tuple(str(k) for k in range(int(stated.max()) + 1)))
    return ItemImages(spec, split, items, device)


def _from_loader(loader: DataLoader[Any], split: str, columns: ColumnNames, fit: Fit | None, device: Device) -> Images:
    """The data set behind a loader, in its own order; or what the loader gives, where it makes batches its own way."""
    usual = loader.collate_fn in (default_collate, default_convert)
    if isinstance(loader.dataset, IterableDataset) or not usual:
        if not isinstance(loader.dataset, IterableDataset):
            _check_order(loader, (SequentialSampler,))
        return _gathered(loader, "the DataLoader", split, columns, fit, device, batched=loader.batch_size is not None)
    _check_order(loader, (SequentialSampler, RandomSampler))
    return from_object(loader.dataset, split, columns, fit, device)


def _check_order(loader: DataLoader[Any], allowed: tuple[type, ...]) -> None:
    sampler = loader.sampler
    whole = not isinstance(sampler, RandomSampler) or len(sampler) == len(loader.dataset)  # type: ignore[arg-type]
    if not isinstance(sampler, allowed) or not whole:
        raise InputError(
            f"the DataLoader draws with a {type(sampler).__name__}, so that its images have no fixed positions: use "
            "shuffle=False, and torch.utils.data.Subset for a part of the data"
        )


def _gathered(
    source: Iterable[Any],
    name: str,
    split: str,
    columns: ColumnNames,
    fit: Fit | None,
    device: Device,
    *,
    batched: bool,
) -> TensorImages:
    """All that an iterable gives, in memory."""
    xs: list[Pixels] = []
    ys: list[Pixels] = []
    size = 0
    for number, item in enumerate(source):
        x, y = _pair(item, columns, f"{'batch' if batched else 'item'} {number} of {name}")
        xs.append(x if batched else x[None])
        ys += [] if y is None else [y if batched else y.reshape(1)]
        size += x.nbytes
        if size > IN_MEMORY_BYTES:
            raise InputError(
                f"{name} gives more than {IN_MEMORY_BYTES:,} bytes: give a Dataset with __getitem__ instead"
            )
        if x.shape[batched:] != xs[0].shape[1:] or x.dtype != xs[0].dtype or len(ys) not in (0, len(xs)):
            raise InputError(f"{name} gives images of several shapes or types, or only some with labels, at {number}")
    if not xs:
        raise InputError(f"no images in {name}")
    return from_arrays(np.concatenate(xs), np.concatenate(ys) if ys else None, name, split, fit, device, source=name)


def _pair(item: Any, columns: ColumnNames, where: str) -> tuple[Pixels, Pixels | None]:
    if isinstance(item, dict):
        image, label = columns.find(item, where)
        item = (item[image],) if label is None else (item[image], item[label])
    parts = item if isinstance(item, list | tuple) else (item,)
    if not parts or not isinstance(parts[0], Tensor | np.ndarray):
        raise InputError(
            f"{where} is {shown(type(parts[0] if parts else item).__name__)}; expected tensors (x, y) or x"
        )
    unlabelled = len(parts) < 2 or columns.label == NONE
    return as_array(parts[0]), None if unlabelled else as_array(parts[1])


def _called(source: Any) -> str:
    return f"the {type(source).__name__}"
