"""Data sets that give items one by one, such as torch's: images, pairs or mappings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from randsmooth.data.array_values import (
    Array,
    are_features,
    check_features,
    check_kind,
    check_values,
    fitted,
)
from randsmooth.data.arrays import as_array, from_arrays, images_first
from randsmooth.data.choosing import sample
from randsmooth.data.columns import NONE, ColumnNames
from randsmooth.data.dataset_spec import DatasetSpec, spec_of_own_data
from randsmooth.data.encoded import Source
from randsmooth.data.forms import unknown_form
from randsmooth.data.image_size import RESIZE, one_shape
from randsmooth.data.images import Images, StreamedImages
from randsmooth.data.labels import MOST_CLASSES, no_labels
from randsmooth.data.pixel_modes import as_pixels
from randsmooth.data.request import Request
from randsmooth.documents import shown
from randsmooth.errors import WrongData

# The functions by which a loader makes batches unless it is told otherwise: with batches, and
# without.
USUAL_COLLATION = (default_collate, default_convert)

# How many items are looked at before any is asked for.
SAMPLED_ITEMS = 32


class Items(Source):
    """The items of a data set.

    Each is an image, a pair of an image and a label, or a mapping with such columns.

    Attributes:
        items: they are read by their index.
        features: whether inputs are features, and no images.
    """

    threads = False

    def __init__(self, items: Any, name: str, columns: ColumnNames) -> None:
        """Look at the first items.

        Args:
            items: have a length, and are read by their index.
            name: the name for them in errors.
            columns: the columns of the image and the label, where items are mappings.

        Raises:
            WrongData: there are no items, or they are no images.
        """
        if not len(items):
            raise WrongData(f"no images in {name}")
        super().__init__(None, None, name)
        self.items = items
        self._columns = columns
        # The labels of the items that were read, since reading may take long.
        self._known_labels = dict[int, int]()

        first, label = self._parts(0)
        self.labelled = label is not None
        self.features = self._are_features(first)

    def __len__(self) -> int:
        return len(self.items)

    def where(self, index: int) -> str:
        return f"item {index} of {self.name}"

    def _are_features(self, first: Any) -> bool:
        """Return whether inputs such as the `first` are features, and no images."""
        if not isinstance(first, Tensor | np.ndarray) or first.ndim == 3:
            return False
        inputs = [self._parts(index)[0] for index in sample(len(self), SAMPLED_ITEMS)]
        arrays = [
            as_array(x, self.where(0))
            for x in inputs
            if getattr(x, "shape", None) == first.shape
        ]
        return are_features(np.stack(arrays))

    def _parts(self, index: int) -> tuple[Any, Any]:
        """Return the image of an item, and its label; None if it has none."""
        item = self.items[index]
        if isinstance(item, Mapping):
            names = [str(key) for key in item]
            image_name, label_name = self._columns.find(names, self.where(index))
            return item[image_name], None if label_name is None else item[label_name]
        if not isinstance(item, list | tuple):
            return item, None

        # A list may be empty, or hold the image alone.
        image = item[0] if len(item) > 0 else None
        has_label = len(item) > 1 and self._columns.label != NONE
        return image, item[1] if has_label else None

    def labels_at(self, indices: Tensor) -> Tensor:
        """Return the labels as the items have them, which are read for them."""
        if not self.labelled:
            return no_labels(len(indices))

        wanted = indices.tolist()
        for index in wanted:
            if index not in self._known_labels:
                self.item(index)
        labels = [self._known_labels[index] for index in wanted]
        return torch.tensor(labels, dtype=torch.int64)

    def item(self, index: int) -> Array:
        """Return the pixels (C, H, W) of one item, or its features.

        The item's label is kept, so that `labels_at` need not read the item again.

        Raises:
            WrongData: it holds no image, no such features, or no label.
        """
        image, label = self._parts(index)
        where = self.where(index)
        if self.labelled:
            self._known_labels[index] = _label(label, where)
        if isinstance(image, Image.Image):
            return as_pixels(image, where)
        if not isinstance(image, Tensor | np.ndarray):
            raise WrongData(
                f"{where} holds a {type(image).__name__}; expected a tensor, an array "
                "or a PIL image"
            )

        array = as_array(image, where)
        if array.dtype.kind not in "biuf":
            raise WrongData(
                f"{where} holds an array of {array.dtype}; expected numbers of one "
                "shape"
            )
        if self.features:
            return array
        # An array with two axes is one grey image. As a batch it has three, which only the
        # number of images tells from a single image in colour.
        total = 1 if array.ndim == 2 else None
        pixels: Array = images_first(array[None], where, total)[0]
        return pixels

    def read(
        self, index: int, spec: DatasetSpec, draws: Sequence[float] | None = None
    ) -> NDArray[np.float32]:
        """Return the pixels (C, H, W) of one item in [0, 1], or its features.

        Raises:
            WrongData: they cannot be used, or have another shape than the first ones.
        """
        item = self.item(index)
        where = self.where(index)
        if self.features:
            array: Array = check_features(item[None], where, lambda _: where)[0]
            fits = array.shape == spec.shape
        else:
            array = _pixels(item, spec, where)
            # A grey image among ones in colour gets their channels.
            fits = array.shape in (spec.shape, (1, *spec.shape[1:]))
        if not fits:
            way_out = "give one shape" if self.features else f"convert it, or {RESIZE}"
            raise WrongData(
                f"{where} has the shape {array.shape}, and the first {spec.shape}",
                fix=way_out,
            )

        whole = np.broadcast_to(array, spec.shape)
        values: NDArray[np.float32] = whole.astype(np.float32, order="C")
        return values / np.float32(255) if array.dtype == np.uint8 else values


def _pixels(item: Array, spec: DatasetSpec, where: str) -> Array:
    """Return pixels (C, H, W) as uint8 or float32 in [0, 1], resized and cropped.

    The range of one image says little, since it may be nearly black. So `check_values`,
    which looks for wrong scaling, is asked only where pixels are neither uint8 nor in [0, 1].
    """
    in_unit_range = item.dtype.kind == "f" and bool(((item >= 0) & (item <= 1)).all())
    if item.dtype != np.uint8 and not in_unit_range:
        item = check_values(item[None], f"the image of {where}", lambda _: where)[0]
    if item.dtype != np.uint8:
        item = item.astype(np.float32)
    pixels: Array = fitted(item[None], spec.fit, lambda _: where)[0]
    return pixels


def _label(label: Any, where: str) -> int:
    """Return the label of an item as a number.

    Raises:
        WrongData: it is missing, or no whole number from 0 on.
    """
    if label is None:
        raise _no_label("no label, unlike the first item", where)
    array = as_array(label, f"the label of {where}")
    is_whole = array.size == 1 and array.dtype.kind in "iu"
    if not is_whole or not 0 <= int(array.item()) < MOST_CLASSES:
        raise _no_label(f"the label {shown(repr(label))}", where)
    return int(array.item())


def _no_label(what: str, where: str) -> WrongData:
    """Return the problem of an item that has `what` in place of a label."""
    return WrongData(
        f"{where} has {what}; expected a whole number, or label_column='none' for images "
        "without labels"
    )


def from_items(items: Items, request: Request) -> StreamedImages:
    """Return the images of `items`, which are read when they are asked for.

    At most SAMPLED_ITEMS of them are looked at now, and the first one twice.

    Raises:
        WrongData: images have several sizes, cannot be converted, or differ each time they
            are read.
    """
    images = [items.item(index) for index in sample(len(items), SAMPLED_ITEMS)]
    if not np.array_equal(images[0], items.item(0), equal_nan=True):
        raise WrongData(
            f"{items.where(0)} has other pixels each time it is read",
            fix="leave random transforms out",
        )

    shape: tuple[int, ...]
    if items.features:
        shape = images[0].shape
        check_kind((len(items), *shape), items.name, as_features=True, fit=request.fit)
    else:
        # The range of all these images together shows how they were scaled.
        if len({image.shape for image in images}) == 1:
            check_values(np.stack(images), f"the images of {items.name}", items.where)
        channels = max(len(image) for image in images)
        sides = {(image.shape[1], image.shape[2]) for image in images}
        shape = one_shape(channels, sides, request.fit, items.name)
    spec = spec_of_own_data(
        items.name,
        {request.called: len(items)},
        shape,
        (),
        named=False,
        fit=request.fit,
    )
    return StreamedImages(spec, request.called, items, request.device)


def from_object(source: Any, request: Request) -> Images:
    """Return the images in an array, a torch Dataset or DataLoader, or a sequence.

    Such data have no splits: they are given as the split that is asked for.

    Raises:
        Problem: `source` is no data set, or its images cannot be used.
    """
    if isinstance(source, tuple) and len(source) == 2:
        x, y = source
        return from_arrays(x, y, "x", request)
    # Sparse matrices have `toarray`: `from_arrays` refuses them with advice.
    if isinstance(source, np.ndarray | Tensor) or hasattr(source, "toarray"):
        return from_arrays(source, None, "x", request)

    called = f"the {type(source).__name__}"
    if isinstance(source, DataLoader):
        _check_gives_all(source, called)
        return from_object(source.dataset, request)
    gives_items = hasattr(source, "__getitem__") and hasattr(source, "__len__")
    if gives_items and not isinstance(source, str | bytes | dict):
        return from_items(Items(source, called, request.columns), request)
    raise unknown_form(
        f"dataset={shown(repr(source))} is of the type {type(source).__name__}, "
        "which is not a data set"
    )


def _check_gives_all(loader: DataLoader[Any], called: str) -> None:
    """Raise WrongData where a loader gives other items than its data set has.

    Its data set is read in its place, since a loader cannot give an item by its index.
    """
    gives_all = (
        isinstance(loader.sampler, SequentialSampler | RandomSampler)
        and len(loader.sampler) == len(loader.dataset)  # type: ignore[arg-type]
        and loader.collate_fn in USUAL_COLLATION
    )
    if not gives_all:
        raise WrongData(
            f"{called} chooses items, or has a collate_fn of its own",
            fix="give a Dataset of its items",
        )
