"""A forecast figure with its interval."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A forecast, and the limits between which the figure is expected to lie.

    Example:
        >>> Span(10.0, 8.0, 13.0).times(2.0)
        Span(middle=20.0, low=16.0, high=26.0)
    """

    middle: float
    low: float
    high: float

    def times(self, factor: float) -> Span:
        """Each of the three times `factor`."""
        return Span(self.middle * factor, self.low * factor, self.high * factor)

    def plus(self, other: Span) -> Span:
        """The sum of two, whose limits are assumed to be reached together."""
        return Span(self.middle + other.middle, self.low + other.low, self.high + other.high)
