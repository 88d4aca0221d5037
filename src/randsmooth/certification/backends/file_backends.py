"""Backends for models that are no torch modules.

They run ONNX files, OpenVINO IR, and whatever is called in Python.
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

Shape = tuple[int, ...]

# Precision -> its name in OpenVINO.
OPENVINO_PRECISIONS = {"32": "f32", "bf16": "bf16", "fp16": "f16"}

# The name of CUDA in ONNX Runtime.
CUDA_PROVIDER = "CUDAExecutionProvider"


class Onnx(Backend):
    """Runs an ONNX file by ONNX Runtime.

    The file itself determines the precision of each layer.
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
        self.device = device
        self.precision = precision
        self.model = model
        runtime = quiet_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        # The first provider that has an operator computes it: what CUDA lacks is
        # computed on the CPU.
        providers: list[Any] = ["CPUExecutionProvider"]
        if device.type == "cuda":
            if CUDA_PROVIDER not in runtime.get_available_providers():
                raise Unreachable(
                    "this ONNX Runtime has no CUDA",
                    fix=("install onnxruntime-gpu, or give ", Setting("device", "cpu")),
                )
            providers.insert(0, (CUDA_PROVIDER, {"device_id": device.index or 0}))
        self.session = runtime.InferenceSession(
            model.path, options, providers=providers
        )

    @property
    def instructions(self) -> str:
        if self.device.type == "cuda":
            return super().instructions
        return f"ONNX Runtime, {cpu_instructions()}"

    def answer(self, noisy: Tensor) -> Tensor:
        # A file may have been exported for one size of batch only.
        size = self.model.batch
        try:
            outputs = in_batches(self._run, noisy.cpu(), size)
        # `prepared` raises it, and it says enough.
        except Problem:
            raise
        # The exceptions of ONNX Runtime have no base class but Exception.
        except Exception as error:
            raise refused(noisy, error) from error
        return as_logits(outputs, self.model).to(self.device)

    def _run(self, noisy: Tensor) -> Tensor:
        """Return the output of the graph for one batch."""
        images = self.model.prepared(noisy.numpy())
        outputs = self.session.run([self.model.output], {self.model.input: images})
        return torch.from_numpy(outputs[0])


