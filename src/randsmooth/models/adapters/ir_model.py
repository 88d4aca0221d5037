"""An OpenVINO IR as a base classifier: its input and output, read from its graph."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import needs
from randsmooth.models.adapters.graph_file import GraphFile, Port, asked, chosen
from randsmooth.models.adapters.graph_record import KEY, WEIGHTS, parse_record
from randsmooth.models.adapters.image_input import LAYOUTS, ImageInput
from randsmooth.models.place import check_file

TAKEN = {"f32": "float32", "f16": "float16", "f64": "float64", "u8": "uint8"}  # OpenVINO's names of types -> NumPy's
FLOATS = (*("f32", "f16", "f64", "bf16"), "dynamic")
WHOLE = ("i64", "i32")


class IrModel(GraphFile):
    """An OpenVINO IR, NET.xml with NET.bin beside it, that takes and gives what an `OnnxModel` does.

    Args:
        path: of the .xml file.
        output: the name of the output with the logits. Default: the first that has floats and two axes, else the first.
        layout: "NCHW" or "NHWC". Default: what the file says, else what its axes show.

    Attributes:
        path, input, output, shape, batch, num_classes: see `GraphFile`.

    Raises:
        InputError: a file is missing, OpenVINO is not installed, or the graph has other inputs or outputs.

    Example:
        >>> IrModel("nofile.xml")
        Traceback (most recent call last):
        randsmooth.errors.InputError: no OpenVINO IR at nofile.xml
    """

    form = "OpenVINO IR"

    def __init__(self, path: Path | str, *, output: str | None = None, layout: str | None = None) -> None:
        self.path, self.asked = str(path), asked(output=output, layout=layout)
        check_file(self.path, "OpenVINO IR")
        self.weights = Path(path).with_suffix(".bin")
        check_file(str(self.weights), "file of weights beside it")
        with needs(str(path)):
            import openvino
        try:
            self._read(openvino.Core().read_model(self.path), output, layout)
        except (RuntimeError, UnicodeDecodeError) as error:  # the latter of names that are no text
            raise InputError(f"{path} is no OpenVINO IR that can be run ({shown(_last_line(error))})") from error

    def _read(self, graph: Any, output: str | None, layout: str | None) -> None:
        taken = [(each.get_element_type().get_type_name(), _axes(each)) for each in graph.inputs]
        if len(taken) != 1 or taken[0][0] not in TAKEN:
            words = ", ".join(f"{kind}{[*axes]}" for kind, axes in taken)
            raise InputError(
                f"{self.path} takes {shown(words)}; expected one float32 or uint8 batch of images (N, C, H, W)"
            )
        ports = [_port(each) for each in graph.outputs]
        place = chosen(ports, output, self.path)
        if not (ports[place].floats or ports[place].gives_labels):
            raise InputError(
                f"{self.path} gives {[*ports[place].axes]} first; expected logits (N, K), which are floats"
            )
        kind, axes = taken[0]
        stated = "".join(char for char in str(graph.inputs[0].get_node().get_layout()) if char.isalpha())
        layout = layout or (stated if stated in LAYOUTS else None)
        self._takes(
            ImageInput.of_axes(graph.inputs[0].get_node().get_friendly_name(), TAKEN[kind], axes, self.path, layout)
        )
        self._gives(ports, place)
        self._says(self._record(graph))

    def weights_hash(self) -> str:
        """SHA-256 of the hashes of both files."""
        hashed = hashlib.sha256()
        for path in (Path(self.path), self.weights):
            hashed.update(_digest(path).digest())
        return f"sha256:{hashed.hexdigest()}"

    def _record(self, graph: Any) -> dict[str, Any]:
        """What the file says of how it was made. InputError where the weights are not those it was written with."""
        text = graph.get_rt_info([KEY]).astype(str) if graph.has_rt_info([KEY]) else None
        record = parse_record(text, self.path)
        if record.get(WEIGHTS, digest := f"sha256:{_digest(self.weights).hexdigest()}") != digest:
            raise InputError(
                f"{self.weights} is not the file of weights that {self.path} was written with: it is damaged, or of "
                "another model; both are written by `randsmooth quantise`"
            )
        return record


def _digest(path: Path) -> Any:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256")


def _axes(port: Any) -> tuple[int | None, ...]:
    """Lengths of the axes of an input or output; None for one that is free."""
    shape = port.get_partial_shape()
    return () if shape.rank.is_dynamic else tuple(axis.get_length() if axis.is_static else None for axis in shape)


def _port(port: Any) -> Port:
    kind = port.get_element_type().get_type_name()
    return Port(tuple(sorted(port.get_names())), kind in FLOATS, kind in WHOLE, _axes(port))


def _last_line(error: Exception) -> str:
    return str(error).strip().rpartition("\n")[2]
