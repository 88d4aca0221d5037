"""A split of images that stay where they lie, and are read when they are asked for."""

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.decode import decode, opened
from randsmooth.data.labels import NO_LABEL, Classes
from randsmooth.errors import WrongData

# How many images a thread decodes before it asks for more. With so many, the asking costs
# little, even for small PNGs.
IMAGES_AT_A_TIME = 16

# The name of each image in errors: its file, or a text.
Names = Sequence[Path | str]

# A function that returns the bytes of the image with an index, or the file that holds them;
# None: there are none.
Content = Callable[[int], bytes | Path | None]


class Source(ABC):
    """The images of a split where they lie, read when they are asked for.

    Attributes:
        classes: the class names that the data themselves give; None where they only
            number the classes.
        alphabetical: whether the classes are in the order of the alphabet, only because
            the data give them no other order.
        name: the name for the split in errors.
        names: the names of the images in errors, besides their indices, such as their
            files; empty where they have none.
        threads: whether several threads may read at the same time.
        labelled: whether the images have labels.
    """

    threads = True
    labelled = True
    alphabetical = False

    def __init__(
        self, labels: Tensor | None, classes: Classes, name: str, names: Names = ()
    ) -> None:
        """Make a source.

        Args:
            labels: (N,), NO_LABEL throughout for images without labels; None: the subclass
                finds labels by itself, one by one.
            classes: see the attribute of this class.
            name: see the attribute.
            names: see the attribute.
        """
        self.classes = classes
        self.name = name
        self.names = names
        if labels is not None:
            self.labels = labels
            self.labelled = not bool((labels == NO_LABEL).any())

    def __len__(self) -> int:
        return len(self.labels)

    def labels_at(self, indices: Tensor) -> Tensor:
        """Return the labels (B,) of the images at `indices` (B,)."""
        return self.labels[indices]

    def where(self, index: int) -> str:
        """Return the name for image `index` in an error."""
        if self.names:
            return f"image {index} ({self.names[index]})"
        return f"image {index} of {self.name}"

    def file_of(self, index: int) -> str | None:
        """Return the file of image `index`, where it has one of its own."""
        if not self.names or not isinstance(self.names[index], Path):
            return None
        return str(self.names[index])

    @abstractmethod
    def read(
        self, index: int, spec: DatasetSpec, draws: Sequence[float] | None = None
    ) -> NDArray[Any]:
        """Return the pixels (C, H, W) of one image as `spec` says.

        Args:
            index: the index of the image.
            spec: the spec of the data set.
            draws: the uniform numbers of a random resized crop, as `crop_draws` gives
                them.

        Returns:
            uint8, or float32 in [0, 1] where `threads` is False.
        """

    def read_many(
        self,
        indices: Tensor,
        spec: DatasetSpec,
        draws: Sequence[Sequence[float]] | None = None,
    ) -> Tensor:
        """Return the images (B, C, H, W) at `indices` (B,), read by a pool of threads.

        Raises:
            Problem: an image cannot be used; the message names the first such image by
                its index.
        """
        wanted = indices.tolist()
        if not self.threads:
            arrays = [self.read(index, spec) for index in wanted]
            return torch.stack([torch.from_numpy(array) for array in arrays])

        pixels = np.empty((len(wanted), *spec.shape), dtype=np.uint8)

        def read_some(start: int) -> None:
            indices = wanted[start : start + IMAGES_AT_A_TIME]
            for row, index in enumerate(indices, start):
                own_draws = None if draws is None else draws[row]
                pixels[row] = self.read(index, spec, own_draws)

        starts = range(0, len(wanted), IMAGES_AT_A_TIME)
        with ThreadPoolExecutor() as pool:
            # The loop waits for all threads. It raises what one of them raised, and drops
            # what was not begun.
            for _ in pool.map(read_some, starts):
                pass
        return torch.from_numpy(pixels)


class Encoded(Source):
    """A split of compressed images."""

    def __init__(
        self,
        labels: Tensor,
        classes: Classes,
        name: str,
        content: Content,
        names: Names = (),
        *,
        alphabetical: bool = False,
    ) -> None:
        """Make a source of compressed images.

        Args:
            labels: (N,).
            classes: see the attribute of this class.
            name: see the attribute.
            content: gives the bytes of each image, or its file.
            names: see the attribute.
            alphabetical: see the attribute.
        """
        super().__init__(labels, classes, name, names)
        self.content = content
        self.alphabetical = alphabetical

    def open(self, index: int) -> IO[bytes]:
        """Return the compressed bytes of image `index`, to read from."""
        content = self.content(index)
        if content is None:
            raise WrongData(
                f"{self.where(index)} has no bytes",
                fix="store the image itself, not only its path",
            )
        if isinstance(content, Path):
            return opened(content)
        return io.BytesIO(content)

    def read(
        self, index: int, spec: DatasetSpec, draws: Sequence[float] | None = None
    ) -> NDArray[np.uint8]:
        with self.open(index) as stream:
            return decode(stream, spec, self.where(index), draws)