class OpenVINO(Backend):
    """Runs a model by OpenVINO, compiled when a shape of batch first comes."""

    name = "openvino"
    runs = "runs ONNX files, OpenVINO IR and torch modules throughout"
    parallel = True
    # While OpenVINO's threads compute, those that ask only wait: one more draws noise.
    spare = 1
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
        self.core = openvino.Core()
        self.convert = openvino.convert_model
        self.device = device
        self.precision = precision
        self.model: nn.Module | GraphFile
        if isinstance(model, GraphFile):
            self.model = model
        else:
            self.model = own_copy(model).float().cpu().eval()
        self.threads = torch.get_num_threads()
        # Shape of a batch -> the model, compiled for it.
        self.compiled: dict[Shape, Any] = {}
        # Thread and shape of a batch -> a request: two threads may not share one.
        self.requests: dict[tuple[int, Shape], Any] = {}
        # Held while a thread compiles: another that needs the same shape waits for it.
        self.compiling = threading.Lock()

    @property
    def processor(self) -> str:
        return f"cpu, {self.core.get_property('CPU', 'FULL_DEVICE_NAME')}"

    @property
    def instructions(self) -> str:
        """The instructions that OpenVINO lists, and those that the environment allows.

        What OpenVINO lists ignores limits that the environment sets.
        """
        listed = self.core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        return f"OpenVINO {' '.join(sorted(listed))}, {cpu_instructions()}"

    def answer(self, noisy: Tensor) -> Tensor:
        # An IR keeps the size of batch that it was exported for. The graph of an ONNX
        # file is reshaped to any size, and a module is converted for any.
        size = self.model.batch if isinstance(self.model, IrModel) else None
        try:
            outputs = in_batches(self._run, noisy, size)
        # OpenVINO raises a RuntimeError for shapes that do not fit.
        except RuntimeError as error:
            raise refused(noisy, error) from error
        if isinstance(self.model, GraphFile):
            return as_logits(outputs, self.model)
        return outputs

    def _run(self, noisy: Tensor) -> Tensor:
        """Return the output of the model for one batch."""
        images = noisy.numpy()
        output_index = 0
        if isinstance(self.model, GraphFile):
            images = self.model.prepared(images)
            output_index = self.model.place

        thread_and_shape = (threading.get_ident(), images.shape)
        if thread_and_shape not in self.requests:
            request = self._compiled(images.shape).create_infer_request()
            self.requests[thread_and_shape] = request
        outputs = self.requests[thread_and_shape].infer(
            {0: images}, share_inputs=True, share_outputs=True
        )
        # The next request of this thread overwrites the memory of the outputs.
        return torch.from_numpy(np.array(outputs[output_index]))

    def _compiled(self, shape: Shape) -> Any:
        """Return the model compiled for batches of `shape`, once for all threads."""
        with self.compiling:
            if shape not in self.compiled:
                self.compiled[shape] = self._compile(shape)
            return self.compiled[shape]

    def _compile(self, shape: Shape) -> Any:
        """Compile the model for batches of `shape`.

        Raises:
            WrongModel: the processor cannot compute in the precision.
        """
        precision = OPENVINO_PRECISIONS[self.precision]
        config = {
            "INFERENCE_PRECISION_HINT": precision,
            "NUM_STREAMS": str(self.workers),
            "INFERENCE_NUM_THREADS": str(self.threads),
            # OpenVINO's threads are not bound to cores: other threads draw noise there.
            "ENABLE_CPU_PINNING": "NO",
        }
        graph = self.graph_of(shape)
        # The graph of a module was traced for this shape.
        if isinstance(self.model, GraphFile):
            graph.reshape(list(shape))
        compiled = self.core.compile_model(graph, "CPU", config)

        # Where the processor lacks the units for a precision, OpenVINO silently takes
        # another.
        taken = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if taken != precision:
            raise WrongModel(
                f"precision={self.precision}: OpenVINO lacks "
                f"{ARITHMETICS[self.precision]} on this processor; use precision "
                "32 or the torch backend"
            )
        return compiled

    @torch.no_grad()
    def graph_of(self, shape: Shape) -> Any:
        """Return the model as a graph of OpenVINO's.

        A file holds its graph. A module is traced to one for inputs of `shape`, where
        -1 stands for any number.
        """
        if isinstance(self.model, GraphFile):
            return self.core.read_model(self.model.path)
        # In a trace, a side of length 1 becomes a constant, and one of 2 may vary.
        example = torch.zeros([2 if side == -1 else side for side in shape])
        try:
            # OpenVINO traces with torch.jit, which warns that it will go.
            with warnings.catch_warnings(action="ignore"):
                return self.convert(
                    frozen(self.model), example_input=example, input=[shape]
                )
        # The converter's exceptions for unknown operators have no base class.
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
            # A model may take a gradient itself.
            with torch.inference_mode(False), torch.enable_grad():
                self.model(example)
        # The model's own code may raise anything.
        except Exception as error:
            raise refused(example, error) from error


class Python(Backend):
    """Calls the model, one batch at a time, in the precision that it has by itself."""

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
        self.model = model
        self.device = device
        self.precision = precision
        # The engine reads it, and fills batches up to one size where it is True. A model
        # whose every answer costs is not asked about images that nobody counts.
        self.padded = model.padded

    def answer(self, noisy: Tensor) -> Tensor:
        return self.model.answer(noisy)


def as_logits(answer: Tensor, model: ForeignModel) -> Tensor:
    """Return the logits (B, K) in an answer, which may be labels (B,) or (B, 1).

    A label becomes a vote: 1 for its class, and 0 for the others.

    Raises:
        Problem: `votes` raises it, for labels that are none.
    """
    if not model.labels:
        return answer
    return votes(answer.flatten(), model.num_classes, model.kind, model.refusal)
