"""Files of `torch.save`: read without running anything, and without making more than they hold."""

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
from randsmooth.models.pickles import MOST_SHARING, SMALL, Damaged, Rehearsal

ZIP = b"PK\3\4"
MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of a file of torch before 1.6
MOST_PARTS = 2**22  # values in nested containers, each counted wherever it stands
MOST_DEPTH = 32  # containers within each other
NOT_TORCHS = "it is no file of torch.save"


def load_plain(source: Path | bytes) -> Any:
    """What a file of `torch.save`, or its bytes, holds: tensors on the CPU and plain values.

    Raises:
        Problem: it holds code, is damaged, or would make more than it holds.
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
        # Damaged bytes may raise anything; torch warns of other protocols.
        with refused("torch cannot read it"), warnings.catch_warnings(action="ignore"):
            held = torch.load(file, map_location="cpu", weights_only=True)
    _check_parts(held, size)
    return held


def _opened(source: Path | bytes) -> IO[bytes]:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _check_zip(file: IO[bytes], size: int) -> None:
    """Rehearse the pickle in an archive of torch since 1.6. Problem for what it must not ask for."""
    sizes = check_archive(file, size)
    folder = next(iter(sizes)).partition("/")[0]
    pickled = f"{folder}/data.pkl"
    if pickled not in sizes or not all(name.startswith(f"{folder}/") for name in sizes):
        raise WrongFile(NOT_TORCHS)
    records = {name.removeprefix(f"{folder}/data/"): sizes[name] for name in sizes}
    with zipfile.ZipFile(file) as archive, archive.open(pickled) as pickle:
        Rehearsal(size, records).run(pickle)


def _check_old(file: IO[bytes], size: int) -> None:
    """Rehearse the pickles of a file of torch before 1.6, and check that their storages follow them."""
    try:
        first = Rehearsal(size).run(file)
    except Damaged:
        first = None
    if first != MAGIC:
        raise WrongFile(NOT_TORCHS)
    whole = Rehearsal(size)
    for _ in ("version of the format", "machine", "content", "keys of the storages"):
        whole.run(file)
    storages = (
        storage.elements * storage.width
        for key, storage in whole.storages.items()
        if key in whole.roots
    )
    if sum(storages) > size - file.tell():
        raise WrongFile("its tensors are larger than the file: it is cut short")


def _check_parts(held: Any, size: int) -> None:
    """Raise Problem where whoever looks at all values, one after the other, would not come to an end soon.

    A list that holds another one twice, 40 times in each other, has few parts and 2^40 values.
    """
    used = 0
    for number, part in enumerate(_parts(held)):
        if number > MOST_PARTS:
            raise WrongFile(
                f"it holds more than {MOST_PARTS:,} values, or the same ones many times"
            )
        used += part.numel() * part.element_size() if isinstance(part, Tensor) else 0
        if used > MOST_SHARING * size + SMALL:
            raise WrongFile(
                "its tensors are not stored whole, or one is stored for many"
            )


def _parts(held: Any) -> Iterator[Any]:
    """All values in nested containers, which are not followed for ever."""
    rest = [(held, 0)]
    while rest:
        part, depth = rest.pop()
        yield part
        if isinstance(part, dict | list | tuple | set):
            if depth > MOST_DEPTH:
                raise WrongFile(f"it is nested deeper than {MOST_DEPTH} levels")
            inside = part.values() if isinstance(part, dict) else part
            rest.extend((each, depth + 1) for each in inside)
