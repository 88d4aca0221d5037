"""A checkpoint of another project as a base classifier, in a model folder that says where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from randsmooth import data
from randsmooth.atomic import claimed
from randsmooth.data import DatasetSpec, Images
from randsmooth.documents import shown
from randsmooth.errors import InputError, setting
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.devices import pick_device
from randsmooth.models.folder import save
from randsmooth.models.importing.choice import try_layers
from randsmooth.models.importing.containers import Checkpoint, read_checkpoint
from randsmooth.models.importing.known_networks import (
    chosen_arch,
    denoiser_size,
    is_denoiser,
    our_tensors,
    outputs_and_channels,
    recognised,
)
from randsmooth.models.importing.normalisation import Normalisation, candidates, normalisation, usual
from randsmooth.models.importing.tensor_names import Stored, unwrapped_names
from randsmooth.models.size_limit import SizeLimit
from randsmooth.models.stored import CARD, CONFIG, WEIGHTS
from randsmooth.progress import Progress, chosen_progress

M = TypeVar("M", Classifier, Denoiser)
COUNTER = "num_batches_tracked"  # of a batch norm that has a momentum, it changes nothing; torch before 0.4.1 had none


class HoldsDenoiser(InputError):
    """A checkpoint of a denoiser where one of a classifier was expected.

    Example:
        >>> issubclass(HoldsDenoiser, InputError)
        True
    """


def import_checkpoint(
    checkpoint: Path | str,
    dataset: str | None,
    *,
    out: Path | str | None = None,
    arch: str | None = None,
    normalise: str | None = None,
    sigma: float | None = None,
    images: int = 500,
    device: str = "auto",
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> Classifier:
    """A checkpoint of another project as a base classifier, in eval mode; saved as a model folder in `out`.

    These containers are read, with `torch.load(..., weights_only=True)` or safetensors: a state dict under
    `state_dict` (locuslab/smoothing and those that follow it), `net` (MACER) or alone, and the names that
    `nn.DataParallel`, `nn.Sequential(normalisation, network)` and rs4a's stored normalisation give its tensors.

    Args:
        checkpoint: the file.
        dataset: the data set that the network was trained on, by its name or as a folder: its classes, the shape of
            its images and, where `normalise` is left open, images to try the network on.
        out: the folder to write; None: nothing is written.
        arch: the architecture, by our name or its authors'; default: what the file says, or its tensors.
        normalise: the layer before the network, which most files do not store: "none"; "center" (the data set's mean
            alone, as SmoothAdv) or "center-cifar10"; the name of a data set, for its mean and std; or numbers, as
            "0.5,0.5,0.5/0.2,0.2,0.2". Default: the stored one, else the one with which the network is clearly the most
            accurate on noisy images of the training split, or of the test split where there is no other; for MNIST and
            FashionMNIST, "none" unless another is clearly better.
        sigma: the noise that the network was trained with. It is recorded, and the noise of these images.
        images: how many images to try.
        device: where to try them: auto, cpu or cuda.
        overwrite: replace a model in `out`.
        progress: as for `certify`.

    Raises:
        HoldsDenoiser: it is no classifier (see `import_denoiser`).
        InputError: the file holds code, no weights, or those of no architecture that is known; it does not fit the data
            set; no normalisation is clearly the best; or `out` must not be written to.

    Example:
        >>> import tempfile
        >>> from randsmooth.models import build
        >>> weights = build("resnet8", in_channels=3, image_size=32, num_classes=10).state_dict()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save({"net": weights, "epoch": 440}, f"{folder}/440.pth")
        ...     model = import_checkpoint(f"{folder}/440.pth", "cifar10", normalise="none", sigma=0.25)
        >>> model.arch, model.classes[:2], model.provenance["imported"]["epoch"]
        ('resnet8', ['airplane', 'automobile'], 440)
    """
    folder = _folder(out, overwrite)
    _check_options(sigma, images)
    spec = None if dataset is None else data.describe(dataset)
    found = read_checkpoint(Path(checkpoint))
    stored = unwrapped_names(found.state)
    if is_denoiser(stored.network):
        raise HoldsDenoiser(f"{found.path} holds a denoiser, no classifier: randsmooth.models.import_denoiser reads it")
    if spec is None or dataset is None:
        raise InputError(
            f"{found.path} does not say which data set it is for: give its name or folder (dataset=, --dataset cifar10)"
        )
    name = chosen_arch(arch) if arch else recognised(found.arch, stored.network)
    network = _network(name, found, stored, spec)
    layer, why = _layer(stored, normalise, spec)
    if layer is None:
        layer, why = _tried(network, spec, dataset, sigma or 0.0, images, device, chosen_progress(progress))
    known = _facts(found, spec.name, sigma) | {"normalisation": {"layer": layer.name, **why}}
    return _kept(_classifier(name, network, layer, spec, known), folder)


def import_denoiser(
    checkpoint: Path | str,
    *,
    out: Path | str | None = None,
    dataset: str | None = None,
    sigma: float | None = None,
    overwrite: bool = False,
) -> Denoiser:
    """A DnCNN of microsoft/denoised-smoothing, in eval mode, as `Denoised` takes it; saved in `out`.

    It is read as `import_checkpoint` reads classifiers.

    Args:
        checkpoint: the file.
        out: the folder to write; None: nothing is written.
        dataset: the name of the data set that it was trained on, to be recorded.
        sigma: the noise that it was trained with, to be recorded.
        overwrite: replace a model in `out`.

    Raises:
        InputError: the file holds code, no weights or no DnCNN; or `out` must not be written to.

    Example:
        >>> import tempfile
        >>> weights = Denoiser(channels=3, arch="dncnn-5x8").network.state_dict()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save({"arch": "cifar_dncnn", "state_dict": weights}, f"{folder}/best.pth.tar")
        ...     denoiser = import_denoiser(f"{folder}/best.pth.tar", sigma=0.25)
        >>> denoiser.arch, denoiser.sigma
        ('dncnn-5x8', 0.25)
    """
    folder = _folder(out, overwrite)
    _check_options(sigma, 1)
    found = read_checkpoint(Path(checkpoint))
    tensors = unwrapped_names(found.state).network
    if not is_denoiser(tensors):
        raise InputError(f"{found.path} holds no DnCNN, whose tensors are called dncnn.0.weight and so on")
    channels, arch = denoiser_size(tensors)
    with torch.random.fork_rng(devices=[]), SizeLimit(sum(tensor.numel() for tensor in tensors.values())):
        denoiser = Denoiser(channels=channels, arch=arch, provenance=_facts(found, dataset, sigma))
    _load(denoiser.network, found, arch, _by_name(found, arch, denoiser.network, tensors))
    return _kept(denoiser.eval(), folder)


def _facts(found: Checkpoint, dataset: str | None, sigma: float | None) -> dict[str, Any]:
    """What is known of the weights, for their provenance."""
    facts = {"dataset": dataset, "sigma": sigma, "imported": found.origin}
    return {name: value for name, value in facts.items() if value is not None}


def _kept(model: M, folder: Path | None) -> M:
    """`model`, saved in `folder`, if one is given."""
    if folder is not None:
        with claimed(folder):
            save(model, folder)
    return model


def _check_options(sigma: float | None, images: int) -> None:
    if sigma is not None and not 0 < sigma < float("inf"):
        raise InputError(f"sigma={sigma!r} must be a positive number, or left out where it is unknown")
    if images < 1:
        raise InputError(f"images={images!r} must be 1 or more")


def _folder(out: Path | str | None, overwrite: bool) -> Path | None:
    """The folder to write, if any; InputError unless an imported model may be written to it."""
    if out is None:
        return None
    folder = Path(out)
    if folder.is_file():
        raise InputError(f"{folder} is a file; --out names a folder")
    present = sorted(path.name for path in folder.iterdir() if path.name[0] != ".") if folder.is_dir() else []
    foreign = [name for name in present if name not in (CARD, CONFIG, WEIGHTS)]
    if foreign:
        raise InputError(f"{folder} holds {foreign[0]}, which no import wrote; use another --out")
    if present and not overwrite:
        raise InputError(f"{folder} holds a model. To replace it: {setting(overwrite=True)}, or another out (--out)")
    return folder


def _network(arch: str, found: Checkpoint, stored: Stored, spec: DatasetSpec) -> nn.Module:
    """The network with the file's weights, in eval mode; InputError where these do not fit it or the data set."""
    tensors = our_tensors(arch, stored.network)
    size = sum(tensor.numel() for tensor in tensors.values())
    try:
        with torch.random.fork_rng(devices=[]), SizeLimit(size):  # the initial weights are overwritten below
            network = _classifier(arch, None, Normalisation("none", None, None), spec, {}).network
    except RuntimeError as error:  # there was not enough memory for a single layer
        raise InputError(f"{found.path}: {arch} cannot be built for it ({shown(error)})") from error
    tensors = _by_name(found, arch, network, tensors)
    outputs, channels = outputs_and_channels(tensors)
    if outputs not in (None, spec.num_classes):
        raise InputError(
            f"{found.path} tells {outputs} classes apart and {spec.name} has {spec.num_classes}: pass the data set "
            "that it was trained on (--dataset)"
        )
    if channels not in (None, spec.shape[0]):
        raise InputError(
            f"{found.path} takes images of {channels} channels and those of {spec.name} have {spec.shape[0]}: pass the "
            "data set that it was trained on (--dataset)"
        )
    _load(network, found, arch, tensors)
    return network.eval()


