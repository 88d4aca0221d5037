"""`randsmooth import`."""

from __future__ import annotations

import re
from pathlib import Path

from randsmooth.cli.options import DEVICE
from randsmooth.cli.settings import Argument, Settings, option
from randsmooth.errors import InputError
from randsmooth.escape import printable, say

ENDINGS = re.compile(r"(\.(tar|pth|pt|ckpt|torch|safetensors))+$")


class Import(Settings):
    """Settings of `randsmooth import`.

    Attributes:
        checkpoint: Checkpoint of another project: a file that torch.save or safetensors wrote.
        dataset: Name or folder of the data set that it was trained on; a denoiser needs none.
        arch: Architecture, by its name here or its authors'. (default: what the file says, or its tensors)
        normalise: What is done to pixels before the network: none, center, the name of a data set (its mean and std),
            center-NAME, or MEANS/DEVIATIONS as 0.5,0.5,0.5/0.2,0.2,0.2. (default: the stored layer, else the one that
            is clearly the most accurate)
        sigma: Standard deviation of the noise that it was trained with. (default: not recorded)
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


def import_(settings: Import) -> None:
    """Make a model folder of a checkpoint of another project, such as locuslab/smoothing, MACER or rs4a.

    Only tensors are read; a pickle that asks for code is refused. The architecture follows from the file. The layer
    that normalises images before the network is seldom stored: the field's are compared by accuracy on noisy training
    images, and the file is refused unless one is clearly the best. The model folder says where all of it came from.

    Example: randsmooth import noise_0.50/checkpoint.pth.tar --dataset cifar10 --sigma 0.5 --out runs/cohen-0.5
    """
    if not settings.checkpoint.is_file():
        raise InputError(f"no checkpoint at {settings.checkpoint}: give a file that torch.save or safetensors wrote")
    if settings.dataset is not None:
        from randsmooth.data.registry import check_dataset

        check_dataset(settings.dataset)  # before torch is loaded
    from randsmooth import models
    from randsmooth.progress import console

    out = settings.out or Path("runs") / ENDINGS.sub("", settings.checkpoint.name)
    values = settings.model_dump(exclude={"checkpoint", "dataset", "out"})
    try:
        model = models.import_checkpoint(settings.checkpoint, settings.dataset, **values, out=out, progress=console)
    except models.HoldsDenoiser:
        told = settings.model_dump(include={"dataset", "sigma", "overwrite"})
        denoiser = models.import_denoiser(settings.checkpoint, **told, out=out)
        say(printable(f"denoiser {denoiser.arch} in {out}"))
        say(printable(f"put it before a classifier with: randsmooth certify CLASSIFIER --denoiser {out}"))
        return
    layer = model.provenance["normalisation"]
    say(printable(f"{model.arch} for {model.num_classes} classes; normalisation {layer['layer']}: {layer['why']}"))
    say(printable(f"model in {out}; certify it with: randsmooth certify {out}"))
