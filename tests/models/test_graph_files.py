"""ONNX files and OpenVINO IR as they come: what is no classifier of images, or damaged, is named; nothing outside is
opened; and files of weights beside a graph belong to its hash."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.graphs import linear
from models.refusing import check_refusals, problem_of, refusal
from nasty import NASTY
from randsmooth.certification import SmoothedClassifier
from randsmooth.errors import NotFound, WrongFile
from randsmooth.models import IrModel, OnnxModel, weights_hash
from values import Refusal

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def graph(
    takes: str = "float[n, 1, 2, 2] x", gives: str = "float z", op: str = "Identity"
) -> bytes:
    """A file that hands its input on."""
    text = f"""<ir_version: 9, opset_import: ["": 17]> g ({takes}) => ({gives}) {{ y = {op} (x) z = Flatten (y) }}"""
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def test_what_is_no_classifier_of_images_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(graph())
    model = OnnxModel(path)
    assert (model.shape, model.batch, model.input, model.output) == (
        (1, 2, 2),
        None,
        "x",
        "z",
    )
    table: list[tuple[bytes, str]] = [
        *((raw, "ONNX file") for raw in (b"\xff" * 1000, b"\x0a", b"\x07", b"hello")),
        *(
            (raw, "ONNX file")
            for raw in (b"\x3a\x7f\x00", b"\x3a\x02\x09\x00", graph()[:-20])
        ),
        (
            graph("float[n, a, b, c] x"),
            "'a', 'b', 'c' | where the channels are | layout='NCHW'",
        ),
        (graph("float[n] x"), "expected one | (N, C, H, W) | (N, d) | such an example"),
        (
            graph("float[n, 1, 2, 2] x, float[n, 1, 2, 2] more"),
            "expected one float32 or uint8 batch",
        ),
        (graph(op="Cast <to = 7>", gives="int64 z"), "z, int64 | expected logits"),
        (graph().replace(b"Flatten", b"Fl\x1b[2Jn"), "ONNX file"),
    ]
    for content, said in table:
        path.write_bytes(content)
        message = refusal(lambda: OnnxModel(path))
        assert [
            word for word in (str(path), *said.split(" | ")) if word not in message
        ] == []
        assert len(message) < 700 and message.isprintable()
    assert capfd.readouterr() == ("", "")  # ONNX Runtime prints where it tries again


def test_the_names_in_a_graph_do_not_reach_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """ONNX Runtime warns of a tensor that nothing uses, and of a node that fails, by their names as they are."""
    for beyond in (False, True):
        nasty, made = NASTY["title of a terminal"], onnx.load_from_string(graph())
        index = onnx.numpy_helper.from_array(np.array([9 if beyond else 0, 1]), "index")
        made.graph.initializer.extend(
            [index, onnx.numpy_helper.from_array(np.ones(3), nasty)]
        )
        made.graph.node[1].output[0] = nasty + "flat"
        made.graph.node.append(
            onnx.helper.make_node(
                "Gather", [nasty + "flat", "index"], ["z"], name=nasty, axis=1
            )
        )
        (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
        smoothed = SmoothedClassifier(
            OnnxModel(tmp_path / "m.onnx"), sigma=0.5, seed=0, backend="onnx"
        )
        ask = partial(smoothed.certify, torch.rand(1, 1, 2, 2), n0=2, n=20)
        said = refusal(ask) if beyond else str(ask())
        assert capfd.readouterr() == ("", "") and (not beyond or said.isprintable())


def renamed(path: Path, location: str) -> Path:
    """The file, with another name for its weights."""
    model = onnx.load(path, load_external_data=False)
    next(
        each
        for each in model.graph.initializer[0].external_data
        if each.key == "location"
    ).value = location
    path.write_bytes(model.SerializeToString())
    return path


def with_second_location(path: Path, location: str) -> Path:
    """The file, in which a tensor has another location after its first one."""
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data.add(key="location", value=location)
    path.write_bytes(model.SerializeToString())
    return path


def test_two_files_of_one_graph_are_told_apart_by_their_weights(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    first, second = (linear(tmp_path / name / "m.onnx", external=True) for name in "ab")
    assert first.read_bytes() == second.read_bytes() and OnnxModel(first).external == [
        "weights.data"
    ]
    assert weights_hash(OnnxModel(first)) == weights_hash(OnnxModel(second))
    weights = second.parent / "weights.data"
    weights.write_bytes(weights.read_bytes()[::-1])
    assert weights_hash(OnnxModel(first)) != weights_hash(OnnxModel(second))
    (tmp_path / "one.onnx").write_bytes(graph())
    assert (
        weights_hash(OnnxModel(tmp_path / "one.onnx"))
        == f"sha256:{hashlib.sha256(graph()).hexdigest()}"
    )
    for name in (
        "m.onnx",
        "weights.data",
    ):  # links to files that lie together elsewhere, as a cache of the hub has
        (tmp_path / "c" / name).symlink_to(first.parent / name)
    assert weights_hash(OnnxModel(tmp_path / "c" / "m.onnx")) == weights_hash(
        OnnxModel(first)
    )


def test_weights_in_branches_and_functions_are_found(tmp_path: Path) -> None:
    from randsmooth.models.adapters.graph_file import _external

    helper, proto = onnx.helper, onnx.TensorProto

    def constant(location: str) -> Any:
        tensor = proto(
            name="c", data_type=proto.FLOAT, dims=[1], data_location=proto.EXTERNAL
        )
        tensor.external_data.add(key="location", value=location)
        (tmp_path / location).write_bytes(b"0000")
        return helper.make_node("Constant", [], ["c"], value=tensor)

    inner = helper.make_graph([constant("branch")], "i", [], [])
    branch = helper.make_node("If", ["q"], ["z"], then_branch=inner, else_branch=inner)
    model = helper.make_model(helper.make_graph([branch], "g", [], []))
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(
        helper.make_function("d", "f", [], ["c"], [constant("function")], opset)
    )
    inside = onnx.numpy_helper.from_array(np.ones(1, np.float32), "inside")
    inside.external_data.add(
        key="location", value="left over"
    )  # without data_location it says nothing
    model.graph.initializer.append(inside)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert _external(tmp_path / "m.onnx") == ["branch", "function"]


def test_no_weights_outside_of_the_folder_are_opened(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "folder").mkdir(parents=True)
    path, other = (
        linear(tmp_path / name / "m.onnx", external=True).parent / "weights.data"
        for name in "ab"
    )
    (tmp_path / "a" / "link").symlink_to(other)
    places = [
        "../b/weights.data",
        str(other),
        "in/../../b/weights.data",
        "link",
        "nul\0l",
        "missing",
        "folder",
    ]
    for location in places:
        Refusal(WrongFile, "m.onnx").check(
            problem_of(partial(OnnxModel, renamed(path.parent / "m.onnx", location)))
        )


def test_every_location_of_a_tensor_is_checked(tmp_path: Path) -> None:
    """Whichever of two locations a runtime takes, it lies within the folder."""
    from randsmooth.models.adapters.graph_file import _external

    path = linear(tmp_path / "m.onnx", external=True)
    (tmp_path / "inside").write_bytes(b"0000")
    assert _external(with_second_location(path, "inside")) == ["inside", "weights.data"]
    problem = problem_of(_external, with_second_location(path, "../outside"))
    Refusal(WrongFile, "../outside").check(problem)


def test_an_ir_without_its_weights_or_with_a_record_that_is_no_text_is_refused(
    tmp_path: Path,
) -> None:
    openvino = pytest.importorskip("openvino")
    import openvino.opset13 as ops

    images = ops.parameter([-1, 1, 8, 8], np.float32, name="x")
    flat = ops.reshape(images, np.array([0, -1]), True)
    logits = ops.matmul(flat, ops.constant(np.ones((64, 10), np.float32)), False, False)
    made = openvino.Model([logits], [images], "m")
    for record in (
        '"weights"',
        "[1]",
        "3",
        '{"trained": 3, "weights": "sha256:"}',
    ):  # of another program
        made.set_rt_info(record, ["randsmooth"])
        openvino.save_model(made, tmp_path / "net.xml")
        assert IrModel(tmp_path / "net.xml").provenance == {}, record
    made.set_rt_info("made here", ["randsmooth"])
    openvino.save_model(made, tmp_path / "net.xml")
    Refusal(WrongFile).check(problem_of(lambda: IrModel(tmp_path / "net.xml")))
    (tmp_path / "net.xml").write_bytes(
        (tmp_path / "net.xml").read_bytes().replace(b"made here", b"made \xfeere")
    )
    check_refusals(
        [(lambda: IrModel(tmp_path / "net.xml"), Refusal(WrongFile, "net.xml"))]
    )
    (tmp_path / "net.bin").unlink()
    check_refusals(
        [
            (
                lambda: IrModel(tmp_path / "net.xml"),
                Refusal(NotFound, str(tmp_path / "net.bin")),
            )
        ]
    )
