"""Models: their folders' configuration and weights, and ONNX files."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch

from fuzz import safetensors_file
from fuzz.draw import Draw
from fuzz.plain import bent, to_json
from fuzz.reader import Files, Reader
from randsmooth import models
from randsmooth.models import Classifier, Denoiser

CONFIG, WEIGHTS = "config.json", "model.safetensors"
DIGESTS = WEIGHTS_HASH, DIGEST = "weights", "digest"  # keys of config.json


class Folder(Reader):
    """A model folder as every verb loads it: what rebuilds the classifier, and its answer to an image."""

    def valid(self) -> list[Files]:
        return [_saved(seed) for seed in range(2)]

    def read(self, folder: Path) -> Any:
        model = models.load(folder)
        state = dict(model.named_parameters()) | dict(model.named_buffers())
        with torch.inference_mode():
            answer = model(torch.full((1, *model.shape), 0.5))
        return {"config": model.config, "state": state, "answer": answer}

    def fault(self, read: Any) -> str:
        wrong = [name for name, tensor in read["state"].items() if not bool(torch.isfinite(tensor).all())]
        return f"{wrong[0]} is not finite" if wrong else ""


class Config(Folder):
    """The configuration of a model folder."""

    name = "model-folder"
    target = CONFIG

    def bombs(self) -> list[Files]:
        (files, _) = self.valid()
        said = json.loads(files[CONFIG])
        changes: list[dict[str, Any]] = [
            {"shape": [1, 30_000, 30_000]},
            {"arch": "resnet9998"},
            {"arch": "resnet9998", "shape": [3, 32, 32]},
            {"classes": [str(k) for k in range(1_000_000)]},
            {"shape": [10**6, 8, 8]},
        ]
        return [signed(files | {CONFIG: json.dumps(said | change).encode()}) for change in changes]

    def bent(self, files: Files, draw: Draw) -> Files | None:
        said = json.loads(files[CONFIG])
        vouching = {key: said.pop(key) for key in DIGESTS if key in said}
        changed = bent(said, draw)
        return files | {CONFIG: to_json(changed | vouching if isinstance(changed, dict) else changed, draw)}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """With digests of what it says now, or without, as folders were saved before they had any."""
        changed = self.bent(files, draw)
        return None if changed is None else (bare if draw.chance(0.5) else signed)(changed)


class DenoiserConfig(Config):
    """The configuration of a denoiser's folder, and what a denoiser makes of an image."""

    name = "denoiser-folder"

    def valid(self) -> list[Files]:
        return [_saved_denoiser()]

    def read(self, folder: Path) -> Any:
        model = models.load_denoiser(folder)
        state = dict(model.named_parameters()) | dict(model.named_buffers())
        assert isinstance(model, Denoiser)
        with torch.inference_mode():
            answer = model(torch.full((1, model.channels, 8, 8), 0.5))
        return {"config": model.config, "state": state, "answer": answer}

    def bombs(self) -> list[Files]:
        (files,) = self.valid()
        said = json.loads(files[CONFIG])
        changes: list[dict[str, Any]] = [{"arch": "dncnn-200x2048"}, {"arch": "dncnn-3x9999"}, {"channels": 10**9}]
        return [signed(files | {CONFIG: json.dumps(said | change).encode()}) for change in changes]


class Weights(Folder):
    """The weights of a model folder."""

    name = "weights"
    target = WEIGHTS

    def bent(self, files: Files, draw: Draw) -> Files | None:
        return files | {WEIGHTS: safetensors_file.rewritten(files[WEIGHTS], draw)}

    def forged(self, files: Files, draw: Draw) -> Files | None:
        """With the hash of these weights, or none."""
        changed = self.bent(files, draw)
        return None if changed is None else (bare if draw.chance(0.5) else signed)(changed)


def signed(files: Files) -> Files:
    """The folder with digests of what lies in it: the weights' in config.json, and that of all else it says."""
    try:
        said = json.loads(files[CONFIG])
        said |= {WEIGHTS_HASH: _sha256(files[WEIGHTS])}
        said.pop(DIGEST, None)
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):  # what says nothing has no digest either
        return files
    return files | {CONFIG: json.dumps(said | {DIGEST: _sha256(canonical)}).encode()}


def bare(files: Files) -> Files:
    """The folder without digests, as they were saved before they had any."""
    try:
        said = json.loads(files[CONFIG])
        return files | {CONFIG: json.dumps({key: said[key] for key in said if key not in DIGESTS}).encode()}
    except (ValueError, TypeError, RecursionError):
        return files


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _model(seed: int) -> Classifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Classifier(
            arch="small-cnn",
            classes=["a", "b", "c"],
            shape=[1, 8, 8],
            mean=[0.5 + seed / 10],
            std=[0.2],
            provenance={"dataset": "digits", "sigma": 0.25, "method": "gaussian", "hyperparameters": {"m": 1}},
        )
    return model.eval()


@cache
def _saved(seed: int) -> Files:
    return _folder(_model(seed))


@cache
def _saved_denoiser() -> Files:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        provenance = {"dataset": "digits", "sigma": 0.25, "objective": "mse"}
        return _folder(Denoiser(channels=1, arch="dncnn-4x3", provenance=provenance).eval())


def _folder(model: Classifier | Denoiser) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        models.save(model, folder)
        return {name: (Path(folder) / name).read_bytes() for name in (CONFIG, WEIGHTS)}
