"""ONNX files as they come: what is no classifier of images, or damaged, is named; nothing outside is opened."""

from __future__ import annotations

import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from nasty import NASTY
from randsmooth.certification import SmoothedClassifier
from randsmooth.errors import InputError
from randsmooth.models import OnnxModel

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
FLOAT, INT = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def graph(
    takes: list[object] | None = None, gives: int = FLOAT, op: str = "Identity", name: str = "x", inputs: int = 1
) -> bytes:
    """A file that hands its input on: `takes` is the input's shape, `gives` the type of its output."""
    shape = ["n", 1, 2, 2] if takes is None else takes
    args = [onnx.helper.make_tensor_value_info(name + "i" * i, FLOAT, shape) for i in range(inputs)]
    extra = {"to": gives} if op == "Cast" else {}
    node = onnx.helper.make_node(op, [name], ["y"], **extra)
    flat = onnx.helper.make_node("Flatten", ["y"], ["z"])
    out = onnx.helper.make_tensor_value_info("z", gives, None)
    made = onnx.helper.make_graph([node, flat], "g", args, [out])
    opset = onnx.helper.make_opsetid("", 17)
    return bytes(onnx.helper.make_model(made, opset_imports=[opset], ir_version=9).SerializeToString())


def test_a_graph_that_takes_images_and_gives_floats_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(graph())
    model = OnnxModel(tmp_path / "m.onnx")
    assert (model.shape, model.batch, model.input.name, model.output) == ((1, 2, 2), None, "x", "z")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no ONNX file that can be run"),
        (b"\xff" * 1000, "is no ONNX file that can be run"),
        (graph()[:-20], "is no ONNX file that can be run"),
        (graph(["n", 1, "h", "w"]), "C, H and W must be fixed numbers"),
        (graph(["n", 4]), "without a batch axis"),
        (graph(["n", 1, 2, 0]), "C, H and W must be fixed numbers"),
        (graph(inputs=2), "expected one float32 or uint8 batch"),
        (graph(op="Cast", gives=INT), r"gives z tensor\(int64\).* first; expected logits"),
        (graph(op="Escape\x1b[2J"), "is no ONNX file that can be run"),
        (graph(name="x" * 5000, inputs=2), "expected one float32 or uint8 batch"),
    ],
    ids=["empty", "noise", "cut", "free sizes", "flat", "no pixels", "two inputs", "labels", "nasty", "long name"],
)
def test_what_is_no_classifier_of_images_is_named(
    content: bytes, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(InputError, match=message) as told:
        OnnxModel(tmp_path / "m.onnx")
    assert str(tmp_path / "m.onnx") in str(told.value) and len(str(told.value)) < 700
    assert str(told.value).isprintable()
    assert capfd.readouterr() == ("", "")  # ONNX Runtime prints where it tries again


@pytest.mark.parametrize("beyond", [False, True], ids=["opened", "run"])
def test_the_names_in_a_graph_do_not_reach_the_terminal(
    beyond: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """ONNX Runtime warns of a tensor that nothing uses, and of a node that fails, by their names as they are."""
    nasty, made = NASTY["title of a terminal"], onnx.load_from_string(graph())
    index = onnx.numpy_helper.from_array(np.array([9 if beyond else 0, 1]), "index")
    made.graph.initializer.extend([index, onnx.numpy_helper.from_array(np.ones(3), nasty)])
    made.graph.node[1].output[0] = nasty + "flat"
    made.graph.node.append(onnx.helper.make_node("Gather", [nasty + "flat", "index"], ["z"], name=nasty, axis=1))
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    smoothed = SmoothedClassifier(OnnxModel(tmp_path / "m.onnx"), sigma=0.5, seed=0, backend="onnx")
    with pytest.raises(InputError, match="the model refuses images") if beyond else nullcontext() as told:
        smoothed.certify(torch.rand(1, 1, 2, 2), n0=2, n=20)
    assert capfd.readouterr() == ("", "")
    assert told is None or str(told.value).isprintable()


@pytest.mark.parametrize("location", ["../outside.data", "{tmp}/outside.data", "link.data", "missing.data"])
def test_weights_outside_the_folder_are_not_opened(location: str, tmp_path: Path) -> None:
    (tmp_path / "outside.data").write_bytes(bytes(16))
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "link.data").symlink_to(tmp_path / "outside.data")
    model = onnx.load_from_string(graph())
    tensor = onnx.helper.make_tensor("w", FLOAT, [1, 4], [0.0] * 4)
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location.format(tmp=tmp_path), "offset": "0", "length": "16"}.items():
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    model.graph.node.append(onnx.helper.make_node("Add", ["z", "w"], ["s"]))
    model.graph.output[0].name = "s"
    (tmp_path / "m" / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match=r"m.onnx"):
        OnnxModel(tmp_path / "m" / "m.onnx")


def read(count: int, seed: int, path: Path) -> int:
    """How many of `count` damaged files are read all the same; the rest are named."""
    whole, rng, found = graph(), random.Random(seed), 0
    for _ in range(count):
        changed, at = bytearray(whole), rng.randrange(len(whole))
        if rng.randrange(2):
            changed[at] ^= 1 << rng.randrange(8)
        else:
            changed[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        path.write_bytes(changed)
        try:
            OnnxModel(path)
            found += 1
        except InputError as error:
            assert str(path) in str(error)
    return found


def test_a_damaged_graph_is_read_or_named(tmp_path: Path) -> None:
    assert 0 < read(300, 0, tmp_path / "m.onnx") < 290


@pytest.mark.slow
def test_thousands_of_damaged_graphs_are_read_or_named(tmp_path: Path) -> None:
    assert 0 < read(4000, 1, tmp_path / "m.onnx") < 3900
