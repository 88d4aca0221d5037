"""`randsmooth certify`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.cli.verb import Settings, argument, option
from randsmooth.errors import InputError

if TYPE_CHECKING:
    import torch

    from randsmooth.certificates import Certificates
    from randsmooth.models import Classifier
    from randsmooth.progress import Reporter


class Certify(Settings):
    """Settings of `randsmooth certify`."""

    model: str = argument("Model folder, or `user/name` on the Hugging Face hub.")
    dataset: str | None = option("Name or folder of the images. (default: the one that the model was trained on)")
    split: str = option("train or test.", "test")
    sigma: float | None = option("Standard deviation of the noise. (default: the one that the model was trained with)")
    n: int = option("Samples an image that bound the probability of its class.", 100_000)
    n0: int = option("Other samples, that pick the class.", 100)
    alpha: float = option("Probability that an image's certificate is wrong.", 0.001)
    take: int | None = option("Certify this many images, evenly spread over the file. (default: all)")
    skip: int | None = option("Certify every SKIP-th image, as the literature does. (default: all)")
    precision: str = option("Arithmetic of the base classifier: 32 or bf16.", "32")
    device: str = option("auto, cpu or cuda.", "auto")
    batch: int | None = option("Samples a forward pass. (default: what suits device and image)")
    seed: int = option("Seed of the noise.", 0)
    out: Path | None = option("Parquet file for the certificates. (default: MODEL.parquet)")
    resume: bool = option("Go on with an interrupted run into the file.", False)
    overwrite: bool = option("Discard what is in the file.", False)


def certify(settings: Certify) -> None:
    """Certify images of a data set, and keep the evidence in a Parquet file.

    Each certificate says: within this L2 radius of the image, the smoothed classifier's answer cannot change
    (wrong with probability at most alpha). A killed run loses at most the image in hand; --resume goes on.

    Example: randsmooth certify runs/gaussian --take 500 --n 10000 --out gaussian.parquet
    """
    from randsmooth.progress import console
    from randsmooth.report import render

    table = run(settings, console)
    print(render([table]), end="")
    print(f"certificates in {out_file(settings)}")


def run(settings: Certify, progress: Callable[[str, int, str], AbstractContextManager[Reporter]]) -> Certificates:
    """Certify as `settings` say; the finished table."""
    from randsmooth import certification, data, models
    from randsmooth.certificates import check_budget, read

    check_budget(settings.n0, settings.n, settings.alpha)
    out = out_file(settings)
    certification.check_flags(out, resume=settings.resume, overwrite=settings.overwrite)
    model = models.load(settings.model)
    smoothed = certification.SmoothedClassifier(
        model,
        settings.sigma if settings.sigma is not None else trained_sigma(settings.model, model),
        device=pick_device(settings.device),
        precision=settings.precision,
        batch=settings.batch,
        seed=settings.seed,
    )
    dataset = settings.dataset or model.provenance.get("dataset")
    if dataset is None:
        raise InputError(f"{settings.model} does not say what it was trained on; pass --dataset")
    certification.check_fit(model, data.describe(dataset))
    images = data.load(dataset, settings.split)
    indices, selection = choose(len(images), settings.take, settings.skip)
    header = certification.make_header(
        smoothed, model, images, n0=settings.n0, n=settings.n, alpha=settings.alpha, selection=selection
    )
    journal = certification.prepare(out, header, resume=settings.resume, overwrite=settings.overwrite)
    if journal is None:
        return read(out)
    with progress(f"certify {out.stem}", len(indices), "images") as reporter:
        return certification.certify_images(smoothed, images, indices, journal, out, reporter)


def out_file(settings: Certify) -> Path:
    return settings.out or Path(settings.model.rstrip("/") + ".parquet")


def choose(total: int, take: int | None, skip: int | None) -> tuple[list[int], str]:
    """Positions of the images to certify, and how they were chosen, in words."""
    from randsmooth import data

    if take is not None and skip is not None:
        raise InputError("--take and --skip choose images in two ways: give one of them")
    if take is not None:
        return data.take(total, take).tolist(), f"take {take} of {total}"
    if skip is not None:
        return data.skip(total, skip).tolist(), f"every {skip}th of {total}"
    return list(range(total)), f"all {total}"


def pick_device(name: str) -> torch.device:
    """The device called auto, cpu or cuda; InputError when torch does not see it."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device={name!r} must be auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' asks for a CUDA device and torch sees none; use --device cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def trained_sigma(name: str, model: Classifier) -> float:
    """The sigma that a model was trained with; InputError when its folder does not say."""
    sigma = model.provenance.get("sigma")
    if sigma is None:
        raise InputError(f"{name} does not say which sigma it was trained with; pass --sigma")
    return float(sigma)
