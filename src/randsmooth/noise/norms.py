"""The norms that radii are in, as they are printed, and the limits of lengths.

Nothing here loads NumPy, so that an error comes at once.
"""

import math
from dataclasses import dataclass
from numbers import Real

from randsmooth.errors import BadValue

PIXELS = "pixels in [0, 1]"

# The least and the largest width of a noise, in the units of the input.
LENGTHS = 1e-6, 1e6

# The largest sigma for pixels: a hundred times the whole range of a pixel.
LARGEST_OF_PIXELS = 100.0

HINT_OF_INPUTS = ", in the units of the input; 0.25 to 2 is usual for pixels in [0, 1]"
HINT_OF_SIGMA = " (pixels lie in [0, 1]: divide one for pixels in 0..255 by 255; 0.25 to 1 is usual)"


@dataclass(frozen=True)
class Norm:
    """A norm, and the words for radii in it; a radius is never printed without them.

    Attributes:
        label: the norm itself: "L1".
        radius: "L1 radius".
        unit: the unit of a radius; empty where `radius` says it.
        change: the words for a change within which the class provably stays, r being
            the radius.
        power: p of the L_p norm that it is, in whatever units.
        parts: the name for what radii count, where they are whole numbers; else empty.
        own_units: whether the change of each coordinate is counted in a unit of its
            own.
        needs_shape: whether radii in it follow from others by the shape of an input.
        usual_step: the step between radii in the tables of the literature; None where
            there are none.

    Example:
        >>> NORMS["l1"].title
        'L1 radius (pixels in [0, 1])'
    """

    label: str
    radius: str
    unit: str
    change: str
    power: float
    parts: str = ""
    own_units: bool = False
    needs_shape: bool = False
    usual_step: float | None = None

    @property
    def whole(self) -> bool:
        """Whether radii are whole numbers."""
        return bool(self.parts)

    @property
    def title(self) -> str:
        """The radius with its unit, as an axis has it."""
        return f"{self.radius} ({self.unit})" if self.unit else self.radius

    def of_each(self, radius: float, d: int) -> float:
        """Return how far each of `d` coordinates moves in a change of all of them alike.

        Args:
            radius: the length of that change.
            d: how many coordinates there are.

        Example:
            >>> [NORMS[name].of_each(1.0, 4) for name in ("l1", "l2", "linf")]
            [0.25, 0.5, 1.0]
        """
        if self.power == 2:
            return radius / math.sqrt(d)
        return float(radius / d ** (1.0 / self.power))


NORMS = {
    "l2": Norm(
        label="L2",
        radius="L2 radius",
        unit=PIXELS,
        change="every change of L2 norm below r",
        power=2,
        usual_step=0.25,
    ),
    "l1": Norm(
        label="L1",
        radius="L1 radius",
        unit=PIXELS,
        change="every change of L1 norm below r",
        power=1,
    ),
    "linf": Norm(
        label="L-infinity",
        radius="L-infinity radius",
        unit=PIXELS,
        change="every change of each number by less than r",
        power=math.inf,
        needs_shape=True,
    ),
    "l0": Norm(
        label="L0",
        radius="L0 radius",
        unit="pixels that may change",
        change="every change of at most r pixels",
        power=0,
        parts="pixels",
    ),
    "words": Norm(
        label="words",
        radius="radius in words",
        unit="words that may be replaced",
        change="every replacement of at most r words by others",
        power=0,
        parts="words",
    ),
    "ellipsoid": Norm(
        label="standard deviations of the noise",
        radius="radius in standard deviations of the noise",
        unit="",
        change=(
            "every change of L2 norm below r, counted in each coordinate's standard "
            "deviation of the noise"
        ),
        power=2,
        own_units=True,
    ),
    "deviations": Norm(
        label="standard deviations of each feature",
        radius="radius in standard deviations of each feature",
        unit="",
        change=(
            "every change of L2 norm below r, counted in each feature's own standard "
            "deviation"
        ),
        power=2,
        own_units=True,
    ),
}


def check_sigma(sigma: float, most: float = LARGEST_OF_PIXELS) -> None:
    """Raise Problem unless `sigma` is a number from 1e-6 to `most`.

    That is 100 for pixels in [0, 1], and 1e6 for features.

    Example:
        >>> check_sigma(0.5)
        >>> check_sigma(0)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: sigma=0 must be a finite number > 0, from 1e-06 ...
    """
    check_length("sigma", sigma, most, HINT_OF_SIGMA)


def check_length(
    name: str, value: object, most: float = LENGTHS[1], hint: str = HINT_OF_INPUTS
) -> None:
    """Raise Problem unless `value` is a number from 1e-6 to `most`.

    It is the width of a noise in the units of the input, which is called `name`.

    Example:
        >>> check_length("lam", 0.6)
        >>> check_length("lam", -1)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: lam=-1 must be a finite number > 0, from 1e-06 ...
    """
    least = LENGTHS[0]
    if not isinstance(value, Real) or not least <= float(value) <= most:
        raise BadValue(
            field=name,
            value=value,
            expected=f"must be a finite number > 0, from {least:g} to {most:g}{hint}",
        )
