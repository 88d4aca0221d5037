"""The radii of a table up to its last one, given up where samples win too few."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from randsmooth import bounds
from randsmooth.rules.base import Ints, Rule
from randsmooth.rules.grid import Grid

# An image goes on as long as n further samples win it more than so many radii, on average.
PRICE = 0.2

# Up to a look at n of N samples, alpha (n / N)^SPENDING_POWER may be spent.
SPENDING_POWER = 0.5

# A multiple of the step that is as near to the last radius as this is taken for it.
SAME_RADIUS = 1e-9


@dataclass(frozen=True)
class UpTo(Grid):
    """As `Grid`, up to a radius, and a radius is given up as soon as it is too dear.

    `Grid` tests each radius that n samples could claim, and gives one up when it is nearly
    out of reach. This rule stops at the last radius that is asked for. It gives a radius up
    when the samples would win more on another image: n samples must be expected to claim a
    fifth of a radius (`PRICE`). So n is not what an image near its radius takes, but the
    worth of a radius: a smaller n draws fewer samples of every image.

    Attributes:
        last: the farthest radius that is tested, in the units of the input.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = UpTo(Gaussian(0.5), n=1000, alpha=0.001, last=0.75)
        >>> rule.radii
        (0.0, 0.25, 0.5, 0.75)
        >>> rule.claim([32, 64, 96]).radius  # after three looks at which all samples agreed
        0.5
        >>> rule.next_look([32]), rule.next_look([12])  # on, or given up
        (64, None)
    """

    name: ClassVar[str] = "upto"
    usage: ClassVar[str] = "upto=R"
    summary: ClassVar[str] = (
        "like grid, up to radius R. It gives a radius up when n samples would win less than "
        "a fifth of a radius: the most certified accuracy for the samples."
    )
    number: ClassVar[str | None] = "last"
    number_is_required: ClassVar[bool] = True
    last: float = 1.5

    def __post_init__(self) -> None:
        self._check_reaches("upto", self.last)
        self._check_number_of_radii()

    @property
    def farthest_asked(self) -> float:
        return self.last

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """The multiples of the step below the last radius, and that radius."""
        number = int(np.ceil(self.last / self.apart - SAME_RADIUS))
        return (*(self.apart * i for i in range(number)), self.last)

    notes = Rule.notes

    def guarantee(self) -> str:
        return (
            f"{self.tested} each radius of the grid of {self.apart:g} up to {self.last:g}, "
            "smallest first."
        )

    @cached_property
    def _tables(self) -> tuple[Ints, Ints]:
        claims = [
            bounds.claims_by_deadline(
                self._q0(r), self.looks, self.alpha, self.n, power=SPENDING_POWER
            )
            for r in self.radii
        ]
        claim = np.stack(claims)
        return claim, bounds.give_up_by_price(claim, self.looks, PRICE / self.n)
