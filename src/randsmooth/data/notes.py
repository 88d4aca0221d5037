"""What a user should know of data that were read: each sentence once."""

import warnings

from randsmooth.errors import Note
from randsmooth.escape import printable

_told = set[str]()


def tell(said: str) -> None:
    """Give a `Note` that says `said`, once in a process: a run opens the same data several times.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as notes:
        ...     warnings.simplefilter("always")
        ...     for _ in range(2):
        ...         tell("left out of photos: 1 file")
        >>> [str(note.message) for note in notes]
        ['left out of photos: 1 file']
    """
    if said not in _told:
        _told.add(said)
        warnings.warn(printable(said), Note, stacklevel=3)
