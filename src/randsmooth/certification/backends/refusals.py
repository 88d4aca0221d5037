"""Why a base classifier failed on a batch: the error that names the cause, and asks
about shapes only of these.
"""

import re

from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import ModelFailed, Setting
from randsmooth.models.adapters.foreign_model import GRADIENT

# What Python says of a function that is given too few arguments, or too many.
ARGUMENTS = re.compile(
    r"missing \d+ required|takes (from )?\d+ .*positional arguments? but"
)
# Words in what torch, NumPy, ONNX Runtime, OpenVINO and checks of models say of shapes
# that do not fit.
SHAPES = re.compile(
    r"\b(shapes?|sizes?|mat1|dims?|dimensions?|channels?|height|width|broadcast|aligned"
    r"|features?|axis|axes|rank"
    r"|unpack|reshape|got: \d+ expected: \d+)\b",
    re.IGNORECASE,
)


def refused(noisy: Tensor, error: Exception) -> ModelFailed:
    """The error for inputs that a classifier failed on, with the cause as far as it can
    be told.

    Args:
        noisy: (B, C, H, W) the images, or other inputs.
        error: the runtime's own; of TorchScript's the last line says most, of others
            the first.

    Example:
        >>> import torch
        >>> print(refused(torch.zeros(4, 1, 8, 8), RuntimeError("expected 3 channels")))
        the model refuses inputs of shape (1, 8, 8) (expected 3 channels): is it for other channels or ...
        >>> print(refused(torch.zeros(4, 1, 8, 8), TypeError("missing 1 required positional argument: 't'")))
        the model cannot be called with images alone (missing 1 required positional argument: 't'): give a ...
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [
        type(error).__name__
    ]
    said = shown(lines[-1] if "TorchScript" in lines[0] else lines[0])
    shape = tuple(noisy.shape[1:])
    if isinstance(error, TypeError) and ARGUMENTS.search(said):
        way = "give a module or function of images alone, such as lambda x: model(x, t)"
        return ModelFailed(
            f"the model cannot be called with images alone ({said}): {way}"
        )
    if GRADIENT.search(said):
        way = "let it call requires_grad_ on a copy of the images, under torch.enable_grad()"
        return ModelFailed(
            f"the model takes a gradient, and that failed ({said}): {way}"
        )
    if SHAPES.search(said):
        refused = f"the model refuses inputs of shape {shape} ({said}): is it for"
        if noisy.dim() != 4:
            return ModelFailed(f"{refused} inputs of another shape?")
        resize = Setting("resize")
        return ModelFailed(
            (f"{refused} other channels or another size (", resize, ")?")
        )
    example = ", ".join(map(str, (2, *shape)))
    kind = "" if said.startswith(type(error).__name__) else f"{type(error).__name__}: "
    way = f"model(torch.rand({example})) shows where"
    return ModelFailed(
        f"the model fails on its first batch, inputs of shape {shape} ({kind}{said}): "
        f"{way}"
    )
