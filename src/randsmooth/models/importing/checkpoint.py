"""A checkpoint of another project as a model folder that says where it came from, behind the right normalisation.

Few files store the layer that normalises images before a network. It is found by the network's accuracy on labelled
noisy images, where that is clear.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn

from randsmooth import data
from randsmooth.atomic import claimed
from randsmooth.data import DATASETS, DatasetSpec, Images
from randsmooth.errors import (
    OUT,
    OVERWRITE,
    BadValue,
    MissingValue,
    OutputExists,
    Problem,
    Setting,
    WrongFile,
)
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.device import pick_device
from randsmooth.models.folder import CARD, WEIGHTS, filled, save
from randsmooth.models.image_steps import normalise_step
from randsmooth.models.importing.foreign_weights import (
    ForeignCheckpoint,
    arch_of,
    denoiser_size,
    our_tensors,
    read_checkpoint,
)
from randsmooth.models.places import CONFIG
from randsmooth.models.registry import check_arch
from randsmooth.noise import Stream, draw
from randsmooth.progress import Progress, chosen_progress

M = TypeVar("M", Classifier, Denoiser)
OTHER = "is it of another architecture (arch), or for a data set of other images or classes (dataset)?"
# Data sets that our own models do not normalise, nor those of the field's repositories, with the numbers that others
# use: PyTorch's example for MNIST and tonyduan/rs4a; those of the others are in the catalogue of data sets.
BESIDE_OURS = {"mnist": ((0.1307,), (0.3081,)), "fashion-mnist": ((0.2849,), (0.3516,))}
FORMS = "none, center, center-NAME, a data set's name (cifar10, imagenet, ...), or numbers as 0.5,0.5,0.5/0.2,0.2,0.2"
CENTER = re.compile(r"cent(?:er|re)(?:-(.+))?")
ALPHA = (
    1e-3  # probability that a layer is taken which is not the best of the candidates
)
BATCH = 50
LEAST = (
    0.1  # share of the errors of guessing that a trained network avoids at the least
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
    """A checkpoint of another project as a model of ours, in eval mode; saved as a model folder in `out`.

    These containers are read, with `torch.load(..., weights_only=True)` or safetensors: a state dict under
    `state_dict` (locuslab/smoothing and those that follow it), `net` (MACER) or alone, and the names that
    `nn.DataParallel`, `nn.Sequential(normalisation, network)` and rs4a's stored normalisation give its tensors.

    A DnCNN of microsoft/denoised-smoothing becomes a `Denoiser`, as `Denoised` takes it; whatever else a `Classifier`.
    Of a denoiser, data set and sigma are recorded, and the other settings mean nothing.

    Args:
        checkpoint: the file.
        dataset: the data set that the network was trained on, by its name or as a folder: its classes, the shape of
            its images and, where `normalise` is left open, images to try the network on. A denoiser needs none.
        out: the folder to write; None: nothing is written.
        arch: the architecture, by our name; default: what the tensors show.
        normalise: the layer before the network, which most files do not store: "none"; "center" (the data set's mean
            alone, as SmoothAdv) or "center-cifar10"; the name of a data set, for its mean and std; or numbers, as
            "0.5,0.5,0.5/0.2,0.2,0.2". Default: the stored one, else the one with which the network is clearly the most
            accurate on noisy images of the training split, or of the test split where there is no other.
        sigma: the noise that the network was trained with. It is recorded, and the noise of these images.
        images: how many images to try.
        device: where to try them: auto, cpu or cuda.
        overwrite: replace a model in `out`.
        progress: as for `certify`.

    Raises:
        Problem: the file holds code, no weights, or those of no architecture that is known; it does not fit the data
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
        raise BadValue(field="images", value=images, expected="must be 1 or more")
    spec = None if dataset is None else data.describe(dataset)
    found = read_checkpoint(Path(checkpoint))
    model: Classifier | Denoiser
    if (size := denoiser_size(found.network)) is not None:
        known = {
            "channels": size[0],
            "arch": size[1],
            "provenance": _facts(found, dataset, sigma),
        }
        model = _with_weights(Denoiser, found, found.network, known)
    elif spec is None or dataset is None:
        raise MissingValue(
            f"{found.path} does not say which data set it is for",
            field="dataset",
            fix=("name it, ", Setting("dataset")),
            file=found.path,
        )
    else:
        if arch is not None:
            check_arch(arch)
        name = arch or arch_of(found.network, found.origin["arch"])
        settings: dict[str, Any] = {
            "arch": name,
            "classes": list(spec.classes),
            "shape": spec.shape,
        }
        network = _with_weights(
            Classifier, found, our_tensors(name, found.network), settings
        ).network
        if normalise is not None:
            layer, why = normalisation(normalise, spec), {"why": "asked for"}
        elif found.mean is not None:
            layer, why = (
                Normalisation("stored", found.mean, found.std),
                {"why": "stored in the file"},
            )
        else:
            layer, why = _tried(
                network,
                spec,
                dataset,
                sigma or 0.0,
                images,
                device,
                chosen_progress(progress),
            )
        facts = _facts(found, spec.name, sigma) | {
            "normalisation": {"layer": layer.name} | why
        }
        model = Classifier(
            **settings, mean=layer.mean, std=layer.std, provenance=facts
        ).eval()
        model.network = network.cpu()
    if folder is not None:
        with claimed(folder):
            save(model, folder)
    return model


