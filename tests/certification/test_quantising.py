"""Models in int8: made of others on noisy training images, and base classifiers of their own from then on."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models.refusing import check_refusals
from randsmooth import certify, data, models, read
from randsmooth.certification import export_model, load_model, quantise
from randsmooth.certification.backends import features, make_backend
from randsmooth.certification.int8_graph import pools_last
from randsmooth.certification.quantising import noisy_batches
from randsmooth.errors import (
    BadValue,
    MissingValue,
    NotFound,
    UnknownName,
    WrongFile,
    WrongModel,
)
from randsmooth.extras import MissingPackage, install_command
from randsmooth.models import Classifier
from randsmooth.noise import Gaussian, Stream
from values import Refusal

CPU = torch.device("cpu")
SIGMA = 0.5


def trained() -> Classifier:
    """A small network that knows digits a little: a few steps on noisy images."""
    torch.manual_seed(0)
    told = {"dataset": "digits", "sigma": SIGMA, "method": "gaussian"}
    model = Classifier(
        arch="small-cnn",
        classes=[str(i) for i in range(10)],
        shape=[1, 8, 8],
        provenance=told,
    )
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    x, y = data.load("digits", "train").batch(torch.arange(1024))
    for step in range(60):
        noise = (
            SIGMA
            / 2
            * torch.randn(x.shape, generator=torch.Generator().manual_seed(step))
        )
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x + noise), y).backward()
        optimiser.step()
    return model.eval()


def noisy_digits(sigma: float) -> torch.Tensor:
    batches = noisy_batches(
        data.load("digits", "test"), Gaussian(sigma), Stream(1, "t"), 128
    )
    return torch.cat([noisy for noisy, _ in batches])


@pytest.fixture(scope="module")
def original() -> Classifier:
    return trained()


@pytest.mark.slow
def test_an_int8_model_is_another_classifier_that_answers_nearly_alike(
    original: Classifier, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    found = quantise(original, out=(made := tmp_path / "net.xml"), images=100)
    assert found is not None and found.split == "test" and found.images == 364
    assert (
        found.both is not None
        and found.only_before is not None
        and found.only_after is not None
    )
    assert found.both > 100 and found.same > 0.95 * found.images
    assert found.both + found.only_before + found.only_after <= found.images

    model = load_model(made)
    x = noisy_digits(SIGMA)
    with torch.inference_mode():
        float32 = make_backend("torch", original, CPU, "32").logits(x)
        int8 = make_backend("openvino", model, CPU, "32").logits(x)
    share = float((int8 - float32).abs().mean() / float32.abs().mean())
    assert 1e-3 < share < 0.1  # rounded to 8 bits: neither float32 nor something else
    assert models.weights_hash(model) != models.weights_hash(original)

    table = certify(
        made, take=3, n=100, out=tmp_path / "a.parquet"
    )  # it knows its data set and its sigma
    told: dict[str, Any] = read(tmp_path / "a.parquet").header.model or {}
    assert (
        table.header.sigma == SIGMA
        and table.header.dataset == "digits"
        and "in int8" in told["arch"]
    )
    assert told["method"] == "gaussian" and told["quantised"][
        "of"
    ] == models.weights_hash(original)
    assert told["quantised"]["images"] == 100 and told["quantised"]["sigma"] == SIGMA
    again = partial(quantise, made, out=tmp_path / "again.xml")
    check_refusals([(again, Refusal(WrongModel))])
    damaged = bytearray(made.with_suffix(".bin").read_bytes())
    damaged[100] ^= 1
    made.with_suffix(".bin").write_bytes(
        damaged
    )  # the graph knows the weights that it was written with
    check_refusals(
        [
            (
                lambda: load_model(made),
                Refusal(WrongFile, "net.bin"),
            )
        ]
    )


@pytest.mark.slow
def test_the_same_command_makes_the_same_model(
    original: Classifier, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    outs = [tmp_path / str(i) / "net.xml" for i in range(3)]
    for i, out in enumerate(outs):
        quantise(original, out=out, images=50, compare=0, seed=i // 2)
    first, again, other = (models.weights_hash(load_model(path)) for path in outs)
    assert first == again != other  # another seed, other noise, other ranges


@pytest.mark.slow
def test_ranges_are_those_of_noisy_images_also_of_other_onnx_files(
    original: Classifier, tmp_path: Path
) -> None:
    """The control is calibrated on nearly clean images: noise then leaves the ranges."""
    pytest.importorskip("nncf")
    export_model(original, onnx=tmp_path / "float.onnx")
    x = noisy_digits(1.0)
    with torch.inference_mode():
        truth = make_backend("torch", original, CPU, "32").logits(x)
        apart = []
        for sigma in (1.0, 1e-3):
            quantise(
                tmp_path / "float.onnx",
                "digits",
                out=(made := tmp_path / "a.xml"),
                sigma=sigma,
                compare=0,
            )
            found = make_backend("openvino", load_model(made), CPU, "32").logits(x)
            apart.append(float((found - truth).abs().mean()))
    assert 2 * apart[0] < apart[1]


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()


def test_what_cannot_be_quantised_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(sys.modules, "nncf", None)
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {
        "model": linear(),
        "dataset": "digits",
        "out": "net.xml",
        "sigma": SIGMA,
    }
    table: list[tuple[dict[str, Any], Refusal]] = [
        ({"split": "test"}, Refusal(UnknownName, "'split'", field="setting")),
        ({"dataset": "mnist"}, Refusal(NotFound, "mnist")),
        ({"dataset": None}, Refusal(MissingValue, field="dataset")),
        ({"images": 0}, Refusal(BadValue, "images=0", field="images")),
        ({"out": "net.pt"}, Refusal(BadValue, "net.pt")),
        ({}, Refusal(MissingPackage, install_command("int8"))),
        ({"model": len}, Refusal(WrongModel)),
    ]
    check_refusals(
        (partial(quantise, **given | change), said) for change, said in table
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_images_without_a_split_or_labels_are_compared_on_those_left_over(
    original: Classifier, tmp_path: Path
) -> None:
    pytest.importorskip("nncf")
    x, _ = data.load("digits", "train").batch(torch.arange(60))
    for images, left in ((20, 40), (60, None)):
        found = quantise(original, x, out=tmp_path / "a.xml", images=images)
        assert (found and (found.images, found.both)) == (left and (left, None))


# Counts of sound certification of an int8 model, in a process of its own, since oneDNN reads the limit once.
COUNTS = """
import sys
import torch
from randsmooth import CertificationSettings, data
from randsmooth.certification import Engine, count_classes, load_model

