"""ONNX files that keep their weights beside them: these count, and nothing outside of the folder is opened."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from randsmooth.errors import InputError
from randsmooth.models import OnnxModel, weights_hash
from randsmooth.models.adapters.onnx_external import external_files

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def made(seed: int) -> Any:
    """Flatten and a linear layer on images (N, 1, 4, 4); a constant lies in a node inside of a branch."""
    draw = np.random.default_rng(seed)
    weight = numpy_helper.from_array(draw.normal(size=(16, 300)).astype(np.float32), "w")
    second = numpy_helper.from_array(np.eye(300, 3, dtype=np.float32), "v")
    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["h"])]
    nodes += [helper.make_node("Constant", [], ["v"], value=second), helper.make_node("MatMul", ["h", "v"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 4, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [weight]), opset_imports=[onnx.OperatorSetIdProto(version=17)]
    )
    model.ir_version = 8
    return model


def saved(folder: Path, seed: int, location: str = "m.onnx.data") -> Path:
    folder.mkdir(exist_ok=True)
    onnx.save_model(
        made(seed), folder / "m.onnx", save_as_external_data=True, all_tensors_to_one_file=True, location=location
    )
    return folder / "m.onnx"


def renamed(path: Path, location: str) -> Path:
    """The file at `path`, with another location for its weights."""
    model = onnx.load(path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = location
    path.write_bytes(model.SerializeToString())
    return path


def test_two_files_of_one_graph_are_told_apart_by_their_weights(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "a", 0), saved(tmp_path / "b", 1)
    assert first.read_bytes() == second.read_bytes()  # which was all that was hashed
    assert OnnxModel(first).external == ["m.onnx.data"]
    assert weights_hash(OnnxModel(first)) != weights_hash(OnnxModel(second))
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    assert weights_hash(OnnxModel(first)) == weights_hash(OnnxModel(tmp_path / "c" / "m.onnx"))


def test_a_file_without_others_hashes_as_it_always_did(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(made(0), path)
    assert external_files(path) == []
    assert weights_hash(OnnxModel(path)) == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_tensors_in_branches_and_functions_are_found(tmp_path: Path) -> None:
    def outside(name: str, location: str) -> Any:
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=location)
        return tensor

    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=outside("c", "branch"))], "i", [], [])
    branch = helper.make_node("If", ["q"], ["z"], then_branch=inner, else_branch=inner)
    many = helper.make_node("Custom", [], ["t"], tensors=[outside("d", "listed")])
    sparse = onnx.SparseTensorProto(values=outside("e", "values"), indices=outside("f", "indices"))
    graph = helper.make_graph([branch, many], "g", [], [], [outside("w", "initial")], sparse_initializer=[sparse])
    model = helper.make_model(graph)
    node = helper.make_node("Constant", [], ["k"], value=outside("k", "function"))
    model.functions.append(helper.make_function("d", "f", [], ["k"], [node], [helper.make_opsetid("", 17)]))
    inside = numpy_helper.from_array(np.ones(1, np.float32), "inside")
    inside.external_data.add(key="location", value="left over")  # without data_location it says nothing
    model.graph.initializer.append(inside)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    names = ["branch", "function", "indices", "initial", "listed", "values"]
    for name in names:
        (tmp_path / name).write_bytes(b"0000")
    assert external_files(tmp_path / "m.onnx") == names


@pytest.mark.parametrize("location", ["../b/m.onnx.data", "/etc/hostname", "in/../../b/m.onnx.data", "link", "nul\0l"])
def test_nothing_outside_of_the_folder_is_opened(location: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "a", 0)
    saved(tmp_path / "b", 1)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b" / "m.onnx.data")
    with pytest.raises(InputError, match=r"m.onnx keeps weights in .*, which is not in its own folder"):
        OnnxModel(renamed(path, location))


def test_a_file_of_weights_that_is_missing_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "a", 0)
    (tmp_path / "a" / "m.onnx.data").unlink()
    with pytest.raises(InputError, match=r"keeps weights in 'm.onnx.data', which is missing"):
        OnnxModel(path)
    (tmp_path / "a" / "m.onnx.data").mkdir()
    with pytest.raises(InputError, match="which is missing"):
        OnnxModel(path)


def test_links_to_files_that_lie_together_elsewhere_are_followed(tmp_path: Path) -> None:
    """As a cache of the hub keeps them."""
    path, snapshot = saved(tmp_path / "blobs", 0), tmp_path / "snapshot"
    snapshot.mkdir()
    for name in ("m.onnx", "m.onnx.data"):
        (snapshot / name).symlink_to(tmp_path / "blobs" / name)
    assert external_files(snapshot / "m.onnx") == external_files(path) == ["m.onnx.data"]


@pytest.mark.parametrize("raw", [b"", b"\x0a", b"\xff" * 20, b"\x07", b"\x3a\x7f\x00", b"\x3a\x02\x09\x00", b"hello"])
def test_what_is_no_protobuf_is_refused(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(raw)
    with pytest.raises(InputError, match=r"m.onnx is no ONNX file that can be run"):
        OnnxModel(tmp_path / "m.onnx")


def test_messages_nested_without_end_are_refused(tmp_path: Path) -> None:
    message = b""
    for _ in range(200):  # a graph in an attribute of a node of a graph
        for field in (6, 5, 1):
            size, prefix = len(message), bytes([field << 3 | 2])
            varint = b""
            while size > 127:
                varint, size = varint + bytes([size & 127 | 128]), size >> 7
            message = prefix + varint + bytes([size]) + message
    graph = b""
    size = len(message)
    while size > 127:
        graph, size = graph + bytes([size & 127 | 128]), size >> 7
    (tmp_path / "m.onnx").write_bytes(b"\x3a" + graph + bytes([size]) + message)
    with pytest.raises(InputError, match="nested deeper than 100 messages"):
        OnnxModel(tmp_path / "m.onnx")
