"""WebDataset tar files of images, which are read where they lie."""

import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from randsmooth.contents import check_itself
from randsmooth.data.decode import Encoded, opened
from randsmooth.data.labels import NONE, USUAL, ColumnNames, from_texts
from randsmooth.data.notes import tell
from randsmooth.data.splits import WHOLE, split_of
from randsmooth.data.walking import SUFFIXES, is_system
from randsmooth.documents import refused, shown
from randsmooth.errors import MissingValue, Setting, WrongData, WrongFile
from randsmooth.notes import Note

LABELS = (
    "cls",
    "label",
)  # extensions that hold a label, in the order in which they are looked for
MOST_LABEL_BYTES = 2**16
END = 1024  # bytes at the end of every tar file, all 0


class _Part(NamedTuple):
    """Where the bytes of a part of a sample lie."""

    shard: Path
    offset: int
    size: int

    def read(self) -> bytes:
        with opened(self.shard) as file:
            file.seek(self.offset)
            return file.read(self.size)


def read_tars(shards: Sequence[Path], columns: ColumnNames = USUAL) -> Encoded:
    """The samples of the WebDataset tar files of one split; errors as of `tar_splits`."""
    return _encoded(*_read(shards, columns), str(shards[0]))


def tar_splits(
    shards: Sequence[Path], columns: ColumnNames = USUAL
) -> dict[str, Encoded]:
    """The samples of WebDataset tar files, in order, whose parts share a name, such as 0001.jpg and 0001.cls.

    Nothing is unpacked: images are read where they lie. (`datasets` has a reader, which takes a file that is cut short
    for a whole one and lets no class have a name.)

    Returns:
        The folder of each split in the files -> its samples; WHOLE alone where no folder is called like a split.

    Raises:
        Problem: a shard that is damaged or compressed, a part that occurs twice, a member that is no file, or a
            sample without an image or, where others have one, without a label; the message names it.
    """
    samples, cells = _read(shards, columns)
    rows = dict[str, list[int]]()
    for row, sample in enumerate(samples):
        folder, *inside = PurePosixPath(sample.key).parts
        word = folder if inside and split_of(folder) else WHOLE
        rows.setdefault(word, []).append(row)
    source = str(shards[0])
    if len(rows) > 1 and (others := rows.pop(WHOLE, [])):
        first = samples[others[0]].name
        tell(
            Note("samples_in_no_split", source=source, number=len(others), first=first)
        )
    return {
        word: _encoded(
            [samples[row] for row in each], [cells[row] for row in each], source
        )
        for word, each in rows.items()
    }


class _Sample(NamedTuple):
    """A sample of a tar file: what its parts share, where its image lies, and what to call it."""

    key: str
    image: _Part
    name: str


def _read(
    shards: Sequence[Path], columns: ColumnNames
) -> tuple[list[_Sample], list[str]]:
    """The samples of tar files, and the texts of their labels."""
    samples, cells = list[_Sample](), list[str]()
    for shard in shards:
        for key, parts in _samples(shard).items():
            where = f"sample {shown(repr(key))} of {shard}"
            samples.append(
                _Sample(
                    key, _image(parts, columns.image, where), f"{shown(key)} in {shard}"
                )
            )
            cells.append(_label(parts, columns.label, where))
    if not cells:
        raise WrongData(
            f"no images in {shards[0]}: it holds no samples such as 0001.jpg and 0001.cls"
        )
    return samples, cells


def _encoded(samples: Sequence[_Sample], cells: Sequence[str], source: str) -> Encoded:
    names = [sample.name for sample in samples]
    labels, classes = from_texts(
        cells, lambda index: f"image {index} ({names[index]})", source
    )
    folders = sorted({str(PurePosixPath(sample.key).parent) for sample in samples})
    if not any(cells) and len(folders) > 1:
        tell(
            Note(
                "folders_but_no_labels",
                source=source,
                number=len(folders),
                first=shown(folders[0]),
            )
        )
    return Encoded(
        labels,
        classes,
        source,
        lambda index: samples[index].image.read(),
        names,
        alphabetical=classes is not None,
    )


def _samples(shard: Path) -> dict[str, dict[str, _Part]]:
    """The samples of a shard: key -> extension -> part. Folders and hidden files are left out."""
    samples = dict[str, dict[str, _Part]]()
    check_itself(shard)
    wrong = refused(
        f"{shard} cannot be read as a tar file: fetch it again, or unpack it if it is compressed"
    )
    with (
        wrong,
        tarfile.open(shard, "r:") as archive,
    ):  # uncompressed only, in which a member can be read by itself
        length = shard.stat().st_size
        for member in archive:
            name = PurePosixPath(member.name)
            if member.isdir() or any(
                is_system(part) for part in name.parts if part != "."
            ):
                continue
            if not member.isfile() or member.issparse():
                raise WrongFile(
                    f"{shard} holds {shown(repr(member.name))}, which is no plain file: leave it out"
                )
            if member.offset_data + member.size > length:
                raise WrongFile(
                    f"{shard} ends inside {shown(repr(member.name))}: it is cut short, fetch it again"
                )
            stem, _, extension = name.name.partition(".")
            parts = samples.setdefault(str(name.parent / stem), {})
            if extension.lower() in parts:
                raise WrongData(
                    f"{shard} has {shown(repr(member.name))} twice: keep one of them"
                )
            parts[extension.lower()] = _Part(shard, member.offset_data, member.size)
        if any(
            _Part(shard, max(0, length - END), END).read()
        ):  # which looks whole to tarfile
            raise WrongFile(f"{shard} has no end: it is cut short, fetch it again")
    return samples


def _image(parts: dict[str, _Part], asked: str | None, where: str) -> _Part:
    """The part that is the image."""
    found = (
        [asked]
        if asked is not None
        else [each for each in parts if f".{each.rpartition('.')[2]}" in SUFFIXES]
    )
    if len(found) != 1 or found[0] not in parts:
        many = "several images" if len(found) > 1 else "no image"
        raise MissingValue(
            f"{where} has {many} among {_listed(parts)}",
            field="image_column",
            fix=("name the extension as ", Setting("image_column")),
        )
    return parts[found[0]]


def _label(parts: dict[str, _Part], asked: str | None, where: str) -> str:
    """The text of the label; empty where there is none."""
    extension = (
        asked
        if asked is not None
        else next((each for each in LABELS if each in parts), NONE)
    )
    if extension == NONE and NONE not in parts:
        return ""
    if extension not in parts or parts[extension].size > MOST_LABEL_BYTES:
        wanted = f"no part .{shown(extension)} of at most {MOST_LABEL_BYTES:,} bytes"
        raise WrongData(f"{where} has {wanted}; it has {_listed(parts)}")
    with refused(f"{where} has a label that is no text in UTF-8", UnicodeDecodeError):
        return parts[extension].read().decode().strip()


def _listed(parts: dict[str, _Part]) -> str:
    return shown(", ".join(f".{extension}" for extension in parts))
