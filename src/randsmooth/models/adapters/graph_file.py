"""Files that hold the graph of a base classifier: ONNX files and OpenVINO IR, and how they take images."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth.contents import check_itself, what_it_is
from randsmooth.documents import parse_json, shown
from randsmooth.errors import Problem, Setting, WrongFile, article, check_known, unknown
from randsmooth.extras import needs
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.sources import check_file

LAYOUTS = ("NCHW", "NHWC", "rows")
ROWS = "the base classifier takes rows: of each noisy image its numbers by channel, row and column"
CHANNELS = (
    1,
    3,
    4,
)  # an axis of this length, and no other, is taken for the one of the channels
UINT8 = (
    "the base classifier takes 8-bit images: it rounds each noisy pixel to the nearest of k/255 and clips it to [0, 1] "
    "first; noise is added before that, to the image in [0, 1]"
)
# Names of types in ONNX Runtime and in OpenVINO -> NumPy's.
TYPES = {
    **{
        "tensor(float)": "float32",
        "tensor(float16)": "float16",
        "tensor(double)": "float64",
        "tensor(uint8)": "uint8",
    },
    **{
        "tensor(bfloat16)": "bfloat16",
        "tensor(int64)": "int64",
        "tensor(int32)": "int32",
    },
    **{"f32": "float32", "f16": "float16", "f64": "float64", "u8": "uint8"},
    **{"bf16": "bfloat16", "dynamic": "bfloat16", "i64": "int64", "i32": "int32"},
}
TAKEN = ("float32", "float16", "float64", "uint8")
FLOATS, WHOLE = ("float32", "float16", "float64", "bfloat16"), ("int64", "int32")
KEY, WEIGHTS, QUANTISED = (
    "randsmooth",
    "weights",
    "quantised",
)  # of the record in an IR of ours, and keys in it
FATAL = 4  # the highest severity of ONNX Runtime's messages


class Port(NamedTuple):
    """An input or output of a graph: all its names, its type as NumPy calls it, the lengths of its axes.

    An axis without a number is free.
    """

    names: list[str]
    dtype: str
    axes: tuple[int | str | None, ...]


class GraphFile(ForeignModel):
    """A file that takes one batch of images in [0, 1], or of features, and gives logits (N, K), or labels (N,).

    Images are (N, C, H, W), or (N, H, W, C) where the last axis has 1, 3 or 4 entries and the second has not; float32,
    float16, float64, or uint8, to which noisy images are rounded and clipped. Any normalisation must be inside.

    Args:
        path: of the file.
        output: the name of the output with the logits. Default: the first that has floats and two axes, else the first.
        layout: "NCHW" or "NHWC", the order of the axes of images, or "rows" for a file that takes rows of their
            numbers. Default: what the file says, else what its axes show.

    Attributes:
        path: of the file.
        input, dtype, layout: name of its input, its type, "float32", "float16", "float64" or "uint8", and the order of
            its axes, "NCHW" or "NHWC"; of features, whose order is their own, "NCHW".
        output, place: name and place, among the outputs, of the one that is read.
        shape: (C, H, W) of an image, or that of other inputs; None where the file leaves a side free or takes rows.
        row: how many numbers are in a row, of the layout "rows", where the file says it; else None.
        batch: N where the file fixes it, else None.
        num_classes: K where the file says it, else None.
        provenance: how its model was trained and quantised, where `randsmooth quantise` wrote the file; else {}.

    Raises:
        Problem: there is no such file, what runs it is not installed, or its graph has other inputs or outputs.

    Example:
        >>> from randsmooth.models import IrModel, OnnxModel
        >>> issubclass(OnnxModel, GraphFile), issubclass(IrModel, GraphFile)
        (True, True)
    """

    form: ClassVar[str]  # "ONNX file"
    row: int | None
    stated: str | None = None  # the layout of the input, where the file says it

    def __init__(
        self, path: Path | str, *, output: str | None = None, layout: str | None = None
    ) -> None:
        self.path, self.provenance = str(path), dict[str, Any]()
        check_file(self.path)
        if kind := what_it_is(Path(path)):
            raise WrongFile(f"{path} {kind}; expected {article(self.form)}", file=path)
        with needs(self.path):
            try:
                inputs, outputs = self._read()
            except (Problem, ModuleNotFoundError):
                raise
            except Exception as error:  # the runtimes' errors, and those of hostile names, have no base class in common
                raise WrongFile(
                    f"{path} is no {self.form} that can be run ({shown(error)})",
                    file=path,
                ) from error
        self._take(inputs, layout or self.stated)
        self._give(outputs, output)

    @abstractmethod
    def _read(self) -> tuple[list[Port], list[Port]]:
        """Inputs and outputs."""

    @abstractmethod
    def files(self) -> dict[str, Path]:
        """The files with its weights beside the one at `path`, by the names that it gives them."""

    def _take(self, ports: Sequence[Port], layout: str | None) -> None:
        """Learn how inputs go in, in a `layout` or, without one, in that which the axes show; else Problem.

        Sides that the file leaves free are those of the data, which have one size.
        """
        check_known("layout", LAYOUTS, *filter(None, [layout]))
        found = shown(", ".join(f"{port.dtype} {[*port.axes]}" for port in ports))
        if len(ports) != 1 or ports[0].dtype not in TAKEN or len(ports[0].axes) < 2:
            expected = (
                "one float32 or uint8 batch, images (N, C, H, W) or features (N, d)"
            )
            raise WrongFile(
                f"{self.path} takes {found}; expected {expected}: export it again with such an example",
                file=self.path,
            )
        port = ports[0]
        sides = tuple(
            side if isinstance(side, int) and side > 0 else None
            for side in port.axes[1:]
        )
        of_images = "NCHW" if layout is None else layout
        fits = {
            "rows": len(sides) == 1,
            "NHWC": len(sides) == 3,
            "NCHW": len(sides) == 3 or port.dtype != "uint8",
        }
        if not fits[of_images]:
            way = "give the layout of its input, or none"
            raise WrongFile(
                f"{self.path} takes {found}, which is not {of_images} of {port.dtype}: {way}",
                file=self.path,
            )
        if len(sides) == 3 and layout is None:
            layout = self._layout_of(port)
        self.input, self.dtype, self.layout = (
            port.names[0],
            port.dtype,
            layout or "NCHW",
        )
        self.batch = port.axes[0] if isinstance(port.axes[0], int) else None
        self.row = sides[0] if self.layout == "rows" else None
        known = tuple(side for side in sides if side is not None)
        if len(known) < len(sides) or self.layout == "rows":
            self.shape = None
        else:
            self.shape = (
                (known[2], known[0], known[1]) if self.layout == "NHWC" else known
            )
        said = {"uint8": UINT8}.get(self.dtype), {"rows": ROWS}.get(self.layout)
        self.notes = tuple(note for note in said if note is not None)

    def _layout_of(self, port: Port) -> str:
        """The layout of images that the axes of an input show, by their lengths and else by their names."""
        _, first, _, last = port.axes
        if last in CHANNELS and first not in CHANNELS:
            return "NHWC"
        if isinstance(first, int):
            return "NCHW"
        named = {
            "NCHW": "channel" in str(first).lower(),
            "NHWC": "channel" in str(last).lower(),
        }
        if named["NCHW"] == named["NHWC"]:
            found = shown(repr([*port.axes]))
            raise WrongFile(
                f"{self.path} takes {found}, which does not say where the channels are",
                fix=(
                    "give ",
                    Setting("layout", "NCHW", of="model_arg"),
                    " or ",
                    Setting("layout", "NHWC", of="model_arg"),
                ),
                file=self.path,
            )
        return "NCHW" if named["NCHW"] else "NHWC"

    def _give(self, ports: Sequence[Port], output: str | None) -> None:
        """Choose the output that is named, else the first that has floats and two axes, else the first."""
        logits = [
            i
            for i, port in enumerate(ports)
            if port.dtype in FLOATS and len(port.axes) == 2
        ]
        found = (
            [*logits, 0]
            if output is None
            else [i for i, port in enumerate(ports) if output in port.names]
        )
        if not found or not ports:
            raise unknown(
                f"output of {self.path}",
                output,
                [name for port in ports for name in port.names],
            )
        self.place, chosen = found[0], ports[found[0]]
        of_labels = len(chosen.axes) == 1 or tuple(chosen.axes[1:]) == (
            1,
        )  # as ArgMax gives them
        self.output, self.labels = chosen.names[0], of_labels and chosen.dtype in WHOLE
        if chosen.dtype not in FLOATS and not self.labels:
            given = f"{shown(self.output)}, {chosen.dtype}"
            raise WrongFile(
                f"{self.path} gives {given}; expected logits (N, K) in floats",
                file=self.path,
            )
        classes = chosen.axes[1] if len(chosen.axes) == 2 else None
        self.num_classes = classes if isinstance(classes, int) and classes > 1 else None

    def prepared(self, images: NDArray[np.float32]) -> np.ndarray:
        """Images (B, C, H, W) float32, or other inputs, as the graph takes them.

        Raises:
            Problem: the graph takes rows of another length than images have numbers.
        """
        if self.layout == "rows":
            shape, images = images.shape[1:], images.reshape(len(images), -1)
            if self.row not in (None, images.shape[1]):
                has = f"inputs of shape {shape} have {images.shape[1]} numbers"
                raise WrongFile(
                    f"{self.path} takes rows of {self.row} numbers, and {has}: is it for another size?",
                    file=self.path,
                )
        if self.layout == "NHWC":
            images = images.transpose(0, 2, 3, 1)
        if self.dtype == "uint8":
            return np.ascontiguousarray(
                np.rint(np.clip(images, 0.0, 1.0) * 255.0).astype(np.uint8)
            )
        return np.ascontiguousarray(images.astype(self.dtype, copy=False))

    @property
    def kind(self) -> str:  # type: ignore[override]
        int8 = " in int8" if self.provenance.get(QUANTISED) else ""
        return f"{self.form}{int8}{', labels only' if self.labels else ''}"

    def weights_hash(self) -> str:
        """SHA-256 of the file's bytes; if other files hold weights, of this hash and of their names and hashes."""
        hashed = hash_of(Path(self.path))
        if named := [f"{name}\n{hash_of(path)}" for name, path in self.files().items()]:
            hashed = hashlib.sha256("\n".join([hashed, *named]).encode()).hexdigest()
        return f"sha256:{hashed}"


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

    def _read(self) -> tuple[list[Port], list[Port]]:
        runtime = quiet_runtime()
        self.external = _external(Path(self.path))
        # Without the fallback, which prints a message and tries the same again.
        session = runtime.InferenceSession(
            self.path, providers=["CPUExecutionProvider"], enable_fallback=0
        )
        return [*map(self._port, session.get_inputs())], [
            *map(self._port, session.get_outputs())
        ]

    def files(self) -> dict[str, Path]:
        return {name: Path(self.path).parent / name for name in self.external}

    @staticmethod
    def _port(port: Any) -> Port:
        return Port([port.name], TYPES.get(port.type, port.type), tuple(port.shape))


