"""What may lie between a noisy image and a network, or between the network and its logits: a module for each step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue in a grey value (ITU-R BT.601)
INTERPOLATIONS = ("bilinear", "bicubic", "nearest")
SMALLEST = 1e-30  # a probability below is taken for it, so that its logarithm is finite


class Step(nn.Module):
    """A step without a train mode, which says in `words` what it does."""

    words: str

    def __init__(self) -> None:
        super().__init__()
        self.training = False


class Channels(Step):
    """Another number or order of channels: 3 repeats a grey one, 1 makes grey of red, green and blue, "bgr" swaps."""

    def __init__(self, wanted: int | str) -> None:
        super().__init__()
        if wanted not in (1, 3, "bgr") or isinstance(wanted, bool):
            raise InputError(f"channels={shown(repr(wanted))} must be 1, 3 or 'bgr'")
        self.wanted = wanted
        words = {1: "grey values of red, green and blue", 3: "a grey channel repeated as red, green and blue"}
        self.words = "channels in the order blue, green, red" if isinstance(wanted, str) else words[wanted]
        self.register_buffer("luma", torch.tensor(LUMA).reshape(1, 3, 1, 1), persistent=False)
        self.luma: Tensor

    def forward(self, x: Tensor) -> Tensor:
        if self.wanted == 3:
            return x.expand(-1, 3, -1, -1) if x.shape[1] == 1 else x
        if x.shape[1] == 1:
            return x
        return x.flip(1) if self.wanted == "bgr" else (x * self.luma).sum(dim=1, keepdim=True)


class Resize(Step):
    """Resizes to (H, W), or the shorter side to one length, as Pillow does: shrinking filters first."""

    def __init__(self, size: int | Sequence[int], interpolation: str) -> None:
        super().__init__()
        if interpolation not in INTERPOLATIONS:
            raise unknown("interpolation", interpolation, INTERPOLATIONS)
        self.size, self.interpolation = _size("resize", size), interpolation
        to = " x ".join(map(str, self.size)) if len(self.size) == 2 else f"{self.size[0]} on the shorter side"
        self.words = f"resized to {to} ({interpolation})"

    def forward(self, x: Tensor) -> Tensor:
        height, width = int(x.shape[2]), int(x.shape[3])
        new = self._new(height, width)
        if new == (height, width):
            return x
        if self.interpolation == "nearest":
            return F.interpolate(x, size=new, mode="nearest-exact")
        # antialias filters where an image shrinks, and makes the bicubic kernel Pillow's
        filters = new[0] < height or new[1] < width or self.interpolation == "bicubic"
        return F.interpolate(x, size=new, mode=self.interpolation, align_corners=False, antialias=filters)

    def _new(self, height: int, width: int) -> tuple[int, int]:
        if len(self.size) == 2:
            return self.size[0], self.size[1]
        shorter, side = min(height, width), self.size[0]
        return max(side, side * height // shorter), max(side, side * width // shorter)


class Crop(Step):
    """The middle (H, W) of an image."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        given = _size("crop", size)
        self.size = given if len(given) == 2 else (given[0], given[0])
        self.words = f"the middle {self.size[0]} x {self.size[1]} cut out"

    def forward(self, x: Tensor) -> Tensor:
        top, left = (int(x.shape[2]) - self.size[0]) // 2, (int(x.shape[3]) - self.size[1]) // 2
        if top < 0 or left < 0:
            raise InputError(f"images of {tuple(x.shape[2:])} have no middle {self.size[0]} x {self.size[1]} to crop")
        return x[:, :, top : top + self.size[0], left : left + self.size[1]]


class Normalise(Step):
    """(scale * x - mean) / std, with a number for each channel or one for all."""

    def __init__(self, mean: float | Sequence[float] | None, std: float | Sequence[float] | None, scale: float) -> None:
        super().__init__()
        means, stds = _numbers("mean", 0.0 if mean is None else mean), _numbers("std", 1.0 if std is None else std)
        if not min(stds) > 0.0:
            raise InputError(f"std={shown(stds)} must be numbers above 0")
        if len(means) != len(stds) and 1 not in (len(means), len(stds)):
            raise InputError(f"mean={shown(means)} and std={shown(stds)} must be as many numbers, one for each channel")
        _numbers("scale", scale)
        if not scale > 0.0:
            raise InputError(f"scale={scale} must be a number above 0, such as 255")
        self.scale = float(scale)
        self.register_buffer("mean", torch.tensor(means).reshape(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(stds).reshape(1, -1, 1, 1), persistent=False)
        self.mean: Tensor
        self.std: Tensor
        times = "" if self.scale == 1.0 else f"multiplied by {self.scale:g}"
        given = mean is not None or std is not None
        normalised = f"normalised by mean {_told(means)} and std {_told(stds)}" if given else ""
        self.words = " and ".join(filter(None, [times, normalised]))

    def forward(self, x: Tensor) -> Tensor:
        numbers = max(self.mean.shape[1], self.std.shape[1])
        if numbers not in (1, x.shape[1]):  # torch would repeat a single channel, which no note says
            raise InputError(
                f"mean and std are {numbers} numbers for images of {x.shape[1]} channels: give channels, or one each"
            )
        return ((x if self.scale == 1.0 else self.scale * x) - self.mean) / self.std


class ChannelsLast(Step):
    """From (B, C, H, W) to (B, H, W, C)."""

    words = "channels on the last axis"

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).contiguous()


class Softmax(Step):
    """Adds a softmax to the answers, or removes it by a logarithm."""

    def __init__(self, what: str) -> None:
        super().__init__()
        if what not in ("add", "remove"):
            raise unknown("softmax", what, ("add", "remove"))
        self.what = what
        self.words = "a softmax over the logits" if what == "add" else "the logarithm of the probabilities"

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=1) if self.what == "add" else x.clamp_min(SMALLEST).log()


def _size(name: str, size: int | Sequence[int]) -> tuple[int, ...]:
    sides = (size,) if isinstance(size, int) else tuple(size)
    if not 1 <= len(sides) <= 2 or not all(type(side) is int and side > 0 for side in sides):
        raise InputError(f"{name}={shown(repr(size))} must be a side or (height, width), in pixels")
    return sides


def _numbers(name: str, given: float | Sequence[float]) -> list[float]:
    values = [given] if isinstance(given, int | float) else list(given)
    if not values or not all(isinstance(v, int | float) and abs(v) <= 1e30 for v in values):
        raise InputError(f"{name}={shown(repr(given))} must be a finite number, or one for each channel")
    return [float(value) for value in values]


def _told(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
