"""A backend that runs ONNX files in ONNX Runtime."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth.certificates import Precision
from randsmooth.certification.backends.base import Backend, refused
from randsmooth.certification.backends.file_answers import as_logits, in_parts
from randsmooth.certification.backends.processor import highest
from randsmooth.errors import InputError
from randsmooth.models import ForeignModel, OnnxModel
from randsmooth.models.adapters.graph_file import quiet_runtime


class Onnx(Backend):
    """ONNX Runtime on the graph of the file, which itself determines the precision of each layer."""

    name = "onnx"
    runs = "runs ONNX files; export the model with torch.onnx.export and name the file"
    packages = ("onnxruntime",)

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return isinstance(model, OnnxModel)

    def __init__(self, model: OnnxModel, device: torch.device, precision: Precision) -> None:
        if precision != "32":
            raise InputError(
                f"precision={precision}: an ONNX file computes as it was exported; leave it at 32, or use "
                "--backend openvino"
            )
        self.device, self.precision, self.model = device, precision, model
        runtime = quiet_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        wanted = [("CUDAExecutionProvider", {"device_id": device.index or 0})] if device.type == "cuda" else []
        if wanted and wanted[0][0] not in runtime.get_available_providers():
            raise InputError("this ONNX Runtime has no CUDA: install onnxruntime-gpu, or use --device cpu")
        self.session = runtime.InferenceSession(model.path, options, providers=[*wanted, "CPUExecutionProvider"])

    @property
    def instructions(self) -> str:
        """On a CPU, the highest instruction set, which ONNX Runtime's kernels may use."""
        return super().instructions if self.device.type == "cuda" else f"ONNX Runtime on {highest()}"

    @property
    def votes(self) -> bool:
        return self.model.labels

    def answer(self, noisy: Tensor) -> Tensor:
        try:
            found = in_parts(self._run, self.model.input.prepared(noisy.cpu().numpy()), self.model.batch)
        except Exception as error:  # ONNX Runtime's exceptions have no other common base class
            raise refused(noisy, error) from error
        return as_logits(found, self.model).to(self.device)

    def _run(self, images: np.ndarray) -> np.ndarray:
        answer: np.ndarray = self.session.run([self.model.output], {self.model.input.name: images})[0]
        return answer