class IrModel(GraphFile):
    """An OpenVINO IR, NET.xml with NET.bin beside it. See `GraphFile`.

    Example:
        >>> IrModel("nofile.xml")
        Traceback (most recent call last):
        randsmooth.errors.NotFound: no file at nofile.xml
    """

    form = "OpenVINO IR"

    def _read(self) -> tuple[list[Port], list[Port]]:
        import openvino

        check_file(str(self.files()[WEIGHTS]))
        graph = openvino.Core().read_model(self.path)
        if graph.has_rt_info([KEY]):
            self.provenance = self._recorded(graph.get_rt_info([KEY]).astype(str))
        said = (
            str(graph.inputs[0].get_node().get_layout())
            if len(graph.inputs) == 1
            else ""
        )
        stated = "".join(filter(str.isalpha, said))
        self.stated = stated if stated in LAYOUTS else None
        return [*map(self._port, graph.inputs)], [*map(self._port, graph.outputs)]

    def files(self) -> dict[str, Path]:
        return {WEIGHTS: Path(self.path).with_suffix(".bin")}

    def _recorded(self, record: str) -> dict[str, Any]:
        """What `quantise` noted: how the model was trained, and under `quantised` how the file was made; of others {}.

        Raises:
            Problem: it is no JSON, or the weights are not those that it was written with.
        """
        said, weights = (
            parse_json(record, f"the record in {self.path}"),
            self.files()[WEIGHTS],
        )
        if not isinstance(said, dict) or not all(
            isinstance(said.get(key, {}), dict) for key in ("trained", QUANTISED)
        ):
            return {}
        if WEIGHTS in said and said[WEIGHTS] != f"sha256:{hash_of(weights)}":
            way = "write both again by `randsmooth quantise`"
            raise WrongFile(
                f"{weights} is not the file of weights that {self.path} was written with: {way}"
            )
        return {
            **said.get("trained", {}),
            **{key: said[key] for key in (QUANTISED,) if said.get(key)},
        }

    @staticmethod
    def _port(port: Any) -> Port:
        kind, shape = port.get_element_type().get_type_name(), port.get_partial_shape()
        axes = (
            ()
            if shape.rank.is_dynamic
            else (axis.get_length() if axis.is_static else None for axis in shape)
        )
        names = sorted(port.get_names()) or [port.get_node().get_friendly_name()]
        return Port(names, TYPES.get(kind, kind), tuple(axes))


