"""What a file is by its content, where that is something else than its name says.

It may be a web page, a pointer, an archive.
"""

import math
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from randsmooth.documents import shown
from randsmooth.errors import WrongFile

# The bytes of a file that are looked at.
HEAD_BYTES = 4096

TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)
PAGE = re.compile(rb"<(!doctype html|html|head|body)\b", re.IGNORECASE)
AGAIN = "fetch the file itself, by the link that downloads it"
PROGRAM = "is a program of torch.export, which `randsmooth certify` takes as NET.pt2"

# How other kinds of files begin, and what to do with one.
BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "is packed by gzip: unpack it, `gunzip FILE`"),
    (b"BZh", "is packed by bzip2: unpack it, `bunzip2 FILE`"),
    (b"\xfd7zXZ", "is packed by xz: unpack it, `unxz FILE`"),
    (b"\x28\xb5\x2f\xfd", "is packed by zstd: unpack it, `unzstd FILE`"),
    (b"7z\xbc\xaf", "is a 7z archive: unpack it"),
    (b"Rar!", "is a rar archive: unpack it"),
    (b"\x89HDF", "is an HDF5 file, the format of Keras"),
    (b"\x93NUMPY", "is an array of NumPy (.npy)"),
    (b"PAR1", "is a Parquet file"),
    (b"\x89PNG", "is a picture"),
    (b"\xff\xd8\xff", "is a picture"),
    (b"%PDF", "is a PDF"),
)


def check_no_placeholder(path: Path) -> None:
    """Raise WrongFile where something else lies at `path` in place of the file itself.

    That may be an empty file, a pointer of Git LFS or git-annex, or the page or the message
    of a server. Where nothing lies there, nothing is raised.

    Raises:
        WrongFile: it is such a placeholder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "net.pth"
        ...     _ = path.write_text("version https://git-lfs.github.com/spec/v1")
        ...     check_no_placeholder(path)
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongFile: ...net.pth is a pointer of Git LFS, not the file itself: `git lfs pull` fetches it
    """
    if not path.is_file():
        return
    instead = stands_for(_head(path))
    if instead:
        raise WrongFile(f"{path} {instead}", file=path)


def what_it_is(path: Path) -> str:
    """Return what a file is that nobody could read as what its name says.

    The words go on from its name; they are empty where that is not known.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "net.pth"
        ...     _ = path.write_bytes(b"%PDF-1.7")
        ...     what_it_is(path)
        'is a PDF'
    """
    head = _head(path)
    instead = stands_for(head)
    if instead:
        return instead
    for beginning, words in BEGINNINGS:
        if head.startswith(beginning):
            return words
    has_mark_of_tar = head[257:262] == b"ustar"
    if has_mark_of_tar:
        return "is a tar archive: unpack it, `tar xf FILE`, and give the file in it"
    if is_pickle(path):
        return (
            "is a plain pickle (of pickle.dump or joblib). Pickles can run code, "
            "so randsmooth never loads one: save torch.save(model.state_dict(), "
            "'weights.pth')"
        )
    # A number of 8 bytes stands before the JSON of a file of safetensors.
    has_json_behind_number = re.fullmatch(rb"\{\s*[\"}].*", head[8:10], re.DOTALL)
    if has_json_behind_number and path.suffix != ".safetensors":
        return "is a file of safetensors: let its name end in .safetensors"
    if head.lstrip().startswith((b"{", b"[")):
        return "is JSON, which is text"
    if head.startswith(b"PK\3\4"):
        return _in_archive(path)
    return ""


def is_pickle(path: Path) -> bool:
    """Return whether a file begins as what pickle.dump writes today.

    Those of torch.save begin with an older protocol.

    Example:
        >>> import pickle, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "net.pkl"
        ...     _ = path.write_bytes(pickle.dumps([1, 2]))
        ...     is_pickle(path)
        True
    """
    return re.match(rb"\x80[\3-\5]", _head(path)) is not None