torch.set_num_threads(int(sys.argv[2]))
settings = CertificationSettings(sigma=0.5, sound=True, batch=256, backend="openvino")
engine = Engine(load_model(sys.argv[1]), settings, device=torch.device("cpu"))
x, _ = data.load("digits", "test").batch(torch.arange(20))
print([count_classes(engine, image, [("a", 2000)]).tolist() for image in x])
print(engine.answers(list(x), "b").numpy().tobytes().hex())
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not features().get("avx2"),
    reason="the limits are those of x86 processors with AVX2",
)
def test_an_int8_ir_gives_the_same_sound_counts_with_any_instructions(
    original: Classifier, tmp_path: Path
) -> None:
    """Also the same logits, to the last bit. The control is the same network in float32."""
    pytest.importorskip("nncf")
    export_model(original, onnx=tmp_path / "float.onnx")
    found = {}
    quantise(original, out=tmp_path / "net.xml", compare=0)
    for path in (tmp_path / "net.xml", tmp_path / "float.onnx"):
        for limit, threads in (
            ("ALL", 1),
            ("AVX512_CORE", 2),
            ("AVX2", 1),
            ("SSE41", 1),
        ):
            command = [sys.executable, "-c", COUNTS, str(path), str(threads)]
            env = os.environ | {"ONEDNN_MAX_CPU_ISA": limit}
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, check=True
            )
            found[path.name, limit] = done.stdout
    assert (
        len({answer for (name, _), answer in found.items() if name == "net.xml"}) == 1
    )
    assert (
        len({answer for (name, _), answer in found.items() if name == "float.onnx"}) > 1
    )


@pytest.mark.slow
def test_pools_after_relus_answer_alike() -> None:
    """As ReLU and maximum commute, the graph with its pools last gives the same logits, to the last bit."""
    openvino = pytest.importorskip("openvino")
    torch.manual_seed(0)
    pooling = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3)
    ).eval()
    example, f32 = torch.rand(16, 1, 8, 8), {"INFERENCE_PRECISION_HINT": "f32"}
    graph = openvino.convert_model(
        pooling, example_input=example, input=[(-1, 1, 8, 8)]
    )
    before = openvino.compile_model(graph, "CPU", f32)(example.numpy())[0]
    kinds = [layer.get_type_name() for layer in pools_last(graph).get_ordered_ops()]
    assert kinds.index("Relu") < kinds.index("MaxPool")
    assert np.array_equal(
        openvino.compile_model(graph, "CPU", f32)(example.numpy())[0], before
    )