def _with_weights(
    kind: type[M],
    found: ForeignCheckpoint,
    tensors: dict[str, Tensor],
    settings: dict[str, Any],
) -> M:
    state = {f"network.{name}": tensor for name, tensor in tensors.items()}
    return filled(
        lambda: kind(**settings), state, f"{found.path} as {settings['arch']}", OTHER
    )


def _facts(
    found: ForeignCheckpoint, dataset: str | None, sigma: float | None
) -> dict[str, Any]:
    """What is known of the weights, for their provenance."""
    facts = {"dataset": dataset, "sigma": sigma, "imported": found.origin}
    return {name: value for name, value in facts.items() if value is not None}


def _folder(
    out: Path | str | None, overwrite: bool, sigma: float | None
) -> Path | None:
    """The folder to write, if any; Problem unless an imported model, for a `sigma`, may be written to it."""
    if sigma is not None and not 0 < sigma < float("inf"):
        raise BadValue(
            field="sigma",
            value=sigma,
            expected="must be a positive number, or left out where it is unknown",
        )
    folder = Path(out) if out is not None else None
    present = (
        sorted(path.name for path in folder.glob("[!.]*")) if folder is not None else []
    )
    foreign = [name for name in present if name not in (CARD, CONFIG, WEIGHTS)]
    if foreign or (present and not overwrite):
        raise OutputExists(
            f"{folder} holds {[*foreign, *present][0]}",
            fix=("give another ", OUT, ", or, of a model alone, ", OVERWRITE),
            file=folder,
        )
    return folder


def _tried(
    network: nn.Module,
    spec: DatasetSpec,
    dataset: str,
    sigma: float,
    count: int,
    device: str,
    progress: Progress,
) -> tuple[Normalisation, dict[str, Any]]:
    """The layer with which `network` is clearly the most accurate, and the facts of the trial.

    It is tried on `count` images that are evenly spread over a split; every image gets one sample of the noise, the
    same for all layers.
    """
    place, split, layers = pick_device(device), _images(dataset), candidates(spec)
    chosen, network = (
        data.take(len(split), min(count, len(split))),
        network.to(place).eval(),
    )
    steps = [normalise_step(layer.mean, layer.std, 1.0).to(place) for layer in layers]
    right: list[NDArray[np.bool_]] = []
    with progress(
        f"try {len(layers)} normalisations", len(chosen), "images"
    ) as reporter:
        for block, (x, y) in enumerate(split.batches(chosen.split(BATCH))):
            noisy = (
                x.cpu()
                + draw(tuple(x.shape), sigma, stream=Stream(0, "import").at(block))
            ).to(place)
            with torch.inference_mode():
                answers = [network(step(noisy)).argmax(1).cpu() for step in steps]
            right.append(torch.stack([answer == y.cpu() for answer in answers]).numpy())
            reporter.advance(len(x))
        guess = data.guessing(split.labels[chosen], spec.num_classes)
        trial = Trial(tuple(layers), np.concatenate(right, axis=1), guess, sigma)
        layer = trial.winner()
        reporter.say(f"normalisation {layer.name}, by accuracy: {trial.words()}")
    return layer, trial.facts() | {"split": split.split}


def _images(dataset: str) -> Images:
    """The training split, on whose images no model is judged; the test split where there is no other."""
    for split in data.SPLITS:
        try:
            return data.load(dataset, split)
        except Problem as error:
            why = error
    told = f"no images are there to find it out ({why})"
    raise WrongFile(
        f"the file does not store its normalisation, and {told}",
        field="normalise",
        fix=("say which it is, ", Setting("normalise")),
    ) from why


class Normalisation(NamedTuple):
    """(x - mean) / std of pixels in [0, 1], a number a channel; None for both: no such layer."""

    name: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None

    def centering(self) -> Normalisation:
        """The mean alone (SmoothAdv)."""
        return Normalisation("center", self.mean, (1.0,) * len(self.mean or ()))


NONE = Normalisation("none", None, None)


def candidates(spec: DatasetSpec) -> list[Normalisation]:
    """The layers that networks for `spec` are trained behind: mean and std, the mean alone (SmoothAdv), and none."""
    known = _of_dataset(spec.name, spec)
    return [known, known.centering(), NONE] if known else [NONE]


