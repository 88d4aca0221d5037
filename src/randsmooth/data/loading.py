"""From whatever a data set is given as, to images: the one way in."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.contents import check_itself
from randsmooth.data.arrays import Items, fitted, from_items, from_object, read_npz
from randsmooth.data.dataset_spec import (
    DatasetSpec,
    Fit,
    Size,
    one_shape,
    own,
    refitted,
)
from randsmooth.data.decode import WHITE, Encoded, channels_of, check_brightest, form
from randsmooth.data.feature_tables import (
    from_table,
    is_feature_table,
    read_feature_table,
)
from randsmooth.data.folders import (
    open_files,
    open_named,
    open_whole,
    splits_in,
    within_itself,
)
from randsmooth.data.images import (
    Device,
    Images,
    Request,
    StreamedImages,
    TensorImages,
    numbered,
    renumbered,
    take,
)
from randsmooth.data.labels import USUAL, ColumnNames, check_labels
from randsmooth.data.lists import read_list
from randsmooth.data.registry import (
    DATASETS,
    HOME,
    dataset_path,
    folder_of,
    not_had,
    shards,
)
from randsmooth.data.saved_to_disk import Rows, from_disk, is_saved
from randsmooth.data.splits import ASKED, chosen, split_in, split_of, split_of_path
from randsmooth.data.tables import (
    from_hub,
    from_rows,
    holds_files,
    parquet_splits,
    splits_of_rows,
)
from randsmooth.data.tars import tar_splits
from randsmooth.documents import refused, shown
from randsmooth.errors import BadValue, NotFound, Problem, WrongData, check_known

# Images, evenly spread, whose sizes, mean and standard deviation are looked at.
PROBE = 10_000
STATISTICS_BATCH = 250


def load(
    dataset: Any,
    split: str = "train",
    *,
    device: Device = "cpu",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Size | None = None,
    crop: Size | None = None,
    stream: bool = False,
    categories: bool = False,
) -> Images:
    """The images of one split of a data set, in whatever form it comes (docs/data.md has an example of each).

    Images of a name are made where the data set makes its own, as digits does. Otherwise they are looked for in the
    folder $RANDSMOOTH_DATA/<name>, then on the Hugging Face hub.

    Args:
        dataset: a name in `DATASETS`; the path or URL of a folder (of class folders, of images, of train/ and test/, of
            Parquet or WebDataset tar files, or written by `save_to_disk`) or of an .npz, .csv, .parquet or .tar file;
            arrays or tensors (x, y) or x alone; a torch Dataset or DataLoader; a `datasets` Dataset or DatasetDict; a
            DataFrame of numbers. Arrays and items that are no images, such as (N, d) or (N, C, T), are features of any
            scale.
        split: "train", "validation" or "test", or another word for one of these, such
            as "val". Where there is no test split, the validation split is taken for it,
            which the images say (`Images.split`). What has no splits is what its name
            says, such as "val" of a folder, or else what is asked for.
        device: where batches are to be.
        image_column, label_column: the columns, arrays or extensions that hold the images and the labels, where their
            names are not the usual ones; label_column="none" says that there are no labels.
        resize: the length of the shorter side, or (height, width), that every image is scaled to.
        crop: the side, or (height, width), that is then cut from the centre.
        stream: decode images when they are asked for, even if all of them would fit into memory.
        categories: take columns of a table that hold no numbers as codes (`DatasetSpec.held`), which mean nothing by
            themselves, for what holds them fixed; else such a column is refused.

    Raises:
        Problem: an unknown name, form or split, data that are missing or damaged, or images of several sizes without
            `resize` and `crop`. The message names the file, row or image.

    Example:
        >>> images = load("digits", "test")
        >>> len(images), images.spec.shape
        (364, (1, 8, 8))
        >>> x, y = np.zeros((2, 28, 20, 3), np.uint8), [0, 1]
        >>> load((x, y), "test", resize=32, crop="32x24").batch(torch.tensor([0]))[0].shape
        torch.Size([1, 3, 32, 24])
        >>> load(x, "test").labelled
        False
    """
    split = split_of(str(split)) or split
    check_known("split", ASKED, split)
    columns, fit = ColumnNames(image_column, label_column), Fit.of(resize, crop)
    return _loaded(dataset, Request(split, columns, fit, device, stream, categories))


def describe(
    dataset: Any,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Size | None = None,
    crop: Size | None = None,
) -> DatasetSpec:
    """The facts about a data set: those of its name, or those that a sample of its images shows.

    Arguments and errors as in `load`.

    Example:
        >>> describe("cifar10").classes[:3]
        ('airplane', 'automobile', 'bird')
        >>> describe((np.full((2, 8, 6), 51, np.uint8), [0, 1])).mean
        (0.2,)
    """
    request = Request(
        None,
        ColumnNames(image_column, label_column),
        Fit.of(resize, crop),
        stream=True,
        categories=True,
    )
    if isinstance(dataset, str) and dataset in DATASETS:
        return refitted(DATASETS[dataset], request.fit)
    images = _loaded(dataset, request)
    return (
        with_statistics(images.spec, images)
        if images.spec.convert and not images.spec.features
        else images.spec
    )


def _loaded(dataset: Any, request: Request) -> Images:
    if isinstance(dataset, Images):
        if request.fit is not None or request.columns != USUAL:
            raise BadValue(
                "the images are loaded already: give resize, crop and columns to `data.load`"
            )
        return dataset.to(request.device)
    if isinstance(dataset, str) and dataset in DATASETS:
        return _named(dataset, request)
    if isinstance(dataset, str | Path):
        with refused(f"{shown(dataset)} cannot be read", OSError):
            return _from_path(dataset_path(str(dataset)), request)
    frame, *labels = (
        dataset if isinstance(dataset, tuple) and len(dataset) == 2 else (dataset,)
    )
    if hasattr(frame, "columns") and hasattr(frame, "iloc"):
        return from_table(frame, request, *labels)
    if (
        type(dataset).__module__.partition(".")[0] == "datasets"
    ):  # which is not loaded for this question
        return _from_datasets(dataset, request)
    return from_object(dataset, request)


def _from_path(path: Path, request: Request) -> Images:
    """A split of a folder or file, which may be one by its own name."""
    request = replace(request, whole=split_of_path(path.resolve()))
    if path.is_dir() and is_saved(path):
        return _from_datasets(from_disk(path), request, path.resolve().name)
    check_itself(path)
    path = within_itself(path)
    if path.suffix.lower() == ".npz" and not path.is_dir():
        return read_npz(path, request)
    if not path.is_dir() and is_feature_table(path, request.columns):
        return read_feature_table(path, request)
    split, splits = _splits(path, request)
    _number_alike(splits, path)
    name = path.resolve().name if path.is_dir() else path.name
    return _images(infer(name, splits, request.fit), split, splits[split], request)


def _splits(path: Path, request: Request) -> tuple[str, dict[str, Encoded]]:
    """The split of a folder or file that is taken, and the splits there are."""
    columns, kind = request.columns, path.suffix.lower()
    choose = partial(chosen, asked=request.split, source=path, whole=request.called)
    if path.is_dir():
        found = splits_in(path)
        if not found:
            return choose(open_whole(path, columns))
        taken, files = chosen(found, request.split, path, split_in)
        train = files.get("train", [])
        return taken, {
            split: open_files(each, train, columns) for split, each in files.items()
        }
    if kind == ".tar":
        return choose(tar_splits(shards(path), columns))
    if kind == ".parquet":
        return choose(parquet_splits([path], columns))
    listed = read_list(path, columns)
    taken, rows = choose(listed.splits)
    return taken, {split: listed.images(each) for split, each in rows.items()}


def _number_alike(splits: Mapping[str, Encoded], path: Path) -> None:
    """Number the named classes of each split as the training split does, since another may lack some of them.

    Raises:
        Problem: a split has a class that the training split lacks.
    """
    train = splits.get("train")
    if train is None or train.classes is None:
        return
    for split, each in splits.items():
        if each.classes is None or not each.labelled or each.classes == train.classes:
            continue
        if extra := set(each.classes) - set(train.classes):
            known = ", ".join(train.classes)
            raise WrongData(
                f"{shown(path)} has the class {min(extra)!r} in {split}; known in train are {known}"
            )
        each.labels = renumbered(each.labels, each.classes, train.classes)
        each.classes = train.classes


def _images(
    spec: DatasetSpec, split: str, encoded: Encoded, request: Request
) -> Images:
    if not len(encoded):
        raise WrongData(f"no images in {spec.name} ({split})")
    check_labels(encoded.labels, spec.num_classes, encoded.where)
    if spec.convert:
        check_brightest(
            _brightest(spec, encoded), f"every image of {spec.name} ({split})", WHITE
        )
    if spec.streams or request.stream:
        return StreamedImages(spec, split, encoded, request.device)
    decoded = encoded.read_many(torch.arange(len(encoded)), spec)
    return TensorImages(spec, split, decoded, encoded.labels, request.device)


def _from_datasets(source: Any, request: Request, folder: str | None = None) -> Images:
    """A split of a Dataset or DatasetDict of `datasets`, which may have been read from a folder."""
    import datasets

    if not isinstance(
        source, datasets.Dataset | datasets.DatasetDict
    ):  # such as streamed ones
        return from_object(source, request)
    if isinstance(source, dict):
        split, splits = chosen(
            source,
            request.split,
            f"the DatasetDict of {', '.join(map(str, source))}",
            split_of,
        )
    else:
        split, splits = chosen(
            splits_of_rows(source, request.columns),
            request.split,
            folder or "the datasets.Dataset",
            whole=request.called,
        )
    taken = splits[split]
    own = taken.info.dataset_name or taken.info.builder_name
    name = (
        folder
        if folder
        else f"{shown(own)} (datasets)"
        if own
        else "a datasets.Dataset"
    )
    items = replace(request, whole=split)
    if taken.format["type"] != "custom":  # which gives other items than it stores
        image, label = request.columns.find(taken.features, name)
        if holds_files(taken.features[image]):
            encoded = {
                each: from_rows(
                    splits[each], name, request.columns, follow=folder is None
                )
                for each in splits
            }
            return _images(
                infer(name, encoded, request.fit), split, encoded[split], request
            )
        stored = (
            {"dtype": kind}
            if (kind := getattr(taken.features[image], "dtype", None))
            else {}
        )
        taken = taken.select_columns(
            [column for column in (image, label) if column is not None]
        )  # no others decoded
        taken = taken.with_format(
            "numpy", columns=[image], output_all_columns=True, **stored
        )
    rows = Rows(taken, name) if folder else taken
    return from_items(Items(rows, name, request.columns), items)


def _brightest(spec: DatasetSpec, encoded: Encoded) -> int:
    """The value of the brightest pixel of (some of) the images; none is read after the first that has one above 1."""
    highest = 0
    for index in take(len(encoded), min(PROBE, len(encoded))).tolist():
        with suppress(Problem):  # which is told once the image is asked for
            highest = max(highest, int(encoded.read(index, spec).max()))
        if highest > 1:
            break
    return highest


def _named(name: str, request: Request) -> Images:
    if request.columns != USUAL:
        raise BadValue(
            f"{name} has known columns: leave image_column and label_column out"
        )
    split, spec = request.called, refitted(DATASETS[name], request.fit)
    if split not in spec.files:
        there = ", ".join(spec.files)
        raise NotFound(f"no split {split!r} in {name}; splits there: {there}")
    if spec.read is not None:
        x, y = spec.read(split)
        pixels = torch.from_numpy(
            fitted(
                x, request.fit and spec.fit, lambda index: f"image {index} of {name}"
            )
        )
        return TensorImages(
            spec, split, pixels, torch.from_numpy(y.astype(np.int64)), request.device
        )
    with refused(f"{name} cannot be read", OSError):
        encoded = _found(spec, split)
    numbers = tuple(map(str, range(spec.num_classes)))
    if (
        encoded.classes
        and len(encoded.classes) == spec.num_classes
        and spec.classes == numbers
    ):
        spec = replace(spec, classes=encoded.classes)
    return _images(
        replace(spec, sizes=spec.sizes | {split: len(encoded)}), split, encoded, request
    )


def _found(spec: DatasetSpec, split: str) -> Encoded:
    """A split of a data set with a name, where it is at hand or on the hub."""
    folder = folder_of(spec.name)
    if folder.is_dir():
        return open_named(folder, split, spec)
    if spec.hub is None:
        raise NotFound(
            f"{spec.name} is a local folder only: put it at {folder} (set {HOME} to its parent)"
        )
    try:
        return from_hub(spec, split)
    except Problem as error:
        raise not_had(spec, error) from error


def infer(
    name: str, splits: Mapping[str, Encoded], fit: Fit | None = None
) -> DatasetSpec:
    """The facts that follow from `splits` themselves, from the training split where there is one.

    Images of one size keep it, with no augmentation; those of several must be brought to one by `fit`. Grey images stay
    grey; if some are in colour, all are RGB.

    Raises:
        Problem: an empty split, an image without a header, images of several sizes, or of a mode that is not
            converted.
    """
    encoded = splits.get("train") or next(iter(splits.values()))
    if not len(encoded):
        raise WrongData(
            f"no images in {name}: each split needs some, in Parquet files or class folders"
        )
    forms = set()  # mode, height and width, upright, from the headers
    for index in take(len(encoded), min(PROBE, len(encoded))).tolist():
        with encoded.open(index) as stream:
            forms.add(form(stream, encoded.where(index)))
    labels = torch.cat([each.labels for each in splits.values()])
    channels = channels_of({mode for mode, _, _ in forms})
    if channels is None:
        modes = ", ".join(sorted({mode for mode, _, _ in forms}))
        raise WrongData(
            f"the images of {name} have modes {modes}: convert all to L or to RGB, with 8 bits"
        )
    sides = {(height, width) for _, height, width in forms}
    sizes, shape = (
        {split: len(each) for split, each in splits.items()},
        one_shape(channels, sides, fit, name),
    )
    spec = own(
        name,
        sizes,
        shape,
        encoded.classes or numbered(labels),
        named=encoded.classes is not None,
        fit=fit,
        alphabetical=encoded.alphabetical,
    )
    # photographs of several sizes are trained on as ImageNet's are
    return (
        replace(spec, augment=DATASETS["imagenet"].augment) if len(sides) > 1 else spec
    )


def _moments(
    images: Images, chosen: Tensor, axes: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Mean and variance over the `axes` of the `chosen` inputs (B, ...), batch by batch (Chan et al. 1983)."""
    number, mean, squares = 0, torch.zeros(1), torch.zeros(1)
    for x, _ in images.batches(chosen.split(STATISTICS_BATCH)):
        own, more = (
            (x := x.cpu().double()).mean(axes),
            x.var(axes, correction=0) * len(x),
        )
        squares = (
            squares
            + more
            + (own - mean).square() * (number * len(x) / (number + len(x)))
        )
        mean = mean + (own - mean) * (len(x) / (number + len(x)))
        number += len(x)
    return mean, squares / number


def deviations(images: Images) -> NDArray[np.float64]:
    """The standard deviation of each coordinate over all inputs, of the shape of one.

    Example:
        >>> deviations(load((np.array([[0.0, 5.0], [2.0, 9.0]]), [0, 1]))).tolist()
        [1.0, 2.0]
    """
    _, variance = _moments(images, torch.arange(len(images)), (0,))
    return np.asarray(variance.sqrt().numpy())


def with_statistics(spec: DatasetSpec, images: Images) -> DatasetSpec:
    """`spec` with mean and standard deviation of each channel over (some of) the images, in [0, 1], to 4 digits."""
    mean, variance = _moments(
        images, take(len(images), min(PROBE, len(images))), (0, 2, 3)
    )
    std = tuple(
        round(value, 4) or 1.0 for value in variance.sqrt().tolist()
    )  # what is constant stays
    return replace(
        spec, mean=tuple(round(value, 4) for value in mean.tolist()), std=std
    )
