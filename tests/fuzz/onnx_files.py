"""ONNX files, alone and with their weights beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from google.protobuf.message import Message
from onnx import TensorProto, helper, numpy_helper

from fuzz.draw import Draw
from fuzz.reader import Files, Reader
from randsmooth.certification.engine import Engine
from randsmooth.certification.scheduler import count_classes
from randsmooth.models import OnnxModel, weights_hash

GRAPH, DATA = "model.onnx", "model.onnx.data"
SHAPE = (1, 2, 2)
BATCH = 128


class Graph(Reader):
    """An ONNX file as a base classifier, and what it answers.

    Whoever changes it makes another classifier, which is fine as long as its identity is another, too.
    """

    name = "onnx"

    def valid(self) -> list[Files]:
        return [_model(0, beside=True), _model(1, beside=True), _model(2, beside=False)]

    def bombs(self) -> list[Files]:
        return [_model(0, beside=False, dims=dims) for dims in ([10**6, 10**6], [4, 10**10], [-1, 3])]

    def read(self, folder: Path) -> Any:
        model = OnnxModel(folder / GRAPH)
        engine = Engine(model, sigma=0.5, device=torch.device("cpu"), batch=BATCH, backend="onnx")
        engine.prepare(model.shape)
        counts = count_classes(engine, torch.full(model.shape, 0.5), [("fuzz", BATCH)])
        return {"identity": weights_hash(model), "shape": model.shape, "counts": counts}

    def tells(self, meant: Any, read: Any) -> bool:
        return bool(meant["identity"] != read["identity"])

    def bent(self, files: Files, draw: Draw) -> Files | None:
        """Fields of the protobuf, anywhere in it, changed, lost or doubled."""
        proto = onnx.ModelProto.FromString(files[GRAPH])
        try:
            for _ in range(1 + draw.below(3)):
                _field(proto, draw)
            return files | {GRAPH: proto.SerializeToString()}
        except (TypeError, ValueError, OverflowError):
            return None


def _field(message: Message, draw: Draw) -> None:
    """Change one field of `message`, or of a message within it."""
    fields = [field for field, _ in message.ListFields()]
    if not fields or draw.chance(0.05):
        fields = list(message.DESCRIPTOR.fields)
    field = draw.pick(fields)
    value = getattr(message, field.name)
    if field.is_repeated:
        _repeated(value, field, draw)
    elif isinstance(value, Message):
        _field(value, draw)
    elif draw.chance(0.2):
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _like(value, draw))


def _repeated(values: Any, field: Any, draw: Draw) -> None:
    if not len(values):
        return
    at = draw.below(len(values))
    way = draw.below(4)
    if way == 0:
        del values[at]
    elif way == 1:
        values.append(values[at])
    elif isinstance(values[at], Message):
        _field(values[at], draw)
    else:
        values[at] = _like(values[at], draw)


def _like(value: Any, draw: Draw) -> Any:
    """Another value of the same type."""
    if isinstance(value, bytes):
        return draw.pick((b"", draw.bytes(8), value[:-1], value * 2))
    if isinstance(value, str):
        return draw.pick(("", "x", value + "x", "../../etc/passwd", "/dev/zero", "-1", "Relu", "Loop", "a" * 10_000))
    if isinstance(value, float):
        return draw.pick((0.0, -1.0, 1e38, float("nan"), float("inf")))
    return draw.pick((0, 1, -1, 2, value + 1, 16, 10**6, 2**31 - 1, -(2**31)))


def _model(seed: int, *, beside: bool, dims: list[int] | None = None) -> Files:
    """logits = flat image @ W; W lies beside the graph or in it, and says it has the shape `dims`."""
    weights = np.random.default_rng(seed).normal(size=(4, 3)).astype(np.float32)
    w = numpy_helper.from_array(weights, "w")
    if dims is not None:
        w.dims[:] = dims
    if beside:
        w.ClearField("raw_data")
        w.data_location = TensorProto.EXTERNAL
        for key, value in (("location", DATA), ("offset", "0"), ("length", str(weights.nbytes))):
            w.external_data.add(key=key, value=value)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    nodes = [helper.make_node("Flatten", ["x"], ["flat"], axis=1), helper.make_node("MatMul", ["flat", "w"], ["y"])]
    graph = helper.make_graph(nodes, "model", [x], [y], [w])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return {GRAPH: proto.SerializeToString()} | ({DATA: weights.tobytes()} if beside else {})