def _by_name(found: Checkpoint, arch: str, network: nn.Module, tensors: dict[str, Any]) -> dict[str, Any]:
    """The file's tensors, with zeros for counters that it lacks; InputError for other names than the network's."""
    expected = network.state_dict()
    tensors = {name: torch.zeros_like(value) for name, value in expected.items() if name.endswith(COUNTER)} | tensors
    extra, missing = sorted(tensors.keys() - expected.keys()), sorted(expected.keys() - tensors.keys())
    if extra or missing:
        kinds = {"tensors are not the network's": extra, "tensors of the network are missing": missing}
        odd = [f"{len(names)} {what}, first {shown(repr(names[0]))}" for what, names in kinds.items() if names]
        raise InputError(
            f"{found.path} is not of the architecture {arch}: {' and '.join(odd)}. Is it of another one (arch=, "
            "--arch)? Tensors that belong to no network, leave out of the file"
        )
    return tensors


def _load(network: nn.Module, found: Checkpoint, arch: str, tensors: dict[str, Any]) -> None:
    """Give the network the file's weights, which have its names; InputError where their shapes are others."""
    expected = network.state_dict()
    odd = [name for name, tensor in tensors.items() if tensor.shape != expected[name].shape]
    if odd:
        wanted, got = tuple(expected[odd[0]].shape), tuple(tensors[odd[0]].shape)
        raise InputError(
            f"{found.path} is not of the architecture {arch}: {len(odd)} tensors differ, first {shown(repr(odd[0]))}, "
            f"expected {wanted}, found {got}. Is it of another architecture (arch=, --arch), or for images of another "
            "size (--dataset)?"
        )
    network.load_state_dict(tensors)


