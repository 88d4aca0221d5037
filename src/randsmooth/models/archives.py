"""Checks that a zip file is one as torch writes it.

In such a file nothing is compressed, and every reader finds the same directory.
"""

import struct
import zipfile
from typing import IO

from randsmooth.errors import WrongFile

# The record at the end of a zip file: signature, two numbers of disks, two numbers of
# entries, the directory's length and its place in the file, and the length of a comment.
END = struct.Struct("<4s4H2LH")
END_SIGNATURE = b"PK\5\6"
# What stands before it in a file with a longer record: signature, disk and place of the
# longer record, and the number of disks.
LOCATOR = struct.Struct("<4sLQL")
LOCATOR_SIGNATURE = b"PK\6\7"
# The longer record, which says the same as END in numbers of 64 bits.
LONG_END = struct.Struct("<4sQ2H2L4Q")
LONG_END_SIGNATURE = b"PK\6\6"

# The most bytes that the code of a program may take once it is decompressed.
MOST_CODE = 2**24

# The most bytes after the end of the directory. They are a comment, with a length of 16
# bits.
MOST_BEHIND = 2**16

# What Python raises for a damaged archive.
BROKEN = (
    zipfile.BadZipFile,
    ValueError,
    NotImplementedError,
    struct.error,
    OverflowError,
    OSError,
)


def check_archive(file: IO[bytes], size: int, packed: str = "") -> dict[str, int]:
    """Check that a zip file is harmless, and return the size of each of its entries.

    Readers of zip files differ. Python takes the directory that ends at the end record;
    torch takes the one at the place that this record states. A harmful file could have
    both. torch also ignores the case of names. It compresses nothing but the code of
    programs.

    Args:
        file: the zip file.
        size: its size in bytes.
        packed: the name of a folder in it whose entries may be compressed; they may have
            MOST_CODE bytes in all. Empty: nothing may be compressed.

    Returns:
        The name of each entry -> its size in bytes.

    Raises:
        WrongFile: it is no zip file, two readers may find different entries, or the
            entries take more bytes than the file has.
    """
    try:
        _check_directory(file, size)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except BROKEN as error:
        raise WrongFile(str(error)) from None

    _check_names(entries)
    code = [entry for entry in entries if packed and f"/{packed}/" in entry.filename]
    names_of_code = {entry.filename for entry in code}
    _check_stored(
        [entry for entry in entries if entry.filename not in names_of_code], size
    )
    if sum(entry.file_size for entry in code) > MOST_CODE:
        raise WrongFile(f"its code is more than {MOST_CODE:,} bytes")
    return {entry.filename: entry.file_size for entry in entries}


def _check_stored(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Raise WrongFile unless entries are not compressed, and fit in a file of `size` bytes."""
    for entry in entries:
        is_stored = entry.compress_type == zipfile.ZIP_STORED
        if not is_stored or entry.compress_size != entry.file_size:
            raise _larger_than_file()
    if sum(entry.file_size for entry in entries) > size:
        raise _larger_than_file()


def _larger_than_file() -> WrongFile:
    """Return the problem of entries that could take more memory than the file."""
    return WrongFile("its content is larger than the file")


def _check_names(entries: list[zipfile.ZipInfo]) -> None:
    """Raise WrongFile where two readers may take different entries for one name."""
    # Python cuts a name at a zero byte, and some readers take a backslash for a slash.
    are_plain = all(
        entry.orig_filename == entry.filename and "\\" not in entry.filename
        for entry in entries
    )
    different = {entry.filename.casefold() for entry in entries}
    if not are_plain or len(different) < len(entries):
        raise WrongFile(
            "two readers may find different entries in it: a name occurs twice, "
            "or is not plain"
        )


def _check_directory(file: IO[bytes], size: int) -> None:
    """Raise WrongFile unless the directory lies where the end record states.

    It must also end where the end record begins. Then a reader that starts at the stated
    place and one that counts back from the end record find the same directory.
    """
    # Python's reader, too, takes the last end record that may have a comment behind it.
    start = max(0, size - MOST_BEHIND - END.size)
    file.seek(start)
    tail = file.read()
    place_in_tail = tail.rfind(END_SIGNATURE)
    if place_in_tail < 0 or place_in_tail + END.size > len(tail):
        raise WrongFile("File is not a zip file, or cut short")
    *_, length, place, _ = END.unpack_from(tail, place_in_tail)
    end_of_directory = start + place_in_tail

    # A longer record before the end record replaces it, as in files beyond 4 GiB.
    file.seek(max(0, end_of_directory - LOCATOR.size - LONG_END.size))
    before_end = file.read(LOCATOR.size + LONG_END.size)
    locator = before_end[-LOCATOR.size :]
    if locator.startswith(LOCATOR_SIGNATURE):
        _, _, stated, _ = LOCATOR.unpack(locator)
        # The directory then ends where the longer record begins.
        end_of_directory -= len(before_end)
        is_long_end = before_end.startswith(LONG_END_SIGNATURE)
        if stated != end_of_directory or not is_long_end:
            raise _other_directory()
        *_, length, place = LONG_END.unpack_from(before_end)
    if place + length != end_of_directory:
        raise _other_directory()


def _other_directory() -> WrongFile:
    """Return the problem of a file in which two readers may find two directories."""
    return WrongFile("it has another directory than the one at its end")
