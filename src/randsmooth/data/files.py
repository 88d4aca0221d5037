"""Images in files: folders of classes, flat ones, lists in CSV, WebDataset tar files; and where splits are."""

import csv
import os
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import torch
from torch import Tensor

from randsmooth.data.dataset_spec import SPLITS, DatasetSpec
from randsmooth.data.decode import Encoded, opened
from randsmooth.data.labels import NONE, USUAL, ColumnNames, check_names, from_texts, in_class_order, no_labels
from randsmooth.data.registry import unknown_form
from randsmooth.data.tables import read_parquet
from randsmooth.documents import refused, shown
from randsmooth.errors import InputError

# The names of the splits in a folder that is no data set with a name.
NAMES = {"train": ("train",), "test": ("test", "validation", "val")}

SHARD = re.compile(r"-[0-9]{1,9}-of-[0-9]{1,9}\.parquet$")
TAR = ".tar"
WORDNET_ID = re.compile(r"n\d{8}")

# Of the files that are looked for in folders and tar files.
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".pgm", ".ppm"}

DELIMITERS = {".csv": ",", ".tsv": "\t"}

LABELS = ("cls", "label")  # extensions that hold a label, in the order in which they are looked for
MOST_LABEL_BYTES = 2**16
END = 1024  # bytes at the end of every tar file, all 0


def of_files(paths: Sequence[Path], labels: Tensor, classes: tuple[str, ...] | None = None) -> Encoded:
    """Image files at `paths`, and their labels (N,)."""
    return Encoded(labels, classes, "a folder", paths.__getitem__, paths)


def image_folder(root: Path, folders: tuple[str, ...]) -> Encoded:
    """A folder of class folders of image files; class k is the k-th of `folders`.

    Raises:
        InputError: `root` holds a class folder that is not in `folders`.
    """
    places = _class_places(root)
    extra = set(places) - set(folders)
    if extra:
        raise InputError(f"{root} has the class folder {min(extra)!r}; known are {', '.join(folders)}")
    found = [image_files(places[folder]) if folder in places else [] for folder in folders]
    labels = torch.tensor([label for label, paths in enumerate(found) for _ in paths], dtype=torch.int64)
    return of_files([path for paths in found for path in paths], labels, folders)


def class_folders(root: Path) -> tuple[str, ...]:
    """The names of the folders in `root`, in the order of classes. InputError for one that cannot name a class."""
    return tuple(in_class_order(_class_places(root)))


def _class_places(root: Path) -> dict[str, Path]:
    """The class folders in `root` by their names, which are composed however the disk has them. Errors as above."""
    places = [path for path in root.iterdir() if path.is_dir() and path.name[0] != "."]
    return dict(zip(check_names([path.name for path in places], str(root)), places, strict=True))