def _layer(stored: Stored, asked: str | None, spec: DatasetSpec) -> tuple[Normalisation | None, dict[str, Any]]:
    """The layer that the user asks for, or that the file stores, and why; None where it must be found out."""
    if asked is not None:
        return normalisation(asked, spec), {"why": "asked for"}
    if stored.mean is not None and stored.std is not None:
        return Normalisation("stored", tuple(stored.mean), tuple(stored.std)), {"why": "stored in the file"}
    return None, {}


def _tried(
    network: nn.Module, spec: DatasetSpec, dataset: str, sigma: float, count: int, device: str, progress: Progress
) -> tuple[Normalisation, dict[str, Any]]:
    """The layer with which `network` is clearly the most accurate, and the facts of the trial."""
    place, split = pick_device(device), _images(dataset)
    layers = candidates(spec)
    with progress(f"try {len(layers)} normalisations", min(count, len(split)), "images") as reporter:
        choice = try_layers(network, layers, split, sigma=sigma, count=count, device=place, reporter=reporter)
        choice = choice._replace(prior=usual(spec))
        layer = choice.winner()
        reporter.say(f"normalisation {layer.name}, by accuracy: {choice.words()}")
    network.cpu()
    return layer, choice.facts() | {"split": split.split}


def _images(dataset: str) -> Images:
    """The training split, on whose images no model is judged; the test split where there is no other."""
    try:
        return data.load(dataset, "train")
    except InputError:
        try:
            return data.load(dataset, "test")
        except InputError as error:
            raise InputError(
                f"the file does not store its normalisation, and no images are there to find it out ({error}). Or say "
                "which it is (normalise=, --normalise)"
            ) from error


def _classifier(
    arch: str, network: nn.Module | None, layer: Normalisation, spec: DatasetSpec, provenance: dict[str, Any]
) -> Classifier:
    """A classifier for the data set, with the weights of `network` where it is given."""
    mean, std = (None if values is None else list(values) for values in (layer.mean, layer.std))
    shape, classes = spec.shape, list(spec.classes)
    model = Classifier(arch=arch, classes=classes, shape=shape, mean=mean, std=std, provenance=provenance)
    if network is not None:
        model.network.load_state_dict(network.state_dict())
    return model.eval()
