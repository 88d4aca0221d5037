"""Limits of sigma, checked without loading NumPy, so that an error comes at once."""

from __future__ import annotations

from randsmooth.errors import InputError

SIGMAS = 1e-6, 100.0  # from noise that no image shows to a hundred times the whole range of a pixel


def check_sigma(sigma: float) -> None:
    """Raise InputError unless `sigma`, in units of pixels in [0, 1], is a number from 1e-6 to 100.

    Example:
        >>> check_sigma(0.5)
        >>> check_sigma(0)
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: sigma=0 must be a finite number > 0, from 1e-06 to 100 (...)
    """
    least, most = SIGMAS
    try:
        usable = least <= sigma <= most
    except TypeError:
        usable = False
    if not usable:
        raise InputError(
            f"sigma={sigma!r} must be a finite number > 0, from {least:g} to {most:g} (pixels lie in [0, 1], so divide "
            "one for pixels in 0..255 by 255; 0.25 to 1 is usual)"
        )
