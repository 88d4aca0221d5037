"""Models that are files, are made by code or lie on a hub: certified, asked, attacked and exported."""

import platform
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import randsmooth as rs
from cli.processes import Run

ZOO = """
import numpy as np
import torch
from torch import nn
from helper import CLASSES


def small(width=8, *, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, CLASSES)).eval()


def labels():
    return lambda x: (x.mean(axis=(1, 2, 3)) * 10).clip(0, 9).astype(int)


def broken():
    return {}["key"]


def asking(token, who=""):
    assert (token, who) in (("hush-7f3", "me"), ("other", "me"))
    return small()


ready = small()
"""
ON_DIGITS = ("--dataset", "digits", "--sigma", 0.25, "--n", 200, "--take", 3)


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("CLASSES = 10\n")
    (tmp_path / "zoo.py").write_text(ZOO)
    Image.fromarray(np.full((8, 8), 128, np.uint8)).save(tmp_path / "grey.png")
    return tmp_path


def test_code_makes_the_model_with_arguments_that_the_header_keeps(
    cli: Run, zoo: Path
) -> None:
    same = ("zoo.py:small", "--model-arg", "width=16", "--model-arg", "seed=3")
    cli.done("certify", *same, *ON_DIGITS)
    model = rs.read("zoo.py-small.parquet").header.model or {}
    assert model["source"] == "zoo.py:small" and model["arguments"] == {
        "width": 16,
        "seed": 3,
    }
    assert "another model" in cli("certify", *same[:3], *ON_DIGITS, "--resume").err
    cli.done("certify", *same, *ON_DIGITS, "--resume")
    cli.done("predict", *same, "grey.png", "--like", "zoo.py-small.parquet")
    attacked = cli(
        "attack", *same, "zoo.py-small.parquet", "--steps", 2, "--m", 4, "--n", 2000
    )
    assert attacked.code == 0 or "certifies none" in attacked.err
    assert "another model" in cli("attack", "zoo.py:small", "zoo.py-small.parquet").err


def test_tables_hold_no_secrets_and_name_no_folders_nor_hosts(
    cli: Run, zoo: Path
) -> None:
    for k in range(10):
        (zoo / "images" / f"{k}").mkdir(parents=True)
        Image.fromarray(np.full((8, 8), 20 * k, np.uint8)).save(
            zoo / "images" / f"{k}" / "one.png"
        )
    secret = ("--model-arg", "token=hush-7f3", "--model-arg=secret:who=me")
    words = (
        "certify",
        zoo / "zoo.py:asking",
        *secret,
        "--dataset",
        zoo / "images",
        "--sigma",
        0.25,
        "--n",
        200,
    )
    cli.done(*words, "--shard", "1/2", "--out", "a.parquet")
    header = rs.read("a-1-of-2.parquet").header
    said, content = header.model_dump_json(), Path("a-1-of-2.parquet").read_bytes()
    for hidden in ("hush", '"me"', str(zoo), platform.node()):
        assert hidden not in said and hidden.encode() not in content, hidden
    model, command = header.model or {}, header.command or ()
    assert model["source"] == "zoo.py:asking" and header.dataset == "images"
    assert all(
        text.startswith("secret sha256:") for text in model["arguments"].values()
    )
    assert (
        "zoo.py:asking" in command
        and 'secret:token="**********"' in command
        and "images" in command
    )
    cli.done(*words, "--shard", "1/2", "--out", "a.parquet", "--resume")


def test_a_module_of_the_current_folder_is_imported_and_may_hold_the_model_itself(
    cli: Run, zoo: Path
) -> None:
    cli.done("certify", "zoo:ready", *ON_DIGITS, "--out", "ready.parquet")
    cli.done(
        "certify",
        "zoo:labels",
        "--identity",
        "bright",
        *ON_DIGITS,
        "--out",
        "labels.parquet",
    )
    model = rs.read("labels.parquet").header.model or {}
    assert model["called"] == "bright" and "labels only" in model["arch"]
    cli.done(
        "predict",
        "zoo:labels",
        "grey.png",
        "--sigma",
        0.25,
        "--num-classes",
        10,
        "--dataset",
        "digits",
    )


BAD = {
    "zoo.py": "zoo.py names no model",
    "zo.py:small": "no file at zo.py",
    "zoo.py:smal": "did you mean 'small'",
    "zoo.py:small --model-arg width": "--model-arg: 'width' must read key=value",
    "zoo.py:broken": "zoo.py:broken failed (KeyError: 'key', in ",
    "net.pth": "`randsmooth import`",
    "text.pt2": "text.pt2",
}


def test_what_cannot_be_opened_is_named_with_the_way_out(cli: Run, zoo: Path) -> None:
    Path("text.pt2").write_text("no zip")
    Path("net.pth").write_bytes(b"weights")
    cli.refuses(BAD, "certify", *ON_DIGITS)


def test_only_torch_modules_are_exported(cli: Run, zoo: Path) -> None:
    shapeless = {
        "small.onnx": "give shape=(C, H, W), or the --dataset",
        "small.pt": "must end in .onnx",
    }
    cli.refuses(shapeless, "export", "zoo.py:small", "--onnx")
    cli.done(
        "export",
        "zoo.py:small",
        "--torch-export",
        "small.pt2",
        "--dataset",
        "digits",
        "--model-arg",
        "width=4",
    )


@pytest.mark.slow
def test_a_model_is_exported_unless_the_file_answers_otherwise(
    cli: Run, tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx")
    rs.models.save(
        rs.models.Classifier(
            arch="resnet8", classes=[*"0123456789"], shape=[3, 32, 32]
        ).eval(),
        "own",
    )
    for fold in ("--fold", "--no-fold"):
        told = cli(
            "export",
            "own",
            "--onnx",
            "own.onnx",
            "--torch-export",
            "own.pt2",
            fold,
            "--overwrite",
        )
        assert told.code == 0 and told.out.count("differ by at most") == 2, told.err
        layers = {node.op_type for node in onnx.load("own.onnx").graph.node}
        assert ("BatchNormalization" in layers) == (fold == "--no-fold")
    assert "exists; use --overwrite" in cli("export", "own", "--onnx", "own.onnx").err
    refused = cli(
        "export", "own", "--onnx", "own.onnx", "--overwrite", "--tolerance", 1e-12
    )
    assert (
        "is not kept: its logits differ" in refused.err
        and "--tolerance 1e-12" in refused.err
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "own",
        "own.onnx",
        "own.pt2",
    ]
