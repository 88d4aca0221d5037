"""Model folders: config.json, model.safetensors and README.md, as the Hugging Face hub keeps them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch

from randsmooth.atomic import sync_folder
from randsmooth.errors import InputError
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.disk_errors import os_errors_naming
from randsmooth.models.stored import CARD, CONFIG, WEIGHTS, local, read
from randsmooth.models.stored_model import StoredModel
from randsmooth.models.weights import weights_hash

__all__ = ["check_folder", "load", "save", "weights_hash"]


def save(model: StoredModel, folder: Path | str) -> None:
    """Write `model`, a classifier or a denoiser, into `folder`, replacing a model that is there; other files stay.

    The files are first written to a temporary folder inside `folder`. Then config.json, without which nothing loads,
    is removed first and put in place last: a killed process leaves the old model, the new one, or none that loads,
    never a mixture. On return the files are on the disk.

    Raises:
        InputError: `folder` is a file, or the weights are not float32.

    Example:
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     sorted(file.name for file in Path(folder).iterdir())
        ['README.md', 'config.json', 'model.safetensors']
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

    Both files are compared with the digests in config.json; a folder that was saved without digests is read with a
    `NoDigest`. torch's global generator stays as it is.

    Raises:
        InputError: a file is missing, cut short, not one of ours or not as it was written; the two do not fit each
            other; weights are not finite; or `device` cannot be used.

    Example:
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(model, folder)
        ...     loaded = load(folder)
        >>> x = torch.rand(2, 1, 8, 8)
        >>> torch.equal(loaded(x), model(x))
        True
    """
    return Classifier.from_pretrained(folder, map_location=device)


def check_folder(folder: Path | str) -> str:
    """Check a model folder, and say in one sentence what was found to be right.

    Raises:
        InputError: as `load`.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)), folder)
        ...     check_folder(folder)
        'model folder: small-cnn for 2 classes, 20,866 finite numbers that fit it; configuration and weights are as \
they were saved'
    """
    stored = read(local(folder))
    size = sum(tensor.numel() for tensor in stored.weights.values())
    if stored.kind == Denoiser.kind:
        denoiser = Denoiser.from_stored(stored, local(folder))
        what = f"denoiser: {denoiser.arch} for {denoiser.channels} channels"
    else:
        model = Classifier.from_stored(stored, local(folder))
        what = f"model folder: {model.arch} for {model.num_classes} classes"
    vouched = "configuration and weights are as they were saved" if stored.signed else "it has no digests"
    return f"{what}, {size:,} finite numbers that fit it; {vouched}"


def _share_mode(written: Path) -> None:
    """Give the weights the permissions of the other files: safetensors lets only the owner read them."""
    (written / WEIGHTS).chmod((written / CONFIG).stat().st_mode)


def _sync_files(written: Path) -> None:
    for path in written.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _check_float32(model: StoredModel) -> None:
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise InputError(f"{name} is {tensor.dtype}; expected float32 weights: call model.float() before saving")
