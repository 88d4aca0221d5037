"""Small classifiers of 8x8 images as ONNX files in all their forms, with one matrix of weights."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS = np.random.default_rng(0).normal(size=(64, 10)).astype(np.float32)
TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "uint8": TensorProto.UINT8,
}


def linear(
    path: Path,
    *,
    dtype: str = "float32",
    layout: str = "NCHW",
    batch: int | str = "n",
    gives: tuple[str, ...] = ("logits",),
    external: bool = False,
    shape: tuple[int, ...] | None = None,
    weights: np.ndarray = WEIGHTS,
) -> Path:
    """Write x -> x.flatten(1) @ WEIGHTS (of 8-bit images, in [0, 255]) to `path`.

    Args:
        dtype, layout, batch: of the input.
        gives: the outputs in their order, "logits" and "label".
        external: whether the weights lie in a file beside it.
        shape: of one input, where that is no image.
        weights: (d, K).
    """
    half = dtype == "float16"
    held = numpy_helper.from_array(
        weights.astype(np.float16 if half else np.float32), "w"
    )
    nodes, at = [], "x"
    if dtype == "uint8":
        nodes.append(helper.make_node("Cast", [at], ["float"], to=TensorProto.FLOAT))
        at = "float"
    if layout == "NHWC":
        nodes.append(helper.make_node("Transpose", [at], ["turned"], perm=[0, 3, 1, 2]))
        at = "turned"
    nodes += [
        helper.make_node("Flatten", [at], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["logits"]),
    ]
    nodes.append(helper.make_node("ArgMax", ["logits"], ["label"], axis=1, keepdims=0))
    kinds: dict[str, Any] = {
        "logits": helper.make_tensor_value_info(
            "logits", TYPES["float16" if half else "float32"], [batch, weights.shape[1]]
        ),
        "label": helper.make_tensor_value_info("label", TensorProto.INT64, [batch]),
    }
    axes = [batch, *(shape or ((1, 8, 8) if layout == "NCHW" else (8, 8, 1)))]
    taken = helper.make_tensor_value_info("x", TYPES[dtype], axes)
    graph = helper.make_graph(
        nodes, "linear", [taken], [kinds[name] for name in gives], [held]
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    beside: dict[str, Any] = (
        {"save_as_external_data": True, "location": "weights.data", "size_threshold": 0}
        if external
        else {}
    )
    onnx.save_model(model, path, **beside)
    return path
