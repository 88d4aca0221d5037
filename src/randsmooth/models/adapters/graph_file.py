"""Files that hold the graph of a base classifier: ONNX files and OpenVINO IR, and how they take images."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth.data.dataset_spec import is_image
from randsmooth.documents import parse_json, shown
from randsmooth.errors import InputError, unknown
from randsmooth.extras import needs
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.sources import check_file

LAYOUTS = ("NCHW", "NHWC")
CHANNELS = (1, 3, 4)  # an axis of this length, and no other, is taken for the one of the channels
UINT8 = (
    "the base classifier takes 8-bit images: it rounds each noisy pixel to the nearest of k/255 and clips it to [0, 1] "
    "first; noise is added before that, to the image in [0, 1]"
)
# Names of types in ONNX Runtime and in OpenVINO -> NumPy's.
TYPES = {
    **{"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(uint8)": "uint8"},
    **{"tensor(bfloat16)": "bfloat16", "tensor(int64)": "int64", "tensor(int32)": "int32"},
    **{"f32": "float32", "f16": "float16", "f64": "float64", "u8": "uint8"},
    **{"bf16": "bfloat16", "dynamic": "bfloat16", "i64": "int64", "i32": "int32"},
}
TAKEN = ("float32", "float16", "float64", "uint8")
FLOATS, WHOLE = ("float32", "float16", "float64", "bfloat16"), ("int64", "int32")
KEY, WEIGHTS = "randsmooth", "weights"  # of the record in a file of ours, and of the hash of an IR's weights in it
FATAL = 4  # the highest severity of ONNX Runtime's messages


class Port(NamedTuple):
    """An input or output of a graph: its name, its type as NumPy calls it, the lengths of its axes (no number: free).

    `names` are all that it answers to, `name` the first.
    """

    names: tuple[str, ...]
    dtype: str
    axes: tuple[int | str | None, ...]

    @property
    def name(self) -> str:
        return next(iter(self.names), "?")


class Graph(NamedTuple):
    """What a file says: inputs, outputs, the layout of its input if it states one, and the record of one of ours."""

    inputs: list[Port]
    outputs: list[Port]
    layout: str | None
    record: str | None


@dataclass(frozen=True)
class ImageInput:
    """How the input of a graph takes a batch of images.

    Attributes:
        name: in the graph.
        dtype: "float32", "float16", "float64" or "uint8".
        layout: "NCHW" or "NHWC", the order of its axes; of features, whose order is their own, "NCHW".
        batch: N where the file fixes it, else None.
        shape: (C, H, W) of an image, or that of other inputs.

    Example:
        >>> images = np.full((1, 3, 2, 2), 0.5, np.float32)
        >>> ImageInput("x", "uint8", "NHWC", None, (3, 2, 2)).prepared(images)[0, 0]
        array([[128, 128, 128],
               [128, 128, 128]], dtype=uint8)
    """

    name: str
    dtype: str
    layout: str
    batch: int | None
    shape: tuple[int, ...]

    @classmethod
    def of(cls, ports: Sequence[Port], layout: str | None, path: str) -> ImageInput:
        """The only one of `ports`, in a `layout` or, without one, in that which its channels show; else InputError."""
        if layout not in (None, *LAYOUTS):
            raise unknown("layout", layout, LAYOUTS)
        sides = tuple(side for port in ports for side in port.axes[1:] if isinstance(side, int) and side > 0)
        axes = ports[0].axes if len(ports) == 1 and ports[0].dtype in TAKEN else ()
        if len(axes) < 2 or len(sides) != len(axes) - 1:
            found = shown(", ".join(f"{port.dtype} {[*port.axes]}" for port in ports))
            raise InputError(
                f"{path} takes {found}; expected one float32 or uint8 batch of images (N, C, H, W), of which C, H and "
                "W are fixed numbers, or of features (N, d): export it again with such a batch as example"
            )
        images = is_image(sides)
        if not images and (layout == "NHWC" or ports[0].dtype == "uint8"):
            raise InputError(f"{path} takes {ports[0].dtype} {[*axes]}, no images: it must be floats, without a layout")
        layout = layout or ("NHWC" if images and sides[2] in CHANNELS and sides[0] not in CHANNELS else "NCHW")
        shape = sides if layout == "NCHW" else (sides[2], sides[0], sides[1])
        return cls(ports[0].name, ports[0].dtype, layout, axes[0] if isinstance(axes[0], int) else None, shape)

    def prepared(self, images: NDArray[np.float32]) -> np.ndarray:
        """Images (B, C, H, W) float32, or other inputs, as the graph takes them."""
        if self.layout == "NHWC":
            images = images.transpose(0, 2, 3, 1)
        if self.dtype == "uint8":
            return np.ascontiguousarray(np.rint(np.clip(images, 0.0, 1.0) * 255.0).astype(np.uint8))
        return np.ascontiguousarray(images.astype(self.dtype, copy=False))


class GraphFile(ForeignModel):
    """A file that takes one batch of images in [0, 1], or of features, and gives logits (N, K), or labels (N,).

    Images are (N, C, H, W), or (N, H, W, C) where the last axis has 1, 3 or 4 entries and the second has not; float32,
    float16, float64, or uint8, to which noisy images are rounded and clipped. Any normalisation must be inside.

    Args:
        path: of the file.
        output: the name of the output with the logits. Default: the first that has floats and two axes, else the first.
        layout: "NCHW" or "NHWC". Default: what the file says, else what its axes show.

    Attributes:
        path: of the file.
        input: how its input takes images: name, type, layout, batch.
        output, place: name and place, among the outputs, of the one that is read.
        shape: (C, H, W) of an image, or that of other inputs.
        batch: N where the file fixes it, else None.
        num_classes: K where the file says it, else None.
        provenance: how its model was trained and quantised, where randsmooth wrote the file and so it says.

    Raises:
        InputError: there is no such file, what runs it is not installed, or its graph has other inputs or outputs.

    Example:
        >>> from randsmooth.models import IrModel, OnnxModel
        >>> issubclass(OnnxModel, GraphFile), issubclass(IrModel, GraphFile)
        (True, True)
    """

    form: ClassVar[str]  # "ONNX file"
    shape: tuple[int, ...]

    def __init__(self, path: Path | str, *, output: str | None = None, layout: str | None = None) -> None:
        self.path = str(path)
        check_file(self.path)
        with needs(self.path):
            try:
                graph = self._graph()
            except (InputError, ModuleNotFoundError):
                raise
            except Exception as error:  # the runtimes' errors, and those of hostile names, have no base class in common
                raise InputError(f"{path} is no {self.form} that can be run ({shown(error)})") from error
        self.input = ImageInput.of(graph.inputs, layout or graph.layout, self.path)
        self.batch, self.shape = self.input.batch, self.input.shape
        self.notes = (UINT8,) if self.input.dtype == "uint8" else ()
        self.place = _chosen(graph.outputs, output, self.path)
        chosen = graph.outputs[self.place]
        self.output, self.labels = chosen.name, len(chosen.axes) == 1 and chosen.dtype in WHOLE
        if chosen.dtype not in FLOATS and not self.labels:
            raise InputError(f"{path} gives {shown(self.output)}, {chosen.dtype}; expected logits (N, K), as floats")
        classes = chosen.axes[1] if len(chosen.axes) == 2 else None
        self.num_classes = classes if isinstance(classes, int) else None
        self.provenance = self._provenance(graph.record)

    @abstractmethod
    def _graph(self) -> Graph:
        """What the file says, as its runtime reads it."""

    @abstractmethod
    def files(self) -> dict[str, Path]:
        """The files with its weights beside the one at `path`, by the names that it gives them."""

    @property
    def kind(self) -> str:  # type: ignore[override]
        int8 = " in int8" if self.provenance.get("quantised") else ""  # `randsmooth quantise` wrote it
        return f"{self.form}{int8}{', labels only' if self.labels else ''}"

    def weights_hash(self) -> str:
        """SHA-256 of the file's bytes; if other files hold weights, of this hash and of their names and hashes."""
        hashed = hash_of(Path(self.path))
        if named := [f"{name}\n{hash_of(path)}" for name, path in self.files().items()]:
            hashed = hashlib.sha256("\n".join([hashed, *named]).encode()).hexdigest()
        return f"sha256:{hashed}"

    def _provenance(self, record: str | None) -> dict[str, Any]:
        """What a file of ours says of its model's training, and under `quantised` of how it was made."""
        said = parse_json(record, f"the record in {self.path}") if record else {}
        trained, quantised = (said.get(part, {}) if isinstance(said, dict) else {} for part in ("trained", "quantised"))
        if not isinstance(trained, dict) or not isinstance(quantised, dict):
            return {}
        for path in self.files().values() if WEIGHTS in said else ():
            if said[WEIGHTS] != f"sha256:{hash_of(path)}":
                raise InputError(
                    f"{path} is not the file of weights that {self.path} was written with: it is damaged, or of "
                    "another model; both are written by `randsmooth quantise`"
                )
        return trained | ({"quantised": quantised} if quantised else {})


