"""`randsmooth quantise`, and what becomes of its file: certified, resumed, verified, asked."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from certification.runs import StopAfter, same
from cli.run import Run
from randsmooth import certify, read


@pytest.mark.slow
def test_from_quantise_to_predict(model: Path, cli: Run) -> None:
    cases: list[str] = ["m-int8.xml", "int8.onnx"]
    for out in cases:
        if out.endswith(".xml"):
            pytest.importorskip("nncf")
        folder = model.parent
        words = ("quantise", "m", *(() if out == "m-int8.xml" else ("--out", out)))
        made = cli(*words)
        assert made.code == 0, made
        assert f"int8 model in {out}: randsmooth certify {out}" in made.out
        share = r"[+-]?\d+\.\d+%"
        pattern = (
            rf"364 noisy test images: accuracy {share}, the original's {share}; paired difference {share} \[{share}, "
        )
        assert re.search(pattern, made.out), made.out
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        refused = cli(*words)
        assert refused.code == 2 and f"{out} exists; use --overwrite or another --out" in refused.err
        assert cli(*words, "--overwrite").code == 0

        whole, cut = folder / "whole.parquet", folder / "cut.parquet"
        assert cli("certify", out, "--take", 3, "--n", 100, "--out", whole, "--overwrite").code == 0
        with pytest.raises(KeyboardInterrupt):
            certify(out, take=3, n=100, out=cut, overwrite=True, progress=lambda *_: nullcontext(StopAfter(1)))
        assert cli("certify", out, "--take", 3, "--n", 100, "--out", cut, "--resume").code == 0
        assert same(read(cut), read(whole))
        other = cli("certify", "m", "--take", 3, "--n", 100, "--out", cut, "--overwrite")
        assert other.code == 0
        verified = cli("verify", whole, out)
        assert verified.code == 0 and "int8" in verified.out, verified

        Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 4).save("image.png")
        assert cli("predict", out, "image.png", "--n", 100, "--like", whole).code == 0
        unlike = cli("predict", out, "image.png", "--n", 100, "--like", cut)
        assert unlike.code == 2 and "is about another model" in unlike.err


def test_what_is_refused(model: Path, cli: Run) -> None:
    cases: list[tuple[tuple[object, ...], str]] = [
        (("--out", "net.pt2"), "--out net.pt2 must end in .xml (for an OpenVINO IR) or .onnx"),
        (("--sigma", 0), "sigma=0.0 must be a finite number > 0"),
        (("--dataset", "nosuch"), "unknown data set 'nosuch'"),
        (("--out", "a.onnx", "--split", "test"), "calibrated on training images"),
    ]
    for words, message in cases:
        refused = cli("quantise", "m", *words)
        assert refused.code == 2 and message in refused.err
        assert [path.name for path in model.parent.iterdir()] == ["m"]
