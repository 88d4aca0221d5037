"""A user's folders, of any kind of files, with splits in them or without."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.encoded import Encoded
from randsmooth.data.folders import (
    class_folders,
    flat,
    image_folder,
    lists_in,
    own_classes,
)
from randsmooth.data.forms import unknown_form
from randsmooth.data.notes import tell
from randsmooth.data.parquet_images import parquet_splits, read_parquet
from randsmooth.data.shard_files import TAR, check_complete, parquet_files, tar_files
from randsmooth.data.split_words import WHOLE, split_in, split_of, splits_beside
from randsmooth.data.tars import read_tars, tar_splits
from randsmooth.data.walking import LeftOut, images_below, scan
from randsmooth.errors import WrongData
from randsmooth.notes import Note


def splits_in(folder: Path) -> dict[str, list[Path]]:
    """Return the name of each split in a folder -> its Parquet or tar files, or its folder.

    There is no split where nothing is called like one. A `Note` tells what lies beside the
    splits.

    Raises:
        WrongData: a single folder is called like a split, beside other folders of images.
    """
    images, folders = scan(folder)
    paths = {path.name: [path] for path in folders if split_of(path.name)}
    # A data set of the hub has its shards in data/.
    paths |= _split_files(folder) or _split_files(folder / "data")
    if not paths:
        # A word for a split may stand beside another word, as in seg_train, seg_test.
        alike = splits_beside(path.name for path in folders)
        paths = {path.name: [path] for path in folders if path.name in alike}
    if paths:
        _tell_beside_splits(folder, paths, images, folders)
    return {
        name: [within_itself(path) for path in files] for name, files in paths.items()
    }


def _split_files(folder: Path) -> dict[str, list[Path]]:
    """Return the Parquet and tar files in a folder that are called like splits."""
    files = parquet_files(folder) | tar_files(folder)
    return {name: paths for name, paths in files.items() if split_in(name)}


def within_itself(folder: Path) -> Path:
    """Return the folder within `folder` that has the same name, if nothing else is there.

    Archives are often unpacked to photos/photos/. The inner folder must hold folders, and no
    images. In any other case, the answer is `folder` itself.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     Path(place, "photos", "photos", "cat").mkdir(parents=True)
        ...     within_itself(Path(place, "photos")).relative_to(place).as_posix()
        'photos/photos'
    """
    images, folders = scan(folder)
    if images or len(folders) != 1:
        return folder
    (inner,) = folders
    if inner.name != folder.resolve().name or lists_in(folder):
        return folder

    images_within, folders_within = scan(inner)
    if images_within or not folders_within:
        return folder
    _tell_left_out(folder, [])
    return inner


def _tell_beside_splits(
    folder: Path,
    splits: Mapping[str, list[Path]],
    images: Sequence[Path],
    folders: Sequence[Path],
) -> None:
    """Give a `Note` of what lies beside the splits in a folder.

    Args:
        folder: the folder that holds the splits.
        splits: the name of each split -> its files or its folder.
        images: the image files in the folder.
        folders: the folders in it, those of splits and others.

    Raises:
        WrongData: the only split is a folder beside other folders of images: all of them
            may be classes.
    """
    used = {path for paths in splits.values() for path in paths}
    # Each folder that is no split -> the images in it.
    below = {path: images_below(path) for path in folders if path not in used}
    filled = [path for path, images_of in below.items() if images_of]
    if filled and len(used) == 1 and used <= set(folders):
        (split,) = used
        raise WrongData(
            f"{folder} holds {split.name}, the name of a split, beside "
            f"{filled[0].name}",
            fix=f"give {split} alone, or put the others elsewhere; rename {split.name} "
            "if it is a class",
        )

    left_out = [
        *images,
        *(image for images_of in below.values() for image in images_of),
    ]
    _tell_images(folder, left_out, beside="its splits")
    _tell_left_out(folder, used)


def _tell_images(folder: Path, left_out: Sequence[Path], beside: str) -> None:
    """Give a `Note` of the images in a folder that are left out, if any.

    Args:
        folder: the folder that holds them.
        left_out: the images.
        beside: what is read instead of them, in words.
    """
    if not left_out:
        return
    note = Note(
        "images_beside",
        folder=str(folder),
        number=len(left_out),
        beside=beside,
        first=str(left_out[0].relative_to(folder)),
    )
    tell(note)


def _tell_left_out(folder: Path, read: Sequence[Path] | set[Path]) -> None:
    """Give a `Note` of the files in a folder that are no images and not `read`."""
    left_out = LeftOut(folder, read)
    scan(folder, left_out)
    left_out.tell()


def open_files(
    files: list[Path], train: list[Path], columns: ColumnNames = USUAL
) -> Encoded:
    """Return a split by its files, or by its folder of class folders or of images.

    Args:
        files: the Parquet or tar files of the split, or its folder alone.
        train: the same of the training split, whose folder has all classes. The folder of
            another split may lack some.
        columns: the columns that hold images and labels.

    Raises:
        Problem: the files or the folder cannot be used.
    """
    first = files[0]
    if first.suffix == TAR and not first.is_dir():
        return read_tars(files, columns)
    if not first.is_dir():
        return read_parquet(check_complete(files), columns)

    images, _ = scan(first)
    if images:
        return _flat_split(first, columns)
    if train and train[0].is_dir() and train != files:
        return image_folder(first, tuple(class_folders(train[0])))
    return own_classes(first)


def _flat_split(folder: Path, columns: ColumnNames) -> Encoded:
    """Return the images in a folder that is a split by its name.

    Raises:
        WrongData: a list in it says splits.
    """
    splits = flat(folder, columns)
    if set(splits) != {WHOLE}:
        raise WrongData(
            f"{folder} is a split by its name, and a list in it says splits",
            fix=f"give {folder} alone for them, or take that column out",
        )
    return splits[WHOLE]


def open_whole(folder: Path, columns: ColumnNames = USUAL) -> dict[str, Encoded]:
    """Return the images of a folder in which nothing is called like a split.

    Args:
        folder: holds files or folders of images.
        columns: the columns that hold images and labels.

    Returns:
        The name of each split, as the files tell it, -> its images; the only name WHOLE
        means that they tell no splits.

    Raises:
        Problem: there are no images, there are images beside folders of images, or all
            images lie in one folder that may be no class.
    """
    parquets = [
        path
        for shards in parquet_files(folder).values()
        for path in check_complete(shards)
    ]
    tars = [path for paths in tar_files(folder).values() for path in paths]
    if parquets and tars:
        raise WrongData(
            f"{folder} holds both Parquet and tar files, such as "
            f"{parquets[0].name} and {tars[0].name}",
            fix="give one kind",
        )
    if parquets or tars:
        files = sorted(parquets or tars)
        _tell_left_out(folder, files)
        _tell_images(folder, images_below(folder), beside=files[0].name)
        if parquets:
            return parquet_splits(files, columns)
        return tar_splits(files, columns)

    images, _ = scan(folder)
    if images:
        return flat(folder, columns)
    encoded = own_classes(folder)
    if not len(encoded):
        raise unknown_form(f"no data set in {folder}")
    return {WHOLE: encoded}
