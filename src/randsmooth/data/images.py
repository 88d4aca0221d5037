"""A split that gives batches: held in memory, or decoded when needed; and which of its images are chosen."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from randsmooth.data.dataset_spec import DatasetSpec, Fit
from randsmooth.data.decode import Source, crop_draws
from randsmooth.data.labels import NO_LABEL, USUAL, ColumnNames
from randsmooth.errors import BadValue

# Batches that a streamed split decodes before they are asked for.
AHEAD = 3

PADDING = 4  # black pixels a side, of which random crops take some


class Draws(NamedTuple):
    """The random numbers of an augmentation: drawn for a batch of `total`, whose images from `first` on are at hand.

    So an image's do not depend on how the batch is divided. `total` None: all images are at hand.

    Example:
        >>> from randsmooth.data import load
        >>> images, draws = load("digits"), Draws(torch.Generator().manual_seed(0))
        >>> images.batch([0, 1], draws)[0].shape
        torch.Size([2, 1, 8, 8])
    """

    generator: Generator
    first: int = 0
    total: int | None = None

    def of(self, batch: int) -> tuple[int, slice]:
        """For how many images to draw, and which of these `batch` images at hand are."""
        return self.total or batch, slice(self.first, self.first + batch)


def augmented(x: Tensor, kind: str, draws: Draws) -> Tensor:
    """The batch `x` (B, C, H, W) after the augmentation `kind` of a data set, in the same shape and dtype.

    "random-resized-crop-flip" is done while images are decoded (`random_resized_crop`); here it leaves `x` as it is.
    """
    if kind in ("crop", "crop-flip"):
        x = random_crop(x, draws)
    return random_flip(x, draws) if kind == "crop-flip" else x


def random_crop(x: Tensor, draws: Draws) -> Tensor:
    """Pad each image of `x` (B, C, H, W) with 4 black pixels a side, then cut H x W at a random place."""
    total, here = draws.of(len(x))
    corner = torch.randint(
        0,
        2 * PADDING + 1,
        (2, total),
        generator=draws.generator,
        device=draws.generator.device,
    )
    top, left = corner[:, here].to(x.device)
    windows = (
        pad(x, (PADDING,) * 4).unfold(2, x.shape[2], 1).unfold(3, x.shape[3], 1)
    )  # (B, C, 9, 9, H, W), a view
    return windows[torch.arange(len(x), device=x.device), :, top, left].contiguous()


def random_flip(x: Tensor, draws: Draws) -> Tensor:
    """Mirror each image of `x` (B, C, H, W) left to right with probability 1/2."""
    total, here = draws.of(len(x))
    mirrored = (
        torch.rand(total, generator=draws.generator, device=draws.generator.device)[
            here
        ]
        < 0.5
    )
    return torch.where(mirrored.to(x.device)[:, None, None, None], x.flip(-1), x)


Batch = tuple[Tensor, Tensor]
Device = torch.device | str
DrawsFor = Callable[[int], Draws | None]


class Images(ABC):
    """The images of one split, as `load` gives them.

    Attributes:
        spec: the data set.
        split: "train", "validation" or "test".
        labels: (N,) int64, on the CPU; -1 throughout where the images have none.
        device: where batches are.
        streams: whether images are decoded when they are asked for, instead of being held in memory.

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
        self.spec, self.split, self.device = spec, split, torch.device(device)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def labelled(self) -> bool:
        """Whether the images have labels."""
        return not bool((self.labels == NO_LABEL).any())

    def labels_at(self, indices: Tensor) -> Tensor:
        """The labels (B,) of the images at `indices` (B,), on the CPU."""
        return self.labels[indices.cpu()]

    def name_of(self, index: int) -> str:
        """What to call image `index`: its file, where it has one of its own, else its position."""
        return f"{self.spec.name}[{index}]"

    def batch(
        self, indices: Tensor | Sequence[int], augment: Draws | None = None
    ) -> Batch:
        """x (B, C, H, W) float32 in [0, 1] and y (B,) int64 of the images at `indices` (B,), from 0 on.

        `augment` is what the training augmentation of the data set is drawn from; None: no augmentation.
        """
        indices = torch.as_tensor(indices, dtype=torch.long)
        x, y = self._pixels(indices, augment), self._labels(indices)
        if augment is not None:
            x = augmented(x, self.spec.augment, augment)
        return (x.float().div_(255) if x.dtype == torch.uint8 else x), y

    def batches(
        self, chosen: Iterable[Tensor], augment_for: DrawsFor | None = None
    ) -> Iterator[Batch]:
        """`batch` of each of `chosen` in turn; the k-th is augmented by `augment_for(k)`.

        Each batch needs a generator of its own, since a streamed split decodes several batches at the same time.
        """
        for k, indices in enumerate(chosen):
            yield self.batch(indices, augment_for and augment_for(k))

    @abstractmethod
    def to(self, device: Device) -> Images:
        """The same images, with batches on `device`."""

    @abstractmethod
    def in_classes(self, classes: Sequence[str]) -> Images:
        """The same images, whose labels are places among `classes`, of which theirs are some."""

    @abstractmethod
    def subset(self, indices: Tensor) -> Images:
        """Only the images at `indices`, in their order."""

    def _labels(self, indices: Tensor) -> Tensor:
        return self.labels_at(indices).to(self.device)

    @abstractmethod
    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        """The images at `indices` (B,) on the device: (B, C, H, W) uint8, or float32 in [0, 1]; not shared."""


