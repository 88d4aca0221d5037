"""What the papers print, as data. No torch here: rooms that need it are imported by the modules that use them."""

from randsmooth.papers.consistency import inconsistencies
from randsmooth.papers.published_values import published

__all__ = ["inconsistencies", "published"]
