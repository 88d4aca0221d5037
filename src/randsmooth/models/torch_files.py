"""Files of `torch.save`, read without running anything.

Nothing is made of them that is larger than what they hold.
"""

import io
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from randsmooth.documents import refused
from randsmooth.errors import WrongFile
from randsmooth.models.archives import check_archive
from randsmooth.models.pickle_calls import MOST_SHARING, SMALL
from randsmooth.models.pickles import Damaged, Rehearsal

# The first bytes of a zip file, which torch writes since version 1.6.
ZIP = b"PK\3\4"

# Before, a file was a row of pickles. The first is this number.
MAGIC = 0x1950A86A20F9469CFC6C
# The other pickles of such a file, in their order.
OLD_PICKLES = ("version of the format", "machine", "content", "keys of the storages")

# The most values in nested containers; a value counts wherever it stands.
MOST_PARTS = 2**20

# How many containers may lie within each other.
MOST_DEPTH = 32
NOT_BY_TORCH = "it is not a file of torch.save"


def load_plain(source: Path | bytes) -> Any:
    """Return the contents of a file of `torch.save`: CPU tensors and plain values.

    Args:
        source: the file, or its bytes.

    Raises:
        WrongFile: it holds code, is damaged, or would make more than it holds.
    """
    with _opened(source) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        start = file.read(len(ZIP))
        file.seek(0)
        if start == ZIP:
            _check_zip(file, size)
        else:
            _check_old(file, size)

        file.seek(0)
        # Damaged bytes may raise anything. torch warns of old protocols of pickle.
        with refused("torch cannot read it"), warnings.catch_warnings(action="ignore"):
            content = torch.load(file, map_location="cpu", weights_only=True)
    _check_parts(content, size)
    return content


def _opened(source: Path | bytes) -> IO[bytes]:
    """Return a file to read from."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _check_zip(file: IO[bytes], size: int) -> None:
    """Rehearse the pickle in a zip file, as torch writes it since version 1.6.

    Args:
        file: the file.
        size: its bytes.

    Raises:
        WrongFile: the pickle asks for code, or for more than the file has.
    """
    sizes = check_archive(file, size)
    # torch puts everything into one folder. An archive without entries has none.
    folder, _, _ = next(iter(sizes), "").partition("/")
    pickled = f"{folder}/data.pkl"
    if pickled not in sizes or not all(name.startswith(f"{folder}/") for name in sizes):
        raise WrongFile(NOT_BY_TORCH)

    # The numbers of each storage are an entry in data/, called by the storage's key.
    records = {name.removeprefix(f"{folder}/data/"): sizes[name] for name in sizes}
    with zipfile.ZipFile(file) as archive, archive.open(pickled) as pickle:
        Rehearsal(size, records).run(pickle)


def _check_old(file: IO[bytes], size: int) -> None:
    """Rehearse the pickles of a file that torch wrote before version 1.6.

    Args:
        file: the file.
        size: its bytes.

    Raises:
        WrongFile: the pickles ask for code, or for more than the file has, or the numbers
            of their storages do not follow them.
    """
    try:
        first = Rehearsal(size).run(file)
    except Damaged:
        first = None
    if first != MAGIC:
        raise WrongFile(NOT_BY_TORCH)

    # Each run goes on where the one before stopped reading.
    rehearsal = Rehearsal(size)
    for _ in OLD_PICKLES:
        rehearsal.run(file)
    # Parts of other storages have no numbers of their own in the file.
    needed = sum(
        storage.elements * storage.width
        for key, storage in rehearsal.storages.items()
        if key in rehearsal.roots
    )
    if needed > size - file.tell():
        raise WrongFile("its tensors are larger than the file: it is cut short")


def _check_parts(content: Any, size: int) -> None:
    """Raise WrongFile where a file holds far more values than it has bytes.

    If a list holds another list twice, that one a third list twice, and so on 40 times, a
    small file has 2^40 values, and looking at all of them would never end.

    Args:
        content: the content of the file.
        size: bytes of the file.
    """
    used = 0
    for number, part in enumerate(_parts(content)):
        if number > MOST_PARTS:
            raise WrongFile(
                f"it holds more than {MOST_PARTS:,} values, or the same ones many times"
            )
        if isinstance(part, Tensor):
            used += part.numel() * part.element_size()
        if used > MOST_SHARING * size + SMALL:
            raise WrongFile(
                "its tensors are not stored whole, or one is stored for many"
            )


def _parts(content: Any) -> Iterator[Any]:
    """Yield all values in nested containers, and the containers themselves.

    Raises:
        WrongFile: they are nested too deep, as one that holds itself is.
    """
    waiting = [(content, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield part
        if not isinstance(part, dict | list | tuple | set):
            continue
        if depth > MOST_DEPTH:
            raise WrongFile(f"it is nested deeper than {MOST_DEPTH} levels")
        inner = part.values() if isinstance(part, dict) else part
        waiting += [(value, depth + 1) for value in inner]
