"""`randsmooth import`: a model folder of a checkpoint of another project."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth import models
from randsmooth.cli.options import DEVICE, Answered
from randsmooth.cli.output import note
from randsmooth.cli.settings import Argument, option
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.errors import MissingValue, NotFound, Setting
from randsmooth.progress import console

# The endings of checkpoints' names, several as in .pth.tar.
ENDINGS = re.compile(r"(\.(tar|pth|pt|ckpt|torch|safetensors))+$")


class Import(Answered):
    """Settings of `randsmooth import`.

    Attributes:
        checkpoint: Checkpoint of another project: a file that torch.save or safetensors
            wrote.
        dataset: Name or folder of the data set that it was trained on; a denoiser needs
            none.
        arch: Architecture, by its name here. (default: what the tensors show)
        normalise: What is done to pixels before the network: none, center, the name of
            a data set (its mean and std), center-NAME, or MEANS/DEVIATIONS as
            0.5,0.5,0.5/0.2,0.2,0.2. (default: the stored layer, else the one that is
            clearly the most accurate)
        sigma: Standard deviation of the noise that it was trained with. (default: not
            recorded)
        images: Images on which normalisations are compared.
        out: Folder for the model. (default: runs/NAME, by the name of the file)
        overwrite: Replace a model in the folder.
    """

    checkpoint: Argument[Path]
    dataset: str | None = None
    arch: str | None = None
    normalise: str | None = None
    sigma: float | None = None
    images: int = 500
    device: str = option(DEVICE, "auto")
    out: Path | None = None
    overwrite: bool = False


def run(settings: Import) -> None:
    """Make a model folder of a checkpoint of another project.

    Such projects are locuslab/smoothing, MACER or rs4a. The command reads only tensors,
    and refuses a pickle that asks for code. It infers the architecture from the file. A
    file seldom stores the layer that normalises images before the network. The command
    compares the field's layers by accuracy on noisy training images, and refuses the
    file unless one is clearly the best. The model folder records the origin of each
    part.

    Example: randsmooth import noise_0.50/checkpoint.pth.tar --dataset cifar10 --sigma
    0.5 --out runs/cohen-0.5
    """
    if not settings.checkpoint.is_file():
        raise NotFound(
            f"no checkpoint at {settings.checkpoint}: give a file that torch.save or "
            "safetensors wrote"
        )
    if settings.dataset is not None:
        # Before torch is loaded. Whether images are needed, to try normalisations on,
        # is known only once the file is read.
        check_dataset(settings.dataset, images=False)

    out = settings.out or _folder_named_after(settings.checkpoint)
    model = models.import_checkpoint(
        settings.checkpoint,
        settings.dataset,
        arch=settings.arch,
        normalise=settings.normalise,
        sigma=settings.sigma,
        images=settings.images,
        device=settings.device,
        overwrite=settings.overwrite,
        out=out,
        progress=console,
    )
    if isinstance(model, models.Denoiser):
        content = {"denoiser": str(out), "arch": model.arch}
        settings.answer([f"denoiser {model.arch} in {out}"], lambda: content)
        note(
            "put it before a classifier with: "
            f"randsmooth certify CLASSIFIER --denoiser {out}"
        )
    else:
        _answer_classifier(settings, model, out)


def _folder_named_after(checkpoint: Path) -> Path:
    """Return the folder runs/NAME for a model, by the name of its checkpoint.

    Raises:
        MissingValue: nothing but endings is in the name, as in `.pt`.
    """
    name = ENDINGS.sub("", checkpoint.name).strip(".")
    if not name:
        raise MissingValue(
            f"{checkpoint} has no name that a folder could have",
            field="out",
            fix=("name the folder, ", Setting("out", "runs/mine")),
        )
    return Path("runs") / name


def _answer_classifier(settings: Import, model: models.Classifier, out: Path) -> None:
    """Print the architecture, the classes, and how images are normalised, and why so."""
    normalisation = model.provenance["normalisation"]
    content = {
        "model": str(out),
        "arch": model.arch,
        "num_classes": model.num_classes,
        "normalisation": normalisation,
    }
    lines = [
        f"{model.arch} for {model.num_classes} classes; normalisation "
        f"{normalisation['layer']}: {normalisation['why']}",
        f"model in {out}",
    ]
    settings.answer(lines, lambda: content)
    note(f"certify it with: randsmooth certify {out}")
