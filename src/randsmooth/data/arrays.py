"""Arrays and tensors of images or features, and of their labels."""

from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from randsmooth.data.array_values import (
    Array,
    are_features,
    check_features,
    check_kind,
    check_values,
    fitted,
)
from randsmooth.data.dataset_spec import inputs_of, spec_of_own_data
from randsmooth.data.images import TensorImages
from randsmooth.data.labels import (
    Classes,
    Where,
    composed,
    labels_of,
    no_labels,
    numbered,
    of_categories,
)
from randsmooth.data.request import Request
from randsmooth.documents import shown
from randsmooth.errors import WrongData

FLOATS_OF_NUMPY = {torch.float16, torch.float32, torch.float64}

# The usual numbers of channels: grey and RGB.
USUAL_CHANNELS = {1, 3}
# The most channels of other images. Their channels must come first.
MOST_CHANNELS = 64


def as_array(x: Any, name: str) -> Array:
    """Return a tensor, or anything else that NumPy can read, as an array.

    Values are copied only where that is needed.

    Args:
        x: the values. bfloat16 and other floats that NumPy lacks become float32, which
            holds them exactly.
        name: the name for x in errors.

    Raises:
        WrongData: `x` is sparse or quantised, has masked cells, or holds parts that
            make no array together.
    """
    if isinstance(x, Tensor):
        return _of_tensor(x, name)
    # SciPy's sparse matrices have this method.
    if hasattr(x, "toarray"):
        raise WrongData(
            f"{name} is a sparse {type(x).__name__} {x.shape}",
            fix="give it whole, as .toarray() does",
        )
    if isinstance(x, np.ma.MaskedArray):
        _check_unmasked(x, name)
    if isinstance(x, list | tuple) and any(isinstance(part, Tensor) for part in x):
        x = [as_array(part, f"item {place} of {name}") for place, part in enumerate(x)]

    try:
        return np.asarray(x)
    # An object in the place of an array may raise anything.
    except Exception as error:
        raise _unreadable(x, name, error) from error


def _of_tensor(x: Tensor, name: str) -> Array:
    """Return a tensor as an array; arguments and errors are those of `as_array`."""
    shape = tuple(x.shape)
    if x.is_quantized:
        raise WrongData(
            f"{name} is a quantised tensor", fix=f"give its values, {name}.dequantize()"
        )
    if x.layout != torch.strided:
        layout = str(x.layout).removeprefix("torch.")
        raise WrongData(
            f"{name} is a tensor {shape} of the layout {layout}",
            fix=f"give {name}.to_dense()",
        )
    if x.device.type == "meta":
        raise WrongData(
            f"{name} is a tensor {shape} of the device meta, which holds no values",
            fix="load them",
        )

    values = x.detach().cpu()
    if values.is_floating_point() and values.dtype not in FLOATS_OF_NUMPY:
        values = values.float()
    # torch may only note that numbers are to be conjugated or negated. NumPy knows no such
    # notes, so it is done here.
    array: Array = values.resolve_conj().resolve_neg().numpy()
    return array


def _check_unmasked(x: np.ma.MaskedArray[Any, Any], name: str) -> None:
    """Raise WrongData where a cell is masked, so has no value."""
    if np.ma.is_masked(x):
        masked = np.argwhere(np.ma.getmaskarray(x)).tolist()
        raise WrongData(
            f"{name} has {len(masked):,} masked cells, the first at {tuple(masked[0])}",
            fix="fill them in, or leave those rows out",
        )


def _unreadable(x: Any, name: str, error: Exception) -> WrongData:
    """Return the problem of a value that NumPy cannot read as an array.

    Args:
        x: the value.
        name: the name for it.
        error: what NumPy raised.
    """
    # Most often parts of a list have several shapes.
    parts = list(x) if isinstance(x, list | tuple) else []
    shapes = [_shape_of(part) for part in parts]
    for place, shape in enumerate(shapes):
        if shape != shapes[0]:
            return WrongData(
                f"item {place} of {name} has the shape {shape}, and item 0 has "
                f"{shapes[0]}",
                fix="give one shape, or of images a list of pairs, "
                "[(image, label), ...], with resize=",
            )
    return WrongData(f"{name} cannot be read as an array ({shown(error)})")


def _shape_of(part: Any) -> tuple[int, ...]:
    """Return the shape of an array, the sides of a PIL image, or a list's length."""
    if isinstance(part, Image.Image):
        return part.height, part.width
    if isinstance(part, list | tuple):
        return (len(part),)
    return tuple(getattr(part, "shape", ()))


def images_first(x: Array, name: str, total: int | None = None) -> Array:
    """Return images as (N, C, H, W).

    Grey images (N, H, W) get an axis of channels. Channels that come last are moved.

    Args:
        x: the pixels of N images.
        name: the name for them in errors.
        total: the number of labels, so of images; None: there are no labels.

    Raises:
        WrongData: another shape, or one that can be read in two ways.
    """
    if x.ndim == 3 and _are_grey_images(x, total):
        return x[:, None]
    if x.ndim == 4:
        second, last = _may_be_channels(x)
        if last and x.shape[1] not in USUAL_CHANNELS:
            return np.moveaxis(x, source=3, destination=1)
        if second and not last:
            return x
    if x.ndim == 1:
        raise WrongData(
            f"{name} has shape {x.shape}",
            fix="give x[:, None] of one feature, x[None] of one input",
        )
    raise WrongData(
        f"{name} has shape {x.shape}, which is not clearly (N, C, H, W), (N, H, W, C) "
        "or, of grey images, (N, H, W)",
        fix="give x[None] of one image, x[:, None] of grey ones, x[..., :3] without "
        "alpha, x.transpose(0, 3, 1, 2), or x.reshape(N, C, H, W) of rows of pixels; "
        "a `data.TensorImages` takes any (N, C, H, W)",
    )