def is_of_program(name: str) -> bool:
    """Return whether the entry called `name` of a zip file holds a program of torch.export.

    Example:
        >>> is_of_program("archive/models/model.json"), is_of_program("archive/data.pkl")
        (True, False)
    """
    return name.endswith(("serialized_exported_program.json", "models/model.json"))


def _head(path: Path) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def stands_for(head: bytes) -> str:
    """Return what is there in place of a file that begins with `head`.

    The words go on from its name; they are empty for a file itself.

    Example:
        >>> stands_for(b"<!DOCTYPE html><title>404</title>")
        'is a web page (404); servers send one in place of a missing file: fetch the ...
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        return "is empty: copy or download it again"
    if start.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, not the file itself: `git lfs pull` fetches it"
    if start.startswith((b"/annex/objects/", b"../.git/annex", b".git/annex")):
        return "is a pointer of git-annex, not the file itself: `git annex get FILE` fetches it"
    if start.startswith(b"<") and PAGE.search(start):
        title_found = TITLE.search(start)
        title = ""
        if title_found is not None:
            title = f" ({shown(title_found[1].decode(errors='replace').strip())})"
        return (
            f"is a web page{title}; servers send one in place of a missing "
            f"file: {AGAIN}"
        )
    if start.startswith(b"<") and b"<Error>" in start:
        return f"is the error message of a server: {AGAIN}"
    return ""


def _in_archive(path: Path) -> str:
    """Return what a zip file is, by the names in it."""
    try:
        if not zipfile.is_zipfile(path):
            return "is cut short: copy or download it again"
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except Exception:
        # Of a damaged directory Python's reader raises whatever comes.
        return "is a damaged zip archive: copy or download it again"
    return _kind_of_archive(names)


def _kind_of_archive(names: Sequence[str]) -> str:
    """Return what a zip file with these names in it is; empty for one of torch.save."""
    if names and all(name.endswith(".npy") for name in names):
        return "is a file of arrays of NumPy (.npz), not of tensors"
    has_pickle = any(name.endswith("/data.pkl") for name in names)
    if has_pickle and not any("constants.pkl" in name for name in names):
        return ""
    if any(name.endswith("/constants.pkl") for name in names):
        return "is a TorchScript module, which `randsmooth certify` takes as NET.pt"
    if any(map(is_of_program, names)):
        return PROGRAM
    first_names = shown(", ".join(names[:3]))
    return f"is a zip archive of {first_names}: unpack it, and give the file in it"


def begins_as_zip(path: Path) -> bool:
    """Return whether a file begins as zip files do, by which NumPy tells an .npz file."""
    return _head(path).startswith((b"PK\x03\x04", b"PK\x05\x06"))


def array_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return the shape and the type that an .npy file states, of which nothing else is read.

    None: its header is of a version that NumPy writes for names of fields alone.

    Raises:
        ValueError: it has no such header.
    """
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, kind = np.lib.format.read_array_header_2_0(file)
    else:
        return None
    return shape, kind


def check_array_holds(
    called: str, shape: tuple[int, ...], kind: np.dtype[Any], size: int
) -> None:
    """Check that an .npy file is not too short for the array that it states.

    Args:
        called: names the file, and the array in it, in errors.
        shape: what its header states.
        kind: what its header states.
        size: of the whole file, in bytes.

    Raises:
        WrongFile: it is.

    Example:
        >>> check_array_holds("x.npy", (3, 4), np.dtype("f8"), 224)
        >>> check_array_holds("x.npy", (3, 4000), np.dtype("f8"), 224)
        Traceback (most recent call last):
        randsmooth.errors.WrongFile: the header of x.npy states the shape (3, 4000) of float64, 96,000 bytes, ...
    """
    stated = math.prod(shape) * kind.itemsize
    if stated > size:
        raise WrongFile(
            f"the header of {called} states the shape {shown(shape)} of {kind}, {stated:,} "
            f"bytes, and the file holds {size:,}: it is damaged or cut short, save it again"
        )
