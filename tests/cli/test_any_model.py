"""Models that are files or are made by code, from the command line: certified, asked, attacked and exported."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import randsmooth as rs
from cli.run import Run
from models.graphs import linear

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


def needy(path):
    return small()


def broken():
    return {}["key"]


def classify(x):
    return x.mean(axis=(1, 2, 3)).astype(int)


def asking(token, who=""):
    assert (token, who) in (("hush-7f3", "me"), ("other", "me"))
    return small()


ready = small()
number = 3
"""
ON_DIGITS = ("--dataset", "digits", "--sigma", 0.25, "--n", 200, "--take", 3)


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("CLASSES = 10\n")
    (tmp_path / "zoo.py").write_text(ZOO)
    Image.fromarray(np.full((8, 8), 128, np.uint8)).save(tmp_path / "grey.png")
    return tmp_path


def test_code_makes_the_model_with_arguments_that_the_header_keeps(cli: Run, zoo: Path) -> None:
    made = cli("certify", "zoo.py:small", "--model-arg", "width=16", "--model-arg", "seed=3", *ON_DIGITS)
    assert made.code == 0, made.err
    table = rs.read(zoo / "zoo.py-small.parquet")
    model = table.header.model
    assert model is not None and model["source"] == "zoo.py:small"
    assert model["arguments"] == {"width": 16, "seed": 3}
    again = ("certify", "zoo.py:small", "--model-arg", "width=16", *ON_DIGITS, "--resume")
    assert "another model" in cli(*again).err
    assert cli(*again, "--model-arg", "seed=3").code == 0
    same = ("zoo.py:small", "--model-arg", "width=16", "--model-arg", "seed=3")
    asked = cli("predict", *same, "grey.png", "--dataset", "digits", "--like", "zoo.py-small.parquet")
    assert asked.code == 0, asked.err
    attacked = cli("attack", *same, "zoo.py-small.parquet", "--steps", 2, "--m", 4, "--n", 2000)
    assert attacked.code == 0 or "certifies none" in attacked.err
    assert "another model" in cli("attack", "zoo.py:small", "zoo.py-small.parquet").err


def test_tables_hold_no_secrets_and_name_no_folders_nor_hosts(cli: Run, zoo: Path, tmp_path: Path) -> None:
    for k in range(10):
        (zoo / "images" / f"{k}").mkdir(parents=True)
        Image.fromarray(np.full((8, 8), 20 * k, np.uint8)).save(zoo / "images" / f"{k}" / "one.png")
    secret = ("--model-arg", "token=hush-7f3", "--model-arg=secret:who=me")
    words = ("certify", zoo / "zoo.py:asking", *secret, "--dataset", zoo / "images", "--sigma", 0.25, "--n", 200)
    shard = cli(*words, "--shard", "1/2", "--out", "a.parquet")
    assert shard.code == 0, shard.err
    table = rs.read(zoo / "a-1-of-2.parquet")
    said = table.header.model_dump_json()
    for hidden in ("hush", '"me"', str(tmp_path), platform.node()):
        assert hidden not in said and hidden.encode() not in (zoo / "a-1-of-2.parquet").read_bytes(), hidden
    model = table.header.model
    assert model is not None and model["source"] == "zoo.py:asking" and table.header.dataset == "images"
    assert all(text.startswith("secret sha256:") for text in model["arguments"].values())
    command = table.header.command or ()
    assert "zoo.py:asking" in command and "secret:token=**********" in command and "images" in command
    assert cli(*words, "--shard", "1/2", "--out", "a.parquet", "--resume").code == 0


def test_a_module_of_the_current_folder_is_imported_and_may_hold_the_model_itself(cli: Run, zoo: Path) -> None:
    assert cli("certify", "zoo:ready", *ON_DIGITS, "--out", "ready.parquet").code == 0
    assert cli("certify", "zoo:labels", "--identity", "bright", *ON_DIGITS, "--out", "labels.parquet").code == 0
    model = rs.read(zoo / "labels.parquet").header.model
    assert model is not None and model["called"] == "bright" and "labels only" in model["arch"]
    asked = cli("predict", "zoo:labels", "grey.png", "--sigma", 0.25, "--num-classes", 10, "--dataset", "digits")
    assert asked.code == 0, asked.err