def _are_grey_images(x: Array, total: int | None) -> bool:
    """Return whether an array of three axes holds grey images (N, H, W).

    It could also be a single image (C, H, W) or (H, W, C). It is not if there are N labels,
    or if neither the first nor the last axis has a usual number of channels.
    """
    return total == len(x) or USUAL_CHANNELS.isdisjoint({x.shape[0], x.shape[2]})


def _may_be_channels(x: Array) -> tuple[bool, bool]:
    """Return whether the second and the last axis of (N, ., ., .) may be channels."""
    _, second, *others = x.shape
    second_may_be = second in USUAL_CHANNELS or (
        second <= MOST_CHANNELS and second < min(others)
    )
    return second_may_be, x.shape[3] in USUAL_CHANNELS


def column_names(x: Any) -> tuple[str, ...]:
    """Return the names of the columns of a DataFrame; none for an array.

    A DataFrame without names has numbers as names, which only count the columns: then the
    answer is empty too.

    Example:
        >>> import pandas as pd
        >>> column_names(pd.DataFrame({"mass": [1.0], "age": [2.0]}))
        ('mass', 'age')
        >>> column_names(np.ones((1, 2)))
        ()
    """
    names = list(getattr(x, "columns", ()))
    if not all(isinstance(name, str) for name in names):
        return ()
    return tuple(composed(name) for name in names)


def features(x: Any, y: Any = None) -> TensorImages:
    """Return inputs of any scale as features, where they might be taken for images.

    `load` takes arrays for features where they have the shape (N, d), or the shape (N, C, T)
    and a value below 0. Inputs with three axes each are always images.

    Args:
        x: numbers (N, ...).
        y: labels (N,), or None.

    Raises:
        WrongData: each input has three axes, or values or labels cannot be used.

    Example:
        >>> spectra = features(np.ones((5, 2, 100)), [0, 1, 0, 1, 1])
        >>> spectra.spec.shape, spectra.spec.features
        ((2, 100), True)
    """
    return from_arrays(x, y, "x", Request(split=None), as_features=True)


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
    """Return the images or features in an array, with their labels.

    Images are (N, C, H, W), (N, H, W, C) or (N, H, W), uint8 or floats in [0, 1]. Arrays of
    other shapes hold features, and so does any array where `as_features` is True.

    Args:
        x: the array or tensor.
        y: labels (N,), or None.
        name: the name for x in errors.
        request: the split and the columns that the user asks for.
        source: the name for the data set.
        as_features: whether x holds features, whatever its shape.
        where: names one input in errors; default: by its index.

    Raises:
        WrongData: values, shapes or labels that cannot be used; the message names the
            first image that has them.
    """
    inputs = as_array(x, name)
    labels = labels_given(y, inputs.shape, name)

    as_features = as_features or are_features(inputs)
    where = where or _by_number(name, as_features)
    if not as_features:
        total = None if labels is None else len(labels)
        inputs = images_first(inputs, name, total)
    check_kind(inputs.shape, name, as_features, request.fit)
    if not inputs.size:
        what = inputs_of(inputs.shape[1:])
        raise WrongData(f"no {what} in {name}: its shape is {inputs.shape}")

    numbers, classes, alphabetical = read_labels(y, labels, len(inputs), where, source)
    if as_features:
        ready: Array = check_features(inputs, name, where)
    else:
        pixels = check_values(inputs, name, where)
        ready = np.ascontiguousarray(fitted(pixels, request.fit, where))
    spec = spec_of_own_data(
        source,
        {request.called: len(ready)},
        ready.shape[1:],
        classes or numbered(numbers),
        named=classes is not None,
        fit=request.fit,
        alphabetical=alphabetical,
    )
    # torch warns of memory that must not be written to.
    tensor = torch.from_numpy(ready if ready.flags.writeable else ready.copy())
    return TensorImages(spec, request.called, tensor, numbers, request.device)


def _by_number(name: str, as_features: bool) -> Where:
    """Return a function that names an input in errors by its index."""
    what = "row" if as_features else "image"
    return lambda index: f"{what} {index} of {name}"


def labels_given(y: Any, shape: tuple[int, ...], name: str) -> Array | None:
    """Return the labels that a user gave as an array; None where there are none.

    Args:
        y: the labels, or None.
        shape: the shape of the inputs, whose first number is theirs.
        name: the name for the inputs in errors.

    Raises:
        WrongData: there are more or fewer labels than inputs.
    """
    if y is None:
        return None
    labels = as_array(y, "the array of labels")
    if labels.ndim == 0 or labels.shape[:1] != shape[:1]:
        raise WrongData(
            f"{name} has the shape {shape}, and the labels {labels.shape}",
            fix="give one label for each input",
        )
    return labels


def read_labels(
    y: Any, labels: Array | None, total: int, where: Where, source: str
) -> tuple[Tensor, Classes, bool]:
    """Return labels (N,), class names, and whether the alphabet alone orders the names.

    Args:
        y: the labels as the user gave them, perhaps categories of pandas.
        labels: the same as an array (see `labels_given`); None: there are no labels.
        total: N.
        where: names one input in errors.
        source: names the data in errors.

    Raises:
        WrongData: a label cannot be used.
    """
    if labels is None:
        return no_labels(total), None, False
    from_categories = of_categories(y, where, source)
    if from_categories is not None:
        # The user has ordered the categories.
        numbers, classes = from_categories
        return numbers, classes, False
    numbers, classes = labels_of(labels, where, source)
    return numbers, classes, classes is not None
