"""A file that holds the graph of a base classifier: what ONNX files and OpenVINO IR have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from randsmooth.errors import unknown
from randsmooth.models.adapters.foreign_model import ForeignModel
from randsmooth.models.adapters.graph_record import provenance_in
from randsmooth.models.adapters.image_input import ImageInput


class Port(NamedTuple):
    """An output of a graph: its names, whether it holds floats or whole numbers, and the lengths of its axes."""

    names: tuple[str, ...]
    floats: bool
    whole: bool
    axes: tuple[int | str | None, ...]

    @property
    def gives_labels(self) -> bool:
        """Whether it looks like labels (N,)."""
        return self.whole and len(self.axes) == 1


class GraphFile(ForeignModel):
    """A file that takes one batch of images in [0, 1] and gives logits (N, K), or labels (N,).

    Attributes:
        path: of the file.
        input: how its input takes images: name, type, layout, batch.
        output, place: name and place, among the outputs, of the one that is read.
        shape: (C, H, W) of an image.
        batch: N where the file fixes it, else None.
        num_classes: K where the file says it, else None.
        asked: what its user said of the graph, in place of what it shows: the output, the layout.
        provenance: how its model was trained and quantised, where randsmooth wrote the file and so it says.

    Example:
        >>> from randsmooth.models import IrModel, OnnxModel
        >>> issubclass(OnnxModel, GraphFile), issubclass(IrModel, GraphFile)
        (True, True)
    """

    form: ClassVar[str]  # "ONNX file"
    path: str
    input: ImageInput
    output: str
    place: int
    shape: tuple[int, int, int]
    batch: int | None
    asked: dict[str, str]
    provenance: dict[str, Any]

    @property
    def kind(self) -> str:  # type: ignore[override]
        form = f"{self.form} in int8" if self.quantised else self.form
        return f"{form}, labels only" if self.labels else form

    @property
    def quantised(self) -> bool:
        """Whether `randsmooth quantise` wrote the file."""
        return bool(self.provenance.get("quantised"))

    def _takes(self, taken: ImageInput) -> None:
        self.input, self.batch, self.shape, self.notes = taken, taken.batch, taken.shape, taken.notes

    def _says(self, record: dict[str, Any]) -> None:
        self.provenance = provenance_in(record)

    def _gives(self, ports: Sequence[Port], place: int) -> None:
        port = ports[place]
        self.output, self.place, self.labels = next(iter(port.names), "?"), place, port.gives_labels
        classes = port.axes[1] if len(port.axes) == 2 else None
        self.num_classes = classes if isinstance(classes, int) else None


def chosen(ports: Sequence[Port], name: str | None, path: str) -> int:
    """The place of the output called `name`; else of the first that has floats and two axes, else 0.

    Raises:
        InputError: none has this name.

    Example:
        >>> ports = [Port(("label",), False, True, (None,)), Port(("scores",), True, False, (None, 10))]
        >>> chosen(ports, None, "net.onnx"), chosen(ports, "label", "net.onnx")
        (1, 0)
    """
    if name is not None:
        if not any(name in port.names for port in ports):
            raise unknown(f"output of {path}", name, [each for port in ports for each in port.names])
        return next(place for place, port in enumerate(ports) if name in port.names)
    return next((place for place, port in enumerate(ports) if port.floats and len(port.axes) == 2), 0)


def asked(**said: str | None) -> dict[str, str]:
    """What a user said, without what was left out."""
    return {name: value for name, value in said.items() if value is not None}
