"""Models as other libraries save them: folders of transformers and diffusers, and programs of torch's."""

import io
import json
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import nn

from fuzz.formats import inflating
from fuzz.harness import Files, Reader, written
from randsmooth import models
from randsmooth.certification.engine import Engine
from randsmooth.certification.scheduler import count_classes
from randsmooth.models.transformers_models import from_transformers

CLASSES = ("cat", "dog", "owl")
SIDE = 24
CONFIG, WEIGHTS = "config.json", "model.safetensors"
INDEX, PARTS = (
    f"{WEIGHTS}.index.json",
    ("model-1-of-2.safetensors", "model-2-of-2.safetensors"),
)
UNET, NETWORK, SCHEDULER = (
    "unet/config.json",
    "unet/diffusion_pytorch_model.safetensors",
    "scheduler/scheduler_config.json",
)
SCRIPT, PROGRAM = "net.ts", "net.pt2"
SHAPE, BATCH = (1, 4, 4), 128


def changed(files: Files, name: str, **settings: Any) -> Files:
    """The files, one of which, of JSON, says something else."""
    return files | {name: json.dumps(json.loads(files[name]) | settings).encode()}


class TransformersFolder(Reader):
    """An image classifier of transformers, whole or in parts, and what it answers."""

    name = "hf-folder"
    signed = False

    def valid(self) -> list[Files]:
        return [vit(0, parts=False), vit(1, parts=False), vit(2, parts=True)]

    def bombs(self) -> list[Files]:
        files = self.valid()[0]
        huge: Sequence[dict[str, Any]] = (
            *(
                {"num_hidden_layers": 200_000},
                {"num_hidden_layers": 64},
                {"hidden_size": 2**22},
            ),
            *(
                {"num_labels": 10**9, "id2label": None},
                {"image_size": 2**20},
                {"image_size": 10**6, "patch_size": 1},
            ),
            *(
                {"intermediate_size": 2**24},
                {"model_type": "swin", "depths": [10**6] * 4, "window_size": 10**4},
            ),
            *(
                {"model_type": "beit", "image_size": 10**5},
                {"model_type": "convnextv2", "depths": [60] * 60},
            ),
        )
        processor = changed(
            files, "preprocessor_config.json", size={"height": 10**6, "width": 10**6}
        )
        away = changed(
            vit(2, parts=True),
            INDEX,
            weight_map=dict.fromkeys("ab", "../../../../../dev/zero"),
        )
        return [*(changed(files, CONFIG, **each) for each in huge), processor, away]

    def read(self, folder: Path) -> Any:
        model = from_transformers(f"hf:{folder}")
        with torch.inference_mode():
            try:
                answer = model(torch.full((1, 3, 32, 32), 0.5))
            except (
                Exception
            ):  # of a network that takes other images, which opening does not try
                answer = None
        return {
            "classes": model.classes,
            "steps": [step.words for step in model.before],
            "answer": answer,
        }

    def fault(self, read: Any) -> str:
        answer = read["answer"]
        return (
            ""
            if answer is None or answer.shape == (1, len(read["classes"]))
            else "logits of other classes"
        )


