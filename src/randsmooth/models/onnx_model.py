"""An ONNX file as a base classifier: what it takes and gives, read from its graph."""

from __future__ import annotations

import hashlib
from pathlib import Path

from randsmooth.errors import InputError

FLOAT = "tensor(float)"


class OnnxModel:
    """A file whose first input is a batch of images (N, C, H, W) in [0, 1] and whose first output is logits (N, K).

    Any normalisation must be inside it.

    Attributes:
        path: of the file.
        input, output: their names in the graph.
        shape: (C, H, W) of an image.
        batch: N where the file fixes it, else None.
        num_classes: K where the file says it, else None.

    Raises:
        InputError: no such file, ONNX Runtime is not installed, or the graph takes or gives something else.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        if not Path(path).is_file():
            raise InputError(f"no ONNX file at {path}")
        try:
            import onnxruntime
        except ImportError:
            raise InputError(f"{path} needs ONNX Runtime: pip install 'randsmooth[onnx]'") from None
        try:
            session = onnxruntime.InferenceSession(self.path, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's own, which share no base class but this
            raise InputError(f"{path} is no ONNX file that can be run ({_first_line(error)})") from error
        inputs, outputs = session.get_inputs(), session.get_outputs()
        if len(inputs) != 1 or inputs[0].type != FLOAT:
            told = ", ".join(f"{each.name} {each.type}{each.shape}" for each in inputs)
            raise InputError(f"{path} takes {told}; expected one float32 batch of images (N, C, H, W)")
        self.input, self.output = inputs[0].name, outputs[0].name
        self.batch, self.shape = self._axes(inputs[0].shape)
        classes = outputs[0].shape[1] if len(outputs[0].shape) == 2 else None
        self.num_classes: int | None = classes if isinstance(classes, int) else None

    def weights_hash(self) -> str:
        """sha256 of the file's bytes."""
        return f"sha256:{hashlib.sha256(Path(self.path).read_bytes()).hexdigest()}"

    def _axes(self, axes: list[int | str | None]) -> tuple[int | None, tuple[int, int, int]]:
        if len(axes) != 4:
            raise InputError(
                f"{self.path} takes input of shape {axes}, without a batch axis: expected (N, C, H, W); export it "
                "again with a batch of images as example"
            )
        batch, *image = axes
        if not all(isinstance(side, int) for side in image):
            raise InputError(f"{self.path} takes input of shape {axes}: C, H and W must be fixed numbers")
        channels, height, width = (int(side) for side in image if isinstance(side, int))
        return (batch if isinstance(batch, int) else None), (channels, height, width)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
