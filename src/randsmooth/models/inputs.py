"""What a base classifier is asked about: images in [0, 1], or finite features."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.data.array_values import into_unit_range
from randsmooth.data.dataset_spec import is_image
from randsmooth.errors import WrongData


def check_inputs(x: object, shape: tuple[int, ...] | None) -> Tensor:
    """Check that a base classifier can be asked about `x`, and return `x`.

    Args:
        x: a tensor of floats: images (B, C, H, W) in [0, 1], or finite features (B, d).
        shape: the shape of one input; None: any.

    Raises:
        WrongData: another type or shape; or images with a value outside [0, 1], or
            features with one that is not finite. The message names the first such
            input.

    Example:
        >>> check_inputs(torch.tensor([[20.0, -3.0]]), None)
        tensor([[20., -3.]])
        >>> check_inputs(torch.full((2, 1, 8, 8), 255.0), (1, 8, 8))
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongData: the images have values in [255, 255], first \
image 0; expected [0, 1]: divide by the value of white, 255
    """
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise _no_floats(x)
    _check_layout(x)
    _check_shape(x, shape)
    if is_image(x.shape[1:]):
        _check_in_unit_range(x)
    else:
        _check_finite(x)
    return x


def _no_floats(x: Any) -> WrongData:
    """Return the problem of inputs that are no tensor of floats."""
    kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
    way_out = "torch.as_tensor(x) / 255"
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        way_out = "torch.as_tensor(x)"
    return WrongData(
        f"images are {kind}; expected a tensor of floats in [0, 1]", fix=way_out
    )


def _check_layout(x: Tensor) -> None:
    """Raise WrongData for a sparse tensor, and for a meta tensor, which has no values."""
    if x.device.type == "meta":
        raise WrongData(
            f"the inputs are a meta tensor {tuple(x.shape)}",
            fix="give a tensor with values",
        )
    if x.layout != torch.strided:
        layout = str(x.layout).removeprefix("torch.")
        raise WrongData(
            f"the inputs are a {layout} tensor {tuple(x.shape)}",
            fix="give x.to_dense()",
        )


def _check_shape(x: Tensor, shape: tuple[int, ...] | None) -> None:
    """Raise WrongData where inputs have another shape than expected."""
    if shape is None:
        fits = x.ndim in (2, 4)
        expected = "(B, C, H, W), or (B, d) of features"
    else:
        fits = tuple(x.shape[1:]) == shape
        expected = f"(B, {', '.join(map(str, shape))})"
    if not fits:
        raise WrongData(
            f"images have shape {tuple(x.shape)}; expected {expected}",
            fix="x[None] makes a batch of one; for other inputs, such as signals, give "
            "the shape of one input, shape=(C, T)",
        )


def _check_finite(x: Tensor) -> None:
    """Raise WrongData where a feature (B, ...) is NaN or infinite."""
    wrong = ~x.isfinite().flatten(1).all(1)
    if bool(wrong.any()):
        raise WrongData(
            f"input {_first(wrong)} has NaN or infinite features",
            fix="fill them in first",
        )


def _check_in_unit_range(x: Tensor) -> None:
    """Raise WrongData where a pixel (B, C, H, W) lies outside [0, 1]."""
    # Written so that NaN is outside as well.
    wrong = ~((x >= 0) & (x <= 1)).flatten(1).all(1)
    if bool(wrong.any()):
        least, most = float(x.min()), float(x.max())
        raise WrongData(
            f"the images have values in [{least:.6g}, {most:.6g}], first image "
            f"{_first(wrong)}; expected [0, 1]: {into_unit_range(least, most)}"
        )


def _first(wrong: Tensor) -> int:
    """Return the index of the first input for which `wrong` (B,) holds."""
    return int(wrong.nonzero()[0])
