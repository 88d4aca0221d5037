"""Why a base classifier failed on a batch: the error that names the cause."""

import re

from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import ModelFailed, Setting
from randsmooth.models.adapters.foreign_model import GRADIENT

# Python's message for a function that is given too few arguments, or too many.
ARGUMENTS = re.compile(
    r"missing \d+ required|takes (from )?\d+ .*positional arguments? but"
)
# Words that occur in messages about shapes that do not fit: those of torch, NumPy, ONNX
# Runtime, OpenVINO and models themselves.
SHAPES = re.compile(
    r"\b(shapes?|sizes?|mat1|dims?|dimensions?|channels?|height|width|broadcast|aligned"
    r"|features?|axis|axes|rank"
    r"|unpack|reshape|got: \d+ expected: \d+)\b",
    re.IGNORECASE,
)


def refused(noisy: Tensor, error: Exception) -> ModelFailed:
    """Return the error for inputs that a classifier failed on.

    It names the cause, as far as the message of the runtime tells it.

    Args:
        noisy: (B, C, H, W) the images, or other inputs.
        error: the runtime's own error.

    Example:
        >>> import torch
        >>> print(refused(torch.zeros(4, 1, 8, 8), RuntimeError("expected 3 channels")))
        the model refuses inputs of shape (1, 8, 8) (expected 3 channels): is it for other channels or ...
        >>> print(refused(torch.zeros(4, 1, 8, 8), TypeError("missing 1 required positional argument: 't'")))
        the model cannot be called with images alone (missing 1 required positional argument: 't'): give a ...
    """
    cause = _telling_line(error)
    shape = tuple(noisy.shape[1:])
    if isinstance(error, TypeError) and ARGUMENTS.search(cause):
        return ModelFailed(
            f"the model cannot be called with images alone ({cause}): give a module or "
            "function of images alone, such as lambda x: model(x, t)"
        )
    if GRADIENT.search(cause):
        return ModelFailed(
            f"the model takes a gradient, and that failed ({cause}): let it call "
            "requires_grad_ on a copy of the images, under torch.enable_grad()"
        )
    if SHAPES.search(cause):
        question = f"the model refuses inputs of shape {shape} ({cause}): is it for"
        if noisy.dim() != 4:
            return ModelFailed(f"{question} inputs of another shape?")
        resize = Setting("resize")
        return ModelFailed(
            (f"{question} other channels or another size (", resize, ")?")
        )

    # The name of the error stands before its message, unless that begins with it.
    name = type(error).__name__
    if not cause.startswith(name):
        cause = f"{name}: {cause}"
    # A batch of two, because a model may fail only on several images.
    example = ", ".join(map(str, (2, *shape)))
    return ModelFailed(
        f"the model fails on its first batch, inputs of shape {shape} ({cause}): "
        f"model(torch.rand({example})) shows where"
    )


def _telling_line(error: Exception) -> str:
    """Return the line of an error's message that tells most, else the error's name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # A message of TorchScript begins with the stack of calls, and ends in the cause.
    line = lines[-1] if "TorchScript" in lines[0] else lines[0]
    return shown(line)
