"""Models that are files, are made by code or lie on a hub: certified, asked, attacked and exported."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import randsmooth as rs
from cli.processes import Run
from models.test_hub_models import save_vit

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


def test_code_makes_the_model_with_arguments_that_the_header_keeps(cli: Run, zoo: Path) -> None:
    same = ("zoo.py:small", "--model-arg", "width=16", "--model-arg", "seed=3")
    made = cli("certify", *same, *ON_DIGITS)
    assert made.code == 0, made.err
    model = rs.read("zoo.py-small.parquet").header.model or {}
    assert model["source"] == "zoo.py:small" and model["arguments"] == {"width": 16, "seed": 3}
    assert "another model" in cli("certify", *same[:3], *ON_DIGITS, "--resume").err
    assert cli("certify", *same, *ON_DIGITS, "--resume").code == 0
    asked = cli("predict", *same, "grey.png", "--dataset", "digits", "--like", "zoo.py-small.parquet")
    assert asked.code == 0, asked.err
    attacked = cli("attack", *same, "zoo.py-small.parquet", "--steps", 2, "--m", 4, "--n", 2000)
    assert attacked.code == 0 or "certifies none" in attacked.err
    assert "another model" in cli("attack", "zoo.py:small", "zoo.py-small.parquet").err


def test_tables_hold_no_secrets_and_name_no_folders_nor_hosts(cli: Run, zoo: Path) -> None:
    for k in range(10):
        (zoo / "images" / f"{k}").mkdir(parents=True)
        Image.fromarray(np.full((8, 8), 20 * k, np.uint8)).save(zoo / "images" / f"{k}" / "one.png")
    secret = ("--model-arg", "token=hush-7f3", "--model-arg=secret:who=me")
    words = ("certify", zoo / "zoo.py:asking", *secret, "--dataset", zoo / "images", "--sigma", 0.25, "--n", 200)
    shard = cli(*words, "--shard", "1/2", "--out", "a.parquet")
    assert shard.code == 0, shard.err
    header = rs.read("a-1-of-2.parquet").header
    said, content = header.model_dump_json(), Path("a-1-of-2.parquet").read_bytes()
    for hidden in ("hush", '"me"', str(zoo), platform.node()):
        assert hidden not in said and hidden.encode() not in content, hidden
    model, command = header.model or {}, header.command or ()
    assert model["source"] == "zoo.py:asking" and header.dataset == "images"
    assert all(text.startswith("secret sha256:") for text in model["arguments"].values())
    assert "zoo.py:asking" in command and "secret:token=**********" in command and "images" in command
    assert cli(*words, "--shard", "1/2", "--out", "a.parquet", "--resume").code == 0


def test_a_module_of_the_current_folder_is_imported_and_may_hold_the_model_itself(cli: Run, zoo: Path) -> None:
    assert cli("certify", "zoo:ready", *ON_DIGITS, "--out", "ready.parquet").code == 0
    assert cli("certify", "zoo:labels", "--identity", "bright", *ON_DIGITS, "--out", "labels.parquet").code == 0
    model = rs.read("labels.parquet").header.model or {}
    assert model["called"] == "bright" and "labels only" in model["arch"]
    asked = cli("predict", "zoo:labels", "grey.png", "--sigma", 0.25, "--num-classes", 10, "--dataset", "digits")
    assert asked.code == 0, asked.err


BAD = {
    "zoo.py": "zoo.py names no model",
    "zo.py:small": "no file at zo.py",
    "zoo.py:smal": "did you mean 'small'",
    "zoo.py:small --model-arg width": "--model-arg: 'width' must read key=value",
    "zoo.py:broken": "zoo.py:broken failed (KeyError: 'key', in ",
    "net.pth": "of a checkpoint or pickle, `randsmooth import`",
    "text.pt2": "text.pt2 is no exported program",
}


def test_what_cannot_be_opened_is_named_with_the_way_out(cli: Run, zoo: Path) -> None:
    Path("text.pt2").write_text("no zip")
    Path("net.pth").write_bytes(b"")
    for words, message in BAD.items():
        told = cli("certify", *words.split(), *ON_DIGITS)
        assert told.code == 2 and message in told.err, (words, told.err)


@pytest.mark.slow
@pytest.mark.parametrize("fold", ["--fold", "--no-fold"])
def test_a_model_is_exported_and_reads_back_alike(fold: str, cli: Run, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    torch.manual_seed(0)
    how: dict[str, Any] = {
        "arch": "resnet8",
        "classes": [*"0123456789"],
        "shape": [3, 32, 32],
        "mean": [0.5] * 3,
        "std": [0.2] * 3,
    }
    own = rs.models.Classifier(**how).eval()
    rs.models.save(own, "own")
    told = cli("export", "own", "--onnx", "own.onnx", "--torch-export", "own.pt2", fold)
    assert told.code == 0 and told.out.count("differ by at most") == 2, told.err
    x, program = torch.rand(5, 3, 32, 32), torch.export.load("own.pt2")
    layers = {node.op_type for node in onnx.load("own.onnx").graph.node}
    assert ("BatchNormalization" in layers) == (fold == "--no-fold")
    assert any("batch_norm" in str(node.target) for node in program.graph.nodes) == (fold == "--no-fold")
    with torch.no_grad():
        torch.testing.assert_close(program.module()(x), own(x), rtol=1e-4, atol=1e-4)
    assert "exists; use --overwrite" in cli("export", "own", "--onnx", "own.onnx").err
    refused = cli("export", "own", "--onnx", "own.onnx", "--overwrite", "--tolerance", 1e-12)
    assert "is not kept: its logits differ" in refused.err and "tolerance=1e-12" in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "own.onnx", "own.pt2"]


def test_only_torch_modules_are_exported(cli: Run, zoo: Path) -> None:
    for words, said in {
        "zoo.py:small --onnx small.onnx": "give shape=(C, H, W) (--dataset NAME)",
        "zoo.py:small --onnx small.pt": "must end in .onnx",
    }.items():
        assert said in cli("export", *words.split()).err, words
    done = cli("export", "zoo.py:small", "--torch-export", "small.pt2", "--dataset", "digits", "--model-arg", "width=4")
    assert done.code == 0, done.err


# --- classifiers of transformers, on a data set's own images --------------------------------------------------------

HOW = ("--sigma", 0.25, "--n", 200, "--n0", 20)


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A data set of two 32x32 images of each of three classes."""
    generator = np.random.default_rng(0)
    for name in ("cat", "dog", "owl"):
        (tmp_path / "pets" / "test" / name).mkdir(parents=True)
        for i in range(2):
            pixels = generator.integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pets" / "test" / name / f"{i}.png")
    return tmp_path / "pets"


def test_a_folder_of_transformers_is_certified_and_predict_names_classes_as_certify_did(cli: Run, pets: Path) -> None:
    """Whose classes stand in another order; and the certificate says what lies between image and network."""
    network = save_vit(Path("vit"))
    network.config.id2label, network.config.label2id = {0: "dog", 1: "owl", 2: "cat"}, {"dog": 0, "owl": 1, "cat": 2}
    network.save_pretrained("vit")
    done = cli("certify", "hf:vit", "--dataset", pets, *HOW, "--out", "vit.parquet")
    assert done.code == 0 and "after noise: resized to 24 x 24 (bilinear)" in done.out, done.err
    table = rs.read("vit.parquet")
    model, names = table.header.model or {}, table.header.classes or ()
    assert len(table) == 6 and model["source"] == "hf:vit" and model["weights"].startswith("sha256:")
    asked = cli("predict", "hf:vit", pets, "--dataset", pets, "--like", "vit.parquet", "--n", 2000, "--format", "json")
    assert asked.code == 0, asked.err
    got = [answer["label"] for answer in json.loads(asked.out)]
    known = [(k, label) for k, label in zip(table.predict.tolist(), got, strict=True) if k >= 0 and label]
    assert known and all(names[k] == label for k, label in known)