def quiet_runtime() -> Any:
    """ONNX Runtime, told to print nothing: what it prints holds the names of a file, raw. Errors raise as before.

    It reports nothing to its makers either, also where it was imported before `randsmooth.extras` could tell it so.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(FATAL)
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def hash_of(path: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _external(path: Path) -> list[str]:
    """Names of the files, relative to the folder of the ONNX file `path`, that hold some of its tensors; sorted.

    Raises:
        Problem: one of them is missing, no plain file or outside of that folder.
    """
    import onnx

    tensors = _tensors(onnx.load(path, load_external_data=False))
    beside = (
        each.external_data for each in tensors if each.data_location == each.EXTERNAL
    )
    names = sorted(
        {
            next((said.value for said in facts if said.key == "location"), "")
            for facts in beside
        }
    )
    folders = {
        path.parent.resolve(),
        path.resolve().parent,
    }  # both may be links to one folder elsewhere
    for name in names:
        there = path.parent / name
        within = any(there.resolve().is_relative_to(folder) for folder in folders)
        if (
            Path(name).is_absolute()
            or ".." in Path(name).parts
            or not within
            or not there.is_file()
        ):
            way = "save the model with its weights beside it"
            raise WrongFile(
                f"{path} keeps weights in {shown(repr(name))}, no file in its own folder: {way}",
                file=path,
            )
        check_itself(there)
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
