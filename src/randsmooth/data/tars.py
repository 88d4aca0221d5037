"""WebDataset tar files of images, which are read without being unpacked."""

import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from randsmooth.contents import check_no_placeholder
from randsmooth.data.columns import NONE, USUAL, ColumnNames
from randsmooth.data.decode import opened
from randsmooth.data.encoded import Encoded
from randsmooth.data.labels import from_texts
from randsmooth.data.notes import tell
from randsmooth.data.split_words import WHOLE, split_of
from randsmooth.data.walking import SUFFIXES, is_system
from randsmooth.documents import refused, shown
from randsmooth.errors import MissingValue, Setting, WrongData, WrongFile
from randsmooth.notes import Note

# Extensions that hold a label, in the order in which they are looked for.
LABEL_EXTENSIONS = ("cls", "label")

# The most bytes of a part that holds a label.
MOST_LABEL_BYTES = 2**16

# How many bytes at the end of every tar file are 0.
END_BYTES = 1024


class _Part(NamedTuple):
    """Where the bytes of a part of a sample lie: `size` bytes of a shard from `offset` on."""

    shard: Path
    offset: int
    size: int

    def read(self) -> bytes:
        with opened(self.shard) as file:
            file.seek(self.offset)
            return file.read(self.size)


# The extension of each part of a sample, in small letters -> the part.
_Parts = dict[str, _Part]


class _Sample(NamedTuple):
    """A sample of a tar file.

    Attributes:
        key: the beginning that the names of its parts share, such as train/0001.
        image: the part that is its image.
        label: the text of its label; empty where it has none.
        name: the name for it in errors.
    """

    key: str
    image: _Part
    label: str
    name: str


def read_tars(shards: Sequence[Path], columns: ColumnNames = USUAL) -> Encoded:
    """Return the samples in tar files of one split.

    Raises:
        Problem: in the cases of `tar_splits`.
    """
    return _encoded(_read(shards, columns), str(shards[0]))


def tar_splits(
    shards: Sequence[Path], columns: ColumnNames = USUAL
) -> dict[str, Encoded]:
    """Return the samples of WebDataset tar files, in order, by their splits.

    The parts of a sample share a name, such as 0001.jpg and 0001.cls. Nothing is
    unpacked: images are read where they lie. (`datasets` has a reader, which takes a
    file that is cut short for a whole one and lets no class have a name.)

    Args:
        shards: the files.
        columns: the extensions of images and labels.

    Returns:
        The folder of each split in the files -> its samples; the only name WHOLE means
        that no folder is called like a split.

    Raises:
        Problem: a shard is damaged or compressed, a part occurs twice, a member is no
            file, a sample has no image, or only some samples have a label; the message
            names the shard or the sample.
    """
    samples_of_split = dict[str, list[_Sample]]()
    for sample in _read(shards, columns):
        folder, *inside = PurePosixPath(sample.key).parts
        name = folder if inside and split_of(folder) else WHOLE
        samples_of_split.setdefault(name, []).append(sample)

    source = str(shards[0])
    # Samples outside of the folders of splits belong to none.
    if WHOLE in samples_of_split and len(samples_of_split) > 1:
        left_out = samples_of_split.pop(WHOLE)
        note = Note(
            "samples_in_no_split",
            source=source,
            number=len(left_out),
            first=left_out[0].name,
        )
        tell(note)
    return {
        name: _encoded(samples, source) for name, samples in samples_of_split.items()
    }


def _read(shards: Sequence[Path], columns: ColumnNames) -> list[_Sample]:
    """Return the samples in tar files, in order; at least one."""
    samples = list[_Sample]()
    for shard in shards:
        for key, parts in _parts_of_samples(shard).items():
            where = f"sample {shown(repr(key))} of {shard}"
            sample = _Sample(
                key=key,
                image=_image(parts, columns.image, where),
                label=_label(parts, columns.label, where),
                name=f"{shown(key)} in {shard}",
            )
            samples.append(sample)
    if not samples:
        raise WrongData(
            f"no images in {shards[0]}: it holds no samples such as 0001.jpg and "
            "0001.cls"
        )
    return samples


def _encoded(samples: Sequence[_Sample], source: str) -> Encoded:
    """Return samples as a split.

    A `Note` tells where they lie in several folders, which may be classes, and have no
    labels.
    """
    names = [sample.name for sample in samples]
    cells = [sample.label for sample in samples]
    labels, classes = from_texts(
        cells, lambda index: f"image {index} ({names[index]})", source
    )

    folders = sorted({str(PurePosixPath(sample.key).parent) for sample in samples})
    if len(folders) > 1 and not any(cells):
        note = Note(
            "folders_but_no_labels",
            source=source,
            number=len(folders),
            first=shown(folders[0]),
        )
        tell(note)
    return Encoded(
        labels,
        classes,
        source,
        lambda index: samples[index].image.read(),
        names,
        alphabetical=classes is not None,
    )