@cache
def vit(seed: int, *, parts: bool) -> Files:
    """A tiny vision transformer."""
    import transformers

    size = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    size |= {"image_size": SIDE, "patch_size": 8}
    labels = {
        "id2label": dict(enumerate(CLASSES)),
        "label2id": {name: k for k, name in enumerate(CLASSES)},
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = transformers.ViTForImageClassification(
            transformers.ViTConfig(**size, **labels)
        )

    def write(folder: Path) -> None:
        network.save_pretrained(folder)
        sides = {"height": SIDE, "width": SIDE}
        transformers.ViTImageProcessorPil(size=sides).save_pretrained(folder)

    files = written(write)
    if not parts:
        return files
    weights = load_tensors(files.pop(WEIGHTS))
    names = sorted(weights)
    held = {
        part: {name: weights[name] for name in names[k::2]}
        for k, part in enumerate(PARTS)
    }
    index = {
        "metadata": {"total_size": 1},
        "weight_map": {name: PARTS[k % 2] for k, name in enumerate(names)},
    }
    files |= {
        part: save_tensors(tensors, {"format": "pt"}) for part, tensors in held.items()
    }
    return files | {INDEX: json.dumps(index).encode()}


class DiffusionFolder(Reader):
    """An unconditional diffusion model of diffusers, as a denoiser, and what it answers."""

    name = "diffusers-folder"
    signed = False

    def valid(self) -> list[Files]:
        return [unet(seed) for seed in range(2)]

    def bombs(self) -> list[Files]:
        files = self.valid()[0]
        huge: Sequence[dict[str, Any]] = (
            *(
                {"layers_per_block": 200_000},
                {"layers_per_block": 64},
                {"block_out_channels": [4, 2**20]},
            ),
            *(
                {"num_class_embeds": 10**7},
                {"in_channels": 2**24},
                {"sample_size": 2**24},
            ),
            {
                "down_block_types": ["DownBlock2D"] * 10**4,
                "block_out_channels": [4] * 10**4,
            },
        )
        weights = load_tensors(files[NETWORK])
        lacking = save_tensors(
            {name: tensor for name, tensor in weights.items() if "conv_in" not in name}
        )
        levels = (
            {"num_train_timesteps": 10**9},
            {"num_train_timesteps": 10**5, "beta_schedule": "squaredcos_cap_v2"},
        )
        made = [changed(files, UNET, **each) for each in huge]
        return [
            *made,
            *(changed(files, SCHEDULER, **each) for each in levels),
            files | {NETWORK: lacking},
        ]

    def read(self, folder: Path) -> Any:
        denoiser = models.load_denoiser(folder, sigma=0.5)
        with torch.inference_mode():
            try:
                answer = denoiser(torch.full((1, 1, 8, 8), 0.5))
            except (
                Exception
            ):  # of a network that takes other images or was told otherwise
                answer = None
        return {
            "state": denoiser.state_dict(),
            "answer": answer,
            "facts": denoiser.provenance,
        }


@cache
def unet(seed: int) -> Files:
    """A tiny diffusion model."""
    import diffusers

    kinds = {
        "down_block_types": ("DownBlock2D",) * 2,
        "up_block_types": ("UpBlock2D",) * 2,
    }
    size = {
        "sample_size": 8,
        "block_out_channels": (4, 8),
        "layers_per_block": 1,
        "norm_num_groups": 2,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = diffusers.UNet2DModel(in_channels=1, out_channels=1, **size, **kinds)
    scheduler = diffusers.DDPMScheduler(num_train_timesteps=200, beta_end=0.1)
    return written(
        lambda folder: diffusers.DDPMPipeline(network, scheduler).save_pretrained(
            folder
        )
    )


# --- programs -------------------------------------------------------------------------------------------------------


class Programs(Reader):
    """A file that is code, which is run: what is damaged is refused, or another model."""

    signed = False
    file = SCRIPT

    def read(self, folder: Path) -> Any:
        model = models.adapt(models.open_source(folder / self.file))
        engine = Engine(
            model, sigma=0.5, device=torch.device("cpu"), batch=BATCH, backend="torch"
        )
        engine.prepare(SHAPE)
        return count_classes(engine, torch.full(SHAPE, 0.5), [("fuzz", BATCH)])


def small(seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(8, 3),
        ).eval()


class Script(Programs):
    """A TorchScript file, damaged alone: what is changed with its checksums is code that somebody wrote."""

    name = "torchscript"

    def valid(self) -> list[Files]:
        return [{SCRIPT: scripted(seed)} for seed in range(2)]

    def bombs(self) -> list[Files]:
        return [{SCRIPT: inflating(scripted(0), 700)}]


@cache
def scripted(seed: int) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(
        action="ignore"
    ):  # that TorchScript is no longer developed
        torch.jit.save(torch.jit.trace(small(seed), torch.zeros(2, *SHAPE)), buffer)
    return buffer.getvalue()


class Program(Programs):
    """A program of torch.export."""

    name, file = "exported-program", PROGRAM

    def valid(self) -> list[Files]:
        return [{PROGRAM: exported(seed)} for seed in range(2)]


@cache
def exported(seed: int) -> bytes:
    buffer = io.BytesIO()
    batch = torch.export.Dim("batch", min=1)
    made = torch.export.export(
        small(seed), (torch.zeros(2, *SHAPE),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(made, buffer)
    return buffer.getvalue()
