"""OpenVINO IR that somebody else wrote: names that are no text are refused, not raised as they come."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from randsmooth.errors import InputError
from randsmooth.models import IrModel

openvino = pytest.importorskip("openvino")


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    import openvino.opset13 as ops

    images = ops.parameter([-1, 1, 8, 8], np.float32, name="x")
    flat = ops.reshape(images, np.array([0, -1]), True)
    logits = ops.matmul(flat, ops.constant(np.ones((64, 10), np.float32)), False, False)
    graph = openvino.Model([logits], [images], "m")
    graph.set_rt_info("made here", ["randsmooth"])
    openvino.save_model(graph, tmp_path / "net.xml")
    text = (tmp_path / "net.xml").read_bytes()
    for name, letters in (("layer", b'name="x"'), ("record", b"made here")):
        assert letters in text
        (tmp_path / f"{name}.xml").write_bytes(
            text.replace(letters, letters.replace(b"x", b"\xff").replace(b"h", b"\xfe"))
        )
        shutil.copy(tmp_path / "net.bin", tmp_path / f"{name}.bin")
        with pytest.raises(InputError, match=rf"{name}\.xml is no OpenVINO IR"):
            IrModel(tmp_path / f"{name}.xml")