def image_files(folder: Path) -> list[Path]:
    """The image files in `folder` in alphabetical order; none where there is no such folder."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:  # which reads no more from the disk than the names
        found = [entry for entry in entries if Path(entry.name).suffix.lower() in SUFFIXES]
        for entry in found:
            # It could be a folder, a pipe that never ends, or a link to nothing or to itself.
            if not entry.is_file(follow_symlinks=False) and not Path(entry.path).is_file():
                raise InputError(f"{entry.path} is called like an image and is no file: remove or rename it")
    return sorted(Path(entry.path) for entry in found)


def flat(folder: Path) -> Encoded:
    """The images in a folder, without labels, in the order of their names."""
    paths = image_files(folder)
    beside = next((name for name in class_folders(folder) if image_files(folder / name)), None)
    if beside is not None:
        raise InputError(f"{folder} holds {paths[0].name} beside folders of images, as {beside}: put all into folders")
    return of_files(paths, no_labels(len(paths)))


def open_split(folder: Path, split: str, spec: DatasetSpec | None = None, columns: ColumnNames = USUAL) -> Encoded:
    """The split of the data set in `folder`: Parquet or tar files, or a folder of class folders or of images.

    With a `spec`, class folders are numbered in the order of its classes.

    Raises:
        InputError: there is no such split; the message says what was looked for and which splits exist.
    """
    files = split_files(folder, split, spec)
    if not files:
        names = (spec.files if spec else NAMES)[split]
        wanted = " or ".join(f"{name}.parquet or {name}/<class name>/" for name in names)
        there = ", ".join(each for each in SPLITS if split_files(folder, each, spec)) or "none"
        raise InputError(f"no split {split!r} in {folder}: looked for {wanted}; splits there: {there}")
    if not files[0].is_dir():
        return read_tars(files, columns) if files[0].suffix == TAR else read_parquet(files, columns)
    if spec is None and image_files(files[0]):
        return flat(files[0])
    # The training folder has every class; a test folder may lack some.
    train = split_files(folder, "train", spec)
    found = class_folders(train[0] if train and train[0].is_dir() else files[0])
    return image_folder(files[0], label_order(found, spec) if spec else found)


def open_whole(folder: Path, columns: ColumnNames = USUAL) -> Encoded:
    """The images of a folder without splits: tar files, class folders, or only images.

    Raises:
        InputError: there are none, or images beside folders of images.
    """
    if shards := sorted(path for path in folder.glob(f"*{TAR}") if path.is_file()):
        return read_tars(shards, columns)
    if image_files(folder):
        return flat(folder)
    if not len(encoded := image_folder(folder, class_folders(folder))):
        raise unknown_form(f"no data set in {folder}")
    return encoded


def split_files(folder: Path, split: str, spec: DatasetSpec | None = None) -> list[Path]:
    """The Parquet or tar files of a split, or only its folder; [] if there is neither."""
    # `hf download` puts the shards under data/ or under the name of the configuration.
    configured = [folder / spec.hub_config] if spec and spec.hub_config else []
    for name in (spec.files if spec else NAMES)[split]:
        for place in (folder, folder / "data", *configured):
            if files := _parquet(place, name) or (_tars(place, name) if spec is None else []):
                return files
        if (folder / name).is_dir():
            return [folder / name]
    return []


def label_order(found: tuple[str, ...], spec: DatasetSpec) -> tuple[str, ...]:
    """The class folders in the order of the spec's labels. Raises InputError where they cannot be its classes."""
    if set(found) <= set(spec.classes):
        return spec.classes
    # ImageNet's labels number the WordNet ids in alphabetical order.
    if len(found) == spec.num_classes and all(WORDNET_ID.fullmatch(name) for name in found):
        return found
    classes = f"the classes of {spec.name}: {', '.join(spec.classes[:10])}, ..."
    raise InputError(f"the class folders {', '.join(found[:10])}, ... are not {classes}")


def _parquet(place: Path, name: str) -> list[Path]:
    """`name`.parquet, or all of its shards in order. Raises InputError if a shard is missing."""
    if (place / f"{name}.parquet").is_file():
        return [place / f"{name}.parquet"]
    shards = sorted(path for path in place.glob(f"{name}-*-of-*.parquet") if SHARD.search(path.name) and path.is_file())
    if shards and len(shards) != int(shards[0].stem.rsplit("-", 1)[1]):
        raise InputError(f"{place} holds {len(shards)} of the shards {shards[0].name}, ...: fetch the others")
    return shards


def _tars(place: Path, name: str) -> list[Path]:
    """`name`.tar, or `name`-0000.tar and so on, in order."""
    return sorted(path for path in place.glob(f"{name}*{TAR}") if path.stem == name or path.stem[len(name)] in "-_")


