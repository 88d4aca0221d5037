"""Limits of sigma and of other lengths, checked without loading NumPy, so that an error comes at once."""

from __future__ import annotations

from randsmooth.errors import InputError

LENGTHS = 1e-6, 1e6
OF_PIXELS = 100.0  # a hundred times the whole range of a pixel


def check_sigma(sigma: float, most: float = OF_PIXELS) -> None:
    """Raise InputError unless `sigma` is a number from 1e-6 to `most`: 100 for pixels in [0, 1], 1e6 for features.

    Example:
        >>> check_sigma(0.5)
        >>> check_sigma(0)
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: sigma=0 must be a finite number > 0, from 1e-06 to 100 (...)
    """
    _check("sigma", sigma, most, " (pixels lie in [0, 1]: divide one for pixels in 0..255 by 255; 0.25 to 1 is usual)")


def check_length(name: str, value: float) -> None:
    """Raise InputError unless `value`, the width of a noise in the units of the input, is a number from 1e-6 to 1e6.

    Example:
        >>> check_length("lam", 0.6)
        >>> check_length("lam", -1)
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: lam=-1 must be a finite number > 0, from 1e-06 to 1e+06, in the units of ...
    """
    _check(name, value, LENGTHS[1], ", in the units of the input; 0.25 to 2 is usual for pixels in [0, 1]")


def _check(name: str, value: float, most: float, hint: str) -> None:
    try:
        usable = LENGTHS[0] <= value <= most
    except TypeError:
        usable = False
    if not usable:
        raise InputError(f"{name}={value!r} must be a finite number > 0, from {LENGTHS[0]:g} to {most:g}{hint}")
