"""ONNX files and OpenVINO IRs: what their graphs take and answer, and how they get images."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth.contents import check_no_placeholder, what_it_is
from randsmooth.documents import parse_json, shown
from randsmooth.errors import Problem, Setting, WrongFile, article, check_known, unknown
from randsmooth.extras import needs
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.places import check_file

# The orders of axes in which a graph may take inputs.
LAYOUTS = ("NCHW", "NHWC", "rows")

# Notes of a certificate on what is done to an image before the base classifier gets it.
ROWS = (
    "the base classifier takes rows: of each noisy image its numbers by channel, row and "
    "column"
)
UINT8 = (
    "the base classifier takes 8-bit images: it rounds each noisy pixel to the nearest of "
    "k/255 and clips it to [0, 1] first; noise is added before that, to the image in [0, 1]"
)

# Only an axis with one of these lengths is taken for that of the channels.
NUMBERS_OF_CHANNELS = (1, 3, 4)

# Names of types in ONNX Runtime and in OpenVINO -> NumPy's.
TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(bfloat16)": "bfloat16",
    "tensor(uint8)": "uint8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "f32": "float32",
    "f16": "float16",
    "f64": "float64",
    "bf16": "bfloat16",
    "dynamic": "bfloat16",
    "u8": "uint8",
    "i32": "int32",
    "i64": "int64",
}

# NumPy's names of the types of an input that are accepted.
TYPES_OF_INPUT = ("float32", "float16", "float64", "uint8")

# The types of an output with logits.
TYPES_OF_LOGITS = ("float32", "float16", "float64", "bfloat16")

# The types of an output with labels.
TYPES_OF_LABELS = ("int64", "int32")

# The name of the record that `randsmooth quantise` writes into an IR, and the keys in it: the
# hash of the weights, how the file was quantised, and how the model was trained.
RECORD = "randsmooth"
WEIGHTS = "weights"
QUANTISED = "quantised"
TRAINED = "trained"

# The highest severity of ONNX Runtime's messages.
FATAL = 4

# The length of an axis; the name of an axis of free length; None for a free one without a
# name.
Axis = int | str | None


class Port(NamedTuple):
    """An input or output of a graph.

    Attributes:
        names: its names, of which an IR may give it several.
        dtype: the type of its numbers, by NumPy's name; the file's own name for a type that
            TYPES does not have.
        axes: the lengths of its axes.
    """

    names: list[str]
    dtype: str
    axes: tuple[Axis, ...]

    @property
    def sides(self) -> tuple[int | None, ...]:
        """The lengths of all axes but that of the batch; None for a free one."""
        # A length of 0 or less is none.
        return tuple(
            side if isinstance(side, int) and side > 0 else None
            for side in self.axes[1:]
        )


class GraphFile(ForeignModel):
    """A file with the graph of a base classifier for images in [0, 1], or for features.

    The graph takes a batch, and gives logits (N, K) or labels (N,). Images are (N, C, H, W),
    or (N, H, W, C) where the last axis has the length 1, 3 or 4 and the second has another.
    They are float32, float16, float64 or uint8; for uint8, noisy images are rounded and
    clipped. The graph must contain the normalisation, if there is one.

    Args:
        path: the path of the file.
        output: the name of the output with the logits or labels. Default: the first output
            of floats with two axes, or else the first output.
        layout: "NCHW" or "NHWC", the order of the axes of images, or "rows" for a file that
            takes the numbers of each image in a row. Default: what the file says, or else
            what the lengths and names of the axes show.

    Attributes:
        path: the path of the file.
        input: the name of its input.
        dtype: the type of its input: "float32", "float16", "float64" or "uint8".
        layout: the layout of its input, "NCHW", "NHWC" or "rows". It is "NCHW" for features
            as well, which go in as they are.
        output: the name of the output that is read.
        place: the index of this output among all.
        shape: (C, H, W) of an image, or the shape of another input; None where the file
            leaves a side free or takes rows.
        row: how many numbers a row has, for the layout "rows"; None for another layout, or
            where the file leaves it free.
        batch: N where the file fixes it, else None.
        num_classes: K where the file says it, else None.
        provenance: how its model was trained and quantised, where `randsmooth quantise`
            wrote the file; else {}.

    Raises:
        NotFound: there is no such file.
        MissingPackage: the package that runs it is not installed.
        WrongFile: it is damaged, or its graph has other inputs or outputs.

    Example:
        >>> from randsmooth.models import IrModel, OnnxModel
        >>> issubclass(OnnxModel, GraphFile), issubclass(IrModel, GraphFile)
        (True, True)
    """

    # What errors call such a file: "ONNX file".
    form: ClassVar[str]
    row: int | None
    # The layout of the input, where the file says it.
    stated_layout: str | None = None

    def __init__(
        self, path: Path | str, *, output: str | None = None, layout: str | None = None
    ) -> None:
        self.path = str(path)
        self.provenance = dict[str, Any]()
        check_file(self.path)
        kind = what_it_is(Path(path))
        if kind:
            raise WrongFile(f"{path} {kind}; expected {article(self.form)}", file=path)
        with needs(self.path):
            try:
                inputs, outputs = self._read()
            except (Problem, ModuleNotFoundError):
                raise
            # The errors of the runtimes, and those of names with odd characters, have no
            # base class in common.
            except Exception as error:
                raise WrongFile(
                    f"{path} is no {self.form} that randsmooth can run ({shown(error)})",
                    file=path,
                ) from error
        self._set_input(inputs, layout or self.stated_layout)
        self._set_output(outputs, output)

    @abstractmethod
    def _read(self) -> tuple[list[Port], list[Port]]:
        """Open the file, and return the inputs and the outputs of its graph.

        A subclass also sets what else the file says: `provenance` and `stated_layout`.
        """

    @abstractmethod
    def files(self) -> dict[str, Path]:
        """Return the files with weights beside the one at `path`, by name."""

    def _set_input(self, ports: Sequence[Port], layout: str | None) -> None:
        """Set the attributes that say how inputs go in, from `input` to `notes`.

        Args:
            ports: the inputs of the graph.
            layout: the layout of its input; None: that which the axes show.

        Raises:
            UnknownName: there is no such layout.
            WrongFile: the graph takes something else than one batch, or has another layout.
        """
        if layout is not None:
            check_known("layout", LAYOUTS, layout)
        port = self._only_input(ports)
        # Any input that can be used at all may be "NCHW".
        self._check_fits(port, layout or "NCHW")
        if layout is None:
            # Only images have an order of axes to find out.
            layout = self._layout_of(port) if len(port.sides) == 3 else "NCHW"

        self.input = port.names[0]
        self.dtype = port.dtype
        self.layout = layout
        self.batch = port.axes[0] if isinstance(port.axes[0], int) else None
        self.row = port.sides[0] if layout == "rows" else None
        self.shape = _shape_of_input(port, layout)

        notes = []
        if self.dtype == "uint8":
            notes.append(UINT8)
        if layout == "rows":
            notes.append(ROWS)
        self.notes = tuple(notes)

    def _only_input(self, ports: Sequence[Port]) -> Port:
        """Return the only input, which must be a batch of a type in TYPES_OF_INPUT."""
        if len(ports) == 1:
            (port,) = ports
            if port.dtype in TYPES_OF_INPUT and len(port.axes) >= 2:
                return port
        raise WrongFile(
            f"{self.path} takes {_in_words(ports)}; expected one float32 or uint8 batch, "
            "images (N, C, H, W) or features (N, d): export it again with such an example",
            file=self.path,
        )

    def _check_fits(self, port: Port, layout: str) -> None:
        """Check that an input may have this layout.

        Raises:
            WrongFile: it has another number of axes, or is of features in 8 bits.
        """
        fits = {
            "rows": len(port.sides) == 1,
            "NHWC": len(port.sides) == 3,
            # Features have it too, whatever their axes, but not in 8 bits: to round them to
            # k/255 would make no sense.
            "NCHW": len(port.sides) == 3 or port.dtype != "uint8",
        }
        if not fits[layout]:
            raise WrongFile(
                f"{self.path} takes {_in_words([port])}, which is not {layout} of "
                f"{port.dtype}: give the layout of its input, or none",
                file=self.path,
            )

    def _layout_of(self, port: Port) -> str:
        """Return the layout of images that the axes of an input show.

        Their lengths show it, or else their names.

        Raises:
            WrongFile: neither do.
        """
        _, second, _, last = port.axes
        if last in NUMBERS_OF_CHANNELS and second not in NUMBERS_OF_CHANNELS:
            return "NHWC"
        if isinstance(second, int):
            return "NCHW"
        second_is_called_channel = "channel" in str(second).lower()
        last_is_called_channel = "channel" in str(last).lower()
        if second_is_called_channel == last_is_called_channel:
            raise WrongFile(
                f"{self.path} takes {shown(repr([*port.axes]))}, which does not say where "
                "the channels are",
                fix=(
                    "give ",
                    Setting("layout", "NCHW", of="model_arg"),
                    " or ",
                    Setting("layout", "NHWC", of="model_arg"),
                ),
                file=self.path,
            )
        return "NCHW" if second_is_called_channel else "NHWC"

    def _set_output(self, ports: Sequence[Port], output: str | None) -> None:
        """Set the attributes that say which output is read, and what it holds.

        Args:
            ports: the outputs of the graph.
            output: the name of the output; None: the first output of floats with two axes,
                or else the first output.

        Raises:
            UnknownName: there is no such output.
            WrongFile: it gives neither logits nor labels.
        """
        self.place = self._place_of_output(ports, output)
        port = ports[self.place]
        self.output = port.names[0]
        # Labels (N,) or (N, 1), as the operator ArgMax gives them.
        is_one_number = len(port.axes) == 1 or tuple(port.axes[1:]) == (1,)
        self.labels = is_one_number and port.dtype in TYPES_OF_LABELS
        if port.dtype not in TYPES_OF_LOGITS and not self.labels:
            raise WrongFile(
                f"{self.path} gives {shown(self.output)}, {port.dtype}; expected logits "
                "(N, K) in floats",
                file=self.path,
            )
        self.num_classes = None
        if len(port.axes) == 2:
            classes = port.axes[1]
            if isinstance(classes, int) and classes > 1:
                self.num_classes = classes

    def _place_of_output(self, ports: Sequence[Port], output: str | None) -> int:
        """Return the index of the output to read; arguments are those of `_set_output`."""
        for index, port in enumerate(ports):
            looks_like_logits = port.dtype in TYPES_OF_LOGITS and len(port.axes) == 2
            if output is None and looks_like_logits:
                return index
            if output is not None and output in port.names:
                return index
        if output is None and ports:
            return 0
        names = [name for port in ports for name in port.names]
        raise unknown(f"output of {self.path}", output, names)

    def prepared(self, images: NDArray[np.float32]) -> np.ndarray:
        """Return a batch in the layout and type that the graph takes.

        Args:
            images: images (B, C, H, W), or other inputs (B, ...).

        Raises:
            WrongFile: the graph takes rows of another length than inputs have numbers.
        """
        if self.layout == "rows":
            shape = images.shape[1:]
            images = images.reshape(len(images), -1)
            numbers = images.shape[1]
            if self.row is not None and self.row != numbers:
                raise WrongFile(
                    f"{self.path} takes rows of {self.row} numbers, and inputs of shape "
                    f"{shape} have {numbers} numbers: is it for another size?",
                    file=self.path,
                )
        if self.layout == "NHWC":
            images = images.transpose(0, 2, 3, 1)
        if self.dtype == "uint8":
            rounded = np.rint(np.clip(images, 0.0, 1.0) * 255.0)
            return np.ascontiguousarray(rounded.astype(np.uint8))
        return np.ascontiguousarray(images.astype(self.dtype, copy=False))

    @property
    def kind(self) -> str:  # type: ignore[override]
        kind = self.form
        if self.provenance.get(QUANTISED):
            kind += " in int8"
        if self.labels:
            kind += ", labels only"
        return kind

    def weights_hash(self) -> str:
        """Return the SHA-256 of the file's bytes, in the form of `ForeignModel`.

        Where other files hold weights, it is the hash of this hash, and of their names and
        hashes.
        """
        digest = hash_of(Path(self.path))
        beside = [f"{name}\n{hash_of(path)}" for name, path in self.files().items()]
        if beside:
            digest = hashlib.sha256("\n".join([digest, *beside]).encode()).hexdigest()
        return f"sha256:{digest}"


def _in_words(ports: Sequence[Port]) -> str:
    """Return the types and axes of inputs in words, for an error."""
    return shown(", ".join(f"{port.dtype} {[*port.axes]}" for port in ports))


def _shape_of_input(port: Port, layout: str) -> tuple[int, ...] | None:
    """Return (C, H, W) of an image, or the shape of another input.

    The answer is None where a side is free, or where the graph takes rows: a row does not
    tell the shape of the image in it.
    """
    shape = tuple(side for side in port.sides if side is not None)
    if len(shape) < len(port.sides) or layout == "rows":
        return None
    if layout == "NHWC":
        height, width, channels = shape
        return channels, height, width
    return shape


class OnnxModel(GraphFile):
    """An ONNX file. See `GraphFile`.

    Example:
        >>> import tempfile
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/net.onnx"
        ...     example = torch.zeros(4, 1, 8, 8)
        ...     _ = torch.onnx.export(network, (example,), path, dynamo=False)
        ...     model = OnnxModel(path)
        >>> model.shape, model.batch, model.num_classes
        ((1, 8, 8), 4, 10)
    """

    form = "ONNX file"

    def _read(self) -> tuple[list[Port], list[Port]]:
        runtime = quiet_runtime()
        self.external = _external(Path(self.path))
        # The fallback would print a message and try the same once more.
        session = runtime.InferenceSession(
            self.path, providers=["CPUExecutionProvider"], enable_fallback=0
        )
        inputs = [self._port(port) for port in session.get_inputs()]
        outputs = [self._port(port) for port in session.get_outputs()]
        return inputs, outputs

    def files(self) -> dict[str, Path]:
        return {name: Path(self.path).parent / name for name in self.external}

    @staticmethod
    def _port(port: Any) -> Port:
        """Return an input or output of ONNX Runtime as a `Port`."""
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
        # It is an extra; `__init__` reports where it is missing.
        import openvino

        check_file(str(self.files()[WEIGHTS]))
        graph = openvino.Core().read_model(self.path)
        if graph.has_rt_info([RECORD]):
            self.provenance = self._recorded(graph.get_rt_info([RECORD]).astype(str))
        if len(graph.inputs) == 1:
            # Its text is such as [N,C,H,W], or [...] where the file says nothing.
            layout = str(graph.inputs[0].get_node().get_layout())
            letters = "".join(filter(str.isalpha, layout))
            self.stated_layout = letters if letters in LAYOUTS else None
        inputs = [self._port(port) for port in graph.inputs]
        outputs = [self._port(port) for port in graph.outputs]
        return inputs, outputs

    def files(self) -> dict[str, Path]:
        return {WEIGHTS: Path(self.path).with_suffix(".bin")}

    def _recorded(self, record: str) -> dict[str, Any]:
        """Return the provenance that `randsmooth quantise` has written into an IR.

        It says how the model was trained and, under the key QUANTISED, how the file was
        made. It is empty where the record has another form, as that of another program.

        Args:
            record: the text of the record.

        Raises:
            WrongFile: the record is no JSON, or the weights are not those with which it was
                written.
        """
        content = parse_json(record, f"the record in {self.path}")
        if not isinstance(content, dict):
            return {}
        parts = [content.get(key, {}) for key in (TRAINED, QUANTISED)]
        if not all(isinstance(part, dict) for part in parts):
            return {}
        weights = self.files()[WEIGHTS]
        if WEIGHTS in content and content[WEIGHTS] != f"sha256:{hash_of(weights)}":
            raise WrongFile(
                f"{weights} is not the file of weights that {self.path} was written with: "
                "write both again by `randsmooth quantise`"
            )
        provenance = dict(content.get(TRAINED, {}))
        if content.get(QUANTISED):
            provenance[QUANTISED] = content[QUANTISED]
        return provenance

    @staticmethod
    def _port(port: Any) -> Port:
        """Return an input or output of OpenVINO as a `Port`."""
        type_name = port.get_element_type().get_type_name()
        shape = port.get_partial_shape()
        # Where even the number of axes is free, there are none: such an input is refused.
        axes: list[Axis] = []
        if not shape.rank.is_dynamic:
            axes = [axis.get_length() if axis.is_static else None for axis in shape]
        names = sorted(port.get_names()) or [port.get_node().get_friendly_name()]
        return Port(names, TYPES.get(type_name, type_name), tuple(axes))


def quiet_runtime() -> Any:
    """Return ONNX Runtime, told to print nothing and to report nothing to its makers.

    It still raises errors.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    # It is an extra.
    import onnxruntime

    # Its messages would print names from a file raw.
    onnxruntime.set_default_logger_severity(FATAL)
    # `randsmooth.extras` forbids reports too, but only before the import, which a user may
    # have done earlier.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def hash_of(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _external(path: Path) -> list[str]:
    """Return the names of the files that hold some of an ONNX file's tensors, sorted.

    They are paths from the folder of the ONNX file.

    Raises:
        WrongFile: one of them is missing, is no plain file or lies outside of that folder.
    """
    # It is an extra.
    import onnx

    model = onnx.load(path, load_external_data=False)
    names = set[str]()
    for tensor in _tensors(model):
        if tensor.data_location == tensor.EXTERNAL:
            # Of several locations, a runtime may take any: all are checked.
            locations = {
                fact.value for fact in tensor.external_data if fact.key == "location"
            }
            # Without a location the name is empty, and no file is found under it.
            names |= locations or {""}
    for name in sorted(names):
        _check_external(path, name)
    return sorted(names)


