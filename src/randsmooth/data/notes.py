"""What a user should know of data that were read: each note once."""

import warnings

from randsmooth.notes import Note

_told = set[Note]()


def tell(note: Note) -> None:
    """Warn of `note` once in a process: a run opens the same data several times.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as notes:
        ...     warnings.simplefilter("always")
        ...     for _ in range(2):
        ...         tell(Note("numbering_column", path="table.csv"))
        >>> [str(note.message) for note in notes]
        ['table.csv: the first column has no name and numbers the rows; it is left out']
    """
    if note not in _told:
        _told.add(note)
        warnings.warn(note, stacklevel=3)