class TensorImages(Images):
    """A split that is held in one tensor on the device.

    Example:
        >>> from randsmooth.data import DATASETS
        >>> pixels = torch.full((4, 1, 8, 8), 255, dtype=torch.uint8)
        >>> white = TensorImages(DATASETS["digits"], "test", pixels, torch.tensor([0, 1, 2, 3]))
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
        """`pixels` are (N, C, H, W) uint8, or float32 in [0, 1]; `labels` (N,) int64, all -1 if there are none."""
        super().__init__(spec, split, device)
        self.labels, self.pixels = labels, pixels.to(self.device)
        self._labels_there = labels.to(
            self.device
        )  # so that indices on the device are not waited for

    def to(self, device: Device) -> TensorImages:
        return TensorImages(self.spec, self.split, self.pixels, self.labels, device)

    def in_classes(self, classes: Sequence[str]) -> TensorImages:
        labels = renumbered(self.labels, self.spec.classes, classes)
        return TensorImages(
            replace(self.spec, classes=tuple(classes)),
            self.split,
            self.pixels,
            labels,
            self.device,
        )

    def subset(self, indices: Tensor) -> TensorImages:
        pixels = self.pixels[indices.to(self.device)]
        return TensorImages(
            self.spec, self.split, pixels, self.labels[indices.cpu()], self.device
        )

    def _labels(self, indices: Tensor) -> Tensor:
        return self._labels_there[indices.to(self.device)]

    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        return self.pixels[indices.to(self.device)]


class StreamedImages(Images):
    """A split that stays on disk; a pool of threads decodes each batch.

    Example:
        >>> import tempfile
        >>> from dataclasses import replace
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from randsmooth.data import DATASETS
        >>> from randsmooth.data.folders import image_folder
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("cat", "dog"):
        ...         Path(folder, name).mkdir()
        ...         Image.new("RGB", (300, 260)).save(Path(folder, name, "1.png"))
        ...     encoded = image_folder(Path(folder), ("cat", "dog"))
        ...     x, y = StreamedImages(DATASETS["imagenet"], "test", encoded).batch(torch.tensor([1]))
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
    ) -> None:
        """`chosen` (N,) are the images of `source` that are kept; None: all."""
        super().__init__(spec, split, device)
        self.source = source
        self.chosen = torch.arange(len(source)) if chosen is None else chosen

    def __len__(self) -> int:
        return len(self.chosen)

    @cached_property
    def labels(self) -> Tensor:  # type: ignore[override]
        return self.labels_at(torch.arange(len(self)))

    @property
    def labelled(self) -> bool:
        return self.source.labelled

    def labels_at(self, indices: Tensor) -> Tensor:
        return self.source.labels_at(self.chosen[indices.cpu()])

    def name_of(self, index: int) -> str:
        place = int(self.chosen[index])
        return self.source.file_of(place) or super().name_of(place)

    def to(self, device: Device) -> StreamedImages:
        return StreamedImages(self.spec, self.split, self.source, device, self.chosen)

    def in_classes(self, classes: Sequence[str]) -> StreamedImages:
        source = copy.copy(self.source)
        source.labels = renumbered(self.source.labels, self.spec.classes, classes)
        spec = replace(self.spec, classes=tuple(classes))
        return StreamedImages(spec, self.split, source, self.device, self.chosen)

    def subset(self, indices: Tensor) -> StreamedImages:
        return StreamedImages(
            self.spec, self.split, self.source, self.device, self.chosen[indices.cpu()]
        )

    def batches(
        self, chosen: Iterable[Tensor], augment_for: DrawsFor | None = None
    ) -> Iterator[Batch]:
        """As of `Images`; up to 3 batches are decoded ahead by a background thread."""
        if not self.source.threads:
            yield from super().batches(chosen, augment_for)
            return
        ahead, pending = ThreadPoolExecutor(1), deque[Future[Batch]]()
        try:
            for k, indices in enumerate(chosen):
                pending.append(
                    ahead.submit(self.batch, indices, augment_for and augment_for(k))
                )
                if len(pending) > AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # also when the caller stops early
            ahead.shutdown(cancel_futures=True)

    def _pixels(self, indices: Tensor, augment: Draws | None) -> Tensor:
        wanted, draws = self.chosen[indices.cpu()], None
        if augment is not None and self.spec.augment == "random-resized-crop-flip":
            total, here = augment.of(len(wanted))
            draws = crop_draws(total, augment.generator)[here]
        return self.source.read_many(wanted, self.spec, draws).to(self.device)


