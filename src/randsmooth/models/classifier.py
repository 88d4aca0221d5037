"""The base classifier: a network after its normalisation, with all that rebuilds it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from randsmooth.errors import BadValue
from randsmooth.models.folder import StoredModel
from randsmooth.models.registry import build

# The most pixels along a side of an image, and the most channels. A damaged configuration
# may hold any numbers.
MOST_SIDE = 2**14
MOST_CHANNELS = 2**10

# Characters of the name of a class; ImageNet's longest has 121.
LONGEST_NAME = 1000

# In float32, smaller numbers are rounded to few digits or to 0, and larger ones are infinite.
SMALLEST_STD = torch.finfo(torch.float32).tiny
LARGEST_NUMBER = torch.finfo(torch.float32).max


class Classifier(StoredModel):
    """The base classifier, logits(x) = network((x - mean) / std).

    Its first layer is the normalisation, so noise is added to the images before that.

    Args:
        arch: a name that `models.build` knows.
        classes: the K class names, in the order of the logits.
        shape: (C, H, W) of an image, H = W.
        mean, std: C numbers each, of pixels in [0, 1], or None for no normalisation.
        extra_channels: how many channels the noise adds to those of an image, such as
            the marks of `Ablation`. They follow the image's and are not normalised.
        provenance: how the model was trained, as plain JSON: dataset, sigma, method,
            hyperparameters, seed, epochs, versions. It is copied; {} if unknown.

    Raises:
        BadValue: an argument cannot be used.

    Example:
        >>> classes = ["cat", "dog"]
        >>> model = Classifier(arch="small-cnn", classes=classes, shape=(1, 8, 8))
        >>> model.eval()(torch.rand(3, 1, 8, 8)).shape, model.num_classes
        (torch.Size([3, 2]), 2)
    """

    kind = "classifier"
    mean: Tensor | None
    std: Tensor | None

    def __init__(
        self,
        *,
        arch: str,
        classes: list[str],
        shape: Sequence[int],
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        extra_channels: int = 0,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        _check_classes(classes)
        _check_shape(shape)
        _check_extra_channels(extra_channels)
        # The sides are equal, which `_check_shape` has made sure of.
        channels, side, _ = shape
        _check_normalisation(mean, std, channels)

        self.arch = arch
        self.classes = list(classes)
        self.shape = (channels, side, side)
        self.network = build(
            # A damaged file may hold a number here, which no architecture is called.
            str(arch),
            in_channels=channels + extra_channels,
            image_size=side,
            num_classes=self.num_classes,
        )
        # Extra channels are not normalised: (x - 0) / 1.
        means = _per_channel(mean, of_extra=[0.0] * extra_channels)
        stds = _per_channel(std, of_extra=[1.0] * extra_channels)
        # The buffers move with the model. They are not saved among its weights, because
        # the configuration has mean and std.
        self.register_buffer("mean", means, persistent=False)
        self.register_buffer("std", stds, persistent=False)

        self.config = {
            "arch": arch,
            "classes": self.classes,
            "shape": list(shape),
            "mean": None if mean is None else list(mean),
            "std": None if std is None else list(std),
        }
        # Only few models have any, so the configuration of the others does not name them.
        if extra_channels:
            self.config["extra_channels"] = extra_channels
        # Its setter stores a copy in the configuration.
        self.provenance = {} if provenance is None else provenance

    @property
    def num_classes(self) -> int:
        """K, the number of logits."""
        return len(self.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (B, K) of noisy images (B, C + extra_channels, H, W).

        Pixels may be any real numbers, since noise leaves [0, 1].
        """
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        return self.network(x)  # type: ignore[no-any-return]


def load(folder: Path | str, *, device: torch.device | str = "cpu") -> Classifier:
    """Return the classifier in a folder, in eval mode on `device`.

    Both files are compared with the digests in config.json. torch's global generator
    stays as it is.

    Args:
        folder: a path, a URL, or the hub's "user/name".
        device: where to load it to.

    Raises:
        Problem: a file is missing, cut short, not one of ours or not as it was written;
            the two do not fit each other; weights are not finite; or `device` cannot be
            used.

    Example:
        >>> import tempfile
        >>> from randsmooth.models import save
        >>> classes = ["cat", "dog"]
        >>> model = Classifier(arch="small-cnn", classes=classes, shape=(1, 8, 8))
        >>> model = model.eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     loaded = load(folder)
        >>> x = torch.rand(2, 1, 8, 8)
        >>> torch.equal(loaded(x), model(x))
        True
    """
    return Classifier.load(folder, device)


def _check_classes(classes: Any) -> None:
    """Raise BadValue unless these are at least two different names of classes."""
    usable = isinstance(classes, list | tuple) and all(
        isinstance(name, str) and len(name) <= LONGEST_NAME for name in classes
    )
    if usable and 2 <= len(classes) == len(set(classes)):
        return
    raise BadValue(
        field="classes",
        value=classes,
        fix=f"expected at least two different names of at most {LONGEST_NAME:,} "
        "characters, such as ['0', '1']",
    )


def _check_shape(shape: Any) -> None:
    """Raise BadValue unless this is the shape (C, H, W) of a square image."""
    are_numbers = isinstance(shape, list | tuple) and all(
        type(side) is int for side in shape
    )
    if are_numbers and len(shape) == 3:
        channels, height, width = shape
        square = height == width
        if square and 0 < channels <= MOST_CHANNELS and 0 < height <= MOST_SIDE:
            return
    raise BadValue(
        field="shape",
        value=shape,
        fix="expected [C, H, W] with H = W, such as [3, 32, 32] (at most "
        f"{MOST_CHANNELS} channels and {MOST_SIDE} pixels a side): crop or pad to it",
    )


def _check_extra_channels(number: Any) -> None:
    """Raise BadValue unless this is a number of channels, or 0."""
    # A bool is an int too, but no number of channels.
    if type(number) is not int or not 0 <= number <= MOST_CHANNELS:
        raise BadValue(
            field="extra_channels",
            value=number,
            fix=f"expected a number from 0 to {MOST_CHANNELS}",
        )


def _check_normalisation(mean: Any, std: Any, channels: int) -> None:
    """Raise BadValue unless images with so many channels can be normalised by these."""
    _check_numbers("mean", mean, channels)
    _check_numbers("std", std, channels)
    # (x - mean) / std needs both.
    only_one_given = (mean is None) != (std is None)
    if only_one_given or (std is not None and min(std) < SMALLEST_STD):
        raise BadValue(
            field="std",
            value=std,
            fix=f"expected positive numbers, and both or neither of it and mean={mean}",
        )


def _check_numbers(name: str, values: Any, channels: int) -> None:
    """Raise BadValue unless `values` are a finite number for each channel, or None."""
    if values is None:
        return
    usable = isinstance(values, list | tuple) and all(
        type(value) in (int, float) and abs(value) <= LARGEST_NUMBER for value in values
    )
    if usable and len(values) == channels:
        return
    raise BadValue(
        field=name,
        value=values,
        fix=f"expected {channels} finite numbers, one a channel, or nothing for no "
        "normalisation",
    )


def _per_channel(
    values: Sequence[float] | None, of_extra: Sequence[float]
) -> Tensor | None:
    """Return numbers (1, C + extra, 1, 1), one for each channel of a batch of images.

    Args:
        values: the numbers of the C channels of an image; None for no normalisation.
        of_extra: the numbers of the extra channels, which come last.
    """
    if values is None:
        return None
    numbers = torch.tensor([*values, *of_extra], dtype=torch.float32)
    return numbers.reshape(1, -1, 1, 1)
