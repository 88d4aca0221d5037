"""What a visitor of the app may ask for."""

from __future__ import annotations

from dataclasses import dataclass, fields

from randsmooth.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the app.

    Attributes:
        samples: the most samples n that one image may take.
        seconds: that one certificate may take; it is then shown as it is, which is as valid.
        upload_mb: megabytes of a file.
        pixels: of an image, as its file says.
        queue: visitors who may wait; others are asked to come again.
        at_once: certificates that are computed at the same time.

    Raises:
        InputError: a limit that is not above 0.

    Example:
        >>> Limits(samples=10_000).queue
        16
    """

    samples: int = 100_000
    seconds: float = 60.0
    upload_mb: float = 5.0
    pixels: int = 2**24
    queue: int = 16
    at_once: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InputError(f"{field.name}={getattr(self, field.name)} must be above 0")
