"""An ONNX file as a base classifier: its inputs and outputs, read from its graph."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.adapters.graph_file import GraphFile, Port, asked, chosen
from randsmooth.models.adapters.graph_record import KEY, parse_record
from randsmooth.models.adapters.image_input import ImageInput
from randsmooth.models.adapters.onnx_external import external_files
from randsmooth.models.place import check_file

# ONNX Runtime's names of types -> NumPy's.
TAKEN = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(uint8)": "uint8",
}
FLOATS = ("tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)")
WHOLE = ("tensor(int64)", "tensor(int32)")
FATAL = 4  # the highest severity of ONNX Runtime's messages


class OnnxModel(GraphFile):
    """A file whose only input is a batch of images in [0, 1] and that gives logits (N, K), or labels (N,).

    Images are (N, C, H, W), or (N, H, W, C) where the last axis has 1, 3 or 4 entries and the second has not; float32,
    float16, float64, or uint8, to which noisy images are rounded and clipped. Any normalisation must be inside.

    Args:
        path: of the file.
        output: the name of the output with the logits. Default: the first that has floats and two axes, else the first.
        layout: "NCHW" or "NHWC", where the axes do not show which it is.

    Attributes:
        path, input, output, shape, batch, num_classes: see `GraphFile`.
        external: the files beside it that hold weights, as it names them.

    Raises:
        InputError: there is no such file, ONNX Runtime is not installed, the graph has other inputs or outputs, or a
            file with weights is missing or outside the folder of the ONNX file.

    Example:
        >>> import tempfile
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = torch.onnx.export(network, (torch.zeros(4, 1, 8, 8),), f"{folder}/net.onnx", dynamo=False)
        ...     model = OnnxModel(f"{folder}/net.onnx")
        >>> model.shape, model.batch, model.num_classes
        ((1, 8, 8), 4, 10)
    """

    form = "ONNX file"

    def __init__(self, path: Path | str, *, output: str | None = None, layout: str | None = None) -> None:
        self.path, self.asked = str(path), asked(output=output, layout=layout)
        check_file(self.path, "ONNX file")
        self.external = external_files(Path(path))
        with needs(str(path)):
            onnxruntime = quiet_runtime()
        try:
            # Without the fallback, which prints a message and tries the same again.
            session = onnxruntime.InferenceSession(self.path, providers=["CPUExecutionProvider"], enable_fallback=0)
            inputs, outputs = session.get_inputs(), session.get_outputs()
            record = session.get_modelmeta().custom_metadata_map.get(KEY)
            taken = ", ".join(f"{each.name} {each.type}{each.shape}" for each in inputs)  # raises for names in bytes
            given = ", ".join(f"{each.name} {each.type}{each.shape}" for each in outputs) or "nothing"
        except Exception as error:  # ONNX Runtime's own errors have no other base class in common
            raise InputError(f"{path} is no ONNX file that can be run ({shown(_first_line(error))})") from error
        if len(inputs) != 1 or inputs[0].type not in TAKEN:
            raise InputError(f"{path} takes {shown(taken)}; expected one float32 or uint8 batch of images (N, C, H, W)")
        ports = [Port((each.name,), each.type in FLOATS, each.type in WHOLE, tuple(each.shape)) for each in outputs]
        place = chosen(ports, output, self.path)
        if not ports or not (ports[place].floats or ports[place].gives_labels):
            raise InputError(f"{path} gives {shown(given)} first; expected logits (N, K), which are floats")
        self._takes(ImageInput.of_axes(inputs[0].name, TAKEN[inputs[0].type], inputs[0].shape, self.path, layout))
        self._gives(ports, place)
        self._says(parse_record(record, self.path))

    def weights_hash(self) -> str:
        """SHA-256 of the file's bytes; if other files hold weights, of this hash and of their names and hashes."""
        hashed = _hash(Path(self.path))
        if self.external:
            named = [f"{name}\n{_hash(Path(self.path).parent / name)}" for name in self.external]
            hashed = hashlib.sha256("\n".join([hashed, *named]).encode()).hexdigest()
        return f"sha256:{hashed}"


def quiet_runtime() -> Any:
    """ONNX Runtime, told to print nothing: what it prints holds the names of a file, raw. Errors raise as before.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(FATAL)
    return onnxruntime


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
