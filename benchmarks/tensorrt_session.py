"""A network in TensorRT, through ONNX Runtime, on noise that lies in the GPU's memory: how fast it would be."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import torch
from torch import nn

from bandwidth import settle
from certification import CLASSES
from randsmooth.errors import InputError

PROVIDER = "TensorrtExecutionProvider"
OPTIONS = {"trt_bf16_enable": True, "trt_cuda_graph_enable": True}


class TensorRT:
    """Answers one batch again and again. What is measured is the answers alone, without drawing and counting.

    Args:
        model: on `device`, in eval mode.
        shape: (B, C, H, W) of a batch.

    Raises:
        InputError: ONNX Runtime or its provider of TensorRT is missing, or refuses the network.
    """

    def __init__(self, model: nn.Module, shape: tuple[int, ...], device: torch.device) -> None:
        if device.type != "cuda" or PROVIDER not in providers():
            raise InputError("TensorRT through ONNX Runtime is not installed here")
        import onnxruntime

        self.device, number = device, device.index or 0
        try:
            self.session = onnxruntime.InferenceSession(
                exported(model, shape), providers=[(PROVIDER, {"device_id": number} | OPTIONS)]
            )
        except Exception as error:  # ONNX Runtime's exceptions have no other common base class
            raise InputError(f"TensorRT refuses the network: {error}") from error
        self.noisy = torch.randn(shape, device=device)
        self.logits = torch.zeros(shape[0], CLASSES, device=device)  # in one place, as CUDA graphs need it
        settle(device)  # before another stream reads what torch's stream writes
        self.binding = self.session.io_binding()
        self.binding.bind_input("x", "cuda", number, np.float32, shape, self.noisy.data_ptr())
        self.binding.bind_output("logits", "cuda", number, np.float32, self.logits.shape, self.logits.data_ptr())

    def run(self, batches: int) -> None:
        """Answer so many batches, and wait for the last."""
        for _ in range(batches):
            self.session.run_with_iobinding(self.binding)
        self.binding.synchronize_outputs()


@cache
def providers() -> tuple[str, ...]:
    """What ONNX Runtime can run networks on; nothing where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return ()
    return tuple(onnxruntime.get_available_providers())


def exported(model: nn.Module, shape: tuple[int, ...]) -> bytes:
    """The network as an ONNX file for batches of `shape` (B, C, H, W) float32."""
    found = io.BytesIO()
    example = torch.zeros(shape, device=next(model.parameters()).device)
    torch.onnx.export(model, (example,), found, input_names=["x"], output_names=["logits"], dynamo=False)
    return found.getvalue()