def read_csv(path: Path, columns: ColumnNames = USUAL) -> Encoded:
    """The images that the rows of `path` name, relative to its folder or absolute, in their order.

    Its first line names the columns. Labels are whole numbers, or names, which are numbered in alphabetical order.

    Raises:
        InputError: no such column, a row of another length, a file that is missing, or a label that is none; the
            message names the line.
    """
    wrong = refused(f"{path} is no CSV file in UTF-8", (csv.Error, UnicodeDecodeError))
    with wrong, path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()], strict=True)
        lines = ((reader.line_num, [cell.strip() for cell in row]) for row in reader if row)
        (_, names), rows = next(lines, (1, [])), []
        image, label = columns.find(names, str(path)) if names else ("", None)
        for number, row in lines:
            if len(row) != len(names):
                raise InputError(f"{path}, line {number} has {len(row)} cells; expected {len(names)}, as in line 1")
            rows.append((number, row))
    if not rows:
        raise InputError(f"no images in {path}: its first line must name the columns, such as path,label")
    files = [path.parent / row[names.index(image)] for _, row in rows]
    for (number, _), place in zip(rows, files, strict=True):
        if "\0" in str(place) or not place.is_file():
            way = f"paths are relative to {path.parent}, the folder of the CSV file"
            raise InputError(f"{path}, line {number}: no image file at {shown(place)}; {way}")
    cells = ["" if label is None else row[names.index(label)] for _, row in rows]
    return of_files(files, *from_texts(cells, lambda place: f"line {rows[place][0]} of {path}", str(path)))


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
    """The samples of WebDataset tar files, in order, whose parts share a name, such as 0001.jpg and 0001.cls.

    Nothing is unpacked: images are read where they lie. (`datasets` has a reader, which takes a file that is cut short
    for a whole one and lets no class have a name.)

    Raises:
        InputError: a shard that is damaged or compressed, a part that occurs twice, a member that is no file, or a
            sample without an image or, where others have one, without a label; the message names it.
    """
    images, names, cells = list[_Part](), list[str](), list[str]()
    for shard in shards:
        for key, parts in _samples(shard).items():
            where = f"sample {shown(repr(key))} of {shard}"
            images.append(_image(parts, columns.image, where))
            names.append(f"{shown(key)} in {shard}")
            cells.append(_label(parts, columns.label, where))
    if not cells:
        raise InputError(f"no images in {shards[0]}: it holds no samples such as 0001.jpg and 0001.cls")
    labels, classes = from_texts(cells, lambda index: f"image {index} ({names[index]})", str(shards[0]))
    return Encoded(labels, classes, str(shards[0]), lambda index: images[index].read(), names)


def _samples(shard: Path) -> dict[str, dict[str, _Part]]:
    """The samples of a shard: key -> extension -> part. Folders and hidden files are left out."""
    samples = dict[str, dict[str, _Part]]()
    wrong = refused(f"{shard} cannot be read as a tar file: fetch it again, or unpack it if it is compressed")
    with wrong, tarfile.open(shard, "r:") as archive:  # uncompressed only, in which a member can be read by itself
        length = shard.stat().st_size
        for member in archive:
            name = PurePosixPath(member.name)
            if member.isdir() or name.name.startswith("."):
                continue
            if not member.isfile() or member.issparse():
                raise InputError(f"{shard} holds {shown(repr(member.name))}, which is no plain file: leave it out")
            if member.offset_data + member.size > length:
                raise InputError(f"{shard} ends inside {shown(repr(member.name))}: it is cut short, fetch it again")
            stem, _, extension = name.name.partition(".")
            parts = samples.setdefault(str(name.parent / stem), {})
            if extension.lower() in parts:
                raise InputError(f"{shard} has {shown(repr(member.name))} twice: keep one of them")
            parts[extension.lower()] = _Part(shard, member.offset_data, member.size)
        if any(_Part(shard, max(0, length - END), END).read()):  # which looks whole to tarfile
            raise InputError(f"{shard} has no end: it is cut short, fetch it again")
    return samples


def _image(parts: dict[str, _Part], asked: str | None, where: str) -> _Part:
    """The part that is the image."""
    found = [asked] if asked is not None else [each for each in parts if f".{each.rpartition('.')[2]}" in SUFFIXES]
    if len(found) != 1 or found[0] not in parts:
        many = "several images" if len(found) > 1 else "no image"
        raise InputError(f"{where} has {many} among {_listed(parts)}: name the extension with --image-column")
    return parts[found[0]]


def _label(parts: dict[str, _Part], asked: str | None, where: str) -> str:
    """The text of the label; empty where there is none."""
    extension = asked if asked is not None else next((each for each in LABELS if each in parts), NONE)
    if extension == NONE and NONE not in parts:
        return ""
    if extension not in parts or parts[extension].size > MOST_LABEL_BYTES:
        wanted = f"no part .{shown(extension)} of at most {MOST_LABEL_BYTES:,} bytes (--label-column)"
        raise InputError(f"{where} has {wanted}; it has {_listed(parts)}")
    with refused(f"{where} has a label that is no text in UTF-8", UnicodeDecodeError):
        return parts[extension].read().decode().strip()


def _listed(parts: dict[str, _Part]) -> str:
    return shown(", ".join(f".{extension}" for extension in parts))
