"""What is done to a noisy image before a model takes it, as steps on tensors."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.data.pixel_modes import LUMA
from randsmooth.documents import shown
from randsmooth.errors import BadValue, WrongData, check_known

# Changes of the channels of an image -> the words for each in a certificate.
CHANNELS: dict[int | str, str] = {
    1: "grey values of red, green and blue",
    3: "a grey channel repeated as red, green and blue",
    "bgr": "channels in the order blue, green, red",
}
INTERPOLATIONS = ("bilinear", "bicubic")

# The largest absolute value of mean, std and scale. Sums of such numbers stay finite in
# float32.
LARGEST_NUMBER = 1e30


class ModelStep(nn.Module):
    """A step that a batch goes through, which is the same in train mode and in eval mode.

    Attributes:
        words: the step in words, for the header of a certificate.
        function: called with a batch and the tensors, it returns the new batch.
    """

    def __init__(
        self, words: str, function: Callable[..., Tensor], *tensors: Tensor
    ) -> None:
        super().__init__()
        self.words = words
        self.function = function
        # As buffers they move to another device with the model. They are no weights, so
        # they are not in its state dict.
        for index, tensor in enumerate(tensors):
            self.register_buffer(f"tensor{index}", tensor, persistent=False)
        # A model with a part in train mode is not certified; this part has no such mode.
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, *self.buffers())


def channels_step(wanted: int | str) -> ModelStep:
    """Return the step that changes the channels of images (B, C, H, W).

    Args:
        wanted: 3 repeats a grey channel, 1 makes grey of red, green and blue, "bgr"
            swaps red and blue. Images that have the wanted channels already stay as they
            are.

    Raises:
        BadValue: `wanted` is something else.
    """
    # True equals 1, but is no number of channels.
    if wanted not in CHANNELS or isinstance(wanted, bool):
        raise BadValue(field="channels", value=wanted, expected="must be 1, 3 or 'bgr'")

    def change(x: Tensor, luma: Tensor) -> Tensor:
        is_grey = x.shape[1] == 1
        if is_grey and wanted == 3:
            return x.expand(-1, 3, -1, -1)
        if not is_grey and wanted == 1:
            return (x * luma).sum(dim=1, keepdim=True)
        if not is_grey and wanted == "bgr":
            return x.flip(dims=(1,))
        return x

    return ModelStep(CHANNELS[wanted], change, _per_channel(LUMA))


def resize_step(size: int | Sequence[int], interpolation: str) -> ModelStep:
    """Return the step that resizes images as Pillow does.

    An image that shrinks is filtered first, so that no pixel of it is left out.

    Args:
        size: (H, W), or the length of the shorter side.
        interpolation: bilinear or bicubic.

    Raises:
        BadValue: `size` is no size, or `interpolation` another one.
    """
    check_known("interpolation", INTERPOLATIONS, interpolation)
    wanted = _sides("resize", size)

    def resize(x: Tensor) -> Tensor:
        old = (int(x.shape[2]), int(x.shape[3]))
        new = _resized(old, wanted)
        if new == old:
            return x
        # torch filters with antialias alone. With it, its bicubic kernel is Pillow's, so
        # it is also needed where a bicubic image grows.
        shrinks = new[0] < old[0] or new[1] < old[1]
        antialias = shrinks or interpolation == "bicubic"
        return F.interpolate(
            x, size=new, mode=interpolation, align_corners=False, antialias=antialias
        )

    written = f"{wanted[0]} on the shorter side"
    if len(wanted) == 2:
        written = f"{wanted[0]} x {wanted[1]}"
    return ModelStep(f"resized to {written} ({interpolation})", resize)


def _resized(sides: tuple[int, int], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Return the height and width that images of height and width `sides` get."""
    if len(wanted) == 2:
        return wanted
    # The shorter side gets the wanted length, and the longer one keeps the proportion.
    (shorter,) = wanted
    return tuple(shorter * side // min(sides) for side in sides)


def crop_step(size: int | Sequence[int]) -> ModelStep:
    """Return the step that cuts out the middle of images.

    Args:
        size: (H, W), or the side of a square.

    Raises:
        BadValue: `size` is no size.
    """
    sides = _sides("crop", size)
    height, width = sides if len(sides) == 2 else (sides[0], sides[0])

    def crop(x: Tensor) -> Tensor:
        top = (int(x.shape[2]) - height) // 2
        left = (int(x.shape[3]) - width) // 2
        if top < 0 or left < 0:
            raise WrongData(
                f"images of {tuple(x.shape[2:])} have no middle {height} x {width} to "
                "crop"
            )
        return x[:, :, top : top + height, left : left + width]

    return ModelStep(f"the middle {height} x {width} cut out", crop)


def normalise_step(
    mean: float | Sequence[float] | None,
    std: float | Sequence[float] | None,
    scale: float,
) -> ModelStep:
    """Return the step x -> (scale * x - mean) / std.

    Args:
        mean, std: a number for each channel, or one for all; None: 0 and 1.
        scale: 255 for a model that takes pixels in [0, 255], 1 for one that takes [0, 1].

    Raises:
        BadValue: they are no such numbers, or std or scale is not above 0.
    """
    means = _numbers("mean", 0.0 if mean is None else mean)
    stds = _numbers("std", 1.0 if std is None else std)
    (factor,) = _numbers("scale", scale)
    channels = max(len(means), len(stds))
    # A single number is for all channels.
    fit_each_other = {len(means), len(stds)} <= {1, channels}
    if not fit_each_other or min(*stds, factor) <= 0.0:
        raise BadValue(
            f"mean={shown(means)}, std={shown(stds)} and scale={scale}",
            fix="expected as many numbers for mean as for std, one for each channel, "
            "and std and scale above 0",
        )

    def normalise(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
        # torch would repeat a grey channel for several means without a word, and the
        # certificate would not tell.
        if channels not in (1, x.shape[1]):
            raise BadValue(
                f"mean and std are {channels} numbers for images of {x.shape[1]} "
                "channels",
                fix=f"rs.wrap(model, channels={channels}) makes as many",
            )
        scaled = x if scale == 1.0 else scale * x
        return (scaled - mean) / std

    parts = list[str]()
    if scale != 1.0:
        parts.append(f"multiplied by {scale:g}")
    if mean is not None or std is not None:
        parts.append(f"normalised by mean {_listed(means)} and std {_listed(stds)}")
    words = " and ".join(parts)
    return ModelStep(words, normalise, _per_channel(means), _per_channel(stds))


def _listed(numbers: Sequence[float]) -> str:
    """Return numbers as words of a certificate name them."""
    return ", ".join(f"{number:g}" for number in numbers)


def _sides(name: str, size: int | Sequence[int]) -> tuple[int, ...]:
    """Return (side,) or (height, width), as the argument `name` gives it.

    Raises:
        BadValue: it is neither.
    """
    sides = (size,) if isinstance(size, int) else tuple(size)
    # A bool is an int too, but no side.
    are_whole = all(type(side) is int and side > 0 for side in sides)
    if not are_whole or len(sides) not in (1, 2):
        raise BadValue(
            field=name,
            value=size,
            expected="must be a side or (height, width), in pixels",
        )
    return sides


def _numbers(name: str, given: float | Sequence[float]) -> list[float]:
    """Return the numbers that were given as the argument `name`, at least one.

    Raises:
        BadValue: it gives something else, or numbers beyond LARGEST_NUMBER.
    """
    values = [given] if isinstance(given, int | float) else list(given)
    usable = all(
        isinstance(value, int | float) and abs(value) <= LARGEST_NUMBER
        for value in values
    )
    if not values or not usable:
        raise BadValue(
            field=name,
            value=given,
            expected="must be a finite number, or one for each channel",
        )
    return [float(value) for value in values]


def _per_channel(values: Sequence[float]) -> Tensor:
    """Return the numbers as (1, C, 1, 1), so that they fit images (B, C, H, W)."""
    return torch.tensor(values).reshape(1, -1, 1, 1)
