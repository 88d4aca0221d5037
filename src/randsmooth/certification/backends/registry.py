"""Backends by name, ours and those of other packages; a name is checked without loading torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from randsmooth.errors import check_known
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from randsmooth.certification.backends.base import Backend  # which loads torch

AUTO = "auto"  # the fastest that is installed, in place of a name

# In the order of preference: the first that accepts a model is the one that runs it where the user names none.
BACKENDS: Registry[type[Backend]] = Registry(
    "backend",
    "randsmooth.backends",
    {
        "torch": "randsmooth.certification.backends.torch_backend:Torch",
        "compile": "randsmooth.certification.backends.torch_backend:Compiled",
        "onnx": "randsmooth.certification.backends.file_backends:Onnx",
        "openvino": "randsmooth.certification.backends.file_backends:OpenVINO",
        "python": "randsmooth.certification.backends.file_backends:Python",
        "mixed": "randsmooth.certification.backends.torch_backend:Mixed",
    },
)


def check_backend(name: str | None) -> None:
    """Raise Problem unless `name` is a backend or "auto"; None stands for the model's usual one.

    Example:
        >>> check_backend("auto")
        >>> check_backend("touch")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown backend 'touch': did you mean 'torch'? Expected one of: auto, ...
    """
    check_known("backend", [*BACKENDS, AUTO], AUTO if name is None else name)
