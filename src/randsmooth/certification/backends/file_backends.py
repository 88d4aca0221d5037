"""Backends for models that are no torch modules: ONNX Runtime, OpenVINO, and whatever
is called in Python.
"""

import threading
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth.certificates import ARITHMETICS, Precision
from randsmooth.certification.backends.base import (
    Backend,
    frozen,
    in_batches,
    own_copy,
)
from randsmooth.certification.backends.processors import cpu_instructions
from randsmooth.certification.backends.refusals import refused
from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    Problem,
    Setting,
    Unreachable,
    WrongModel,
    article,
)
from randsmooth.extras import needs
from randsmooth.models import (
    ForeignModel,
    GraphFile,
    IrModel,
    OnnxModel,
    PythonModel,
    traceable,
    votes,
)
from randsmooth.models.adapters.graph_file import quiet_runtime

HINTS = {"32": "f32", "bf16": "bf16", "fp16": "f16"}


class Onnx(Backend):
    """ONNX Runtime on the graph of the file, which itself determines the precision of
    each layer.
    """

    name = "onnx"
    runs = "runs ONNX files; export the model with torch.onnx.export and name the file"
    packages = ("onnxruntime",)

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return isinstance(model, OnnxModel)

    def __init__(
        self, model: OnnxModel, device: torch.device, precision: Precision
    ) -> None:
        if precision != "32":
            raise BadValue(
                field="precision",
                value=precision,
                fix=(
                    "an ONNX file computes as it was exported; give ",
                    Setting("backend", "openvino"),
                ),
            )
        self.device, self.precision, self.model = device, precision, model
        runtime = quiet_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        wanted = (
            [("CUDAExecutionProvider", {"device_id": device.index or 0})]
            if device.type == "cuda"
            else []
        )
        if wanted and wanted[0][0] not in runtime.get_available_providers():
            raise Unreachable(
                "this ONNX Runtime has no CUDA",
                fix=("install onnxruntime-gpu, or give ", Setting("device", "cpu")),
            )
        self.session = runtime.InferenceSession(
            model.path, options, providers=[*wanted, "CPUExecutionProvider"]
        )

    @property
    def instructions(self) -> str:
        return (
            super().instructions
            if self.device.type == "cuda"
            else f"ONNX Runtime, {cpu_instructions()}"
        )

    def answer(self, noisy: Tensor) -> Tensor:
        try:
            found = in_batches(self._run, noisy.cpu(), self.model.batch)
        except Problem:
            raise
        # ONNX Runtime's exceptions have no other common base class.
        except Exception as error:
            raise refused(noisy, error) from error
        return as_logits(found, self.model).to(self.device)

    def _run(self, noisy: Tensor) -> Tensor:
        images = self.model.prepared(noisy.numpy())
        return torch.from_numpy(
            self.session.run([self.model.output], {self.model.input: images})[0]
        )


