"""Random streams by address, so that nothing depends on the order of drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from secrets import randbits
from typing import TYPE_CHECKING

import numpy as np

from randsmooth.noise.philox import Philox

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Of a seed: readers of JSON that know only floats keep integers up to this size.
SEED_BITS = 53

# Law of random numbers -> the methods that draw it in NumPy, and in torch.
LAWS = {
    "normal": ("standard_normal", "normal_"),
    "uniform": ("random", "uniform_"),
    "exponential": ("standard_exponential", "exponential_"),
}


@dataclass(frozen=True)
class Stream:
    """A source of random numbers named by (seed, name, position).

    Streams that differ in any part give independent numbers. One stream always gives
    the same numbers on the same kind of device, those of `philox` on every kind.
    `Stream(0, "certify").at(address_of(x), block)` is a block of the noise of image x.

    Example:
        >>> stream = Stream(0, "certify").at(7)
        >>> stream.numpy().random() == stream.numpy().random()
        True
        >>> stream.at(1) == stream.at(2)
        False
    """

    seed: int
    name: str
    position: tuple[int, ...] = ()

    def at(self, *position: int) -> Stream:
        """Return the stream at a position below this one."""
        return replace(self, position=self.position + position)

    def digest(self) -> bytes:
        """Return the whole address, hashed to 32 bytes."""
        position = tuple(map(int, self.position))
        address = repr((int(self.seed), self.name, position))
        return blake2b(address.encode(), digest_size=32).digest()

    def sequence(self) -> np.random.SeedSequence:
        """Return the digest as entropy."""
        return np.random.SeedSequence(int.from_bytes(self.digest(), "little"))

    def philox(self) -> Philox:
        """Return the counter-based generator at this address.

        It gives the same words on every device.
        """
        return Philox(*np.frombuffer(self.digest(), "<u8").tolist())

    def uniform(self) -> float:
        """Return a number in (0, 1) at this address.

        It is one of 2^52 equally likely ones, none of them 0 or 1.
        """
        word = int.from_bytes(self.digest()[:8], "little")
        return (word % 2**52 + 0.5) / 2.0**52

    def numpy(self) -> np.random.Generator:
        """Return a NumPy generator, seeded with all 256 bits."""
        return np.random.Generator(np.random.SFC64(self.sequence()))

    def torch(self, device: torch.device | str = "cpu") -> torch.Generator:
        """Return a torch generator on `device`.

        On the CPU torch keeps 32 bits of a seed, which is enough for shuffling and
        augmentation. The noise of certification comes from `numpy` there, whose state
        is seeded in full.
        """
        import torch

        seed = int(self.sequence().generate_state(1, np.uint64)[0])
        return torch.Generator(device).manual_seed(seed)


def fill(out: Tensor, stream: Stream, law: str) -> None:
    """Fill `out` with numbers of `stream` that have one of LAWS.

    On the CPU the numbers come from NumPy, which leaves torch's own threads alone and
    lets other threads draw at the same time. There, a shorter `out` holds the first
    numbers of a longer one.

    Args:
        out: contiguous float32 or float64 of any shape.

    Example:
        >>> import torch
        >>> long = torch.empty(6)
        >>> short = torch.empty(2)
        >>> fill(long, Stream(0, "example"), "normal")
        >>> fill(short, Stream(0, "example"), "normal")
        >>> torch.equal(short, long[:2])
        True
    """
    filled_by(stream, law, out.device)(out)


def filled_by(
    stream: Stream, law: str, device: torch.device
) -> Callable[[Tensor], None]:
    """Return what fills one tensor on `device` after the other, as `fill` does.

    All numbers are different ones of `stream`.
    """
    in_numpy, in_torch = LAWS[law]
    if device.type != "cpu":
        generator = stream.torch(device)
        return lambda out: getattr(out, in_torch)(generator=generator)
    draw = getattr(stream.numpy(), in_numpy)

    def fill_on_cpu(out: Tensor) -> None:
        numbers = out.numpy()
        draw(out=numbers, dtype=numbers.dtype)

    return fill_on_cpu


def fresh_seed() -> int:
    """Return a seed from the operating system, which nobody can know before it is drawn.

    Example:
        >>> 0 <= fresh_seed() < 2**53
        True
    """
    return randbits(SEED_BITS)


def address_of(x: Tensor) -> int:
    """Return a 256-bit number that identifies an image (C, H, W).

    It is the BLAKE2b hash of its shape and its pixels. The pixels are hashed as
    little-endian float32 numbers in C order, with -0.0 as 0.0, so that the device, the
    memory layout and the machine do not matter. Equal images have the same address;
    images that differ in one bit of one pixel have unrelated ones.

    Example:
        >>> import torch
        >>> x = torch.tensor([[[0.0, 0.5], [0.25, 1.0]]])
        >>> address_of(x) == address_of(x.double())
        True
        >>> address_of(x) == address_of(x.flip(-1))
        False
    """
    # The sum makes -0.0 0.0.
    pixels = x.detach().float().cpu().numpy() + np.float32(0.0)
    digest = blake2b(repr(pixels.shape).encode(), digest_size=32)
    digest.update(np.ascontiguousarray(pixels, "<f4").data)
    return int.from_bytes(digest.digest(), "little")
