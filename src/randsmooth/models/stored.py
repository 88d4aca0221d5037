"""The content of a model folder, checked against its digests and limits before a model is built from it."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import InputError, NoDigest
from randsmooth.models.place import check_place
from randsmooth.urls import fetched, has_protocol

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
# The arguments that rebuild a model of each kind, which its config.json consists of.
KINDS = {
    "classifier": {"arch", "classes", "shape", "mean", "std", "provenance"},
    "denoiser": {"arch", "channels", "provenance"},
}
# What to do with a folder of each kind.
USES = {
    "classifier": "`randsmooth certify FOLDER`, or randsmooth.models.load(FOLDER)",
    "denoiser": "put it before a classifier, `randsmooth certify CLASSIFIER --denoiser FOLDER`, or "
    "randsmooth.Denoised(FOLDER, classifier)",
}
HASH, DIGEST = "weights", "digest"  # keys of config.json: hashes of the file of weights, and of config.json itself
SIGNS = {HASH, DIGEST}
MOST_BYTES = 2**22  # of a config.json; with ImageNet's thousand class names it takes a hundredth of that


class Stored(NamedTuple):
    """The content of a model folder; `kind` is one of KINDS, and `signed` whether its digests were there and right."""

    kind: str
    config: dict[str, Any]
    weights: dict[str, Tensor]
    signed: bool


def write_config(config: dict[str, Any], folder: Path) -> None:
    """Write config.json beside the weights in `folder`, with the digests of both."""
    written = config | {HASH: _hash_of(folder / WEIGHTS)}
    written |= {DIGEST: _digest(written)}
    (folder / CONFIG).write_text(json.dumps(written, sort_keys=True, indent=2), encoding="utf-8")


def read(folder: Path) -> Stored:
    """The content of `folder`. A folder of an earlier version, without digests, is read with a `NoDigest`.

    Raises:
        InputError: a file is missing, cut short, not ours, or not as it was written; weights are not finite.
    """
    found = _read_config(folder)
    kind, signed = _kind(found), HASH in found
    if signed and found[DIGEST] != _digest({key: value for key, value in found.items() if key != DIGEST}):
        raise InputError(
            f"{folder / CONFIG} is not as it was written, its digest differs: save or download the model again. "
            f"If it was edited on purpose, delete its lines {HASH!r} and {DIGEST!r}"
        )
    _check_there(folder)
    if signed and found[HASH] != _hash_of(folder / WEIGHTS):
        raise InputError(
            f"{folder / WEIGHTS} is not the file that {CONFIG} was written with, its hash differs: save or download "
            "the model again"
        )
    weights = _read_weights(folder / WEIGHTS)
    if not signed:
        note = f"{folder} was saved without digests, so damage to it may go unseen; saving the model again adds them"
        warnings.warn(note, NoDigest, stacklevel=2)
    return Stored(kind, {key: found[key] for key in KINDS[kind]}, weights, signed)


def check_fit(folder: Path, expected: dict[str, Tensor], found: dict[str, Tensor]) -> None:
    """Raise InputError unless both have the same names, types and shapes; torch would convert types silently."""
    signatures = [{name: (t.dtype, tuple(t.shape)) for name, t in state.items()} for state in (expected, found)]
    if signatures[0] == signatures[1]:
        return
    odd = sorted(n for n in expected | found if signatures[0].get(n) != signatures[1].get(n))
    wanted, got = (signature.get(odd[0], "nothing") for signature in signatures)
    raise InputError(
        f"{folder / WEIGHTS} does not fit {CONFIG}: {len(odd)} tensors differ, first {shown(repr(odd[0]))}, "
        f"expected {wanted}, found {got}; are the two files from one model?"
    )


def local(folder: Path | str, **hub: Any) -> Path:
    """`folder` itself, or a folder with the files of a URL or the hub; `hub` are options of `snapshot_download`."""
    folder = fetched(folder) if has_protocol(folder) else folder
    check_place(folder)
    if Path(folder).is_dir():
        return Path(folder)
    try:
        return Path(snapshot_download(str(folder), allow_patterns=[CONFIG, WEIGHTS], **hub))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"no folder {folder}, and no such model came from the Hugging Face hub ({reason}): check the path"
        ) from error


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{path} is missing: not a randsmooth model folder, or its saving was interrupted")
    config = parse_json(read_file(path, MOST_BYTES), path)
    if not isinstance(config, dict) or not any(config.keys() in (facts, facts | SIGNS) for facts in KINDS.values()):
        found = ", ".join(sorted(config)) if isinstance(config, dict) else type(config).__name__
        expected = " or ".join(f"{sorted(facts)} of a {kind}" for kind, facts in KINDS.items())
        raise InputError(f"{path} was not written by this randsmooth: expected {expected}, found {shown(found)}")
    return config


def _kind(config: dict[str, Any]) -> str:
    """The kind of model that a configuration with the facts of one describes."""
    return next(kind for kind, facts in KINDS.items() if config.keys() - SIGNS == facts)


def _check_there(folder: Path) -> None:
    path = folder / WEIGHTS
    if path.is_file():
        return
    if (folder / "checkpoint.pt").is_file():
        raise InputError(f"{path} is missing: training into {folder} is not finished; go on with --resume")
    pickles = sorted(p.name for p in folder.iterdir() if p.suffix in {".bin", ".pt", ".pth", ".pkl", ".ckpt"})
    beside = f"{', '.join(pickles)} is pickle, which can run code and is never loaded: " if pickles else ""
    raise InputError(f"{path} is missing: {beside}convert the weights to safetensors or save the model again")


def _read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors in the file `path`; safetensors compares their sizes with the file's before it allocates any."""
    try:
        weights: dict[str, Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} is damaged ({shown(error)}): save or download the model again") from None
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise InputError(f"{path} holds NaN or infinity in {shown(repr(name))}: save or download the model again")
    return weights


def _hash_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise InputError(f"{path} cannot be read ({shown(error)})") from None


def _digest(content: dict[str, Any]) -> str:
    """The hash of a dictionary's content, whatever its order and layout in the file."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
