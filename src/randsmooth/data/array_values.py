"""What the numbers in arrays mean: pixels in [0, 1] or of 8 bits, or features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from randsmooth.data.cropping import cut_centre, scaled
from randsmooth.data.dataset_spec import is_image
from randsmooth.data.decode import check_brightest
from randsmooth.data.image_size import Fit
from randsmooth.data.labels import Where
from randsmooth.errors import WrongData

Array = NDArray[Any]

# The largest value of 8-bit pixels that were divided by 255 twice, with room for rounding.
MOST_DIVIDED_TWICE = 1.001 / 255
# Rounding or resizing may bring values out of [0, 1] by at most so much.
SLIGHTLY_OUTSIDE = 0.01
# Values of white in integers of 8 and 16 bits.
USUAL_WHITE = (255, 65_535)


def into_unit_range(low: float, high: float) -> str:
    """Return the advice how to bring images with values in [low, high] into [0, 1].

    At least one of the two lies outside [0, 1].

    Example:
        >>> into_unit_range(0, 255)
        'divide by the value of white, 255'
        >>> into_unit_range(0, 16)
        'divide by the value of white, 16 if it is among them'
        >>> into_unit_range(-0.002, 1.0001)
        'clip the overshoot of rounding or resizing: x.clip(0, 1)'
    """
    if not np.isfinite([low, high]).all():
        return "look where NaN or infinity came from"
    if low >= -SLIGHTLY_OUTSIDE and high <= 1.0 + SLIGHTLY_OUTSIDE:
        return "clip the overshoot of rounding or resizing: x.clip(0, 1)"
    if low < 0.0:
        return "undo its normalisation, and leave that to the model"

    division = f"divide by the value of white, {high:.6g}"
    return division if high in USUAL_WHITE else f"{division} if it is among them"


def check_values(x: Array, name: str, where: Where) -> Array:
    """Check that values are pixels, and return them as uint8 or as float32 in [0, 1].

    Args:
        x: (N, ...), the pixels of N images.
        name: the name for them in errors.
        where: names one image in errors.

    Raises:
        WrongData: another type, NaN, values out of range, or values that show that they
            were scaled in another way.
    """
    if x.dtype == np.bool_:
        return x.astype(np.float32)
    # torch has no floats of more than 8 bytes.
    is_float = x.dtype.kind == "f" and x.dtype.itemsize <= 8
    if not is_float and x.dtype != np.uint8:
        raise WrongData(
            f"{name} holds {x.dtype}; expected x.astype('uint8') in 0..255, or floats "
            "in [0, 1]"
        )

    axes_of_image = tuple(range(1, x.ndim))
    lows = x.min(axis=axes_of_image)
    highs = x.max(axis=axes_of_image)
    low = float(lows.min())
    high = float(highs.max())
    if x.dtype == np.uint8:
        check_brightest(int(high), f"{name} is uint8 and", "give x.astype('float32')")
        return x

    # Written so that NaN is outside as well.
    outside = np.flatnonzero(~((lows >= 0.0) & (highs <= 1.0)))
    if len(outside):
        raise WrongData(
            f"{name} has values in [{low:.6g}, {high:.6g}]; expected floats in [0, 1]: "
            f"{into_unit_range(low, high)}; the first such image is "
            f"{where(int(outside[0]))}. For signals (N, C, T), pass data.features(x, y)"
        )
    if 0.0 < high <= MOST_DIVIDED_TWICE:
        raise WrongData(
            f"{name} has no value above {high:.4g}, of at most 1: was it divided by "
            "255 twice?"
        )
    return x.astype(np.float32, copy=False)


def are_features(x: Array) -> bool:
    """Return whether inputs `x` (N, ...) are features, and not images.

    Their axes tell. With three axes they may be signals (N, C, T) or grey images (N, H, W):
    they are features if a value is below 0. Numbers of 8 bits never are: rows of them are
    most likely pixels, and are refused later.
    """
    if x.dtype == np.uint8:
        return False
    if x.ndim == 3:
        return x.dtype.kind == "f" and bool((x < 0).any())
    return x.ndim == 2 or x.ndim > 4


def check_features(x: Array, name: str, where: Where) -> NDArray[np.float32]:
    """Check that values are features (N, ...), finite and of any scale; return float32.

    Args:
        x: the features of N inputs.
        name: the name for them in errors.
        where: names one input in errors.

    Raises:
        WrongData: they are no numbers, or not finite ones.
    """
    if x.dtype.kind not in "biuf":
        raise WrongData(
            f"{name} holds {x.dtype}; expected numbers",
            fix="encode texts and categories, say by OneHotEncoder",
        )

    # A number too large for float32 becomes infinity, and is refused below.
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(x, np.float32)
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        raise WrongData(
            f"{name} has NaN, or numbers too large for float32, in {where(first)}",
            fix="fill them in",
        )
    return values


def check_kind(
    shape: Sequence[int], name: str, as_features: bool, fit: Fit | None
) -> None:
    """Raise WrongData where features have the axes of images, or shall be resized.

    Args:
        shape: (N, ...) of all inputs.
        name: the name for them in errors.
        as_features: whether they are taken for features. Images are not checked here.
        fit: how the user wants them resized or cropped.
    """
    if not as_features:
        return
    if is_image(shape[1:]):
        raise WrongData(
            f"{name} has the shape {tuple(shape)}; inputs of three axes are images in "
            "[0, 1]",
            fix="give x.reshape(len(x), C, -1), or x[:, None] for a model that takes "
            "that axis off",
        )
    if fit is not None:
        raise WrongData(
            f"{name} has the shape {tuple(shape)}: resize and crop are for images",
            fix="leave them out",
        )


def fitted(x: Array, fit: Fit | None, where: Where) -> Array:
    """Return images (N, C, H, W), each resized and cropped as `fit` says.

    Args:
        x: the images, all of one size, uint8 or float32.
        fit: how to resize and crop them; None: they stay as they are.
        where: names one image in errors.
    """
    if fit is None or not len(x):
        return x

    number, channels, height, width = x.shape
    sides = (height, width)
    # First the whole image is scaled, then its centre is cut out.
    scaled_sides = fit.scaled(sides)
    window = fit.sides(sides, where(0))
    # One channel at a time, as PIL has no mode for floats in several channels.
    planes = [
        np.asarray(cut_centre(scaled(Image.fromarray(plane), scaled_sides), window))
        for plane in x.reshape(-1, *sides)
    ]
    out = np.stack(planes).reshape(number, channels, *window)
    # Interpolation may bring floats a little out of [0, 1].
    return np.clip(out, 0.0, 1.0) if out.dtype == np.float32 else out
