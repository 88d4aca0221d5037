"""ONNX files with free sides, with rows, or for one image at a time: run where what they mean is clear, else named."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import randsmooth as rs
from models.graphs import WEIGHTS, linear
from models.refusing import check_refusals
from randsmooth.certification.quantising import quantise
from randsmooth.errors import ModelFailed, WrongFile, WrongModel
from randsmooth.models import OnnxModel
from values import Refusal

pytest.importorskip("onnxruntime")

X = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
BACKENDS = ("onnx", "openvino")


def counts(model: object, **options: Any) -> NDArray[np.int64]:
    return (
        rs.SmoothedClassifier(model, **{"sigma": 0.25, "n": 300, "seed": 0} | options)
        .certify(X)
        .counts
    )


def by_hand(x: NDArray[np.float32]) -> NDArray[np.float32]:
    logits: NDArray[np.float32] = x.reshape(len(x), -1) @ WEIGHTS
    return logits


def with_axes(path: Path, *axes: int | str) -> Path:
    """The file of `linear`, whose input has these axes after the first."""
    layout = "NHWC" if axes[-1] in (1, "channels") else "NCHW"
    model = onnx.load(linear(path, layout=layout))
    for place, axis in enumerate(axes, start=1):
        dim = model.graph.input[0].type.tensor_type.shape.dim[place]
        dim.Clear()
        if isinstance(axis, str):
            dim.dim_param = axis
        else:
            dim.dim_value = axis
    onnx.save(model, path)
    return path


def test_free_sides_are_those_of_the_images(tmp_path: Path) -> None:
    expected = counts(by_hand)
    shapes: list[tuple[int | str, ...]] = [
        (1, "height", "width"),
        ("num_channels", "height", "width"),
        (1, 8, "width"),
        ("height", "width", 1),
        ("height", "width", "channels"),
    ]
    for number, axes in enumerate(shapes):
        path = with_axes(tmp_path / f"{number}.onnx", *axes)
        assert OnnxModel(path).shape is None
        for backend in BACKENDS:
            assert np.abs(counts(str(path), backend=backend) - expected).sum() <= 6, (
                axes,
                backend,
            )
    unclear = with_axes(tmp_path / "unclear.onnx", "a", "b", "c")
    check_refusals(
        [
            (
                lambda: counts(str(unclear)),
                Refusal(WrongFile, "'a', 'b', 'c'", "layout='NCHW'"),
            ),
            (
                lambda: rs.certify(
                    tmp_path / "0.onnx",
                    (torch.rand(2, 3, 8, 8), [0, 1]),
                    sigma=0.25,
                    n=100,
                ),
                Refusal(ModelFailed, "(3, 8, 8)"),
            ),
        ]
    )
    assert np.abs(counts(OnnxModel(unclear, layout="NCHW")) - expected).sum() <= 6


def test_a_file_with_free_sides_is_quantised(tmp_path: Path) -> None:
    pytest.importorskip("nncf")
    path = with_axes(tmp_path / "net.onnx", 1, "height", "width")
    made = quantise(
        str(path), "digits", out=tmp_path / "net.xml", sigma=0.25, images=10, compare=10
    )
    assert made is not None
    assert made.images == 10


def test_a_file_of_rows_is_run_on_images_where_that_is_said(tmp_path: Path) -> None:
    path = linear(tmp_path / "rows.onnx", shape=(64,))
    table = rs.certify(
        path, "digits", sigma=0.25, n=200, take=3, seed=0, model_args={"layout": "rows"}
    )
    images = linear(tmp_path / "images.onnx")
    same = rs.certify(images, "digits", sigma=0.25, n=200, take=3, seed=0)
    assert np.array_equal(table.radius, same.radius)
    assert table.header.model is not None
    assert "takes rows" in table.header.model["notes"][0]
    expected = counts(by_hand)
    program = torch.export.export(torch.nn.Linear(64, 10), (torch.zeros(2, 64),))
    for wrapped in (rs.wrap(str(path), layout="rows"), OnnxModel(path, layout="rows")):
        assert np.abs(counts(wrapped) - expected).sum() <= 6
    assert rs.wrap(program, layout="rows").notes == (
        "after noise: its numbers in one row, by channel, row and column",
    )
    short = linear(tmp_path / "short.onnx", shape=(60,), weights=WEIGHTS[:60])
    how: dict[str, Any] = {"sigma": 0.25, "n": 100, "take": 1}
    check_refusals(
        [
            (
                lambda: rs.certify(path, "digits", **how),
                Refusal(WrongModel, "64", "(1, 8, 8)", "layout=rows"),
            ),
            (
                lambda: rs.certify(program, "digits", **how),
                Refusal(WrongModel, "64", "rs.wrap(model, layout='rows')"),
            ),
            (
                lambda: rs.certify(short, "digits", **how),
                Refusal(WrongModel, "60", "64"),
            ),
            (
                lambda: rs.certify(
                    short, "digits", model_args={"layout": "rows"}, **how
                ),
                Refusal(WrongFile, "60", "64"),
            ),
            (lambda: OnnxModel(images, layout="rows"), Refusal(WrongFile, "32")),
            (lambda: OnnxModel(path, layout="NHWC"), Refusal(WrongFile, "32")),
        ]
    )


def changed(
    path: Path, *nodes: onnx.NodeProto, output: onnx.ValueInfoProto, **constants: Any
) -> Path:
    """A file from images "x" to `output`, by these nodes, WEIGHTS under "w" and other constants."""
    held = [
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in constants.items()
    ]
    held.append(numpy_helper.from_array(WEIGHTS, "w"))
    taken = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])
    graph = helper.make_graph(nodes, "changed", [taken], [output], held)
    onnx.save(
        helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
        ),
        path,
    )
    return path


def test_a_graph_that_works_for_one_image_at_a_time_is_asked_so(tmp_path: Path) -> None:
    expected = counts(by_hand)
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 10])
    product = helper.make_node("MatMul", ["flat", "w"], ["logits"])
    for number, shape in enumerate(([1, 64], [1, -1])):
        reshape = helper.make_node("Reshape", ["x", "shape"], ["flat"])
        path = changed(
            tmp_path / f"{number}.onnx",
            reshape,
            product,
            output=logits,
            shape=np.array(shape),
        )
        for backend in BACKENDS:
            assert np.abs(counts(str(path), backend=backend) - expected).sum() <= 6, (
                shape,
                backend,
            )


def test_labels_on_an_axis_of_their_own_and_one_logit_for_two_classes(
    tmp_path: Path,
) -> None:
    flat = helper.make_node("Flatten", ["x"], ["flat"])
    product = helper.make_node("MatMul", ["flat", "w"], ["logits"])
    best = helper.make_node("ArgMax", ["logits"], ["label"], axis=1, keepdims=1)
    label = helper.make_tensor_value_info("label", TensorProto.INT64, ["n", 1])
    labels = changed(tmp_path / "labels.onnx", flat, product, best, output=label)
    for backend in BACKENDS:
        assert (
            np.abs(
                counts(str(labels), backend=backend, num_classes=10) - counts(by_hand)
            ).sum()
            <= 6
        )
    first = helper.make_node("Gather", ["logits", "place"], ["z"], axis=1)
    single = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 1])
    logit = changed(
        tmp_path / "logit.onnx",
        flat,
        product,
        first,
        output=single,
        place=np.array([3]),
    )
    check_refusals(
        [
            (
                lambda: counts(str(logit)),
                Refusal(WrongModel, "(256, 1)", "binary='logit'"),
            )
        ]
    )
    expected = counts(
        lambda x: np.stack([np.zeros(len(x), np.float32), by_hand(x)[:, 3]], axis=1)
    )
    assert np.abs(counts(rs.wrap(str(logit), binary="logit")) - expected).sum() <= 6
