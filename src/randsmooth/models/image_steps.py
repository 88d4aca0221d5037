"""What is done to a noisy image before a model takes it, as steps on tensors."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.data.pixel_modes import LUMA
from randsmooth.documents import shown
from randsmooth.errors import BadValue, WrongData, check_known

# What may be done to the channels of an image, and how a certificate words it.
CHANNELS: dict[int | str, str] = {
    1: "grey values of red, green and blue",
    3: "a grey channel repeated as red, green and blue",
    "bgr": "channels in the order blue, green, red",
}
INTERPOLATIONS = ("bilinear", "bicubic")

# The largest absolute value of mean, std and scale: twice it is a float32, too.
LARGEST_NUMBER = 1e30


class ModelStep(nn.Module):
    """A step without a train mode: a function of a batch and of tensors.

    Attributes:
        words: the step in words, for the header of a certificate.
        function: makes a batch of a batch and the tensors.
    """

    def __init__(
        self, words: str, function: Callable[..., Tensor], *tensors: Tensor
    ) -> None:
        super().__init__()
        self.words = words
        self.function = function
        # As buffers they move to another device with the model.
        for place, tensor in enumerate(tensors):
            self.register_buffer(f"tensor{place}", tensor, persistent=False)
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, *self.buffers())


def channels_step(wanted: int | str) -> ModelStep:
    """Return the step that changes the channels of images (B, C, H, W).

    Args:
        wanted: 3 repeats a grey channel, 1 makes grey of red, green and blue, "bgr"
            swaps these.

    Raises:
        BadValue: anything else.
    """
    if wanted not in CHANNELS or isinstance(wanted, bool):
        raise BadValue(field="channels", value=wanted, expected="must be 1, 3 or 'bgr'")

    def change(x: Tensor, luma: Tensor) -> Tensor:
        if x.shape[1] == 1:
            return x.expand(-1, 3, -1, -1) if wanted == 3 else x
        if wanted == 1:
            return (x * luma).sum(dim=1, keepdim=True)
        return x.flip(1) if wanted == "bgr" else x

    return ModelStep(CHANNELS[wanted], change, _per_channel(LUMA))


def resize_step(size: int | Sequence[int], interpolation: str) -> ModelStep:
    """Return the step that resizes images as Pillow does: shrinking filters first.

    Args:
        size: (H, W), or the length of the shorter side.
        interpolation: bilinear or bicubic.

    Raises:
        BadValue: one of them is none.
    """
    check_known("interpolation", INTERPOLATIONS, interpolation)
    wanted = _sides("resize", size)

    def resize(x: Tensor) -> Tensor:
        old = (int(x.shape[2]), int(x.shape[3]))
        new = _resized(old, wanted)
        if new == old:
            return x
        # antialias filters where an image shrinks, and makes the bicubic kernel
        # Pillow's.
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
    (shorter,) = wanted
    # Rounding down must not make the shorter side shorter than it.
    return tuple(max(shorter, shorter * side // min(sides)) for side in sides)


def crop_step(size: int | Sequence[int]) -> ModelStep:
    """Return the step that cuts out the middle of images.

    Args:
        size: (H, W), or the side of a square.

    Raises:
        BadValue: it is none.
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
        scale: 255 for a model of pixels in [0, 255].

    Raises:
        BadValue: they are no such numbers.
    """
    means = _numbers("mean", 0.0 if mean is None else mean)
    stds = _numbers("std", 1.0 if std is None else std)
    (factor,) = _numbers("scale", scale)
    channels = max(len(means), len(stds))
    one_each = {len(means), len(stds)} <= {1, channels}
    if not one_each or min(*stds, factor) <= 0.0:
        raise BadValue(
            f"mean={shown(means)}, std={shown(stds)} and scale={scale}",
            fix="expected as many numbers for mean as for std, one for each channel, "
            "and std and scale above 0",
        )

    def normalise(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
        # torch would repeat a single channel, which no note says.
        if channels not in (1, x.shape[1]):
            raise BadValue(
                f"mean and std are {channels} numbers for images of {x.shape[1]} "
                "channels",
                fix=f"rs.wrap(model, channels={channels}) makes as many",
            )
        scaled = x if scale == 1.0 else scale * x
        return (scaled - mean) / std

    words = list[str]()
    if scale != 1.0:
        words.append(f"multiplied by {scale:g}")
    if mean is not None or std is not None:
        words.append(f"normalised by mean {_listed(means)} and std {_listed(stds)}")
    return ModelStep(
        " and ".join(words), normalise, _per_channel(means), _per_channel(stds)
    )


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _sides(name: str, size: int | Sequence[int]) -> tuple[int, ...]:
    """Return a side, or height and width, that was given as the argument `name`."""
    sides = (size,) if isinstance(size, int) else tuple(size)
    whole = all(type(side) is int and side > 0 for side in sides)
    if not whole or len(sides) not in (1, 2):
        raise BadValue(
            field=name,
            value=size,
            expected="must be a side or (height, width), in pixels",
        )
    return sides


def _numbers(name: str, given: float | Sequence[float]) -> list[float]:
    """Return the numbers that were given as the argument `name`."""
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
    return torch.tensor(values).reshape(1, -1, 1, 1)
