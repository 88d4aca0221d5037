"""Random streams that are addressed by position, so that nothing depends on the order of drawing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from secrets import randbits

import numpy as np
import torch

SEED_BITS = 53  # no more, so that a seed is still the same number after JSON readers that know only floats


@dataclass(frozen=True)
class Stream:
    """A source of random numbers named by (seed, name, position).

    Two streams with any part different are independent; the same stream always gives the same numbers on
    the same kind of device. `Stream(0, "certify").at(address_of(x), block)` is one block of the noise of image x.
    """

    seed: int
    name: str
    position: tuple[int, ...] = ()

    def at(self, *position: int) -> Stream:
        """The stream at a position below this one."""
        return replace(self, position=self.position + position)

    def sequence(self) -> np.random.SeedSequence:
        """The whole address as entropy, hashed, so that no two addresses read alike."""
        address = repr((int(self.seed), self.name, tuple(map(int, self.position))))
        digest = blake2b(address.encode(), digest_size=32).digest()
        return np.random.SeedSequence(int.from_bytes(digest, "little"))

    def numpy(self) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(self.sequence()))

    def torch(self, device: torch.device | str = "cpu") -> torch.Generator:
        """A torch generator on `device`. On the CPU torch keeps 32 bits of a seed: enough for shuffling and
        augmentation; certification noise comes from `numpy` there, whose state is seeded in full."""
        seed = self.sequence().generate_state(1, np.uint64)[0]
        return torch.Generator(device).manual_seed(int(seed))


def fresh_seed() -> int:
    """A seed from the operating system, which nobody can know before it is drawn."""
    return randbits(SEED_BITS)