def test_what_cannot_be_opened_is_named_with_the_way_out(cli: Run, zoo: Path) -> None:
    cases: list[tuple[list[str], str]] = [
        (["zoo.py"], "zoo.py names no model"),
        (["zo.py:small"], "no file at zo.py"),
        (["zo:small"], "zo cannot be imported"),
        (["zoo.py:smal"], "did you mean 'small'"),
        (["zoo.py:small", "--model-arg", "with=3"], "did you mean 'width'? Expected one of: seed, width"),
        (["zoo.py:small", "--model-arg", "width"], "--model-arg: 'width' must read key=value"),
        (["zoo.py:needy"], "needs the argument path: give it with --model-arg path=..."),
        (["zoo.py:classify"], "a function that itself takes images is returned by another"),
        (["zoo.py:broken"], "zoo.py:broken failed (KeyError: 'key', in "),
        (["zoo.py:ready", "--model-arg", "width=3"], "is a model, not a function, so it takes no arguments"),
        (["zoo.py:number"], "the model is an int, 3; expected a torch.nn.Module"),
        (["zoo.py:labels"], "whose code cannot be compared"),
        (["net.pth"], "of a checkpoint or pickle, `randsmooth import`"),
        (["weights.pt"], "is no TorchScript file that can be run"),
        (["weights.pt2"], "torch.export.save(program, ...) writes one"),
        (["text.pt2"], "text.pt2 is no exported program"),
        (["net.onnx", "--model-arg", "outputs=y"], "no file at net.onnx"),
    ]
    for words, message in cases:
        torch.save({"weight": torch.zeros(3)}, zoo / "weights.pt")
        torch.save({"weight": torch.zeros(3)}, zoo / "weights.pt2")
        (zoo / "text.pt2").write_text("no zip")
        (zoo / "net.pth").write_bytes(b"")
        told = cli("certify", *words, *ON_DIGITS)
        assert told.code != 0 and message in told.err


def test_files_of_programs_are_certified(cli: Run, zoo: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
    with pytest.warns(DeprecationWarning):
        torch.jit.script(model).save(zoo / "net.pt")
    torch.export.save(torch.export.export(model, (torch.zeros(3, 1, 8, 8),)), zoo / "net.pt2")
    counts = []
    for name in ("net.pt", "net.pt2"):
        assert cli("certify", name, *ON_DIGITS).code == 0
        counts.append(rs.read(zoo / f"{name}.parquet").evidence()[1])
        attacked = cli("attack", name, f"{name}.parquet", "--steps", 2, "--m", 4, "--n", 2000)
        assert attacked.code == 0 or "certifies none" in attacked.err
    assert np.abs(counts[0] - counts[1]).sum() <= 4


@pytest.mark.parametrize("fold", ["--fold", pytest.param("--no-fold", marks=pytest.mark.slow)])
def test_a_model_is_exported_and_reads_back_alike(fold: str, cli: Run, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    torch.manual_seed(0)
    own = rs.models.Classifier(
        arch="resnet8", classes=[*"0123456789"], shape=[3, 32, 32], mean=[0.5] * 3, std=[0.2] * 3
    ).eval()
    rs.models.save(own, tmp_path / "own")
    told = cli("export", "own", "--onnx", "own.onnx", "--torch-export", "own.pt2", fold)
    assert told.code == 0, told.err
    assert told.out.count("differ by at most") == 2
    x = torch.rand(5, 3, 32, 32)
    layers = {node.op_type for node in onnx.load(tmp_path / "own.onnx").graph.node}
    program = torch.export.load(tmp_path / "own.pt2")
    assert ("BatchNormalization" in layers) == (fold == "--no-fold")
    assert any("batch_norm" in str(node.target) for node in program.graph.nodes) == (fold == "--no-fold")
    with torch.no_grad():
        torch.testing.assert_close(program.module()(x), own(x), rtol=1e-4, atol=1e-4)
    assert "exists; use --overwrite" in cli("export", "own", "--onnx", "own.onnx").err
    refused = cli("export", "own", "--onnx", "own.onnx", "--overwrite", "--tolerance", 1e-12)
    assert "is not kept: its logits differ" in refused.err and "tolerance=1e-12" in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "own.onnx", "own.pt2"]


def test_only_torch_modules_are_exported(cli: Run, zoo: Path) -> None:
    linear(zoo / "net.onnx")
    assert "the model is an ONNX file; only torch modules" in cli("export", "net.onnx", "--onnx", "again.onnx").err
    assert "give shape=(C, H, W) (--dataset NAME)" in cli("export", "zoo.py:small", "--onnx", "small.onnx").err
    assert "must end in .onnx" in cli("export", "zoo.py:small", "--onnx", "small.pt").err
    assert "--alpha is for tables" in cli("export", "zoo.py:small", "--onnx", "s.onnx", "--alpha", 0.01).err
    done = cli("export", "zoo.py:small", "--torch-export", "small.pt2", "--dataset", "digits", "--model-arg", "width=4")
    assert done.code == 0, done.err
