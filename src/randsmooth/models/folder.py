"""Model folders: config.json, model.safetensors and README.md, as the Hugging Face hub keeps them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch

from randsmooth.atomic import sync_folder
from randsmooth.errors import InputError
from randsmooth.models.classifier import Classifier
from randsmooth.models.disk_errors import os_errors_naming
from randsmooth.models.stored import CARD, CONFIG, WEIGHTS, local, read
from randsmooth.models.weights import weights_hash

__all__ = ["check", "load", "save", "weights_hash"]


def save(model: Classifier, folder: Path | str) -> None:
    """Write `model` into `folder`, over a model that lies there; other files stay.

    All is written to a temporary folder inside `folder` first. Then config.json, without which nothing loads,
    leaves first and comes last: a kill leaves the old model, the new one or none that loads, never a mixture.
    On return the files are on the disk.

    Raises:
        InputError: `folder` is no folder, or the weights are not float32.
    """
    folder = Path(folder)
    _check_float32(model)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder} cannot be a model folder, a file is in the way: choose another") from None
    with os_errors_naming(folder), tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as written:
        model.save_pretrained(written)
        _share_mode(Path(written))
        _sync_files(Path(written))
        (folder / CONFIG).unlink(missing_ok=True)
        sync_folder(folder)
        for name in (WEIGHTS, CARD, CONFIG):
            (Path(written) / name).replace(folder / name)
        sync_folder(folder)


def load(folder: Path | str, *, device: torch.device | str = "cpu") -> Classifier:
    """The classifier in `folder` (or the hub's "user/name"), in eval mode on `device`.

    Both files are held against the digests in config.json; a folder saved without them is read with a `NoDigest`.
    torch's global generator stays as it is.

    Raises:
        InputError: a file is missing, cut short, not ours, not as it was written, or does not fit; weights are not
            finite; or `device` cannot be used.
    """
    return Classifier.from_pretrained(folder, map_location=device)


def check(folder: Path | str) -> str:
    """What is found to be right in a model folder, in one sentence.

    Raises:
        InputError: as `load`.
    """
    stored = read(local(folder))
    model = Classifier.from_stored(stored, local(folder))
    size = sum(tensor.numel() for tensor in stored.weights.values())
    what = f"model folder: {model.arch} for {model.num_classes} classes, {size:,} finite numbers that fit it"
    vouched = "configuration and weights are as they were saved" if stored.signed else "it has no digests"
    return f"{what}; {vouched}"


def _share_mode(written: Path) -> None:
    """Give the weights the permissions of the other files: safetensors writes for the owner alone."""
    (written / WEIGHTS).chmod((written / CONFIG).stat().st_mode)


def _sync_files(written: Path) -> None:
    for path in written.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _check_float32(model: Classifier) -> None:
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise InputError(f"{name} is {tensor.dtype}; expected float32 weights: call model.float() before saving")