def _parts_of_samples(shard: Path) -> dict[str, _Parts]:
    """Return the key of each sample in a shard -> its parts.

    Folders and hidden files are left out.
    """
    check_no_placeholder(shard)
    samples = dict[str, _Parts]()
    damaged = refused(
        f"{shard} cannot be read as a tar file: fetch it again, or unpack it if it is "
        "compressed"
    )
    # "r:" refuses compressed files, in which a member cannot be read by itself.
    with damaged, tarfile.open(shard, "r:") as archive:
        length = shard.stat().st_size
        for member in archive:
            name = PurePosixPath(member.name)
            if member.isdir() or _is_hidden(name):
                continue
            _check_member(member, shard, length)
            stem, _, extension = name.name.partition(".")
            parts = samples.setdefault(str(name.parent / stem), {})
            _add(parts, extension.lower(), member, shard)
        _check_end(shard, length)
    return samples


def _is_hidden(name: PurePosixPath) -> bool:
    """Return whether a system or a program put a member there, by a part of its path."""
    return any(is_system(part) for part in name.parts if part != ".")


def _add(parts: _Parts, extension: str, member: tarfile.TarInfo, shard: Path) -> None:
    """Add a member of a shard to the parts of its sample."""
    if extension in parts:
        raise WrongData(
            f"{shard} has {shown(repr(member.name))} twice", fix="keep one of them"
        )
    parts[extension] = _Part(shard, member.offset_data, member.size)


def _check_member(member: tarfile.TarInfo, shard: Path, length: int) -> None:
    """Raise WrongFile where a member is no file, or ends behind its shard."""
    if not member.isfile() or member.issparse():
        raise WrongFile(
            f"{shard} holds {shown(repr(member.name))}, which is not a plain file",
            fix="leave it out",
        )
    if member.offset_data + member.size > length:
        raise WrongFile(
            f"{shard} ends inside {shown(repr(member.name))}: it is cut short",
            fix="fetch it again",
        )


def _check_end(shard: Path, length: int) -> None:
    """Raise WrongFile where a shard is cut short between two members.

    Python's reader would take it for a whole shard.
    """
    end = _Part(shard, max(0, length - END_BYTES), END_BYTES)
    if any(end.read()):
        raise WrongFile(f"{shard} has no end: it is cut short", fix="fetch it again")


def _image(parts: _Parts, asked: str | None, where: str) -> _Part:
    """Return the part that is the image.

    Args:
        parts: the parts of the sample.
        asked: the extension of images that the user gives; None: the user gives none.
        where: names the sample in errors.

    Raises:
        MissingValue: no part is an image, or several are.
    """
    if asked is not None:
        extensions = [asked] if asked in parts else []
    else:
        extensions = [extension for extension in parts if _is_of_image(extension)]
    if len(extensions) == 1:
        return parts[extensions[0]]

    number = "several images" if extensions else "no image"
    raise MissingValue(
        f"{where} has {number} among {_listed(parts)}",
        field="image_column",
        fix=("name the extension as ", Setting("image_column")),
    )


def _is_of_image(extension: str) -> bool:
    """Return whether an extension is that of an image, such as "left.png"."""
    last = extension.rpartition(".")[2]
    return f".{last}" in SUFFIXES


def _label(parts: _Parts, asked: str | None, where: str) -> str:
    """Return the text of the label; empty where there is none.

    Arguments are those of `_image`, with the extension of labels.

    Raises:
        WrongData: there is no part with the extension that the user gives, or a label is
            too long.
    """
    extension = asked
    if extension is None:
        usual = [name for name in LABEL_EXTENSIONS if name in parts]
        extension = usual[0] if usual else NONE
    if extension == NONE and NONE not in parts:
        return ""

    if extension not in parts or parts[extension].size > MOST_LABEL_BYTES:
        raise WrongData(
            f"{where} has no part .{shown(extension)} of at most "
            f"{MOST_LABEL_BYTES:,} bytes; it has {_listed(parts)}"
        )
    with refused(f"{where} has a label that is not text in UTF-8", UnicodeDecodeError):
        return parts[extension].read().decode().strip()


def _listed(parts: _Parts) -> str:
    """Return the extensions of all parts, for an error."""
    return shown(", ".join(f".{extension}" for extension in parts))