class OpenVINO(Backend):
    """OpenVINO: the model is compiled for each shape of batch when it first comes."""

    name = "openvino"
    runs = "runs ONNX files, OpenVINO IR and torch modules throughout"
    parallel = True
    spare = 1  # who asks waits, while threads of OpenVINO compute
    tried_on = ("cpu",)
    packages = ("openvino",)

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return isinstance(model, GraphFile) or traceable(model)

    def __init__(
        self, model: nn.Module | GraphFile, device: torch.device, precision: Precision
    ) -> None:
        with needs("backend=openvino"):
            import openvino
        if device.type != "cpu":
            raise BadValue(
                field="backend",
                value="openvino",
                expected=f"computes on the CPU, not on {device.type}",
                fix=("give ", Setting("device", "cpu")),
            )
        self.core, self.convert = openvino.Core(), openvino.convert_model
        self.device, self.precision = device, precision
        self.model = (
            model
            if isinstance(model, GraphFile)
            else own_copy(model).float().cpu().eval()
        )
        self.threads = torch.get_num_threads()
        self.compiled: dict[tuple[int, ...], Any] = {}
        self.requests: dict[
            tuple[int, tuple[int, ...]], Any
        ] = {}  # by thread and shape
        self.compiling = threading.Lock()

    @property
    def processor(self) -> str:
        return f"cpu, {self.core.get_property('CPU', 'FULL_DEVICE_NAME')}"

    @property
    def instructions(self) -> str:
        """What the device lists, which ignores the limits that the environment sets,
        and those.
        """
        listed = self.core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        return f"OpenVINO {' '.join(sorted(listed))}, {cpu_instructions()}"

    def answer(self, noisy: Tensor) -> Tensor:
        # ONNX files are changed to any batch.
        batch = self.model.batch if isinstance(self.model, IrModel) else None
        try:
            found = in_batches(self._run, noisy, batch)
        # OpenVINO raises it for shapes that do not fit.
        except RuntimeError as error:
            raise refused(noisy, error) from error
        return (
            as_logits(found, self.model) if isinstance(self.model, GraphFile) else found
        )

    def _run(self, noisy: Tensor) -> Tensor:
        graph = self.model if isinstance(self.model, GraphFile) else None
        images = noisy.numpy() if graph is None else graph.prepared(noisy.numpy())
        key = threading.get_ident(), images.shape
        if key not in self.requests:
            self.requests[key] = self._compiled(images.shape).create_infer_request()
        result = self.requests[key].infer(
            {0: images}, share_inputs=True, share_outputs=True
        )
        return torch.from_numpy(np.array(result[0 if graph is None else graph.place]))

    def _compiled(self, shape: tuple[int, ...]) -> Any:
        with self.compiling:
            if shape not in self.compiled:
                config = {
                    "INFERENCE_PRECISION_HINT": HINTS[self.precision],
                    "NUM_STREAMS": str(self.workers),
                }
                config |= {
                    "INFERENCE_NUM_THREADS": str(self.threads),
                    "ENABLE_CPU_PINNING": "NO",
                }
                graph = self.graph_of(shape)
                if isinstance(self.model, GraphFile):
                    graph.reshape(list(shape))
                made = self.core.compile_model(graph, "CPU", config)
                # Where the processor lacks the units, OpenVINO takes another format, and
                # does not say so.
                if (
                    made.get_property("INFERENCE_PRECISION_HINT").get_type_name()
                    != HINTS[self.precision]
                ):
                    raise WrongModel(
                        f"precision={self.precision}: OpenVINO lacks "
                        f"{ARITHMETICS[self.precision]} on this processor; use precision "
                        "32 or the torch backend"
                    )
                self.compiled[shape] = made
            return self.compiled[shape]

    @torch.no_grad()
    def graph_of(self, shape: tuple[int, ...]) -> Any:
        """Return the model as OpenVINO has it.

        It is a file's own graph, or of a module one for inputs of `shape`, where -1 means
        any number.
        """
        if isinstance(self.model, GraphFile):
            return self.core.read_model(self.model.path)
        example = torch.zeros([2 if side == -1 else side for side in shape])
        try:
            # Of torch.jit, with which OpenVINO traces.
            with warnings.catch_warnings(action="ignore"):
                return self.convert(
                    frozen(self.model), example_input=example, input=[shape]
                )
        # What the converter raises for operators that it does not know has no base class.
        except Exception as error:
            self._check_takes(example)
            raise WrongModel(
                f"OpenVINO cannot convert the model ({shown(error)}); "
                "the backend torch runs it"
            ) from error

    def _check_takes(self, example: Tensor) -> None:
        """Raise the error of a module that fails by itself, without OpenVINO."""
        assert isinstance(self.model, nn.Module)
        try:
            with (
                torch.inference_mode(False),
                torch.enable_grad(),
            ):  # for one that takes a gradient itself
                self.model(example)
        # The model's own code may raise anything.
        except Exception as error:
            raise refused(example, error) from error


class Python(Backend):
    """Calls the model, one batch at a time, in the precision in which it computes
    itself.
    """

    name = "python"
    runs = (
        "calls scikit-learn estimators and functions; torch models, ONNX files and "
        "OpenVINO IR have their own"
    )

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return isinstance(model, PythonModel)

    def __init__(
        self, model: PythonModel, device: torch.device, precision: Precision
    ) -> None:
        if precision != "32":
            raise BadValue(
                field="precision",
                value=precision,
                fix=f"{article(model.kind)} computes as it was made; leave it at 32",
            )
        self.model, self.device, self.precision = model, device, precision
        self.padded = model.padded

    def answer(self, noisy: Tensor) -> Tensor:
        return self.model.answer(noisy)


def as_logits(answer: Tensor, model: ForeignModel) -> Tensor:
    """Logits as they are; labels (B,) or (B, 1) as votes. Errors as `votes`."""
    return (
        votes(answer.flatten(), model.num_classes, model.kind)
        if model.labels
        else answer
    )
