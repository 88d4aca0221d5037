"""`load` and `describe`, which take a data set in any form; every other module is behind them."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from randsmooth.contents import check_no_placeholder
from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.dataset_paths import dataset_path
from randsmooth.data.dataset_spec import DatasetSpec, refitted
from randsmooth.data.datasets_objects import from_datasets
from randsmooth.data.encoded import Encoded
from randsmooth.data.encoded_splits import (
    images_of_split,
    number_alike,
    spec_of_splits,
)
from randsmooth.data.feature_tables import (
    from_table,
    is_feature_table,
    read_feature_table,
)
from randsmooth.data.forms import shards
from randsmooth.data.image_size import Fit, Size
from randsmooth.data.images import Images
from randsmooth.data.items import from_object
from randsmooth.data.lists import read_list
from randsmooth.data.named_images import images_by_name
from randsmooth.data.npz import read_npz
from randsmooth.data.parquet_images import parquet_splits
from randsmooth.data.registry import DATASETS
from randsmooth.data.request import Device, Request
from randsmooth.data.saved_to_disk import from_disk, is_saved
from randsmooth.data.split_folders import (
    open_files,
    open_whole,
    splits_in,
    within_itself,
)
from randsmooth.data.split_words import split_in, split_of, split_of_path
from randsmooth.data.splits import ASKED, chosen
from randsmooth.data.statistics import with_statistics
from randsmooth.data.tars import tar_splits
from randsmooth.data.texts import Texts, read_texts, texts_of_table
from randsmooth.documents import refused, shown
from randsmooth.errors import BadValue, check_known

# The package of objects that `from_datasets` reads.
DATASETS_PACKAGE = "datasets"


def load(
    dataset: Any,
    split: str = "train",
    *,
    device: Device = "cpu",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Size | None = None,
    crop: Size | None = None,
    text_column: str | None = None,
    stream: bool = False,
    categories: bool = False,
) -> Images:
    """Return the images of one split of a data set, in whatever form it comes.

    docs/data.md has an example of each form. Images of a name are made where the data
    set makes its own, as digits does. Otherwise they are looked for in the folder
    $RANDSMOOTH_DATA/<name>, then on the Hugging Face hub.

    Args:
        dataset: a name in `DATASETS`; the path or URL of a folder (of class folders, of
            images, of train/ and test/, of Parquet or WebDataset tar files, or written
            by `save_to_disk`) or of an .npz, .csv, .parquet or .tar file; arrays or
            tensors (x, y) or x alone; a torch Dataset or DataLoader; a `datasets`
            Dataset or DatasetDict; a DataFrame of numbers. Arrays and items that are no
            images, such as (N, d) or (N, C, T), are features of any scale.
        split: "train", "validation" or "test", or another word for one of these, such
            as "val". Where there is no test split, the validation split is taken for
            it, which the images say (`Images.split`). What has no splits is what its
            name says, such as "val" of a folder, or else what is asked for.
        device: where batches are to be.
        image_column: the column, array or extension that holds the images, where its
            name is not a usual one.
        label_column: the same of the labels; "none" says that there are no labels.
        resize: the length of the shorter side, or (height, width), that every image is
            scaled to.
        crop: the side, or (height, width), that is then cut from the centre.
        text_column: the column that holds texts, which makes inputs of them; "only": the
            only such column.
        stream: decode images when they are asked for, even if all of them would fit
            into memory.
        categories: take columns of a table that hold no numbers as codes
            (`DatasetSpec.held`), which mean nothing by themselves, for what holds them
            fixed; else such a column is refused.

    Raises:
        Problem: an unknown name, form or split, data that are missing or damaged, or
            images of several sizes without `resize` and `crop`. The message names the
            file, row or image.

    Example:
        >>> import numpy as np
        >>> images = load("digits", "test")
        >>> len(images), images.spec.shape
        (364, (1, 8, 8))
        >>> x, y = np.zeros((2, 28, 20, 3), np.uint8), [0, 1]
        >>> load((x, y), "test", resize=32, crop="32x24").batch([0])[0].shape
        torch.Size([1, 3, 32, 24])
        >>> load(x, "test").labelled
        False
    """
    split = split_of(str(split)) or split
    check_known("split", ASKED, split)
    request = Request(
        split,
        columns=ColumnNames(image_column, label_column, text_column),
        fit=Fit.of(resize, crop),
        device=device,
        stream=stream,
        categories=categories,
    )
    return _load(dataset, request)


def describe(
    dataset: Any,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Size | None = None,
    crop: Size | None = None,
    text_column: str | None = None,
) -> DatasetSpec:
    """Return the facts about a data set.

    They are those of its name, or those that a sample of its images shows.

    Args:
        dataset: the data set; this and the other arguments are those of `load`.
        image_column: the column, array or extension that holds the images.
        label_column: the column, array or extension that holds the labels.
        resize: the size that every image is scaled to.
        crop: the size that is then cut from the centre.
        text_column: the column that holds texts.

    Raises:
        Problem: in the cases of `load`.

    Example:
        >>> import numpy as np
        >>> describe("cifar10").classes[:3]
        ('airplane', 'automobile', 'bird')
        >>> describe((np.full((2, 8, 6), 51, np.uint8), [0, 1])).mean
        (0.2,)
    """
    request = Request(
        split=None,
        columns=ColumnNames(image_column, label_column, text_column),
        fit=Fit.of(resize, crop),
        stream=True,
        categories=True,
    )
    if isinstance(dataset, str) and dataset in DATASETS:
        return refitted(DATASETS[dataset], request.fit)

    images = _load(dataset, request)
    # A named data set (`convert` is False) has the statistics of papers, and features are
    # not normalised.
    if not images.spec.convert or images.spec.features:
        return images.spec
    return with_statistics(images.spec, images)


def _load(dataset: Any, request: Request) -> Images:
    """Return the images that are asked for, by the form of the data set.

    Raises:
        Problem: in the cases of `load`.
    """
    if isinstance(dataset, Texts):
        return dataset.to(request.device)
    if isinstance(dataset, Images):
        if request.fit is not None or request.columns != USUAL:
            raise BadValue(
                "the images are loaded already",
                fix="give resize, crop and columns to `data.load`",
            )
        return dataset.to(request.device)
    if isinstance(dataset, str) and dataset in DATASETS:
        return images_by_name(dataset, request)
    if isinstance(dataset, str | Path):
        with refused(f"{shown(dataset)} cannot be read", OSError):
            return _from_path(dataset_path(str(dataset)), request)

    if isinstance(dataset, tuple) and len(dataset) == 2:
        return _from_object(*dataset, dataset, request)
    return _from_object(dataset, None, dataset, request)


def _from_object(first: Any, labels: Any, dataset: Any, request: Request) -> Images:
    """Return the inputs in an object in memory.

    Args:
        first: the object, or the first of a pair.
        labels: the second of a pair; None: there is none.
        dataset: the object, or the pair.
        request: the split and the columns that the user asks for.
    """
    # The attributes of a DataFrame tell, so that pandas is not loaded.
    if hasattr(first, "columns") and hasattr(first, "iloc"):
        if request.columns.text is not None and labels is None:
            return texts_of_table(first, request)
        return from_table(first, request, labels)
    # The module's name tells, so that `datasets` is not loaded.
    if type(dataset).__module__.partition(".")[0] == DATASETS_PACKAGE:
        if request.columns.text is not None and hasattr(dataset, "to_pandas"):
            return texts_of_table(dataset.to_pandas(), request, "the Dataset")
        return from_datasets(dataset, request)
    return from_object(dataset, request)


def _from_path(path: Path, request: Request) -> Images:
    """Return a split of the folder or file at `path`.

    A folder or file without splits may be a split by its own name, such as "val".
    """
    request = replace(request, whole=split_of_path(path.resolve()))
    if path.is_dir() and is_saved(path):
        return from_datasets(from_disk(path), request, path.resolve().name)

    check_no_placeholder(path)
    if request.columns.text is not None:
        return read_texts(path, request)
    # photos/ may hold nothing but photos/photos/, which is meant.
    path = within_itself(path)
    # Files of arrays and of numbers have no compressed images, which all below is about.
    if not path.is_dir():
        if path.suffix.lower() == ".npz":
            return read_npz(path, request)
        if is_feature_table(path, request.columns):
            return read_feature_table(path, request)

    split, splits = _splits(path, request)
    # Each split numbers the classes that it has; here they get the same numbers.
    number_alike(splits, path)
    name = path.resolve().name if path.is_dir() else path.name
    spec = spec_of_splits(name, splits, request.fit)
    return images_of_split(spec, split, splits[split], request)


def _splits(path: Path, request: Request) -> tuple[str, dict[str, Encoded]]:
    """Return which split of a folder or file is taken, and the images of its splits.

    The training and the test split come along, where they are there (see `chosen`).
    """
    columns = request.columns
    choose = partial(chosen, asked=request.split, source=path, whole=request.called)
    if path.is_dir():
        files_by_name = splits_in(path)
        if not files_by_name:
            return choose(open_whole(path, columns))
        split, files = chosen(files_by_name, request.split, path, split_in)
        train = files.get("train", [])
        return split, {
            name: open_files(paths, train, columns) for name, paths in files.items()
        }

    suffix = path.suffix.lower()
    if suffix == ".tar":
        return choose(tar_splits(shards(path), columns))
    if suffix == ".parquet":
        return choose(parquet_splits([path], columns))
    image_list = read_list(path, columns)
    split, rows = choose(image_list.splits)
    return split, {name: image_list.images(places) for name, places in rows.items()}
