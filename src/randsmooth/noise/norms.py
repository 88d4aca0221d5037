"""The norms that radii are in, as they are printed, and the limits of sigma and of other lengths.

Nothing here loads NumPy, so that an error comes at once.
"""

from dataclasses import dataclass
from numbers import Real

from randsmooth.errors import BadValue

PIXELS = "pixels in [0, 1]"
LENGTHS = 1e-6, 1e6
OF_PIXELS = 100.0  # a hundred times the whole range of a pixel
OF_INPUTS = ", in the units of the input; 0.25 to 2 is usual for pixels in [0, 1]"


@dataclass(frozen=True)
class Norm:
    """The words for radii in one norm; a radius is never printed without them.

    Attributes:
        label: the norm itself: "L1".
        radius: "L1 radius".
        unit: of a radius; empty where `radius` says it.
        change: within which the class provably stays, r being the radius.
        whole: whether radii are whole numbers.

    Example:
        >>> NORMS["l1"].title
        'L1 radius (pixels in [0, 1])'
    """

    label: str
    radius: str
    unit: str
    change: str
    whole: bool = False

    @property
    def title(self) -> str:
        """The radius with its unit, as an axis has it."""
        return f"{self.radius} ({self.unit})" if self.unit else self.radius


NORMS = {
    "l2": Norm("L2", "L2 radius", PIXELS, "every change of L2 norm below r"),
    "l1": Norm("L1", "L1 radius", PIXELS, "every change of L1 norm below r"),
    "linf": Norm(
        "L-infinity",
        "L-infinity radius",
        PIXELS,
        "every change of each number by less than r",
    ),
    "l0": Norm(
        "L0",
        "L0 radius",
        "pixels that may change",
        "every change of at most r pixels",
        whole=True,
    ),
    "ellipsoid": Norm(
        "standard deviations of the noise",
        "radius in standard deviations of the noise",
        "",
        "every change of L2 norm below r, counted in each coordinate's standard deviation of the noise",
    ),
    "deviations": Norm(
        "standard deviations of each feature",
        "radius in standard deviations of each feature",
        "",
        "every change of L2 norm below r, counted in each feature's own standard deviation",
    ),
}

OWN_UNITS = (
    "ellipsoid",
    "deviations",
)  # norms that count the change of each coordinate in a unit of its own


def check_sigma(sigma: float, most: float = OF_PIXELS) -> None:
    """Raise Problem unless `sigma` is a number from 1e-6 to `most`: 100 for pixels in [0, 1], 1e6 for features.

    Example:
        >>> check_sigma(0.5)
        >>> check_sigma(0)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: sigma=0 must be a finite number > 0, from 1e-06 to 100 (...)
    """
    hint = " (pixels lie in [0, 1]: divide one for pixels in 0..255 by 255; 0.25 to 1 is usual)"
    check_length("sigma", sigma, most, hint)


def check_length(
    name: str, value: object, most: float = LENGTHS[1], hint: str = OF_INPUTS
) -> None:
    """Raise Problem unless `value`, the width of a noise in the units of the input, is a number from 1e-6 to `most`.

    Example:
        >>> check_length("lam", 0.6)
        >>> check_length("lam", -1)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: lam=-1 must be a finite number > 0, from 1e-06 to 1e+06, in the units of ...
    """
    if not isinstance(value, Real) or not LENGTHS[0] <= float(value) <= most:
        raise BadValue(
            field=name,
            value=value,
            expected=f"must be a finite number > 0, from {LENGTHS[0]:g} to {most:g}{hint}",
        )
