"""A checkpoint of another project as a base classifier, in a model folder that says where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn

from randsmooth import data
from randsmooth.atomic import claimed
from randsmooth.data import DatasetSpec, Images
from randsmooth.errors import InputError
from randsmooth.models.base import pick_device
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoised import Denoiser
from randsmooth.models.folder import CARD, CONFIG, WEIGHTS, filled, save
from randsmooth.models.importing.files import Checkpoint, chosen_arch, denoiser_size, our_tensors, read_checkpoint
from randsmooth.models.importing.normalisation import Normalisation, candidates, normalisation, try_layers, usual
from randsmooth.progress import Progress, chosen_progress

M = TypeVar("M", Classifier, Denoiser)
OTHER = "is it of another architecture (--arch), or for a data set of other images or classes (--dataset)?"


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
        arch: the architecture, by our name; default: what the tensors show.
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
        >>> import torch
        >>> from randsmooth.models import build
        >>> weights = build("resnet8", in_channels=3, image_size=32, num_classes=10).state_dict()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save({"net": weights, "epoch": 440}, f"{folder}/440.pth")
        ...     model = import_checkpoint(f"{folder}/440.pth", "cifar10", normalise="none", sigma=0.25)
        >>> model.arch, model.classes[:2], model.provenance["imported"]["epoch"]
        ('resnet8', ['airplane', 'automobile'], 440)
    """
    folder = _folder(out, overwrite, sigma)
    if images < 1:
        raise InputError(f"images={images!r} must be 1 or more")
    spec = None if dataset is None else data.describe(dataset)
    found = read_checkpoint(Path(checkpoint))
    if denoiser_size(found.network) is not None:
        raise HoldsDenoiser(f"{found.path} holds a denoiser, no classifier: randsmooth.models.import_denoiser reads it")
    if spec is None or dataset is None:
        raise InputError(f"{found.path} does not say which data set it is for: name it (dataset=, --dataset cifar10)")
    name = chosen_arch(arch, found.origin["arch"], found.network)
    settings: dict[str, Any] = {"arch": name, "classes": list(spec.classes), "shape": spec.shape}
    network = _with_weights(Classifier, found, our_tensors(name, found.network), settings).network
    if normalise is not None:
        layer, why = normalisation(normalise, spec), {"why": "asked for"}
    elif found.mean is not None:
        layer, why = Normalisation("stored", found.mean, found.std), {"why": "stored in the file"}
    else:
        layer, why = _tried(network, spec, dataset, sigma or 0.0, images, device, chosen_progress(progress))
    mean, std = (None if values is None else list(values) for values in (layer.mean, layer.std))
    known = _facts(found, spec.name, sigma) | {"normalisation": {"layer": layer.name} | why}
    model = Classifier(**settings, mean=mean, std=std, provenance=known)
    model.network = network.cpu()
    return _kept(model.eval(), folder)


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
        >>> import torch
        >>> weights = Denoiser(channels=3, arch="dncnn-5x8").network.state_dict()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save({"arch": "cifar_dncnn", "state_dict": weights}, f"{folder}/best.pth.tar")
        ...     denoiser = import_denoiser(f"{folder}/best.pth.tar", sigma=0.25)
        >>> denoiser.arch, denoiser.sigma
        ('dncnn-5x8', 0.25)
    """
    folder = _folder(out, overwrite, sigma)
    found = read_checkpoint(Path(checkpoint))
    size = denoiser_size(found.network)
    if size is None:
        raise InputError(f"{found.path} holds no DnCNN, whose tensors are called dncnn.0.weight and so on")
    settings = {"channels": size[0], "arch": size[1], "provenance": _facts(found, dataset, sigma)}
    return _kept(_with_weights(Denoiser, found, found.network, settings), folder)


def _with_weights(kind: type[M], found: Checkpoint, tensors: dict[str, Tensor], settings: dict[str, Any]) -> M:
    state = {f"network.{name}": tensor for name, tensor in tensors.items()}
    return filled(lambda: kind(**settings), state, f"{found.path} as {settings['arch']}", OTHER)


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


def _folder(out: Path | str | None, overwrite: bool, sigma: float | None) -> Path | None:
    """The folder to write, if any; InputError unless an imported model, for a `sigma`, may be written to it."""
    if sigma is not None and not 0 < sigma < float("inf"):
        raise InputError(f"sigma={sigma!r} must be a positive number, or left out where it is unknown")
    folder = Path(out) if out is not None else None
    if folder is None or not folder.is_dir():
        return folder
    present = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
    if foreign := [name for name in present if name not in (CARD, CONFIG, WEIGHTS)]:
        raise InputError(f"{folder} holds {foreign[0]}, which no import wrote; use another --out")
    if present and not overwrite:
        raise InputError(f"{folder} holds a model. To replace it: overwrite=True, or another out (--out)")
    return folder


def _tried(
    network: nn.Module, spec: DatasetSpec, dataset: str, sigma: float, count: int, device: str, progress: Progress
) -> tuple[Normalisation, dict[str, Any]]:
    """The layer with which `network` is clearly the most accurate, and the facts of the trial."""
    place, split, layers = pick_device(device), _images(dataset), candidates(spec)
    with progress(f"try {len(layers)} normalisations", min(count, len(split)), "images") as reporter:
        trial = try_layers(network, layers, split, sigma=sigma, count=count, device=place, reporter=reporter)
        trial = trial._replace(prior=usual(spec))
        layer = trial.winner()
        reporter.say(f"normalisation {layer.name}, by accuracy: {trial.words()}")
    return layer, trial.facts() | {"split": split.split}


def _images(dataset: str) -> Images:
    """The training split, on whose images no model is judged; the test split where there is no other."""
    for split in data.SPLITS:
        try:
            return data.load(dataset, split)
        except InputError as error:
            why = error
    raise InputError(
        f"the file does not store its normalisation, and no images are there to find it out ({why}). Or say which it "
        "is (normalise=, --normalise)"
    ) from why