class OnnxModel(GraphFile):
    """An ONNX file. See `GraphFile`.

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

    def _graph(self) -> Graph:
        runtime = quiet_runtime()
        self.external = _external(Path(self.path))
        # Without the fallback, which prints a message and tries the same again.
        session = runtime.InferenceSession(self.path, providers=["CPUExecutionProvider"], enable_fallback=0)
        inputs, outputs = (
            [Port((each.name,), TYPES.get(each.type, each.type), tuple(each.shape)) for each in ports]
            for ports in (session.get_inputs(), session.get_outputs())
        )
        return Graph(inputs, outputs, None, session.get_modelmeta().custom_metadata_map.get(KEY))

    def files(self) -> dict[str, Path]:
        return {name: Path(self.path).parent / name for name in self.external}


class IrModel(GraphFile):
    """An OpenVINO IR, NET.xml with NET.bin beside it. See `GraphFile`.

    Example:
        >>> IrModel("nofile.xml")
        Traceback (most recent call last):
        randsmooth.errors.InputError: no file at nofile.xml
    """

    form = "OpenVINO IR"

    def _graph(self) -> Graph:
        import openvino

        check_file(str(self.files()["weights"]))
        graph = openvino.Core().read_model(self.path)
        record = graph.get_rt_info([KEY]).astype(str) if graph.has_rt_info([KEY]) else None
        inputs, outputs = ([self._port(each) for each in ports] for ports in (graph.inputs, graph.outputs))
        said = graph.inputs[0].get_node().get_layout() if len(inputs) == 1 else ""
        stated = "".join(char for char in str(said) if char.isalpha())
        return Graph(inputs, outputs, stated if stated in LAYOUTS else None, record)

    def files(self) -> dict[str, Path]:
        return {"weights": Path(self.path).with_suffix(".bin")}

    @staticmethod
    def _port(port: Any) -> Port:
        kind, shape = port.get_element_type().get_type_name(), port.get_partial_shape()
        axes = () if shape.rank.is_dynamic else (axis.get_length() if axis.is_static else None for axis in shape)
        names = sorted(port.get_names()) or [port.get_node().get_friendly_name()]
        return Port(tuple(names), TYPES.get(kind, kind), tuple(axes))


def quiet_runtime() -> Any:
    """ONNX Runtime, told to print nothing: what it prints holds the names of a file, raw. Errors raise as before.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(FATAL)
    return onnxruntime


