"""What a Python program holds: arrays, tables, .npz files, loaders, and data sets such as torch's."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SequentialSampler,
    default_collate,
    default_convert,
)

from randsmooth.contents import (
    array_header,
    begins_as_zip,
    check_array_holds,
    what_it_is,
)
from randsmooth.data.dataset_spec import (
    RESIZE,
    DatasetSpec,
    Fit,
    is_image,
    one_shape,
    own,
)
from randsmooth.data.decode import (
    Source,
    as_pixels,
    check_brightest,
    check_swelling,
    cut_centre,
    scaled,
)
from randsmooth.data.images import (
    Images,
    Request,
    StreamedImages,
    TensorImages,
    numbered,
    take,
)
from randsmooth.data.labels import (
    IMAGE_NAMES,
    LABEL_NAMES,
    MOST_CLASSES,
    NONE,
    ColumnNames,
    Where,
    composed,
    labels_of,
    no_labels,
    of_categories,
)
from randsmooth.data.notes import tell
from randsmooth.data.registry import unknown_form
from randsmooth.data.splits import WHOLE, array_parts, chosen, either_length
from randsmooth.documents import refused, shown
from randsmooth.errors import MissingValue, Setting, WrongData, WrongFile
from randsmooth.notes import Note

Pixels = NDArray[Any]

NUMPYS_FLOATS = {torch.float16, torch.float32, torch.float64}
FILL_IN = "fill them in, or leave those rows out"  # what to do about missing cells

COLOURS = {1, 3}  # sizes that an axis of channels usually has
MOST_CHANNELS = (
    65  # of images that are neither grey nor RGB, fewer, which must come first
)
TWICE = (
    1.001 / 255
)  # about the largest value of 8-bit pixels that were divided by 255 twice
SLIGHTLY = 0.01  # by which rounding or resizing makes values leave [0, 1]
PLAIN = (
    default_collate,
    default_convert,
)  # what a loader does with items unless it is told otherwise
ARRAY_NAMES = [name for group in (*IMAGE_NAMES, *LABEL_NAMES) for name in group]


def as_array(x: Any, name: str) -> Pixels:
    """Return a tensor, or what NumPy takes for an array, as an array; no copy where none is needed.

    Args:
        x: the values. bfloat16 and other floats that NumPy lacks become float32, which holds them exactly.
        name: what to call x in errors.

    Raises:
        Problem: `x` is sparse or quantised, has masked cells, or holds parts that make no array together.
    """
    if isinstance(x, Tensor):
        return _of_tensor(x, name)
    if hasattr(x, "toarray"):  # SciPy's sparse matrices
        raise WrongData(
            f"{name} is a sparse {type(x).__name__} {x.shape}: give it whole, as .toarray() does"
        )
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        masked = np.argwhere(np.ma.getmaskarray(x)).tolist()
        raise WrongData(
            f"{name} has {len(masked):,} masked cells, the first at {tuple(masked[0])}: {FILL_IN}"
        )
    if isinstance(x, list | tuple) and any(isinstance(part, Tensor) for part in x):
        x = [as_array(part, f"item {place} of {name}") for place, part in enumerate(x)]
    try:
        return np.asarray(x)
    except Exception as error:  # what stands for an array may raise anything
        said = (
            _unequal(x, name) or f"{name} cannot be read as an array ({shown(error)})"
        )
        raise WrongData(said) from error


def _of_tensor(x: Tensor, name: str) -> Pixels:
    """As `as_array`, of a tensor."""
    if x.is_quantized:
        raise WrongData(
            f"{name} is a quantised tensor: give its values, {name}.dequantize()"
        )
    if x.layout != torch.strided:
        kind = str(x.layout).removeprefix("torch.")
        raise WrongData(
            f"{name} is a tensor {tuple(x.shape)} of the layout {kind}: give {name}.to_dense()"
        )
    if x.device.type == "meta":
        raise WrongData(
            f"{name} is a tensor {tuple(x.shape)} of the device meta, which holds no values: load them"
        )
    there = x.detach().cpu()
    if there.is_floating_point() and there.dtype not in NUMPYS_FLOATS:
        there = there.float()
    found: Pixels = there.resolve_conj().resolve_neg().numpy()
    return found


def _unequal(x: Any, name: str) -> str:
    """What to say of a list of arrays of several shapes; nothing where it is none."""
    parts = list(x) if isinstance(x, list | tuple) else []
    shapes = [_shape_of(part) for part in parts]
    other = next(
        (place for place, shape in enumerate(shapes) if shape != shapes[0]), None
    )
    if other is None:
        return ""
    said = f"item {other} of {name} has the shape {shapes[other]}, and item 0 has {shapes[0]}"
    return f"{said}: give one shape, or of images a list of pairs, [(image, label), ...], with resize="


def _shape_of(part: Any) -> tuple[int, ...]:
    """The shape of an array, the sides of a PIL image, or the length of a list."""
    if isinstance(part, Image.Image):
        return part.size[::-1]
    if isinstance(part, list | tuple):
        return (len(part),)
    return tuple(getattr(part, "shape", ()))


def images_first(x: Pixels, name: str, total: int | None = None) -> Pixels:
    """`x` as (N, C, H, W): grey images (N, H, W) get a channel axis, and channels that come last are moved.

    Args:
        x: the pixels of N images.
        name: what to call them in errors.
        total: how many images there should be, where labels tell.

    Raises:
        Problem: another shape, or one that can be read in two ways.
    """
    channels_last = x.ndim == 4 and x.shape[3] in COLOURS
    if x.ndim == 3 and (total == len(x) or not {x.shape[0], x.shape[2]} & COLOURS):
        return x[:, None]
    if channels_last and x.shape[1] not in COLOURS:
        return np.moveaxis(x, 3, 1)
    if (
        x.ndim == 4
        and not channels_last
        and (x.shape[1] in COLOURS or x.shape[1] < min(MOST_CHANNELS, *x.shape[2:]))
    ):
        return x
    if x.ndim == 1:
        raise WrongData(
            f"{name} has shape {x.shape}: give x[:, None] of one feature, x[None] of one input"
        )
    raise WrongData(
        f"{name} has shape {x.shape}, which is not clearly (N, C, H, W), (N, H, W, C) or, of grey images, (N, H, W): "
        "give x[None] of one image, x[:, None] of grey ones, x[..., :3] without alpha, x.transpose(0, 3, 1, 2), or "
        "x.reshape(N, C, H, W) of rows of pixels; a `data.TensorImages` takes any (N, C, H, W)"
    )


def into_unit_range(low: float, high: float) -> str:
    """What brings images with values in [low, high], not all of them in [0, 1], into it.

    Example:
        >>> into_unit_range(0, 255)
        'divide by the value of white, 255'
        >>> into_unit_range(0, 16), into_unit_range(-0.002, 1.0001)
        ('divide by the value of white, 16 if it is among them', 'clip what rounding or resizing did: x.clip(0, 1)')
    """
    if not np.isfinite([low, high]).all():
        return "look where NaN or infinity came from"
    if low >= -SLIGHTLY and high <= 1.0 + SLIGHTLY:
        return "clip what rounding or resizing did: x.clip(0, 1)"
    if low < 0.0:
        return "undo its normalisation, and leave that to the model"
    return f"divide by the value of white, {high:.6g}" + " if it is among them" * (
        high not in (255, 65_535)
    )


def check_values(x: Pixels, name: str, where: Where) -> Pixels:
    """`x` (N, ...) as uint8, or as float32 in [0, 1], once it is sure which of these it is.

    Raises:
        Problem: another type, NaN, values out of range, or values that show that they were scaled in another way.
    """
    if x.dtype == np.bool_:
        return x.astype(np.float32)
    if (x.dtype.kind != "f" or x.dtype.itemsize > 8) and x.dtype != np.uint8:
        raise WrongData(
            f"{name} holds {x.dtype}; expected x.astype('uint8') in 0..255, or floats in [0, 1]"
        )
    each = tuple(range(1, x.ndim))
    lows, highs = x.min(axis=each), x.max(axis=each)
    low, high = float(lows.min()), float(highs.max())
    if x.dtype == np.uint8:
        check_brightest(int(high), f"{name} is uint8 and", "give x.astype('float32')")
        return x
    if len(bad := np.flatnonzero(~((lows >= 0.0) & (highs <= 1.0)))):  # NaN among them
        found = f"values in [{low:.6g}, {high:.6g}]; expected floats in [0, 1]: {into_unit_range(low, high)}"
        first = f"the first such image is {where(int(bad[0]))}. Of signals (N, C, T) give data.features(x, y)"
        raise WrongData(f"{name} has {found}; {first}")
    if 0.0 < high <= TWICE:
        raise WrongData(
            f"{name} has no value above {high:.4g}, of at most 1: was it divided by 255 twice?"
        )
    return x.astype(np.float32, copy=False)


def are_features(x: Pixels) -> bool:
    """Whether inputs `x` (N, ...) are features and no images: by their axes, and (N, C, T) by a value below 0.

    8-bit numbers are always pixels: rows of them are refused, for nobody could tell their units.
    """
    if x.dtype == np.uint8:
        return False
    return (
        x.ndim == 2
        or x.ndim > 4
        or (x.ndim == 3 and x.dtype.kind == "f" and bool((x < 0).any()))
    )


def check_features(x: Pixels, name: str, where: Where) -> NDArray[np.float32]:
    """`x` (N, ...) as float32 of any scale. Problem for what are no numbers, or not finite ones."""
    if x.dtype.kind not in "biuf":
        raise WrongData(
            f"{name} holds {x.dtype}; expected numbers: encode texts and categories, say by OneHotEncoder"
        )
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(x, np.float32)
    if len(
        bad := np.flatnonzero(~np.isfinite(found).reshape(len(found), -1).all(axis=1))
    ):
        raise WrongData(
            f"{name} has NaN, or numbers too large for float32, as in {where(int(bad[0]))}: fill them in"
        )
    return found


def features(x: Any, y: Any = None) -> TensorImages:
    """Inputs of any shape and scale but three axes, which are images: for what could be taken for images otherwise.

    Arrays are taken for features by themselves where they have the shape (N, d), or (N, C, T) and a value below 0.

    Args:
        x: (N, ...), numbers. y: (N,) labels, or None.

    Raises:
        Problem: an input has three axes, or values or labels cannot be used.

    Example:
        >>> spectra = features(np.ones((5, 2, 100)), [0, 1, 0, 1, 1])
        >>> spectra.spec.shape, spectra.spec.features
        ((2, 100), True)
    """
    return from_arrays(x, y, "x", Request(None), as_features=True)


def fitted(x: Pixels, fit: Fit | None, where: Where) -> Pixels:
    """`x` (N, C, H, W), each image resized and cropped as `fit` says."""
    if fit is None or not len(x):
        return x
    sides, whole = fit.sides(x.shape[2:], where(0)), fit.scaled(x.shape[2:])
    planes = (
        scaled(Image.fromarray(each), whole) for each in x.reshape(-1, *x.shape[2:])
    )
    out = np.stack([np.asarray(cut_centre(plane, sides)) for plane in planes]).reshape(
        *x.shape[:2], *sides
    )
    return np.clip(out, 0.0, 1.0) if out.dtype == np.float32 else out


def from_arrays(
    x: Any,
    y: Any,
    name: str,
    request: Request,
    *,
    source: str = "arrays",
    as_features: bool = False,
    where: Where | None = None,
) -> TensorImages:
    """Images in an array (N, C, H, W), (N, H, W, C) or (N, H, W), uint8 or float in [0, 1], with labels (N,) or None.

    Of any other shape, or `as_features`, they are features.

    Args:
        x, y: the arrays or tensors.
        name: what to call x in errors.
        request: what is asked of them.
        source: what to call the data set.
        where: what to call an image in errors; default: its number.

    Raises:
        Problem: values, shapes or labels that cannot be used; the message names the first image that has them.
    """
    pixels = as_array(x, name)
    labels = None if y is None else as_array(y, "the array of labels")
    if labels is not None and (
        labels.ndim == 0 or labels.shape[:1] != pixels.shape[:1]
    ):
        raise WrongData(
            f"{name} has the shape {pixels.shape}, and the labels {labels.shape}: give one label an image"
        )
    as_features = as_features or are_features(pixels)
    where = where or (
        lambda index: f"{'row' if as_features else 'image'} {index} of {name}"
    )
    if not as_features:
        pixels = images_first(pixels, name, None if labels is None else len(labels))
    check_kind(pixels.shape, name, as_features, request.fit)
    if not pixels.size:
        raise WrongData(f"no images in {name}: its shape is {pixels.shape}")
    ordered = None if labels is None else of_categories(y, where, source)
    if labels is None:
        found, names = no_labels(len(pixels)), None
    else:
        found, names = ordered or labels_of(labels, where, source)
    if as_features:
        ready: Pixels = check_features(pixels, name, where)
    else:
        ready = np.ascontiguousarray(
            fitted(check_values(pixels, name, where), request.fit, where)
        )
    sizes, classes = {request.called: len(ready)}, names or numbered(found)
    spec = own(
        source,
        sizes,
        ready.shape[1:],
        classes,
        named=names is not None,
        fit=request.fit,
        alphabetical=names is not None and ordered is None,
    )
    there = torch.from_numpy(ready if ready.flags.writeable else ready.copy())
    return TensorImages(spec, request.called, there, found, request.device)


def check_kind(
    shape: Sequence[int], name: str, as_features: bool, fit: Fit | None
) -> None:
    """Raise Problem where features (N, ...) of `shape` have the axes of images, or are to be resized or cropped."""
    if as_features and is_image(shape[1:]):
        way = "x.reshape(len(x), C, -1), or x[:, None] for a model that takes that axis off"
        raise WrongData(
            f"{name} has the shape {tuple(shape)}; inputs of three axes are images in [0, 1]: give {way}"
        )
    if as_features and fit is not None:
        raise WrongData(
            f"{name} has the shape {tuple(shape)}: resize and crop are for images, so leave them out"
        )


def column_names(x: Any) -> tuple[str, ...]:
    """The names of the columns of a DataFrame, where they are texts; numbers only count the columns.

    Example:
        >>> import pandas as pd
        >>> column_names(pd.DataFrame({"mass": [1.0], "age": [2.0]})), column_names(np.ones((1, 2)))
        (('mass', 'age'), ())
    """
    names = list(getattr(x, "columns", ()))
    return (
        tuple(composed(name) for name in names)
        if all(isinstance(name, str) for name in names)
        else ()
    )


def read_npz(path: Path, request: Request) -> TensorImages:
    """The images of a split in an .npz file: x_test and y_test, test_images and test_labels, trainX and trainY, ...

    Where no name has a split in it, such as x and y, or images and labels, the arrays are those of any split.

    Raises:
        Problem: it is damaged, or has no such arrays; the message lists what it has.
    """
    wrong = f"{path} is no .npz file of np.savez(path, x=..., y=...), or damaged"
    # NumPy would read an array alone in whole, however large it says it is.
    if not begins_as_zip(path):
        raise WrongFile(f"{wrong}: it {what_it_is(path) or 'is no zip archive'}")
    # Damage makes zip and NumPy raise whatever they like, and one array has no names.
    with refused(wrong), np.load(path, allow_pickle=False) as archive:
        groups = _by_split(archive.files, path)
        if request.columns.label == NONE:
            groups = _without_labels(groups)
        split, splits = _arrays(groups, request, path)
        if request.columns.label is None:
            lengths = {
                name: _header(archive, name)[0][:1]
                for arrays in groups.values()
                for name in arrays.values()
            }
            asked = request.columns.image
            splits[split] = _paired(splits[split], asked, groups, lengths, path)
        image, label = request.columns.find(splits[split], str(path))
        for info in archive.zip.infolist():
            check_swelling(path, info.file_size, info.compress_size)
        with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote
            x = _array(archive, splits[split][image], path)
            y = None if label is None else _array(archive, splits[split][label], path)
            shapes = {
                each: _header(archive, arrays[image])[0]
                for each, arrays in splits.items()
                if image in arrays
            }
    images = from_arrays(
        x, y, str(path), replace(request, whole=split), source=path.name
    )
    sizes = {each: shape[0] for each, shape in shapes.items() if shape}
    images.spec = replace(images.spec, sizes=sizes | {split: len(images)})
    return images


Arrays = dict[str, str]
"""The name of each array of a split in its file, by its name without the word for the split."""


def _arrays(
    groups: dict[str, Arrays], request: Request, path: Path
) -> tuple[str, dict[str, Arrays]]:
    """The split that is taken, and each split -> its arrays by their names without it.

    Of test, x_test and test_images are x and images.

    An array that is named by a user brings its split with it.
    """
    names = [name for arrays in groups.values() for name in arrays.values()]
    asked = [
        name for name in (request.columns.image, request.columns.label) if name in names
    ]
    words = [array_parts(name, ARRAY_NAMES)[0] for name in asked]
    if len(set(words)) > 1:
        image_group, label_group = (groups[word] for word in words)
        if _called(LABEL_NAMES, image_group) or _called(IMAGE_NAMES, label_group):
            raise WrongData(
                f"{path}: {' and '.join(map(shown, asked))} are of two splits: name arrays of one"
            )
        split = either_length(words[0] or words[1]) or request.called
        return split, {split: {name: name for name in asked}}
    if set(words) == {WHOLE}:
        return request.called, {request.called: {name: name for name in names}}
    if words:
        word = words[0]
        split = either_length(word) or request.called
        others = {
            column: name for column, name in groups[word].items() if name not in asked
        }
        return split, {split: others | {name: name for name in asked}}
    # What is of no split beside others may be the names of classes.
    of_splits = {word: arrays for word, arrays in groups.items() if word != WHOLE}
    return chosen(of_splits or groups, request.split, path, whole=request.called)


def _by_split(names: list[str], path: Path) -> dict[str, Arrays]:
    """The word for each split in the names of arrays -> its arrays, by their names without that word."""
    found = dict[str, Arrays]()
    for name in names:
        word, column = array_parts(name, ARRAY_NAMES)
        arrays = found.setdefault(word, {})
        if column in arrays:
            both = f"{shown(arrays[column])} and {shown(name)}"
            raise WrongData(
                f"{path} has two arrays {shown(column)} of one split, {both}: keep one of them"
            )
        arrays[column] = name
    return found or {WHOLE: {}}


def _called(
    usual: Sequence[Sequence[str]], arrays: Arrays, asked: str | None = None
) -> list[str]:
    """Those of the arrays that have usual names for images, or for labels, or the name that is asked for."""
    known = {asked} if asked in arrays else {name for group in usual for name in group}
    return [name for column, name in arrays.items() if column in known]


def _without_labels(groups: dict[str, Arrays]) -> dict[str, Arrays]:
    """The groups of arrays without those that have usual names for labels."""
    left = dict[str, Arrays]()
    for word, arrays in groups.items():
        labels = _called(LABEL_NAMES, arrays)
        others = {column: name for column, name in arrays.items() if name not in labels}
        if others:
            left[word] = others
    return left or {WHOLE: {}}


def _paired(
    taken: Arrays,
    asked: str | None,
    groups: dict[str, Arrays],
    lengths: Mapping[str, tuple[int, ...]],
    path: Path,
) -> Arrays:
    """The arrays of a split, with labels or images of another word where it has only the one, such as x_test and y.

    They are paired, with a `Note`, where no other two arrays of one length could be.

    Args:
        taken: the arrays of the split.
        asked: the column of the images; None: one with a usual name.
        groups: all arrays of the file, by the word for their split.
        lengths: (N,) of each array; () where it says none.
        path: of the file.

    Raises:
        Problem: several could be meant, or none has the same length.
    """
    own_images = _called(IMAGE_NAMES, taken, asked)
    own_labels = _called(LABEL_NAMES, taken)
    if bool(own_images) == bool(own_labels):
        return taken
    # Arrays that have a partner in their own split are no one else's.
    others = [
        name
        for arrays in groups.values()
        if not _called(LABEL_NAMES, arrays)
        for name in _called(IMAGE_NAMES, arrays)
    ]
    images = list(dict.fromkeys([*own_images, *others]))
    labels = [
        name
        for arrays in groups.values()
        if not _called(IMAGE_NAMES, arrays)
        for name in _called(LABEL_NAMES, arrays)
    ]
    if not images or not labels:
        return taken
    pairs = [
        (image, label)
        for image in images
        for label in labels
        if lengths[image] == lengths[label] != ()
    ]
    own = {*own_images, *own_labels}
    close = [pair for pair in pairs if own & {*pair}]
    if len(close) == 1:
        ((image, label),) = close
        rivals = [pair for pair in pairs if {image, label} & {*pair}]
        if len(rivals) == 1:
            tell(
                Note(
                    "labels_paired",
                    path=str(path),
                    labels=shown(label),
                    images=shown(image),
                )
            )
            columns = {
                name: column
                for arrays in [*groups.values(), taken]
                for column, name in arrays.items()
            }
            return taken | {columns[name]: name for name in (image, label)}
    image, label = (own_images or images)[0], (own_labels or labels)[0]
    listed = ", ".join(
        f"{shown(name)} ({', '.join(map(str, lengths[name]))})"
        for name in dict.fromkeys([*images, *labels])
    )
    raise MissingValue(
        f"{path} does not say which labels are those of which images, of {listed}",
        fix=(
            "name both, such as ",
            Setting("image_column", image),
            " and ",
            Setting("label_column", label),
            ", or say that there are no labels, ",
            Setting("label_column", NONE),
        ),
    )


def _array(archive: Any, name: str, path: Path) -> Pixels:
    """One array of an .npz file. Problem where it holds Python objects, which could run a program when loaded."""
    shape, kind = _header(archive, name)
    if kind is not None and kind.hasobject:
        what = f"the array {shown(repr(name))} of {path} holds Python objects, which are not loaded from files"
        way = "save y.astype(str) of names, and np.stack(x) of images of one size"
        raise WrongData(f"{what}: {way}")
    if kind is not None:
        called = f"the array {shown(repr(name))} of {path}"
        size = archive.zip.getinfo(f"{name}.npy").file_size
        check_array_holds(called, shape, kind, size)
    found: Pixels = archive[name]
    return found


def _header(archive: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any] | None]:
    """Shape and type of an array of an .npz file, of which nothing else is read; None where it does not say so."""
    if f"{name}.npy" not in archive.zip.namelist():
        return (), None
    with archive.zip.open(f"{name}.npy") as member:
        return array_header(member) or ((), None)


PROBE = 32  # items that are looked at before the others are asked for


class Items(Source):
    """The items of a data set: images, or pairs of an image and a label, or mappings with such columns."""

    threads = False

    def __init__(self, items: Any, name: str, columns: ColumnNames) -> None:
        """Raises Problem for no items, or for ones that are no images."""
        if not len(items):
            raise WrongData(f"no images in {name}")
        super().__init__(None, None, name)
        self.items, self._columns, self._known = (
            items,
            columns,
            dict[int, int](),
        )  # item -> label, once it was read
        first, label = self._parts(0)
        self.labelled = label is not None
        self.features = (
            isinstance(first, Tensor | np.ndarray)
            and first.ndim != 3
            and self._are_features(first.shape)
        )

    def __len__(self) -> int:
        return len(self.items)

    def where(self, index: int) -> str:
        return f"item {index} of {self.name}"

    def _are_features(self, shape: Sequence[int]) -> bool:
        """Whether the first items, of which one is an array of `shape`, are no images."""
        some = (
            self._parts(index)[0]
            for index in take(len(self), min(PROBE, len(self))).tolist()
        )
        arrays = [
            as_array(each, self.where(0))
            for each in some
            if getattr(each, "shape", None) == shape
        ]
        return are_features(np.stack(arrays))

    def _parts(self, index: int) -> tuple[Any, Any]:
        """The image of an item, and its label; None if it has none."""
        item = self.items[index]
        if isinstance(item, Mapping):
            image, label = self._columns.find(
                [str(key) for key in item], self.where(index)
            )
            return item[image], None if label is None else item[label]
        if not isinstance(item, list | tuple):
            return item, None
        parts: list[Any] = [*item, None, None]
        return parts[0], None if self._columns.label == NONE else parts[1]

    def labels_at(self, indices: Tensor) -> Tensor:
        """As each item has it, which is read for it."""
        if not self.labelled:
            return no_labels(len(indices))
        for index in indices.tolist():
            if index not in self._known:
                self.item(index)
        return torch.tensor(
            [self._known[index] for index in indices.tolist()], dtype=torch.int64
        )

    def item(self, index: int) -> NDArray[Any]:
        """The pixels (C, H, W) of one item, or its features; its label is looked at."""
        (image, label), where = self._parts(index), self.where(index)
        if self.labelled:
            self._known[index] = self._label(index, label)
        if isinstance(image, Image.Image):
            return as_pixels(image, where)
        if not isinstance(image, Tensor | np.ndarray):
            raise WrongData(
                f"{where} holds a {type(image).__name__}; expected a tensor, an array or a PIL image"
            )
        array = as_array(image, where)
        if array.dtype.kind not in "biuf":
            raise WrongData(
                f"{where} holds an array of {array.dtype}; expected numbers of one shape"
            )
        if self.features:
            return array
        first: NDArray[Any] = images_first(
            array[None], where, 1 if array.ndim == 2 else None
        )[0]
        return first

    def _label(self, index: int, label: Any) -> int:
        found = (
            np.zeros(0)
            if label is None
            else as_array(label, f"the label of {self.where(index)}")
        )
        if (
            found.size != 1
            or found.dtype.kind not in "iu"
            or not 0 <= int(found.item()) < MOST_CLASSES
        ):
            has = (
                "no label, unlike the first item"
                if label is None
                else f"the label {shown(repr(label))}"
            )
            raise WrongData(
                f"{self.where(index)} has {has}; expected a whole number (label_column='none': none)"
            )
        return int(found.item())

    def read(
        self, index: int, spec: DatasetSpec, draws: Sequence[float] | None = None
    ) -> NDArray[np.float32]:
        """The pixels (C, H, W) of one item in [0, 1]. It may be nearly black, so that its own range says little."""
        image, where = self.item(index), self.where(index)
        if self.features:
            array: Pixels = check_features(image[None], where, lambda _: where)[0]
        else:
            if image.dtype != np.uint8 and not (
                image.dtype.kind == "f" and ((image >= 0) & (image <= 1)).all()
            ):
                image = check_values(
                    image[None], f"the image of {where}", lambda _: where
                )[0]
            plain = image if image.dtype == np.uint8 else image.astype(np.float32)
            array = fitted(plain[None], spec.fit, lambda _: where)[0]
        if array.shape != spec.shape and (
            self.features or array.shape != (1, *spec.shape[1:])
        ):
            way = "give one shape" if self.features else f"convert it, or {RESIZE}"
            raise WrongData(
                f"{where} has the shape {array.shape}, and the first {spec.shape}: {way}"
            )
        found: NDArray[np.float32] = np.broadcast_to(array, spec.shape).astype(
            np.float32, order="C"
        )
        return found / np.float32(255) if array.dtype == np.uint8 else found


def from_items(items: Items, request: Request) -> StreamedImages:
    """The images of `items`, which are read when they are asked for; some are looked at, the first of them twice.

    Raises:
        Problem: images of several sizes, or that cannot be converted, or that change from reading to reading.
    """
    images = [
        items.item(index) for index in take(len(items), min(PROBE, len(items))).tolist()
    ]
    if not np.array_equal(images[0], items.item(0), equal_nan=True):
        raise WrongData(
            f"{items.where(0)} has other pixels each time it is read: leave random transforms out"
        )
    if items.features:
        shape = images[0].shape
        check_kind((len(items), *shape), items.name, True, request.fit)
    else:
        if len({image.shape for image in images}) == 1:
            check_values(np.stack(images), f"the images of {items.name}", items.where)
        sides = {(image.shape[1], image.shape[2]) for image in images}
        shape = one_shape(max(map(len, images)), sides, request.fit, items.name)
    spec = own(
        items.name,
        {request.called: len(items)},
        shape,
        (),
        named=False,
        fit=request.fit,
    )
    return StreamedImages(spec, request.called, items, request.device)


def from_object(source: Any, request: Request) -> Images:
    """The images that `source` holds, or gives one by one. What has no splits is the split that is asked for.

    Raises:
        Problem: it is no data set, or its images cannot be used.
    """
    if isinstance(source, tuple) and len(source) == 2:
        return from_arrays(source[0], source[1], "x", request)
    if isinstance(source, np.ndarray | Tensor) or hasattr(source, "toarray"):
        return from_arrays(source, None, "x", request)
    called = f"the {type(source).__name__}"
    if isinstance(source, DataLoader):
        whole = isinstance(source.sampler, SequentialSampler | RandomSampler)
        if (
            not whole
            or len(source.sampler) != len(source.dataset)  # type: ignore[arg-type]
            or source.collate_fn not in PLAIN
        ):
            raise WrongData(
                f"{called} chooses items, or has a collate_fn of its own: give a Dataset of what it gives"
            )
        return from_object(source.dataset, request)
    if (
        hasattr(source, "__getitem__")
        and hasattr(source, "__len__")
        and not isinstance(source, str | bytes | dict)
    ):
        return from_items(Items(source, called, request.columns), request)
    raise unknown_form(
        f"dataset={shown(repr(source))} is of the type {type(source).__name__}, which is no data set"
    )
