"""The base classifier: a network after its normalisation, with everything that rebuilds it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

from randsmooth.errors import BadValue
from randsmooth.models.folder import StoredModel
from randsmooth.models.registry import build

MOST_SIDE, MOST_CHANNELS = 2**14, 2**10  # of an image
SMALLEST, LARGEST = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max
LONGEST_NAME = 1000  # characters; ImageNet's longest class has 121


class Classifier(StoredModel):
    """The base classifier, logits(x) = network((x - mean) / std): noise is added before normalisation, its first layer.

    Args:
        arch: a name that `models.build` knows.
        classes: the K class names, in the order of the logits.
        shape: (C, H, W) of an image, H = W.
        mean, std: C numbers each, of pixels in [0, 1], or None for no normalisation.
        extra_channels: how many the noise adds to those of an image, such as the marks of `Ablation`; they follow
            these and are not normalised.
        provenance: how it was trained, as plain JSON: dataset, sigma, method, hyperparameters, seed, epochs,
            versions. It is copied; {} if unknown.

    Raises:
        Problem: any of these cannot be used.

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
        shape: Sequence[int],
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        extra_channels: int = 0,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        _check(classes, shape, mean, std, extra_channels)
        channels, side, _ = shape
        self.arch, self.classes, self.shape = (
            arch,
            list(classes),
            (channels, side, side),
        )
        in_channels = channels + extra_channels
        self.network = build(
            str(arch),
            in_channels=in_channels,
            image_size=side,
            num_classes=self.num_classes,
        )
        self.register_buffer(
            "mean", _per_channel(mean, [0.0] * extra_channels), persistent=False
        )
        self.register_buffer(
            "std", _per_channel(std, [1.0] * extra_channels), persistent=False
        )
        mean, std = (None if values is None else list(values) for values in (mean, std))
        self.config = {
            "arch": arch,
            "classes": self.classes,
            "shape": list(shape),
            "mean": mean,
            "std": std,
        }
        self.config |= {"extra_channels": extra_channels} if extra_channels else {}
        self.provenance = {} if provenance is None else provenance

    @property
    def num_classes(self) -> int:
        """K, the number of logits."""
        return len(self.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W), and their extra channels: any real numbers, as noise makes them."""
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        return self.network(x)  # type: ignore[no-any-return]


def load(folder: Path | str, *, device: torch.device | str = "cpu") -> Classifier:
    """The classifier in `folder` (or at a URL, or the hub's "user/name"), in eval mode on `device`.

    Both files are compared with the digests in config.json. torch's global generator stays as it is.

    Raises:
        Problem: a file is missing, cut short, not one of ours or not as it was written; the two do not fit each
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


def _check(classes: Any, shape: Any, mean: Any, std: Any, extra: Any) -> None:
    """Raise Problem for the first argument of a classifier that cannot be used."""

    def fail(name: str, value: object, expected: str) -> NoReturn:
        raise BadValue(field=name, value=value, fix=f"expected {expected}")

    names = isinstance(classes, list | tuple) and all(
        isinstance(name, str) for name in classes
    )
    if (
        not names
        or not 2 <= len(classes) == len(set(classes))
        or max(map(len, classes)) > LONGEST_NAME
    ):
        fail(
            "classes",
            classes,
            f"at least two different names of at most {LONGEST_NAME:,} characters, as ['0', '1']",
        )
    sides = (
        list(shape)
        if isinstance(shape, list | tuple) and all(type(side) is int for side in shape)
        else []
    )
    square = len(sides) == 3 and sides[1] == sides[2]
    if not square or not (0 < sides[0] <= MOST_CHANNELS and 0 < sides[1] <= MOST_SIDE):
        most = f"at most {MOST_CHANNELS} channels and {MOST_SIDE} pixels a side"
        fail(
            "shape",
            shape,
            f"[C, H, W] with H = W, such as [3, 32, 32] ({most}): crop or pad to it",
        )
    if type(extra) is not int or not 0 <= extra <= MOST_CHANNELS:
        fail("extra_channels", extra, f"a number from 0 to {MOST_CHANNELS}")
    for name, values in (("mean", mean), ("std", std)):
        numbers = isinstance(values, list | tuple) and all(
            type(value) in (int, float) for value in values
        )
        if values is not None and not (
            numbers
            and len(values) == sides[0]
            and all(abs(v) <= LARGEST for v in values)
        ):
            fail(
                name,
                values,
                f"{sides[0]} finite numbers, one a channel, or nothing for no normalisation",
            )
    if (mean is None) != (std is None) or min(std or (1.0,)) < SMALLEST:
        fail("std", std, f"positive numbers, and both or neither of it and mean={mean}")


def _per_channel(
    values: Sequence[float] | None, extra: Sequence[float]
) -> Tensor | None:
    return (
        None
        if values is None
        else torch.tensor([*values, *extra], dtype=torch.float32).reshape(1, -1, 1, 1)
    )
