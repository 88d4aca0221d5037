"""A split that gives batches of images, held in memory or decoded when they are asked for."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from randsmooth.data.augmentation import Draws, augmented
from randsmooth.data.cropping import crop_draws
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.encoded import Source
from randsmooth.data.labels import NO_LABEL, renumbered
from randsmooth.data.request import Device

# How many batches a streamed split decodes before they are asked for.
BATCHES_AHEAD = 3

# Images and their labels.
Batch = tuple[Tensor, Tensor]
# A function that returns the random numbers by which the k-th batch is augmented; None: the
# batch is not augmented.
DrawsFor = Callable[[int], Draws | None]


class Images(ABC):
    """The images of one split, as `load` gives them.

    Attributes:
        spec: the data set.
        split: "train", "validation" or "test".
        labels: (N,) int64, on the CPU; -1 throughout where the images have none.
        device: where batches are.
        streams: whether images are decoded when they are asked for, instead of being
            held in memory.

    Example:
        >>> from randsmooth.data import load
        >>> images = load("digits", "test")
        >>> len(images), images.labels[:3].tolist()
        (364, [0, 1, 2])
        >>> x, y = images.batch(torch.tensor([0, 1]))
        >>> x.shape, x.dtype, y.tolist()
        (torch.Size([2, 1, 8, 8]), torch.float32, [0, 1])
    """

    streams: bool
    labels: Tensor

    def __init__(self, spec: DatasetSpec, split: str, device: Device) -> None:
        self.spec = spec
        self.split = split
        self.device = torch.device(device)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def labelled(self) -> bool:
        """Whether the images have labels."""
        return not bool((self.labels == NO_LABEL).any())

    def labels_at(self, indices: Tensor) -> Tensor:
        """Return the labels (B,) of the images at `indices` (B,), on the CPU."""
        return self.labels[indices.cpu()]

    def name_of(self, index: int) -> str:
        """Return the name of an image: its file, if it has one to itself, or its index."""
        return f"{self.spec.name}[{index}]"

    def batch(
        self, indices: Tensor | Sequence[int], augment: Draws | None = None
    ) -> Batch:
        """Return the images and labels at `indices` (B,), which count from 0.

        Args:
            indices: the indices of the images.
            augment: the random numbers of the training augmentation of the data set; None:
                no augmentation.

        Returns:
            x (B, C, H, W) float32 in [0, 1], and y (B,) int64, both on the device.
        """
        indices = torch.as_tensor(indices, dtype=torch.long)
        x = self._pixels(indices, augment)
        y = self._labels(indices)
        if augment is not None:
            x = augmented(x, self.spec.augment, augment)
        if x.dtype == torch.uint8:
            x = x.float().div_(255)
        return x, y

    def batches(
        self, chosen: Iterable[Tensor], augment_for: DrawsFor | None = None
    ) -> Iterator[Batch]:
        """Yield the batch of each of `chosen`, as `batch` returns it.

        Args:
            chosen: for each batch, the indices (B,) of its images.
            augment_for: returns the random numbers of the k-th batch. Each batch needs a
                generator of its own, since a streamed split decodes batches ahead.
        """
        for k, indices in enumerate(chosen):
            yield self.batch(indices, _draws(augment_for, k))

    @abstractmethod
    def to(self, device: Device) -> Images:
        """Return the same images, with batches on `device`."""

    @abstractmethod
    def in_classes(self, classes: Sequence[str]) -> Images:
        """Return the same images, with labels that number `classes`.

        Args:
            classes: the names of their classes, and perhaps more, in any order.
        """

    @abstractmethod
    def subset(self, indices: Tensor) -> Images:
        """Return only the images at `indices`, in their order."""

    @abstractmethod
    def relabelled(self, labels: Tensor, classes: Sequence[str] = ()) -> Images:
        """Return the same images with other labels, such as numbers of experts.

        Args:
            labels: (N,) int64; all -1 for images without labels.
            classes: the names that they number; none where they are numbers alone.
        """

    def _labels(self, indices: Tensor) -> Tensor:
        """Return the labels (B,) of the images at `indices` (B,), on the device."""
        return self.labels_at(indices).to(self.device)

    @abstractmethod
    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        """Return the images at `indices` (B,) on the device, in memory of their own.

        They are (B, C, H, W) uint8, or float32 in [0, 1]. A random resized crop is done
        here, since it belongs to decoding; `batch` does all other augmentations.
        """


def with_classes(spec: DatasetSpec, classes: Sequence[str]) -> DatasetSpec:
    """Return the spec of the same images with other classes, none for unknown ones."""
    return replace(spec, classes=tuple(classes), open_ended=not classes)


def _draws(augment_for: DrawsFor | None, k: int) -> Draws | None:
    """Return the random numbers of the k-th batch; None for no augmentation."""
    return None if augment_for is None else augment_for(k)


class TensorImages(Images):
    """A split that is held in one tensor on the device.

    Example:
        >>> from randsmooth.data import DATASETS
        >>> pixels = torch.full((4, 1, 8, 8), 255, dtype=torch.uint8)
        >>> labels = torch.tensor([0, 1, 2, 3])
        >>> white = TensorImages(DATASETS["digits"], "test", pixels, labels)
        >>> x, y = white.subset(torch.tensor([2, 3])).batch(torch.tensor([0]))
        >>> float(x.min()), y.tolist()
        (1.0, [2])
    """

    streams = False

    def __init__(
        self,
        spec: DatasetSpec,
        split: str,
        pixels: Tensor,
        labels: Tensor,
        device: Device = "cpu",
    ) -> None:
        """Hold a split.

        Args:
            spec: the data set.
            split: "train", "validation" or "test".
            pixels: (N, C, H, W) uint8, or float32 in [0, 1].
            labels: (N,) int64, all -1 if there are none.
            device: where batches are to be.
        """
        super().__init__(spec, split, device)
        self.pixels = pixels.to(self.device)
        self.labels = labels
        # A copy on the device. Indices that are on the device need not be brought to the
        # CPU to look labels up, which would wait for all earlier work.
        self._labels_on_device = labels.to(self.device)

    def to(self, device: Device) -> TensorImages:
        return TensorImages(self.spec, self.split, self.pixels, self.labels, device)

    def in_classes(self, classes: Sequence[str]) -> TensorImages:
        spec = replace(self.spec, classes=tuple(classes))
        labels = renumbered(self.labels, self.spec.classes, classes)
        return TensorImages(spec, self.split, self.pixels, labels, self.device)

    def relabelled(self, labels: Tensor, classes: Sequence[str] = ()) -> TensorImages:
        spec = with_classes(self.spec, classes)
        return TensorImages(spec, self.split, self.pixels, labels, self.device)

    def subset(self, indices: Tensor) -> TensorImages:
        pixels = self.pixels[indices.to(self.device)]
        labels = self.labels[indices.cpu()]
        return TensorImages(self.spec, self.split, pixels, labels, self.device)

    def _labels(self, indices: Tensor) -> Tensor:
        return self._labels_on_device[indices.to(self.device)]

    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        return self.pixels[indices.to(self.device)]


class StreamedImages(Images):
    """A split that stays on disk; a pool of threads decodes each batch.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from randsmooth.data import DATASETS
        >>> from randsmooth.data.folders import image_folder
        >>> imagenet = DATASETS["imagenet"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("cat", "dog"):
        ...         Path(folder, name).mkdir()
        ...         Image.new("RGB", (300, 260)).save(Path(folder, name, "1.png"))
        ...     encoded = image_folder(Path(folder), ("cat", "dog"))
        ...     x, y = StreamedImages(imagenet, "test", encoded).batch([1])
        >>> x.shape, y.tolist()
        (torch.Size([1, 3, 224, 224]), [1])
    """

    streams = True

    def __init__(
        self,
        spec: DatasetSpec,
        split: str,
        source: Source,
        device: Device = "cpu",
        chosen: Tensor | None = None,
        own_labels: Tensor | None = None,
    ) -> None:
        """Stream a split.

        Args:
            spec: the data set.
            split: "train", "validation" or "test".
            source: where its images lie.
            device: where batches are to be.
            chosen: (N,) which of the images of `source` are kept; None: all.
            own_labels: (N,) labels in place of those of `source`; None: those.
        """
        super().__init__(spec, split, device)
        self.source = source
        self.chosen = torch.arange(len(source)) if chosen is None else chosen
        self.own_labels = own_labels

    def __len__(self) -> int:
        return len(self.chosen)

    # Reading all labels may mean opening all items, so it is done when they are needed.
    @cached_property
    def labels(self) -> Tensor:  # type: ignore[override]
        return self.labels_at(torch.arange(len(self)))

    @property
    def labelled(self) -> bool:
        if self.own_labels is not None:
            return not bool((self.own_labels == NO_LABEL).any())
        return self.source.labelled

    def labels_at(self, indices: Tensor) -> Tensor:
        if self.own_labels is not None:
            return self.own_labels[indices.cpu()]
        return self.source.labels_at(self.chosen[indices.cpu()])

    def name_of(self, index: int) -> str:
        index_in_source = int(self.chosen[index])
        return self.source.file_of(index_in_source) or super().name_of(index_in_source)

    def to(self, device: Device) -> StreamedImages:
        return self._like(self.chosen, self.own_labels, device=device)

    def relabelled(self, labels: Tensor, classes: Sequence[str] = ()) -> StreamedImages:
        spec = with_classes(self.spec, classes)
        return StreamedImages(
            spec, self.split, self.source, self.device, self.chosen, labels
        )

    def _like(
        self, chosen: Tensor, own_labels: Tensor | None, device: Device | None = None
    ) -> StreamedImages:
        """Return `chosen` images of the same source, with labels of their own or its."""
        device = self.device if device is None else device
        return StreamedImages(
            self.spec, self.split, self.source, device, chosen, own_labels
        )

    def in_classes(self, classes: Sequence[str]) -> StreamedImages:
        if self.own_labels is not None:
            labels = renumbered(self.own_labels, self.spec.classes, classes)
            return self.relabelled(labels, classes)
        # The same source with other labels: a copy shares the images.
        source = copy.copy(self.source)
        source.labels = renumbered(self.source.labels, self.spec.classes, classes)
        spec = replace(self.spec, classes=tuple(classes))
        return StreamedImages(spec, self.split, source, self.device, self.chosen)

    def subset(self, indices: Tensor) -> StreamedImages:
        own_labels = self.own_labels
        if own_labels is not None:
            own_labels = own_labels[indices.cpu()]
        return self._like(self.chosen[indices.cpu()], own_labels)

    def batches(
        self, chosen: Iterable[Tensor], augment_for: DrawsFor | None = None
    ) -> Iterator[Batch]:
        """Yield batches as `Images` does, while a background thread decodes the next ones."""
        # A user's own data set may not be safe to be read by another thread.
        if not self.source.threads:
            yield from super().batches(chosen, augment_for)
            return

        # One thread for batches, so that they are decoded in turn. Within a batch, the
        # source has threads of its own.
        decoder = ThreadPoolExecutor(max_workers=1)
        pending = deque[Future[Batch]]()
        try:
            for k, indices in enumerate(chosen):
                draws = _draws(augment_for, k)
                pending.append(decoder.submit(self.batch, indices, draws))
                if len(pending) > BATCHES_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            # The caller may have stopped early: batches that were not begun are dropped.
            decoder.shutdown(cancel_futures=True)

    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        wanted = self.chosen[indices.cpu()]
        draws = None
        if augment is not None and self.spec.augment == "random-resized-crop-flip":
            # Numbers are drawn for the whole batch, and those of the images at hand used.
            total, at_hand = augment.of(len(wanted))
            draws = crop_draws(total, augment.generator)[at_hand]
        return self.source.read_many(wanted, self.spec, draws).to(self.device)
