"""Image classifiers of transformers and timm: their steps on tensors, their classes, and what is refused."""

import itertools
import json
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

import randsmooth as rs
from models.refusing import check_refusals, problem_of
from randsmooth.errors import BadValue, NotFound, WrongFile, WrongModel
from randsmooth.models.hub import HubClassifier, order_of
from randsmooth.models.processors import steps_of
from randsmooth.models.timm_models import timm_steps
from randsmooth.models.transformers_models import from_transformers
from values import Refusal

transformers = pytest.importorskip("transformers")

CLASSES = ("cat", "dog", "owl")
SIDES = {"height": 24, "width": 24}
MEAN, STD = [0.5, 0.4, 0.3], [0.25, 0.2, 0.3]


def processor(kind: str, **settings: Any) -> Any:
    """The processor `kind` with Pillow, which needs no torchvision."""
    return getattr(transformers, f"{kind}ImageProcessorPil")(
        image_mean=MEAN, image_std=STD, **settings
    )


def save_vit(
    folder: Path, names: tuple[str, ...] = CLASSES, *, seed: int = 0, channels: int = 3
) -> Any:
    """A tiny vision transformer, saved as users save theirs; the network."""
    size = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    size |= {"image_size": 24, "patch_size": 8, "num_channels": channels}
    labels = {
        "id2label": dict(enumerate(names)),
        "label2id": {name: k for k, name in enumerate(names)},
    }
    config = transformers.ViTConfig(**size, **labels, initializer_range=1.0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = transformers.ViTForImageClassification(config).eval()
    network.save_pretrained(folder)
    processor("ViT", size=SIDES).save_pretrained(folder)
    return network


@pytest.fixture
def vit(tmp_path: Path) -> Path:
    save_vit(tmp_path / "vit")
    return tmp_path / "vit"


def photo(height: int, width: int) -> Image.Image:
    """A smooth picture between 50 and 205, so that no filter leaves the 256 values that Pillow knows."""
    generator = np.random.default_rng(height)
    coarse = generator.uniform(50, 205, (5, 7, 3)).astype(np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BILINEAR)


PROCESSORS: list[tuple[str, dict[str, Any]]] = [
    ("ViT", {"size": SIDES}),
    ("ViT", {"size": SIDES, "resample": 3}),
    ("ViT", {"size": SIDES, "do_normalize": False}),
    ("ViT", {"size": SIDES, "do_rescale": False}),
    ("DeiT", {"size": {"height": 40, "width": 40}, "crop_size": SIDES}),
    (
        "Beit",
        {
            "size": SIDES,
            "crop_size": {"height": 20, "width": 16},
            "do_center_crop": True,
        },
    ),
    ("Bit", {"size": {"shortest_edge": 28}, "crop_size": SIDES}),
    ("CLIP", {"size": {"shortest_edge": 28}, "crop_size": SIDES, "resample": 2}),
]


def test_steps_are_the_processors(tmp_path: Path) -> None:
    """To 1.6 of 255 in a pixel: Pillow rounds to 8 bits after each of its two passes, tensors are not rounded."""
    for (kind, settings), size in itertools.product(PROCESSORS, [(32, 32), (50, 41)]):
        its = processor(kind, **settings)
        its.save_pretrained(tmp_path)
        image = photo(*size)
        expected = torch.as_tensor(
            np.asarray(its(image, return_tensors="np")["pixel_values"])
        )
        x = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255
        found = torch.nn.Sequential(*steps_of(tmp_path))(x)
        assert found.shape == expected.shape, (kind, settings)
        scale = torch.tensor(
            [1.0] * 3 if settings.get("do_normalize") is False else STD
        ).view(1, 3, 1, 1)
        unit = 1.0 if settings.get("do_rescale") is False else 1 / 255
        assert float(((found - expected) * scale).abs().max()) <= 1.6 * unit, (
            kind,
            settings,
        )


def test_another_processor_is_refused_with_the_way_out(tmp_path: Path) -> None:
    vit = {"image_processor_type": "ViTImageProcessor"}
    table: list[tuple[object, tuple[str, ...]]] = [
        (None, ()),
        (
            {"image_processor_type": "EfficientNetImageProcessor"},
            ("EfficientNet", "ViT, DeiT"),
        ),
        ({}, ()),
        (vit | {"resample": 2, "size": {"longest_edge": 3}}, ("height",)),
    ]
    for config, named in table:
        if config is not None:
            (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
        problem = problem_of(steps_of, tmp_path)
        Refusal(WrongModel, *named, "preprocessor_config.json", "rs.wrap").check(
            problem
        )


def test_noise_is_added_before_the_processors_steps(vit: Path) -> None:
    model = rs.load_model(f"hf:{vit}")
    assert isinstance(model, HubClassifier) and model.num_classes == 3
    assert model.notes == (
        "after noise: resized to 24 x 24 (bilinear)",
        "after noise: normalised by mean 0.5, 0.4, 0.3 and std 0.25, 0.2, 0.3",
    )
    noisy = torch.rand(2, 3, 32, 32) + 0.5 * torch.randn(2, 3, 32, 32)
    resized = F.interpolate(noisy, size=(24, 24), mode="bilinear", antialias=True)
    pixels = (resized - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(
        1, 3, 1, 1
    )
    network = transformers.AutoModelForImageClassification.from_pretrained(vit).eval()
    with torch.inference_mode():
        torch.testing.assert_close(
            model(noisy), network(pixel_values=pixels).logits, atol=1e-5, rtol=1e-5
        )
    smoothed = rs.SmoothedClassifier(f"hf:{vit}", sigma=0.25, seed=0)
    assert smoothed.certify(torch.rand(2, 3, 32, 32), n0=20, n=200).counts.sum(
        axis=1
    ).tolist() == [200, 200]


def test_names_of_classes(vit: Path) -> None:
    table: list[tuple[tuple[str, ...], tuple[str, ...], list[int]]] = [
        (("a_b", "C d"), ("c-d", "A B"), [1, 0]),
        (("LABEL_0", "LABEL_1"), ("cat", "dog"), [0, 1]),
        (("tench", "goldfish"), ("n01440764", "n01443537"), [0, 1]),
        (("cat", "dog"), ("0", "1"), [0, 1]),
    ]
    for own, wanted, order in table:
        assert order_of(own, wanted, "hf:x") == order, own
    model, x = from_transformers(f"hf:{vit}"), torch.rand(2, 3, 32, 32)
    turned = model.for_classes(["Owl", "cat", "dog"])
    assert model.for_classes(CLASSES) is model
    assert turned.notes[-1] == "after the model: classes in the order of the data set"
    with torch.inference_mode():
        assert torch.equal(turned(x), model(x)[:, [2, 0, 1]])
        assert torch.equal(turned.for_classes(CLASSES)(x), model(x))
    renamed = from_transformers(f"hf:{vit}", classes=["cat", "dog", "bird"])
    assert renamed.for_classes(["cat", "dog", "bird"]) is renamed
    smoothed = rs.SmoothedClassifier(f"hf:{vit}", sigma=0.25)
    check_refusals(
        [
            (
                lambda: model.for_classes(["cat", "dog", "bird"]),
                Refusal(WrongModel, "'bird'", "cat, dog, owl", "classes=[...]"),
            ),
            (
                lambda: model.for_classes(["cat", "dog"]),
                Refusal(WrongModel),
            ),
            (
                lambda: order_of(("a", "a"), ("a", "b"), "hf:x"),
                Refusal(WrongModel, "'a'"),
            ),
            (
                lambda: from_transformers(f"hf:{vit}", classes=["cat", "dog"]),
                Refusal(BadValue, field="classes"),
            ),
        ]
    )
    grey = partial(smoothed.certify, torch.rand(1, 1, 28, 28), n0=20, n=100)
    check_refusals([(grey, Refusal(BadValue, "rs.wrap"))])


def test_what_is_no_model_of_a_hub_is_refused(
    vit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = transformers.AutoModelForImageClassification.from_pretrained(vit)
    whole.vit.save_pretrained(tmp_path / "body")
    processor("ViT", size=SIDES).save_pretrained(tmp_path / "body")
    (vit / "model.safetensors").unlink()
    torch.save(whole.state_dict(), vit / "pytorch_model.bin")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    rows = {
        "hf:": Refusal(NotFound),
        "hf:user/none": Refusal(NotFound, "user/none"),
        f"hf:{tmp_path / 'body'}": Refusal(WrongFile, "classifier.bias"),
        f"hf:{vit}": Refusal(NotFound, "model.safetensors"),
    }
    check_refusals(
        (partial(rs.load_model, source), said) for source, said in rows.items()
    )


def test_code_in_a_folder_is_never_run_and_nobody_is_asked(
    vit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = vit.parent / "ran"
    code = f"open({str(ran)!r}, 'w')\nfrom transformers import ViTConfig as Own, ViTForImageClassification as Net\n"
    (vit / "own.py").write_text(code)
    said = json.loads((vit / "config.json").read_text())
    own = {"AutoConfig": "own.Own", "AutoModelForImageClassification": "own.Net"}
    (vit / "config.json").write_text(
        json.dumps(said | {"model_type": "own", "auto_map": own})
    )

    monkeypatch.setattr("builtins.input", asked := Mock(return_value="y"))
    check_refusals(
        [(lambda: from_transformers(f"hf:{vit}"), Refusal(WrongModel, "file.py"))]
    )
    assert not asked.called and not ran.exists()


def changed(folder: Path, file: str = "config.json", **settings: Any) -> None:
    """Say something else in a file of JSON."""
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


# What a configuration asks for that nobody would build with these weights, or that is not in the folder.
ASKED: list[tuple[dict[str, Any], Refusal]] = [
    (
        {"num_hidden_layers": 200_000},
        Refusal(WrongFile, "num_hidden_layers=200000", "tensors"),
    ),
    ({"num_hidden_layers": 60}, Refusal(WrongModel, "parameters")),
    (
        {"hidden_size": 50_000, "num_attention_heads": 1},
        Refusal(WrongModel),
    ),
    (
        {"num_labels": 10**9, "id2label": None},
        Refusal(WrongFile, "num_labels=1000000000"),
    ),
    (
        {"intermediate_size": 10**12},
        Refusal(WrongFile, "intermediate_size=1000000000000"),
    ),
    ({"nested": {"depths": [1, 10**6]}}, Refusal(WrongFile, "depths=1000000")),
    (
        {"quantization_config": {"quant_method": "gptq"}},
        Refusal(WrongFile, "quantization_config"),
    ),
    (
        {"_attn_implementation": "user/kernel"},
        Refusal(WrongFile, "_attn_implementation='user/kernel'"),
    ),
    ({"model_type": 5}, Refusal(WrongModel, "model_type=5")),
    ({"model_type": "bert"}, Refusal(WrongModel, "model_type='bert'")),
    ({"hidden_act": "none"}, Refusal(WrongModel)),
    ({"id2label": {"7": "cat"}, "num_labels": 1}, Refusal(WrongFile)),
]


def test_no_more_is_built_than_the_weights_are(vit: Path) -> None:
    before = (vit / "config.json").read_text()
    for settings, said in ASKED:
        (vit / "config.json").write_text(before)
        changed(vit, **settings)
        check_refusals([(lambda: from_transformers(f"hf:{vit}"), said)])
    (vit / "config.json").write_text(before)
    for size in (10**6, 0, -1, True, "a"):
        changed(vit, "preprocessor_config.json", size={"height": size, "width": size})
        check_refusals(
            [
                (
                    lambda: from_transformers(f"hf:{vit}"),
                    Refusal(WrongModel, f"{size!r} pixels"),
                )
            ]
        )


def test_no_file_outside_of_the_folder_is_opened(vit: Path, tmp_path: Path) -> None:
    names = list(load_file(vit / "model.safetensors"))
    for name in (
        "../away.safetensors",
        str(tmp_path / "away.safetensors"),
        "away.bin",
        "..",
        "a\\b.safetensors",
    ):
        (vit / "model.safetensors").rename(tmp_path / "away.safetensors")
        (vit / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, name)})
        )
        check_refusals(
            [
                (
                    lambda: from_transformers(f"hf:{vit}"),
                    Refusal(WrongFile, "index.json"),
                )
            ]
        )
        (tmp_path / "away.safetensors").rename(vit / "model.safetensors")
    (vit / "adapter_config.json").write_text('{"base_model_name_or_path": "user/name"}')
    check_refusals(
        [
            (
                lambda: from_transformers(f"hf:{vit}"),
                Refusal(WrongFile, "adapter_config.json"),
            )
        ]
    )


def test_names_of_tensors_reach_no_terminal(
    vit: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    weights = load_file(vit / "model.safetensors")
    save_file(
        weights | {"\x1b]0;owned\x07": torch.ones(1)},
        vit / "model.safetensors",
        {"format": "pt"},
    )
    from_transformers(f"hf:{vit}")
    assert "owned" not in "".join(capfd.readouterr())


TIMM: dict[str, Any] = {
    "input_size": (3, 24, 24),
    "interpolation": "bicubic",
    "mean": (0.5,) * 3,
    "std": (0.2,) * 3,
}


def test_the_steps_of_timm() -> None:
    """As `timm.data.create_transform` makes them for evaluation: resized by 1 / crop_pct, cropped, normalised."""
    x = torch.rand(1, 3, 32, 40)
    for mode, size in (
        ("squash", (28, 28)),
        ("center", (28, 35)),
    ):  # 24 / 0.85, rounded down
        found = torch.nn.Sequential(
            *timm_steps(TIMM | {"crop_pct": 0.85, "crop_mode": mode})
        )(x)
        resized: Tensor = F.interpolate(x, size=size, mode="bicubic", antialias=True)
        left = (size[1] - 24) // 2
        torch.testing.assert_close(
            found, (resized[:, :, 2:26, left : left + 24] - 0.5) / 0.2
        )
    check_refusals(
        [
            (
                lambda: timm_steps(TIMM | {"crop_mode": "border"}),
                Refusal(WrongModel, "crop_mode='border'"),
            )
        ]
    )
