"""Backends by name, and the fastest of those that are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import torch
from torch import nn

from randsmooth.certificates import PRECISIONS, Precision
from randsmooth.certification.backends.base import Backend
from randsmooth.certification.backends.onnx_backend import Onnx
from randsmooth.certification.backends.openvino_backend import OpenVINO
from randsmooth.certification.backends.torch_backend import Compiled, Torch
from randsmooth.errors import InputError, unknown
from randsmooth.models import OnnxModel

BACKENDS: dict[str, type[Backend]] = {"torch": Torch, "compile": Compiled, "openvino": OpenVINO, "onnx": Onnx}
CLEARLY = 1.15  # a rival must be faster by this factor, so that two runs on one machine choose alike


def make_backend(name: str, model: nn.Module | OnnxModel, device: torch.device, precision: Precision) -> Backend:
    """The backend called `name` around `model`.

    Raises:
        InputError: no such backend or precision, one that is not installed, or one that cannot run this model.
    """
    if precision not in PRECISIONS:
        raise unknown("precision", str(precision), PRECISIONS)
    if name not in BACKENDS:
        raise unknown("backend", name, [*BACKENDS, "auto"])
    is_file = isinstance(model, OnnxModel)
    if is_file and name in ("torch", "compile"):
        raise InputError(f"backend={name} runs torch models, not ONNX files; use onnx or openvino")
    if not is_file and name == "onnx":
        raise InputError("backend=onnx runs ONNX files; export the model with torch.onnx.export and name the file")
    return BACKENDS[name](model, device, precision)  # type: ignore[call-arg]


def usual_backend(model: nn.Module | OnnxModel) -> str:
    """The backend of a model where the user names none."""
    return "onnx" if isinstance(model, OnnxModel) else "torch"


def candidates(model: nn.Module | OnnxModel, device: torch.device) -> list[str]:
    """Backends that `auto` chooses among: the usual one first, then the others that are installed."""
    usual = usual_backend(model)
    installed = {"onnx": find_spec("onnxruntime"), "openvino": find_spec("openvino"), "torch": True}
    rivals = ["openvino"] if device.type == "cpu" else []
    return [name for name in (usual, *rivals) if installed[name]] or [usual]


def fastest(
    names: Sequence[str],
    model: nn.Module | OnnxModel,
    device: torch.device,
    precision: Precision,
    measure: Callable[[Backend], float],
) -> tuple[Backend, dict[str, float]]:
    """The fastest backend, and images a second of each that could be tried, as `measure` finds them.

    The first of `names` keeps its place unless another is clearly faster.
    """
    made, rates = {}, {}
    for name in names:
        try:
            backend = make_backend(name, model, device, precision)
            made[name], rates[name] = backend, measure(backend)
        except InputError:
            if name == names[0]:
                raise
    best = names[0]
    for name in made:
        if rates[name] > CLEARLY * rates[best]:
            best = name
    return made[best], rates