def hash_of(path: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _chosen(ports: Sequence[Port], name: str | None, path: str) -> int:
    """The place of the output called `name`; else of the first that has floats and two axes, else 0."""
    logits = [i for i, port in enumerate(ports) if port.dtype in FLOATS and len(port.axes) == 2]
    found = [*logits, 0] if name is None else [i for i, port in enumerate(ports) if name in port.names]
    if not found or not ports:
        raise unknown(f"output of {path}", name, [each for port in ports for each in port.names])
    return found[0]


def _external(path: Path) -> list[str]:
    """Names of the files, relative to the folder of the ONNX file `path`, that hold some of its tensors; sorted.

    Raises:
        InputError: one of them is missing, no plain file or outside of that folder.
    """
    import onnx

    tensors = _tensors(onnx.load(path, load_external_data=False))
    beside = (each.external_data for each in tensors if each.data_location == each.EXTERNAL)
    names = sorted({next((said.value for said in facts if said.key == "location"), "") for facts in beside})
    folders = {path.parent.resolve(), path.resolve().parent}  # both may be links to one folder elsewhere
    for name in names:
        there = path.parent / name
        within = any(there.resolve().is_relative_to(folder) for folder in folders)
        if Path(name).is_absolute() or ".." in Path(name).parts or not within or not there.is_file():
            raise InputError(
                f"{path} keeps weights in {shown(repr(name))}, which is no file in its own folder and so is not "
                "opened: save the model with its weights beside it"
            )
    return names


def _tensors(message: Any) -> Iterator[Any]:
    """The tensors of an ONNX model, wherever they lie: in nodes, branches, functions, sparse ones."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _tensors(part)
