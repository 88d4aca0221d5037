"""Predicting with the very classifier that was certified, from a folder or an ONNX file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from cli.run import Run
from randsmooth import models, read
from randsmooth.models import Classifier

CLASSES = [str(i) for i in range(10)]


def save(folder: Path, seed: int) -> None:
    torch.manual_seed(seed)
    provenance = {"dataset": "digits", "sigma": 0.25}
    models.save(Classifier(arch="small-cnn", classes=CLASSES, shape=[1, 8, 8], provenance=provenance).eval(), folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an untrained `model` of digits and an `image.png`."""
    save(tmp_path / "model", seed=0)
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 4).save(tmp_path / "image.png")
    return tmp_path


def test_predict_answers_as_certified(folder: Path, cli: Run) -> None:
    table = folder / "a.parquet"
    options = ("--take", 2, "--n", 100, "--precision", "bf16", "--batch", 128, "--out", table)
    assert cli("certify", folder / "model", *options)[0] == 0
    header = read(table).header
    assert (header.precision, header.batch, header.backend) == ("bfloat16", 128, "torch")
    predict = ("predict", folder / "model", folder / "image.png", "--n", 200, "--format", "json")
    like = cli(*predict, "--like", table)
    (answer,) = json.loads(like[1])
    assert answer["label"] in {None, *CLASSES} and answer["seed"] != header.seed == 0
    assert like == cli(*predict, "--precision", "bf16", "--seed", answer["seed"])
    code, _, err = cli(*predict, "--like", table, "--sigma", 0.5)
    assert code == 2
    assert f"--sigma 0.5 is not what {table} was certified with (0.25)" in err


def test_predict_refuses_another_model_than_the_certified(folder: Path, cli: Run) -> None:
    table = folder / "a.parquet"
    assert cli("certify", folder / "model", "--take", 1, "--n", 100, "--out", table)[0] == 0
    save(folder / "other", seed=1)
    code, _, err = cli("predict", folder / "other", folder / "image.png", "--like", table)
    assert code == 2
    assert "is about another model: weights" in err


def test_predict_draws_a_seed_that_nobody_knew_and_tells_it(folder: Path, cli: Run) -> None:
    predict = ("predict", folder / "model", folder / "image.png", "--n", 200)
    lines = [cli(*predict)[1].splitlines() for _ in range(2)]
    seeds = [int(last.split()[1].rstrip(":")) for *_, last in lines]
    assert seeds[0] != seeds[1] and lines[0][-1] == f"seed {seeds[0]}: --seed {seeds[0]} repeats these answers"
    assert cli(*predict, "--seed", seeds[0])[1].splitlines() == lines[0][:-1]  # who gives a seed knows it
    formats = {form: cli(*predict, "--seed", 7, "--format", form)[1] for form in ("csv", "json")}
    assert json.loads(formats["json"])[0]["seed"] == 7
    assert json.loads(formats["json"])[0].items() >= {"sigma": 0.25, "n": 200, "alpha": 0.001}.items()
    head, row = formats["csv"].splitlines()
    assert head == "image,label,radius,sigma,n,alpha,seed" and row.endswith(",0.25,200,0.001,7")


def test_an_onnx_file_is_certified_and_predicts(folder: Path, cli: Run) -> None:
    pytest.importorskip("onnxruntime")
    model, path = models.load(folder / "model"), folder / "model.onnx"
    x = torch.rand(4, 1, 8, 8)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.onnx.export(program, (x,), path, dynamo=True, verbose=False)
    options = ("--take", 3, "--n", 200, "--dataset", "digits", "--sigma", 0.25, "--out")
    assert cli("certify", path, *options, folder / "onnx.parquet")[0] == 0
    assert cli("certify", folder / "model", *options, folder / "torch.parquet")[0] == 0
    onnx, torch_ = read(folder / "onnx.parquet"), read(folder / "torch.parquet")
    assert onnx.header.backend == "onnx" and str(onnx.header.instructions).startswith("ONNX Runtime on ")
    assert np.abs(onnx.evidence()[1] - torch_.evidence()[1]).max() <= 1  # a tie may fall otherwise
    predict = ("predict", path, folder / "image.png", "--n", 200, "--format", "json")
    assert json.loads(cli(*predict, "--sigma", 0.25)[1])[0]["label"] in {None, *CLASSES}
    assert "pass --sigma" in cli(*predict)[2]
