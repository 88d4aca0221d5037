"""Zip files as torch writes them.

Nothing is packed, and every reader finds the same directory.
"""

import struct
import zipfile
from typing import IO

from randsmooth.errors import WrongFile

# The end of the directory: signature, disks (2), entries (2), and length, place and
# length of the comment of the directory.
END = struct.Struct("<4s4H2LH")
END_SIGNATURE = b"PK\5\6"
# What may stand before it: signature, disk and place of a longer record, and disks.
LOCATOR = struct.Struct("<4sLQL")
LOCATOR_SIGNATURE = b"PK\6\7"
# That record, which is as END, with numbers of 64 bits.
LONG_END = struct.Struct("<4sQ2H2L4Q")
LONG_END_SIGNATURE = b"PK\6\6"

# The most bytes of the code of a program, unpacked.
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
    """Return the size of each entry of a zip file, once it is sure that it is harmless.

    Python takes the directory that ends where its end is announced, and torch the one
    at the place that is announced. A file may have both. torch also finds names
    whatever their case, and packs nothing but the code of programs.

    Args:
        file: the zip file.
        size: the size in bytes.
        packed: what lies in a folder of this name may be packed, and be MOST_CODE bytes
            in all; empty: none.

    Raises:
        WrongFile: it is no such file, two readers may find different entries, or these
            take more than the file has.
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
    """Raise WrongFile unless entries lie in a file of `size` bytes as they are."""
    for entry in entries:
        plain = entry.compress_type == zipfile.ZIP_STORED
        if not plain or entry.compress_size != entry.file_size:
            raise _larger_than_file()
    if sum(entry.file_size for entry in entries) > size:
        raise _larger_than_file()


def _larger_than_file() -> WrongFile:
    return WrongFile("what it holds is larger than the file")


def _check_names(entries: list[zipfile.ZipInfo]) -> None:
    """Raise WrongFile where two readers may take different entries for one name."""
    plain = all(
        entry.orig_filename == entry.filename and "\\" not in entry.filename
        for entry in entries
    )
    different = {entry.filename.casefold() for entry in entries}
    if not plain or len(different) < len(entries):
        raise WrongFile(
            "two readers may find different entries in it: a name occurs twice, or is "
            "no plain one"
        )


def _check_directory(file: IO[bytes], size: int) -> None:
    """Raise WrongFile unless the directory lies where the end of the file says.

    It must also end where that end begins.
    """
    # Python's reader looks for the last end that may have a comment behind it.
    start = max(0, size - MOST_BEHIND - END.size)
    file.seek(start)
    tail = file.read()
    place_in_tail = tail.rfind(END_SIGNATURE)
    if place_in_tail < 0 or place_in_tail + END.size > len(tail):
        raise WrongFile("File is not a zip file, or cut short")
    *_, length, place, _ = END.unpack_from(tail, place_in_tail)
    end = start + place_in_tail

    # A longer record before it counts in its place, as in files beyond 4 GiB.
    file.seek(max(0, end - LOCATOR.size - LONG_END.size))
    before_end = file.read(LOCATOR.size + LONG_END.size)
    locator = before_end[-LOCATOR.size :]
    if locator.startswith(LOCATOR_SIGNATURE):
        _, _, stated, _ = LOCATOR.unpack(locator)
        end -= len(before_end)
        if stated != end or not before_end.startswith(LONG_END_SIGNATURE):
            raise _other_directory()
        *_, length, place = LONG_END.unpack_from(before_end)
    if place + length != end:
        raise _other_directory()


def _other_directory() -> WrongFile:
    return WrongFile("it has another directory than the one at its end")
