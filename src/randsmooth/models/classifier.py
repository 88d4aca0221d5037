"""The base classifier: a network after its normalisation, with everything that rebuilds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.folder import StoredModel
from randsmooth.models.registry import build

MOST_SIDE, MOST_CHANNELS = 2**14, 2**10  # of an image
LONGEST_NAME = 1000  # characters; ImageNet's longest class has 121


class Classifier(StoredModel):
    """The base classifier, logits(x) = network((x - mean) / std): noise is added before normalisation, its first layer.

    Args:
        arch: a name that `models.build` knows.
        classes: the K class names, in the order of the logits.
        shape: (C, H, W) of an image, H = W.
        mean, std: C numbers each, of pixels in [0, 1], or None for no normalisation.
        provenance: how it was trained, as plain JSON: dataset, sigma, method, hyperparameters, seed, epochs,
            versions. It is copied; {} if unknown.

    Raises:
        InputError: any of these cannot be used.

    Example:
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)).eval()
        >>> model(torch.rand(3, 1, 8, 8)).shape, model.num_classes
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
        shape: list[int] | tuple[int, int, int],
        mean: list[float] | None = None,
        std: list[float] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        _check("arch", arch, isinstance(arch, str), "the name of an architecture, such as 'resnet20'")
        _check_classes(classes)
        _check_shape(shape)
        channels, side, _ = shape
        _check_normalisation(mean, std, channels)
        self.arch, self.classes, self.shape = arch, list(classes), (channels, side, side)
        self.network = build(arch, in_channels=channels, image_size=side, num_classes=self.num_classes)
        self.register_buffer("mean", _per_channel(mean), persistent=False)
        self.register_buffer("std", _per_channel(std), persistent=False)
        mean, std = (None if values is None else list(values) for values in (mean, std))
        self._config = {"arch": arch, "classes": self.classes, "shape": list(shape), "mean": mean, "std": std}
        self.provenance = {} if provenance is None else provenance

    @property
    def num_classes(self) -> int:
        """K, the number of logits."""
        return len(self.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W): in [0, 1] before noise, any real numbers after it."""
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        return self.network(x)  # type: ignore[no-any-return]

    def apart(self) -> tuple[nn.Conv2d, nn.Module] | None:
        """The first layer, where it is a convolution of the images as they are, and the rest; None: it is another.

        Example:
            >>> model = Classifier(arch="lenet", classes=["cat", "dog"], shape=(1, 28, 28))
            >>> first, rest = model.apart()
            >>> x = torch.rand(3, 1, 28, 28)
            >>> torch.equal(rest(first(x)), model(x))
            True
        """
        network = self.network
        if self.mean is not None or not isinstance(network, nn.Sequential) or not isinstance(network[0], nn.Conv2d):
            return None
        first = network[0]
        return (first, network[1:]) if first.groups == 1 and first.padding_mode == "zeros" else None


def load(folder: Path | str, *, device: torch.device | str = "cpu") -> Classifier:
    """The classifier in `folder` (or at a URL, or the hub's "user/name"), in eval mode on `device`.

    Both files are compared with the digests in config.json. torch's global generator stays as it is.

    Raises:
        InputError: a file is missing, cut short, not one of ours or not as it was written; the two do not fit each
            other; weights are not finite; or `device` cannot be used.

    Example:
        >>> import tempfile
        >>> from randsmooth.models import save
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     loaded = load(folder)
        >>> x = torch.rand(2, 1, 8, 8)
        >>> torch.equal(loaded(x), model(x))
        True
    """
    return Classifier.load(folder, device)


def _check(name: str, value: object, fits: bool, expected: str) -> None:
    if not fits:
        raise InputError(f"{name}={shown(repr(value))}: expected {expected}")


def _all(values: object, *kinds: type) -> bool:
    return isinstance(values, list | tuple) and all(type(value) in kinds for value in values)


def _check_classes(classes: list[str]) -> None:
    different = _all(classes, str) and 2 <= len(classes) == len(set(classes))
    expected = f"at least two different names of at most {LONGEST_NAME:,} characters, such as ['0', '1']"
    _check("classes", classes, different and max(map(len, classes)) <= LONGEST_NAME, expected)


def _check_shape(shape: list[int] | tuple[int, int, int]) -> None:
    square = _all(shape, int) and len(shape) == 3 and shape[1] == shape[2]
    expected = (
        f"[C, H, W] with H = W, such as [3, 32, 32] (at most {MOST_CHANNELS} channels and {MOST_SIDE} pixels a side)"
    )
    fits = square and 0 < shape[0] <= MOST_CHANNELS and 0 < shape[1] <= MOST_SIDE
    _check("shape", shape, fits, f"{expected}: crop or pad to it")


def _check_normalisation(mean: list[float] | None, std: list[float] | None, channels: int) -> None:
    most = torch.finfo(torch.float32).max
    for name, values in (("mean", mean), ("std", std)):
        numbers = values is None or (_all(values, int, float) and len(values) == channels)
        finite = numbers and all(abs(value) <= most for value in values or ())
        _check(name, values, finite, f"{channels} finite numbers, one a channel, or nothing for no normalisation")
    _check("std", std, (mean is None) == (std is None), f"both or neither of it and mean={mean}")
    positive = std is None or float(torch.tensor(std, dtype=torch.float32, device="cpu").min()) > 0.0
    _check("std", std, positive, "positive numbers")


def _per_channel(values: list[float] | None) -> Tensor | None:
    return None if values is None else torch.tensor(values, dtype=torch.float32).reshape(1, -1, 1, 1)
