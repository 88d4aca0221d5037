"""Notes to the user about data that were read, each given once."""

import warnings

from randsmooth.notes import Note

_notes_given = set[Note]()


def tell(note: Note) -> None:
    """Warn of `note`, once in a process.

    A run opens the same data several times, and would repeat it each time.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as notes:
        ...     warnings.simplefilter("always")
        ...     for _ in range(2):
        ...         tell(Note("numbering_column", path="table.csv"))
        >>> [str(note.message) for note in notes]
        ['table.csv: the first column has no name and numbers the rows; it is left out']
    """
    if note not in _notes_given:
        _notes_given.add(note)
        # The warning names the line that called the caller of this function.
        warnings.warn(note, stacklevel=3)