@dataclass(frozen=True)
class Request:
    """What is asked of a data set: the arguments of `data.load`, and what its name says.

    Attributes:
        split: which is asked for; None: "train", or the one there is.
        whole: the split that the name of a folder or file says, which has no other.
    """

    split: str | None
    columns: ColumnNames = USUAL
    fit: Fit | None = None
    device: Device = "cpu"
    stream: bool = False
    categories: bool = False
    whole: str | None = None

    @property
    def called(self) -> str:
        """What a data set without splits is taken for."""
        return self.whole or self.split or "train"


def guessing(labels: Tensor, classes: int) -> float:
    """Return the accuracy of an answer that is always the most frequent of `labels`.

    Where they are of one class only, nobody could do better: then it is 1 / K, of an
    answer by chance.

    Args:
        labels: (N,) int64, from 0 on.
        classes: K, of which the answer is one.

    Example:
        >>> guessing(torch.tensor([0, 0, 0, 1]), 2), guessing(torch.tensor([3, 3]), 10)
        (0.75, 0.1)
    """
    counts = labels.bincount()
    if int((counts > 0).sum()) == 1:
        return 1.0 / classes
    return int(counts.max()) / len(labels)


def numbered(labels: Tensor) -> tuple[str, ...]:
    """Class names for labels without names: "0", "1", ... up to the largest label; none without labels."""
    return tuple(str(k) for k in range(int(labels.max()) + 1))


def renumbered(labels: Tensor, classes: Sequence[str], others: Sequence[str]) -> Tensor:
    """Labels (N,) of `classes` as places among `others`, which has the same names and perhaps more.

    Example:
        >>> renumbered(torch.tensor([1, 0, NO_LABEL]), ["ant", "cat"], ["ant", "bee", "cat"]).tolist()
        [2, 0, -1]
    """
    places = torch.tensor([list(others).index(name) for name in classes] + [NO_LABEL])
    return places[labels]  # NO_LABEL, which is -1, is the last of them


def take(total: int, n: int) -> Tensor:
    """`n` indices spread evenly over 0..total-1: floor(i * total / n), (n,) int64.

    Raises:
        Problem: unless 1 <= n <= total.

    Example:
        >>> take(10, 4).tolist()
        [0, 2, 5, 7]
    """
    if not 1 <= n <= total:
        raise BadValue(
            f"cannot take {n} of {total} images: give a number from 1 to {total}"
        )
    return torch.arange(n) * total // n


def skip(total: int, every: int) -> Tensor:
    """The indices 0, every, 2 * every, ... below `total`, int64; the literature certifies every 20th CIFAR-10 image.

    Raises:
        Problem: unless every >= 1.

    Example:
        >>> skip(10, 4).tolist()
        [0, 4, 8]
    """
    if every < 1:
        raise BadValue(f"cannot keep every {every}-th image: give a step of 1 or more")
    return torch.arange(0, total, every)
