"""Zip files as torch writes them: nothing is packed, and every reader finds the same directory."""

import struct
import zipfile
from typing import IO

from randsmooth.errors import WrongFile

END = struct.Struct(
    "<4s4H2LH"
)  # signature, disks, entries, and length, place and comment of the directory
LOCATOR = struct.Struct(
    "<4sLQL"
)  # signature, disk and place of the longer record below, disks
END64 = struct.Struct("<4sQ2H2L4Q")  # as END, with numbers of 64 bits
MOST_PACKED = 2**24  # bytes of the code of a program, unpacked
MOST_BEHIND = 2**16  # bytes after the end of the directory

BROKEN = (
    zipfile.BadZipFile,
    ValueError,
    NotImplementedError,
    struct.error,
    OverflowError,
    OSError,
)


def check_archive(file: IO[bytes], size: int, packed: str = "") -> dict[str, int]:
    """Check that every reader finds the same entries in a zip file of `size` bytes, and that they take no more.

    Python takes the directory that ends where its end is announced, and torch the one at the place that is announced.
    A file may have both. torch also finds names whatever their case, and packs nothing but the code of programs.

    Args:
        file: the zip file.
        size: its bytes.
        packed: what lies in a folder of this name may be packed, and be MOST_PACKED bytes in all; empty: none.

    Returns:
        The size of each entry by its name.

    Raises:
        Problem: it is no such file.
    """
    try:
        _check_directory(file, size)
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except BROKEN as error:
        raise WrongFile(str(error)) from None
    sizes = {entry.filename: entry.file_size for entry in entries}
    plain = all(
        entry.orig_filename == entry.filename and "\\" not in entry.filename
        for entry in entries
    )
    if not plain or len({name.casefold() for name in sizes}) < len(entries):
        raise WrongFile(
            "two readers may find different entries in it: a name occurs twice, or is no plain one"
        )
    code = [entry for entry in entries if packed and f"/{packed}/" in entry.filename]
    stored = [
        entry for entry in entries if not packed or f"/{packed}/" not in entry.filename
    ]
    whole = all(entry.compress_type == zipfile.ZIP_STORED for entry in stored)
    alike = all(entry.compress_size == entry.file_size for entry in stored)
    if not whole or not alike or sum(entry.file_size for entry in stored) > size:
        raise WrongFile("what it holds is larger than the file")
    if sum(entry.file_size for entry in code) > MOST_PACKED:
        raise WrongFile(f"its code is more than {MOST_PACKED:,} bytes")
    return sizes


def _check_directory(file: IO[bytes], size: int) -> None:
    """Raise Problem unless the directory lies where the end of the file says, and ends where that begins."""
    start = max(0, size - MOST_BEHIND - END.size)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or at + END.size > len(tail):
        raise WrongFile("File is not a zip file, or cut short")
    *_, length, place, _ = END.unpack_from(tail, at)
    file.seek(max(0, start + at - LOCATOR.size - END64.size))
    longer = file.read(LOCATOR.size + END64.size)
    end = start + at
    if longer[-LOCATOR.size :].startswith(b"PK\6\7"):
        _, _, stated, _ = LOCATOR.unpack(longer[-LOCATOR.size :])
        end -= len(longer)
        if stated != end or not longer.startswith(b"PK\6\6"):
            raise WrongFile("it has another directory than the one at its end")
        *_, length, place = END64.unpack_from(longer)
    if place + length != end:
        raise WrongFile("it has another directory than the one at its end")
