"""Data sets that give one item at a time, such as torch's: read when their images are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Generator, Tensor

from randsmooth.data.arrays import as_array, check_values, fitted, one_image, tensor
from randsmooth.data.augment import Place
from randsmooth.data.columns import ColumnNames
from randsmooth.data.conversion import channels_of, converted, upright
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.decode import RESIZE
from randsmooth.data.encoded import MOST_CLASSES, NO_LABEL
from randsmooth.data.images import Images
from randsmooth.data.infer import with_shape
from randsmooth.data.labels import from_numbers, no_labels
from randsmooth.data.subset import take
from randsmooth.documents import shown
from randsmooth.errors import InputError

PROBE = 32  # items that are looked at before the others are asked for


class Sized(Protocol):
    """What `torch.utils.data.Dataset` and lists have in common."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


class Items:
    """The items of a data set: images, or pairs of an image and a label, or mappings with such columns.

    Attributes:
        source: what to call it in errors.
        labelled: whether the items have labels.
    """

    def __init__(self, items: Sized, source: str, columns: ColumnNames) -> None:
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
        """The image of an item and its label; None if it has none."""
        item = self.items[index]
        if isinstance(item, Mapping):
            image, label = self._columns.find([str(key) for key in item], self.where(index))
            return item[image], None if label is None else item[label]
        if isinstance(item, list | tuple):
            if len(item) < 2:
                return (item[0] if item else None), None
            return item[0], None if self._columns.label == "none" else item[1]
        return item, None

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
        self,
        spec: DatasetSpec,
        split: str,
        items: Items,
        device: torch.device | str = "cpu",
        chosen: Tensor | None = None,
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
