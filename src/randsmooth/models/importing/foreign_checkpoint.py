"""A checkpoint of another project as a model folder that says where it came from.

Few files store the layer that normalises images before a network. It is found by the
network's accuracy on labelled noisy images, where that is clear.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn

from randsmooth import data
from randsmooth.atomic import claimed
from randsmooth.cards import CARD
from randsmooth.data import DatasetSpec
from randsmooth.errors import (
    OUT,
    OVERWRITE,
    BadValue,
    MissingValue,
    OutputExists,
    Setting,
)
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.folder import WEIGHTS, filled, save
from randsmooth.models.importing.foreign_weights import (
    ForeignCheckpoint,
    arch_of,
    denoiser_size,
    our_tensors,
    read_checkpoint,
)
from randsmooth.models.importing.normalisation import Normalisation, normalisation
from randsmooth.models.importing.trial import tried_normalisation
from randsmooth.models.places import CONFIG
from randsmooth.models.registry import check_arch
from randsmooth.progress import Progress, chosen_progress

M = TypeVar("M", Classifier, Denoiser)

# The advice where weights do not fit the network.
MISFIT_FIX = (
    "is it of another architecture (arch), or for a data set of other images or classes "
    "(dataset)?"
)


def import_checkpoint(
    checkpoint: Path | str,
    dataset: str | None = None,
    *,
    out: Path | str | None = None,
    arch: str | None = None,
    normalise: str | None = None,
    sigma: float | None = None,
    images: int = 500,
    device: str = "auto",
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> Classifier | Denoiser:
    """Return a checkpoint of another project as a model of ours, in eval mode.

    It is saved as a model folder in `out`. These containers are read, with
    `torch.load(..., weights_only=True)` or safetensors: a state dict under `state_dict`
    (locuslab/smoothing and those that follow it), `net` (MACER) or alone, and the names
    that `nn.DataParallel`, `nn.Sequential(normalisation, network)` and rs4a's stored
    normalisation give its tensors.

    A DnCNN of microsoft/denoised-smoothing becomes a `Denoiser`, as `Denoised` takes it;
    whatever else a `Classifier`. Of a denoiser, data set and sigma are recorded, and the
    other settings mean nothing.

    Args:
        checkpoint: the file.
        dataset: the data set that the network was trained on, by its name or as a folder:
            its classes, the shape of its images and, where `normalise` is left open, images
            to try the network on. A denoiser needs none.
        out: the folder to write; None: nothing is written.
        arch: the architecture, by our name; default: what the tensors show.
        normalise: the layer before the network, which most files do not store: "none";
            "center" (the data set's mean alone, as SmoothAdv) or "center-cifar10"; the name
            of a data set, for its mean and std; or numbers, as "0.5,0.5,0.5/0.2,0.2,0.2".
            Default: the stored one, else the one with which the network is clearly the most
            accurate on noisy images of the training split, or of the test split where there
            is no other.
        sigma: the noise that the network was trained with. It is recorded, and the noise of
            these images.
        images: how many images to try.
        device: where to try them: auto, cpu or cuda.
        overwrite: replace a model in `out`.
        progress: see `certify`.

    Raises:
        WrongFile: the file holds code, no weights, or those of no architecture that is
            known, or does not fit the data set; or no normalisation is clearly the best.
        MissingValue: the data set is not given.
        OutputExists: `out` must not be written to.

    Example:
        >>> import tempfile
        >>> import torch
        >>> from randsmooth.models import build
        >>> network = build("resnet8", in_channels=3, image_size=32, num_classes=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/440.pth"
        ...     torch.save({"net": network.state_dict(), "epoch": 440}, path)
        ...     model = import_checkpoint(path, "cifar10", normalise="none", sigma=0.25)
        >>> model.arch, model.classes[:2], model.provenance["imported"]["epoch"]
        ('resnet8', ['airplane', 'automobile'], 440)
    """
    _check_settings(sigma, images)
    folder = None if out is None else Path(out)
    if folder is not None:
        _check_writable(folder, overwrite)
    spec = None if dataset is None else data.describe(dataset)
    weights = read_checkpoint(Path(checkpoint))

    model: Classifier | Denoiser
    size = denoiser_size(weights.network)
    if size is not None:
        channels, denoiser_arch = size
        settings: dict[str, Any] = {
            "channels": channels,
            "arch": denoiser_arch,
            "provenance": _facts(weights, spec, sigma),
        }
        model = _with_weights(Denoiser, weights, weights.network, settings)
    elif spec is None or dataset is None:
        raise MissingValue(
            f"{weights.path} does not say which data set it is for",
            field="dataset",
            fix=("name it, ", Setting("dataset")),
            file=weights.path,
        )
    else:
        settings = _settings(weights, spec, arch)
        network = _network(weights, settings)
        layer, reason = _layer_before(weights, normalise, spec)
        if layer is None:
            layer, reason = tried_normalisation(
                network,
                spec,
                dataset,
                # Where it is not known, the images are tried without noise.
                sigma=sigma or 0.0,
                count=images,
                device=device,
                progress=chosen_progress(progress),
            )
        facts = _facts(weights, spec, sigma)
        facts["normalisation"] = {"layer": layer.name, **reason}
        model = Classifier(**settings, mean=layer.mean, std=layer.std, provenance=facts)
        # The trial may have moved the network to another device.
        model.network = network.cpu()
        # A model is made in train mode; `_with_weights` gave a denoiser in eval mode.
        model.eval()

    if folder is not None:
        with claimed(folder):
            save(model, folder)
    return model


def _layer_before(
    weights: ForeignCheckpoint, normalise: str | None, spec: DatasetSpec
) -> tuple[Normalisation | None, dict[str, Any]]:
    """Return the layer before a network, and where it comes from, if that is known.

    It is None where the user does not ask for one, and the file stores none.
    """
    if normalise is not None:
        return normalisation(normalise, spec), {"why": "asked for"}
    if weights.mean is not None:
        stored = Normalisation("stored", weights.mean, weights.std)
        return stored, {"why": "stored in the file"}
    return None, {}


def _settings(
    weights: ForeignCheckpoint, spec: DatasetSpec, arch: str | None
) -> dict[str, Any]:
    """Return the arguments that make a `Classifier` for a data set.

    Args:
        weights: the weights of its network.
        spec: the data set.
        arch: our name of the architecture; None: what the tensors show.
    """
    if arch is None:
        arch = arch_of(weights.network, weights.origin["arch"])
    else:
        check_arch(arch)
    return {"arch": arch, "classes": list(spec.classes), "shape": spec.shape}


def _network(weights: ForeignCheckpoint, settings: dict[str, Any]) -> nn.Module:
    """Return the network of a `Classifier` with these `settings` and weights.

    Only the network is wanted: which layer stands before it in the model is not known yet.
    """
    tensors = our_tensors(settings["arch"], weights.network)
    return _with_weights(Classifier, weights, tensors, settings).network


def _with_weights(
    model_class: type[M],
    weights: ForeignCheckpoint,
    tensors: dict[str, Tensor],
    settings: dict[str, Any],
) -> M:
    """Return a model of ours with these tensors in its network, in eval mode.

    Args:
        model_class: `Classifier` or `Denoiser`.
        weights: the file of the tensors, for errors.
        tensors: the tensors by our names.
        settings: the arguments that make the model.

    Raises:
        WrongFile: the tensors do not fit.
    """
    # Both classes keep their network as the attribute `network`.
    state = {f"network.{name}": tensor for name, tensor in tensors.items()}
    where = f"{weights.path} as {settings['arch']}"
    return filled(
        lambda: model_class(**settings), state, where=where, way_out=MISFIT_FIX
    )


def _facts(
    weights: ForeignCheckpoint, spec: DatasetSpec | None, sigma: float | None
) -> dict[str, Any]:
    """Return the facts of the weights for a model's provenance, without unknown ones."""
    dataset = None if spec is None else spec.name
    facts = {"dataset": dataset, "sigma": sigma, "imported": weights.origin}
    return {name: value for name, value in facts.items() if value is not None}


def _check_settings(sigma: float | None, images: int) -> None:
    """Check the arguments that do not depend on the file."""
    if sigma is not None and not 0 < sigma < float("inf"):
        raise BadValue(
            field="sigma",
            value=sigma,
            expected="must be a positive number, or left out where it is unknown",
        )
    if images < 1:
        raise BadValue(field="images", value=images, expected="must be 1 or more")


def _check_writable(folder: Path, overwrite: bool) -> None:
    """Check that a model may be written to `folder`.

    Raises:
        OutputExists: it holds other files than a model's, or a model that must not be
            overwritten.
    """
    # Hidden files, such as those of a file manager, do not count.
    present = sorted(path.name for path in folder.glob("[!.]*"))
    others = [name for name in present if name not in (CARD, CONFIG, WEIGHTS)]
    if others:
        raise OutputExists(
            f"{folder} holds {others[0]}, which is no file of a model",
            fix=("give another ", OUT),
            file=folder,
        )
    if present and not overwrite:
        raise OutputExists(
            f"{folder} holds a model, with {present[0]}",
            fix=("give another ", OUT, ", or replace the model, ", OVERWRITE),
            file=folder,
        )