def _check_external(path: Path, name: str) -> None:
    """Check that a file with tensors of an ONNX file lies in the folder of that file.

    Args:
        path: the ONNX file.
        name: the name of the other file, as the ONNX file gives it.

    Raises:
        WrongFile: it is missing, or lies elsewhere.
    """
    file = path.parent / name
    # Both files may be links into one folder elsewhere, as in the cache of the hub.
    folders = (path.parent.resolve(), path.resolve().parent)
    is_within = any(file.resolve().is_relative_to(folder) for folder in folders)
    leads_out = Path(name).is_absolute() or ".." in Path(name).parts
    if leads_out or not is_within or not file.is_file():
        raise WrongFile(
            f"{path} keeps weights in {shown(repr(name))}, no file in its own folder: save "
            "the model with its weights beside it",
            file=path,
        )
    check_no_placeholder(file)


def _tensors(message: Any) -> Iterator[Any]:
    """Yield all tensors in an ONNX model, or in a part of it.

    They may lie in nodes, in branches, in functions and in sparse tensors, so all fields of
    all parts are searched.

    Args:
        message: the model or the part, a message of protobuf.
    """
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        # Other fields hold numbers or texts.
        if field.message_type is not None:
            # A field holds one message, or several.
            parts = [value] if hasattr(value, "ListFields") else value
            for part in parts:
                yield from _tensors(part)
