"""Model folders: config.json, model.safetensors and README.md, as the Hugging Face hub keeps them."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from randsmooth.errors import InputError
from randsmooth.models.classifier import Classifier
from randsmooth.models.weights import weights_hash

__all__ = ["load", "save", "weights_hash"]

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
KEYS = {"arch", "classes", "shape", "mean", "std", "provenance"}


def save(model: Classifier, folder: Path | str) -> None:
    """Write `model` into `folder`, over a model that lies there; other files stay.

    All is written to a temporary folder inside `folder` first. Then config.json, without which nothing loads,
    leaves first and comes last: a kill leaves the old model, the new one or none that loads, never a mixture.

    Raises:
        InputError: `folder` is no folder, or the weights are not float32.
    """
    folder = Path(folder)
    _check_float32(model)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder} cannot be a model folder, a file is in the way: choose another") from None
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as written:
        model.save_pretrained(written)
        _share_mode(Path(written))
        (folder / CONFIG).unlink(missing_ok=True)
        for name in (WEIGHTS, CARD, CONFIG):
            (Path(written) / name).replace(folder / name)


def load(folder: Path | str, *, device: torch.device | str = "cpu") -> Classifier:
    """The classifier in `folder` (or the hub's "user/name"), in eval mode on `device`.

    torch's global generator stays as it is.

    Raises:
        InputError: a file is missing, cut short, not ours, or does not fit; or `device` cannot be used.
    """
    folder = _local(folder)
    config = _read_config(folder)
    weights = _read_weights(folder)
    with torch.random.fork_rng(devices=[]):  # initial weights are drawn, then overwritten
        model = _rebuild(folder / CONFIG, config)
    _check_fit(folder, model.state_dict(), weights)
    model.load_state_dict(weights)
    return _moved(model.eval(), device)


def _local(folder: Path | str) -> Path:
    """`folder` itself, or where the hub's files were downloaded to."""
    if Path(folder).is_dir():
        return Path(folder)
    if Path(folder).exists() or not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", str(folder)):
        raise InputError(f"{folder} is not a folder: expected a model folder or a hub id such as user/name")
    try:
        return Path(snapshot_download(str(folder), allow_patterns=[CONFIG, WEIGHTS]))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"no folder {folder}, and no such model came from the Hugging Face hub ({reason}): check the path"
        ) from error


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{path} is missing: not a randsmooth model folder, or its saving was interrupted")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}): save or download the model again") from None
    if not isinstance(config, dict) or config.keys() != KEYS:
        found = ", ".join(sorted(config)) if isinstance(config, dict) else type(config).__name__
        raise InputError(f"{path} was not written by this randsmooth: expected {sorted(KEYS)}, found {found}")
    return config


def _read_weights(folder: Path) -> dict[str, Tensor]:
    path = folder / WEIGHTS
    if not path.is_file():
        if (folder / "checkpoint.pt").is_file():
            raise InputError(f"{path} is missing: training into {folder} is not finished; go on with --resume")
        pickles = sorted(p.name for p in folder.iterdir() if p.suffix in {".bin", ".pt", ".pth", ".pkl", ".ckpt"})
        beside = f"{', '.join(pickles)} is pickle, which can run code and is never loaded: " if pickles else ""
        raise InputError(f"{path} is missing: {beside}convert the weights to safetensors or save the model again")
    try:
        return load_file(path)  # type: ignore[no-any-return]
    except SafetensorError as error:
        raise InputError(f"{path} is damaged ({error}): save or download the model again") from None


def _rebuild(path: Path, config: dict[str, Any]) -> Classifier:
    try:
        return Classifier(**config)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _check_fit(folder: Path, expected: dict[str, Tensor], found: dict[str, Tensor]) -> None:
    """Same names, types and shapes; torch alone would let another type pass, silently converted."""
    signatures = [{name: (t.dtype, tuple(t.shape)) for name, t in state.items()} for state in (expected, found)]
    if signatures[0] == signatures[1]:
        return
    odd = sorted(n for n in expected | found if signatures[0].get(n) != signatures[1].get(n))
    wanted, got = (signature.get(odd[0], "nothing") for signature in signatures)
    raise InputError(
        f"{folder / WEIGHTS} does not fit {CONFIG}: {len(odd)} tensors differ, first {odd[0]!r}, "
        f"expected {wanted}, found {got}; are the two files from one model?"
    )


def _share_mode(written: Path) -> None:
    """Give the weights the permissions of the other files: safetensors writes for the owner alone."""
    (written / WEIGHTS).chmod((written / CONFIG).stat().st_mode)


def _check_float32(model: Classifier) -> None:
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise InputError(f"{name} is {tensor.dtype}; expected float32 weights: call model.float() before saving")


def _moved(model: Classifier, device: torch.device | str) -> Classifier:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that CUDA was compiled in
        reason = str(error).partition("\n")[0]
        raise InputError(f"device {str(device)!r} cannot be used ({reason}): device='cpu' always can") from error
