"""WebDataset shards: tar files in which the parts of a sample share a name, such as 0001.jpg and 0001.cls."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from randsmooth.data.columns import NONE, USUAL, ColumnNames
from randsmooth.data.encoded import SUFFIXES, opened
from randsmooth.data.labels import from_texts, no_labels
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError

LABELS = ("cls", "label", "json")  # extensions that hold a label, in the order in which they are looked for
IN_JSON = ("label", "cls", "class", "target")  # names of a label in a .json part
MOST_LABEL_BYTES = 2**16
BRACES = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
MOST_SHARDS = 100_000


@dataclass(frozen=True)
class _Part:
    """Where a part of a sample lies: shard, first byte and length."""

    shard: int
    offset: int
    size: int


class TarShards:
    """The samples of tar files, in order. Nothing is unpacked: images are read where they lie."""

    def __init__(self, shards: Sequence[Path], columns: ColumnNames = USUAL) -> None:
        """Reads the names in every shard, and the labels.

        Raises:
            InputError: a shard that is damaged or compressed, a key that occurs twice, a member that is no file, or a
                sample without an image or, where others have one, without a label; the message names it.
        """
        self.shards = list(shards)
        self.classes: tuple[str, ...] | None = None
        self._keys: list[str] = []
        self._images: list[_Part] = []
        cells: list[str] = []
        for key, parts in _samples(self.shards):
            where = f"sample {shown(repr(key))} of {self.shards[next(iter(parts.values())).shard]}"
            self._keys.append(key)
            self._images.append(parts[_image(parts, columns.image, where)])
            cells.append(self._label(parts, columns.label, where))
        if not cells:
            raise InputError(f"no images in {self.shards[0]}: it holds no samples such as 0001.jpg and 0001.cls")
        labels = from_texts(cells, self.where, str(self.shards[0])) if any(cells) else (no_labels(len(cells)), None)
        self.labels, self.classes = labels

    def open(self, index: int) -> IO[bytes]:
        return io.BytesIO(self._bytes(self._images[index], self.where(index)))

    def where(self, index: int) -> str:
        return f"image {index} ({shown(self._keys[index])} in {self.shards[self._images[index].shard]})"

    def _bytes(self, part: _Part, where: str) -> bytes:
        with opened(self.shards[part.shard]) as file:
            file.seek(part.offset)
            content = file.read(part.size)
        if len(content) < part.size:
            raise InputError(f"{where} is cut short: fetch {self.shards[part.shard]} again")
        return content

    def _label(self, parts: dict[str, _Part], asked: str | None, where: str) -> str:
        """The text of the label; empty where there is none."""
        if asked == NONE:
            return ""
        extension = asked if asked is not None else next((each for each in LABELS if each in parts), None)
        if extension not in parts:
            if asked is not None:
                raise InputError(f"{where} has no part .{shown(asked)} (--label-column); it has {_listed(parts)}")
            return ""
        if parts[extension].size > MOST_LABEL_BYTES:
            raise InputError(f"{where} has a label of {parts[extension].size:,} bytes; expected a number or a name")
        text = self._bytes(parts[extension], where)
        if extension == "json":
            return _in_json(text, where, required=asked is not None)
        try:
            return text.decode().strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{where} has a label that is no text in UTF-8") from error


def shards_of(pattern: str) -> list[Path]:
    """The shards that are meant by "a-{000..012}.tar", as WebDataset writes them, or by the path of one.

    Raises:
        InputError: one of them is missing, or is compressed.

    Example:
        >>> shards_of("no-{1..2}.tar")
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: no file at no-1.tar: ...
    """
    found = BRACES.search(pattern)
    paths = [Path(pattern).expanduser()]
    if found is not None:
        first, last = int(found[1]), int(found[2])
        if not 0 <= last - first < MOST_SHARDS:
            raise InputError(f"{shown(pattern)} means {last - first + 1:,} shards; expected 1 to {MOST_SHARDS:,}")
        numbers = (str(number).zfill(len(found[1])) for number in range(first, last + 1))
        paths = [Path(BRACES.sub(number, pattern, count=1)).expanduser() for number in numbers]
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None:
        raise InputError(f"no file at {missing}: give a shard, or several as in {'shard-{000..012}.tar'!r}")
    return paths


def _samples(shards: Sequence[Path]) -> Iterator[tuple[str, dict[str, _Part]]]:
    """Each sample's key, with its parts by extension in lower case."""
    seen: set[str] = set()
    for number, shard in enumerate(shards):
        sample: dict[str, _Part] = {}
        current = ""
        for key, extension, part in _parts(shard, number):
            if key != current:
                if sample:
                    yield current, sample
                if key in seen:
                    raise InputError(
                        f"{shard} has the key {shown(repr(key))} twice, or not in one place: make keys unique"
                    )
                seen.add(key)
                current, sample = key, {}
            if extension in sample:
                raise InputError(f"{shard} has {shown(key)}.{shown(extension)} twice: keep one of them")
            sample[extension] = part
        if sample:
            yield current, sample


def _parts(shard: Path, number: int) -> Iterator[tuple[str, str, _Part]]:
    """Key, extension and place of every file in a shard; folders and hidden files are left out."""
    try:
        length = shard.stat().st_size
        with tarfile.open(shard, "r:") as archive:  # uncompressed only, in which a member can be read by itself
            for member in archive:
                name = PurePosixPath(member.name)
                if member.isdir() or name.name.startswith("."):
                    continue
                if not member.isfile() or member.issparse():
                    raise InputError(f"{shard} holds {shown(repr(member.name))}, which is no plain file: leave it out")
                if member.offset_data + member.size > length:
                    raise InputError(f"{shard} ends inside {shown(repr(member.name))}: it is cut short, fetch it again")
                stem, _, extension = name.name.partition(".")
                yield str(name.parent / stem), extension.lower(), _Part(number, member.offset_data, member.size)
    except InputError:
        raise
    except (tarfile.TarError, OSError, ValueError, EOFError, OverflowError, MemoryError) as error:
        raise InputError(
            f"{shard} cannot be read as a tar file ({shown(error)}): fetch it again, or unpack it if it is compressed"
        ) from error


def _image(parts: dict[str, _Part], asked: str | None, where: str) -> str:
    """The extension of the part that is the image."""
    found = [asked] if asked is not None else [each for each in parts if f".{each.rpartition('.')[2]}" in SUFFIXES]
    if len(found) != 1 or found[0] not in parts:
        raise InputError(
            f"{where} has {'no image' if found in ([], [asked]) else 'several images'} among {_listed(parts)}: name "
            "the extension with --image-column"
        )
    return found[0]


def _in_json(text: bytes, where: str, *, required: bool) -> str:
    content = parse_json(text, f"the label of {where}")
    found = content if isinstance(content, int | str) else None
    if isinstance(content, dict):
        found = next((content[name] for name in IN_JSON if name in content), None)
    if found is None and not required:
        return ""
    if not isinstance(found, int | str) or isinstance(found, bool):
        raise InputError(f"the label of {where} is {shown(json.dumps(found))}; expected a whole number or a name")
    return str(found)


def _listed(parts: dict[str, _Part]) -> str:
    return shown(", ".join(f".{extension}" for extension in parts))
