"""An ONNX file as a base classifier: its inputs and outputs, read from its graph."""

from __future__ import annotations

import hashlib
from pathlib import Path

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.onnx_external import external_files

FLOAT = "tensor(float)"
FLOATS = (FLOAT, "tensor(float16)", "tensor(bfloat16)", "tensor(double)")


class OnnxModel:
    """A file whose first input is a batch of images (N, C, H, W) in [0, 1] and whose first output is logits (N, K).

    Any normalisation must be inside it.

    Attributes:
        path: of the file.
        input, output: their names in the graph.
        shape: (C, H, W) of an image.
        batch: N where the file fixes it, else None.
        num_classes: K where the file says it, else None.
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

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        if not Path(path).is_file():
            raise InputError(f"no ONNX file at {path}")
        self.external = external_files(Path(path))
        with needs(str(path)):
            import onnxruntime
        try:
            # Without the fallback, which prints a message and tries the same again.
            session = onnxruntime.InferenceSession(self.path, providers=["CPUExecutionProvider"], enable_fallback=0)
            inputs, outputs = session.get_inputs(), session.get_outputs()
            taken = ", ".join(f"{each.name} {each.type}{each.shape}" for each in inputs)  # raises for names in bytes
            given = ", ".join(f"{each.name} {each.type}{each.shape}" for each in outputs[:1]) or "nothing"
        except Exception as error:  # ONNX Runtime's own errors have no other base class in common
            raise InputError(f"{path} is no ONNX file that can be run ({shown(_first_line(error))})") from error
        if len(inputs) != 1 or inputs[0].type != FLOAT:
            raise InputError(f"{path} takes {shown(taken)}; expected one float32 batch of images (N, C, H, W)")
        if not outputs or outputs[0].type not in FLOATS:
            raise InputError(f"{path} gives {shown(given)} first; expected logits (N, K), which are floats")
        self.input, self.output = inputs[0].name, outputs[0].name
        self.batch, self.shape = self._axes(inputs[0].shape)
        classes = outputs[0].shape[1] if len(outputs[0].shape) == 2 else None
        self.num_classes: int | None = classes if isinstance(classes, int) else None

    def weights_hash(self) -> str:
        """SHA-256 of the file's bytes; if other files hold weights, of this hash and of their names and hashes."""
        hashed = _hash(Path(self.path))
        if self.external:
            named = [f"{name}\n{_hash(Path(self.path).parent / name)}" for name in self.external]
            hashed = hashlib.sha256("\n".join([hashed, *named]).encode()).hexdigest()
        return f"sha256:{hashed}"

    def _axes(self, axes: list[int | str | None]) -> tuple[int | None, tuple[int, int, int]]:
        if len(axes) != 4:
            raise InputError(
                f"{self.path} takes input of shape {shown(axes)}, without a batch axis: expected (N, C, H, W); export "
                "it again with a batch of images as example"
            )
        batch, *image = axes
        if not all(isinstance(side, int) and side > 0 for side in image):
            raise InputError(f"{self.path} takes input of shape {shown(axes)}: C, H and W must be fixed numbers")
        channels, height, width = (int(side) for side in image if isinstance(side, int))
        return (batch if isinstance(batch, int) else None), (channels, height, width)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