def normalisation(text: str, spec: DatasetSpec) -> Normalisation:
    """The layer that a user asks for in one of FORMS.

    Raises:
        Problem: it is none of these, or not for images of as many channels.

    Example:
        >>> normalisation("center", DATASETS["cifar10"])
        Normalisation(name='center', mean=(0.4914, 0.4822, 0.4465), std=(1.0, 1.0, 1.0))
    """
    center, channels = CENTER.fullmatch(text), spec.shape[0]
    known = (
        NONE
        if text == "none"
        else _of_dataset((center[1] or spec.name) if center else text, spec)
    )
    if center and known:
        known = known.centering()._replace(name=text)
    with suppress(ValueError, TypeError):
        if "/" in text:
            known = Normalisation(
                text, *(tuple(map(float, part.split(","))) for part in text.split("/"))
            )
    if known is None or (
        known.mean is not None
        and not len(known.mean) == len(known.std or ()) == channels
    ):
        what = f"no layer for the images of {spec.name}, of {channels} channels"
        raise BadValue(
            field="normalise",
            value=text,
            expected=f"is {what}; expected {FORMS}",
        )
    return known


def _of_dataset(name: str, spec: DatasetSpec) -> Normalisation | None:
    chosen: DatasetSpec | None = spec if name == spec.name else DATASETS.get(name)
    mean, std = BESIDE_OURS.get(
        name, (chosen.mean, chosen.std) if chosen else (None, None)
    )
    return Normalisation(name, mean, std) if mean is not None else None


class Trial(NamedTuple):
    """How often a network is right behind each of several layers, on the same noisy images.

    Attributes:
        layers: the k candidates.
        right: (k, N), whether the network is right about each of N images.
        guess: the accuracy of always answering with the most frequent label.
        sigma: of the noise that was added to the images.
    """

    layers: tuple[Normalisation, ...]
    right: NDArray[np.bool_]
    guess: float
    sigma: float

    @property
    def best(self) -> int:
        """The place of the layer with the highest accuracy."""
        return int(self.right.sum(axis=1).argmax())

    def lead(self, other: int) -> float:
        """Probability of the best layer's lead over the one at `other`, were they equally accurate.

        An image that only one of them gets right is then as likely to be the one's as the other's (McNemar 1947,
        exact).
        """
        mine, its = self.right[self.best], self.right[other]
        won, apart = int((mine & ~its).sum()), int((mine ^ its).sum())
        return float(stats.binom.sf(won - 1, apart, 0.5))

    def p_value(self) -> float:
        """Bound on the probability of a lead like this of a layer that is not better than every other.

        Which layer leads, and against which, is only known afterwards: the largest p-value is multiplied by the number
        of ordered pairs.
        """
        others = [i for i in range(len(self.layers)) if i != self.best]
        return min(
            1.0,
            len(self.layers) * len(others) * max(map(self.lead, others), default=0.0),
        )

    def classifies(self, place: int) -> bool:
        """Whether the network behind a layer clearly does more than guess, as random weights do not.

        The lower confidence limit of its accuracy (Clopper-Pearson, at ALPHA) must leave out a tenth of the errors of
        always giving the most frequent label.
        """
        right, total = int(self.right[place].sum()), self.right.shape[1]
        lower = float(stats.beta.ppf(ALPHA, right, total - right + 1)) if right else 0.0
        return 1 - lower <= (1 - LEAST) * (1 - self.guess)

    def winner(self) -> Normalisation:
        """The layer that is clearly the best.

        Raises:
            Problem: there is none; the message gives the accuracies, and the way to decide.
        """
        if self.classifies(self.best) and self.p_value() <= ALPHA:
            return self.layers[self.best]
        guesses = not self.classifies(self.best)
        why = (
            "it hardly does more than guess"
            if guesses
            else "no layer is clearly better than the others"
        )
        names = " or ".join(layer.name for layer in self.layers)
        raise WrongFile(
            f"the file does not store its normalisation, and {why} ({self.words()})",
            field="normalise",
            fix=(
                "say it, ",
                Setting("normalise"),
                f" {names}, try more ",
                Setting("images"),
                ", or check ",
                Setting("sigma"),
                " and ",
                Setting("dataset"),
            ),
        )

    def words(self) -> str:
        """The accuracies, from the best on, and the p-value of its lead."""
        order = np.argsort(-self.right.sum(axis=1), kind="stable")
        shares = ", ".join(
            f"{self.layers[i].name} {self.right[i].mean():.1%}" for i in order
        )
        return f"right about {self.right.shape[1]} images at sigma {self.sigma:g}: {shares}; p = {self.p_value():.1g}"

    def facts(self) -> dict[str, Any]:
        """The same for a model's provenance."""
        each = zip(self.layers, self.right, strict=True)
        facts: dict[str, Any] = {
            "images": self.right.shape[1],
            "sigma": self.sigma,
            "p_value": self.p_value(),
        }
        facts["accuracy"] = {layer.name: float(right.mean()) for layer, right in each}
        return facts | {"why": "accuracy on labelled images"}
