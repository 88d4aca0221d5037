"""The objects that a Python program holds: arrays, loaders, and data sets such as torch's, read when needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Generator, Tensor
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data import default_collate as collate
from torch.utils.data import default_convert as convert

from randsmooth.data.arrays import Pixels, as_array, check_values, fitted, from_arrays, one_image, tensor
from randsmooth.data.augment import Place
from randsmooth.data.dataset_spec import IN_MEMORY_BYTES, DatasetSpec
from randsmooth.data.decode import RESIZE, channels_of, converted, upright
from randsmooth.data.images import Device, Images, take
from randsmooth.data.infer import Request, own, with_shape
from randsmooth.data.labels import MOST_CLASSES, NO_LABEL, NONE, ColumnNames, from_numbers, no_labels
from randsmooth.data.registry import unknown_form
from randsmooth.documents import shown
from randsmooth.errors import InputError

PROBE = 32  # items that are looked at before the others are asked for


class Items:
    """The items of a data set: images, or pairs of an image and a label, or mappings with such columns.

    Attributes:
        source: what to call it in errors.
        labelled: whether the items have labels.
    """

    def __init__(self, items: Any, source: str, columns: ColumnNames) -> None:
        """Raises InputError for no items, or for ones that are no images."""
        self.items, self.source, self._columns = items, source, columns
        if not len(items):
            raise InputError(f"no images in {source}")
        self.labelled = self._parts(0)[1] is not None

    def __len__(self) -> int:
        return len(self.items)

    def where(self, index: int) -> str:
        return f"item {index} of {self.source}"

    def _parts(self, index: int) -> tuple[Any, Any]:
        return _parts(self.items[index], self._columns, self.where(index))

    def label(self, index: int, of: Any) -> int:
        """`of`, the label of an item, as a whole number; NO_LABEL if it is None."""
        if (of is not None) != self.labelled:
            raise InputError(f"{self.where(index)} has {'a' if of is not None else 'no'} label, unlike the first item")
        if of is None:
            return NO_LABEL
        found = as_array(of)
        if found.size != 1 or found.dtype.kind not in "iu" or not NO_LABEL <= int(found.item()) < MOST_CLASSES:
            raise InputError(f"{self.where(index)} has the label {shown(repr(of))}; expected one whole number from 0")
        return int(found.item())

    def read(self, index: int) -> tuple[Image.Image | NDArray[Any], int]:
        """The image and the label of one item: an upright PIL image, or an array (C, H, W)."""
        image, label = self._parts(index)
        if isinstance(image, Image.Image):
            return upright(image), self.label(index, label)
        if not isinstance(image, Tensor | np.ndarray):
            raise InputError(
                f"{self.where(index)} holds a {type(image).__name__}; expected a tensor, an array or a PIL image, "
                "or a pair (image, label)"
            )
        return one_image(as_array(image), self.where(index)), self.label(index, label)

    @cached_property
    def stated_labels(self) -> Tensor | None:
        """All labels (N,), as the attribute `targets` or `labels` states them; None where none does."""
        if not self.labelled:
            return no_labels(len(self))
        stated = _stated(self.items)
        return None if stated is None else from_numbers(stated, self.where)


def _stated(items: Any) -> NDArray[Any] | None:
    """The labels of all items without reading these, in the ways in which torchvision and torch keep them."""
    inner, indices = getattr(items, "dataset", None), getattr(items, "indices", None)
    if inner is not None and isinstance(indices, Sequence | Tensor | np.ndarray):  # a torch.utils.data.Subset
        stated = _stated(inner)
        return None if stated is None else stated[as_array(indices)]
    for name in ("targets", "labels"):
        values = getattr(items, name, None)
        if isinstance(values, Sequence | Tensor | np.ndarray) and not isinstance(values, str):
            found = as_array(values)
            if found.shape == (len(items),) and found.dtype.kind in "iu":
                return found
    return None


def describe_items(items: Items, spec: DatasetSpec) -> DatasetSpec:
    """`spec` with the shape of the images, from some of them; the first is read twice.

    Raises:
        InputError: images of several sizes, or that cannot be converted, or that change from reading to reading.
    """
    images = [items.read(index)[0] for index in take(len(items), min(PROBE, len(items))).tolist()]
    _check_repeats(items, images[0])
    arrays = [image for image in images if not isinstance(image, Image.Image)]
    if arrays and len(arrays) < len(images):
        raise InputError(f"{items.source} holds PIL images and arrays: give one of them")
    if arrays:
        channels = len(arrays[0])
        sides = {image.shape[1:] for image in arrays}
        if len(sides) == 1 and len({image.shape for image in arrays}) == 1:
            check_values(np.stack(arrays), f"the images of {items.source}", items.where)
    else:
        modes = {image.mode for image in images if isinstance(image, Image.Image)}
        channels = channels_of(modes) or 3
        sides = {(image.height, image.width) for image in images if isinstance(image, Image.Image)}
    return with_shape(spec, channels, sides, items.source)


def _check_repeats(items: Items, first: Image.Image | NDArray[Any]) -> None:
    again = items.read(0)[0]
    if not np.array_equal(np.asarray(first), np.asarray(again), equal_nan=True):
        raise InputError(
            f"{items.where(0)} has other pixels each time it is read (random augmentation?); a certificate is about "
            "one image: leave random transforms out"
        )


class ItemImages(Images):
    """A split whose images are read from `Items` when they are asked for."""

    streams = True

    def __init__(
        self, spec: DatasetSpec, split: str, items: Items, device: Device = "cpu", chosen: Tensor | None = None
    ) -> None:
        """`chosen` (N,) are the items that are kept; None: all."""
        self.items = items
        self.chosen = torch.arange(len(items)) if chosen is None else chosen
        self._known: dict[int, int] = {}  # item -> label, of those that were read
        super().__init__(spec, split, None, device)

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def labelled(self) -> bool:
        return self.items.labelled and not (
            self.items.stated_labels is not None and bool((self.items.stated_labels == NO_LABEL).any())
        )

    @cached_property
    def labels(self) -> Tensor:  # type: ignore[override]
        """(N,) int64: as the data set states them, else read from every item."""
        return self.labels_at(torch.arange(len(self)))

    def labels_at(self, indices: Tensor) -> Tensor:
        wanted = self.chosen[indices.cpu()]
        if self.items.stated_labels is not None:
            return self.items.stated_labels[wanted]
        for index in wanted.tolist():
            if index not in self._known:
                self._known[index] = self.items.read(index)[1]
        found = torch.tensor([self._known[index] for index in wanted.tolist()], dtype=torch.int64)
        if bool((found == NO_LABEL).any()):
            index = int(wanted[int((found == NO_LABEL).nonzero()[0])])
            raise InputError(f"{self.items.where(index)} has the label -1: label_column='none' says there are none")
        return found

    def subset(self, indices: Tensor) -> ItemImages:
        return ItemImages(self.spec, self.split, self.items, self.device, self.chosen[indices.cpu()])

    def _labels(self, indices: Tensor) -> Tensor:
        return self.labels_at(indices).to(self.device)

    def _pixels(self, indices: Tensor, augment: Generator | None, place: Place | None = None) -> Tensor:
        return torch.stack([self._one(index) for index in self.chosen[indices.cpu()].tolist()]).to(self.device)

    def _one(self, index: int) -> Tensor:
        """The pixels (C, H, W) of one item, as `spec` says."""
        image, label = self.items.read(index)
        self._known[index] = label
        stated = self.items.stated_labels
        if stated is not None and int(stated[index]) not in (label, NO_LABEL):
            raise InputError(
                f"{self.items.where(index)} has the label {label}, and {int(stated[index])} in `targets`: mend these"
            )
        where = self.items.where(index)
        if isinstance(image, Image.Image):
            pixels = np.asarray(converted(image, self.spec.shape[0], where))
            array = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
        else:
            array = _in_range(image, where)
        array = fitted(array[None], self.spec.fit, lambda _: where)[0]
        if array.shape != self.spec.shape:
            raise InputError(f"{where} has the shape {array.shape}, and the first images {self.spec.shape}: {RESIZE}")
        return tensor(array).float() / 255 if array.dtype == np.uint8 else tensor(array)


def _in_range(image: NDArray[Any], where: str) -> NDArray[Any]:
    """One image as uint8 or float32. It may be nearly black, so that its own range says nothing but what is wrong."""
    if image.dtype == np.uint8:
        return image
    if image.dtype.kind == "f" and image.size and bool((image >= 0).all() and (image <= 1).all()):
        return image.astype(np.float32)
    checked: NDArray[Any] = check_values(image[None], f"the image of {where}", lambda _: where)[0]
    return checked


def from_object(source: Any, request: Request) -> Images:
    """The images that `source` holds, or gives one by one. What has no splits is the split that is asked for.

    Raises:
        InputError: it is no data set, or its images cannot be used.
    """
    if isinstance(source, tuple) and len(source) == 2:
        return from_arrays(source[0], source[1], "x", request)
    if isinstance(source, np.ndarray | Tensor):
        return from_arrays(source, None, "x", request)
    if isinstance(source, DataLoader):
        return _from_loader(source, request)
    called = f"the {type(source).__name__}"
    if isinstance(source, IterableDataset):
        return _gathered(source, called, request, batched=False)
    if hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, str | bytes | dict):
        return from_items(Items(source, called, request.columns), request)
    raise unknown_form(f"dataset={shown(repr(source))} is of the type {type(source).__name__}, which is no data set")


def from_items(items: Items, request: Request) -> ItemImages:
    """The images of `items`, which are read when they are asked for."""
    spec = describe_items(items, own(items.source, {request.called: len(items)}, None, request.fit))
    if items.stated_labels is not None:
        spec = replace(spec, classes=tuple(str(k) for k in range(int(items.stated_labels.max()) + 1)))
    return ItemImages(spec, request.called, items, request.device)


def _from_loader(loader: DataLoader[Any], request: Request) -> Images:
    """The data set behind a loader, in its own order; or what the loader gives, where it makes batches its own way."""
    streams = isinstance(loader.dataset, IterableDataset)
    usual = loader.collate_fn in (collate, convert)
    sampler = loader.sampler
    in_order = isinstance(sampler, SequentialSampler) or (
        usual and isinstance(sampler, RandomSampler) and len(sampler) == len(loader.dataset)  # type: ignore[arg-type]
    )
    if not streams and not in_order:
        raise InputError(
            f"the DataLoader draws with a {type(sampler).__name__}, so that its images have no fixed positions: use "
            "shuffle=False, and torch.utils.data.Subset for a part of the data"
        )
    if streams or not usual:
        return _gathered(loader, "the DataLoader", request, batched=loader.batch_size is not None)
    return from_object(loader.dataset, request)


def _gathered(source: Iterable[Any], name: str, request: Request, *, batched: bool) -> Images:
    """All that an iterable gives, in memory."""
    xs: list[Pixels] = []
    ys: list[Pixels] = []
    size = 0
    for number, item in enumerate(source):
        where = f"{'batch' if batched else 'item'} {number} of {name}"
        x, y = _parts(item, request.columns, where)
        if not isinstance(x, Tensor | np.ndarray):
            raise InputError(f"{where} is {shown(type(x).__name__)}; expected tensors (x, y) or x")
        xs.append(as_array(x) if batched else as_array(x)[None])
        ys += [] if y is None else [as_array(y) if batched else as_array(y).reshape(1)]
        size += xs[-1].nbytes
        if size > IN_MEMORY_BYTES:
            raise InputError(
                f"{name} gives more than {IN_MEMORY_BYTES:,} bytes: give a Dataset with __getitem__ instead"
            )
        if xs[-1].shape[1:] != xs[0].shape[1:] or xs[-1].dtype != xs[0].dtype or len(ys) not in (0, len(xs)):
            raise InputError(f"{name} gives images of several shapes or types, or only some with labels, at {number}")
    if not xs:
        raise InputError(f"no images in {name}")
    return from_arrays(np.concatenate(xs), np.concatenate(ys) if ys else None, name, request, source=name)


def _parts(item: Any, columns: ColumnNames, where: str) -> tuple[Any, Any]:
    """The image of an item, or the images of a batch, and the label; None if it has none."""
    if isinstance(item, Mapping):
        image, label = columns.find([str(key) for key in item], where)
        return item[image], None if label is None else item[label]
    if isinstance(item, list | tuple):
        if len(item) < 2:
            return (item[0] if item else None), None
        return item[0], None if columns.label == NONE else item[1]
    return item, None
