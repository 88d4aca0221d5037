"""Backends by name, ours and those of other packages.

A name is checked without loading torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from randsmooth.certification import backends
from randsmooth.errors import check_known
from randsmooth.registry import OnDemand, Registry

if TYPE_CHECKING:
    from randsmooth.certification.backends.base import Backend

# Stands in place of a name for the fastest backend that is installed.
AUTO = "auto"

# Our backends stand in the order of preference: where the user names none, the first that
# accepts a model runs it. The functions put off loading torch until a backend is used.
BACKENDS: Registry[type[Backend]] = Registry(
    "backend",
    "randsmooth.backends",
    OnDemand(
        {
            "torch": lambda: backends.torch_backend.Torch,
            "compile": lambda: backends.torch_backend.Compiled,
            "onnx": lambda: backends.file_backends.Onnx,
            "openvino": lambda: backends.file_backends.OpenVINO,
            "python": lambda: backends.file_backends.Python,
            "mixed": lambda: backends.torch_backend.Mixed,
        }
    ),
)


def check_backend(name: str | None) -> None:
    """Check that `name` is a backend or "auto"; None stands for the model's usual one.

    Raises:
        UnknownName: it is neither.

    Example:
        >>> check_backend("auto")
        >>> check_backend("touch")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown backend 'touch': did you mean 'torch'? Expected one of: auto, ...
    """
    if name is not None:
        check_known("backend", [*BACKENDS, AUTO], name)
