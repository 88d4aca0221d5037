"""`randsmooth import`, `from-counts`, `export` and `quantise`: files of other programs, and models in other forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from randsmooth import certificates, certification, data, metrics, models
from randsmooth.certificates import CertificationSettings
from randsmooth.cli import certificate_files
from randsmooth.cli.options import (
    DATASET,
    DEVICE,
    Answered,
    Images,
    ModelArgs,
    Noisy,
    OneModel,
    certification_option,
)
from randsmooth.cli.output import note, writing
from randsmooth.cli.settings import Argument, Given, option
from randsmooth.cli.what_to_certify import check_sources, default_out
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.errors import BadValue, NotFound, WrongFile
from randsmooth.progress import console
from randsmooth.urls import Place, delivered, is_url, name_of

ENDINGS = re.compile(r"(\.(tar|pth|pt|ckpt|torch|safetensors))+$")


class Import(Answered):
    """Settings of `randsmooth import`.

    Attributes:
        checkpoint: Checkpoint of another project: a file that torch.save or safetensors wrote.
        dataset: Name or folder of the data set that it was trained on; a denoiser needs none.
        arch: Architecture, by its name here. (default: what the tensors show)
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
        raise NotFound(
            f"no checkpoint at {settings.checkpoint}: give a file that torch.save or safetensors wrote"
        )
    if settings.dataset is not None:
        check_dataset(settings.dataset, images=False)  # before torch is loaded
    out = settings.out or Path("runs") / ENDINGS.sub("", settings.checkpoint.name)
    values = settings.model_dump(exclude={"checkpoint", "dataset", "out", "format"})
    model = models.import_checkpoint(
        settings.checkpoint, settings.dataset, **values, out=out, progress=console
    )
    if isinstance(model, models.Denoiser):
        settings.answer(
            [f"denoiser {model.arch} in {out}"],
            lambda: {"denoiser": str(out), "arch": model.arch},
        )
        note(
            f"put it before a classifier with: randsmooth certify CLASSIFIER --denoiser {out}"
        )
        return
    layer, facts = (
        model.provenance["normalisation"],
        {"arch": model.arch, "num_classes": model.num_classes},
    )
    found = f"{model.arch} for {model.num_classes} classes; normalisation {layer['layer']}: {layer['why']}"
    settings.answer(
        [found, f"model in {out}"],
        lambda: {"model": str(out), **facts, "normalisation": layer},
    )
    note(f"certify it with: randsmooth certify {out}")


class FromCounts(Answered):
    """Settings of `randsmooth from-counts`.

    Attributes:
        file: Counts: comma- or tab-separated values with a line of column names, or JSON lines.
        sigma: Standard deviation of the Gaussian noise that was added, for pixels in [0, 1].
        noise: Any noise in its place, such as uniform=0.6.
        n: Samples per image that were counted; under a sequential rule, the most that an image may take. (default: what
            the counts of an image add up to, or the column n)
        rule: By which rule the samples were drawn: fixed, or a sequential one (column path).
        bound: Confidence bound of the fixed rule; any-class where the same samples picked the class.
        dataset: Name of the data set, for comparisons.
        split: Its split.
        source: Where the counts come from, in words. (default: the name of the file)
        out: Parquet file to write. (default: FILE.parquet)
        overwrite: Replace a file that exists.
    """

    file: Argument[Path]
    sigma: float | None = None
    noise: str | None = None
    n: int | None = None
    alpha: float = certification_option("alpha", 0.001)
    rule: str = "fixed"
    bound: str = "clopper-pearson"
    dataset: str | None = None
    split: str | None = None
    source: str | None = None
    out: Path | None = None
    overwrite: bool = False


def from_counts(settings: FromCounts) -> None:
    """Turn the counts of another program into a table of certificates, whose radii are computed here.

    One row an image, with the columns label and, of the samples that bound p_A, either counts_0, counts_1, ... (how
    often each class came out) or n_A (how often the picked class did) and n. How the class was picked decides what
    the counts prove: counts0_0, counts0_1, ... are the counts of other samples that picked it; picked is a class that
    was fixed without these samples; if it is the most frequent of these very samples, say --bound any-class. More
    columns: idx, seconds, and path, the looks of a sequential rule. Lists, such as [990, 10], may be columns, too:
    counts, counts0 and path.

    What counts cannot show, such as their noise, is recorded as unknown: `randsmooth verify` says what that is.

    Example: randsmooth from-counts counts.csv --sigma 0.5 --out mine.parquet
    """
    out = settings.out or settings.file.with_suffix(".parquet")
    if out.suffix != ".parquet":
        raise BadValue(
            f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such a file"
        )
    with writing([out], overwrite=settings.overwrite):
        facts = settings.model_dump(exclude={"file", "out", "overwrite", "format"})
        table = certificates.from_counts(settings.file, **facts, name=out.stem)
        certificates.write_parquet(table, out)
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


class Export(Answered):
    """Settings of `randsmooth export`.

    Attributes:
        file: Parquet file of `randsmooth certify`; with --onnx or --torch-export a model, as `certify` takes it.
        out: TSV file to write, or its URL. (default: FILE.tsv; of a URL, in the current folder)
        n: Judge as if n samples per image had been drawn: a random subset is taken, of no log. (default: all samples)
        alpha: Judge at this alpha, the probability that an image's certificate is wrong. (default: that of the file)
        onnx: ONNX file to write the model to, for batches of any size.
        torch_export: File (.pt2) to write the model to as a program of torch.export, likewise.
        fold: Make batch normalisation a part of the convolution before it.
        tolerance: How far a logit of the written model may be from the model's on noisy images, as a share of the
            largest.
        dataset: Data set that the model is for, where the model does not say it.
        model_arg: Argument of what makes or opens the model, as `certify` takes it. Repeatable.
        overwrite: Replace a file that exists.
    """

    file: Argument[Place]
    out: Place | None = None
    n: int | None = None
    alpha: float | None = None
    onnx: Path | None = None
    torch_export: Path | None = None
    fold: Annotated[bool, Given(flag="fold/--no-fold")] = True
    tolerance: float = 1e-4
    dataset: str | None = None
    model_arg: ModelArgs = {}
    overwrite: bool = False


def export(settings: Export) -> None:
    """Write certificates as a TSV log, or a model as an ONNX file or a program of torch.export.

    The log is in the format of the literature. Radii are rounded down, to stay certified. A log has no place for a rule
    or a bound, so only tables of --rule fixed with the clopper-pearson bound can be written. Nor does it hold sigma, n
    and alpha: this command prints them, to be given to whoever reads the log.

    A model that was written is read back and compared with the original on noisy images; where its logits differ by
    more than --tolerance, it is not kept.

    Example: randsmooth export gaussian.parquet --out gaussian.tsv

    A model: randsmooth export runs/gaussian --onnx gaussian.onnx --torch-export gaussian.pt2
    """
    if settings.onnx or settings.torch_export:
        export_model(settings)
    else:
        export_table(settings)


def export_table(settings: Export) -> None:
    folder = isinstance(settings.file, Path) and settings.file.is_dir()
    if not str(settings.file).endswith(".parquet") and (
        folder or settings.model_arg or settings.dataset
    ):
        raise WrongFile(
            f"{settings.file} is no table of certificates; a model is written with --onnx FILE.onnx"
        )
    beside = (
        Path(name_of(settings.file)) if is_url(settings.file) else Path(settings.file)
    )
    out, overwrite = settings.out or beside.with_suffix(".tsv"), settings.overwrite
    with (
        delivered(out, overwrite=overwrite) as path,
        writing([path], overwrite=overwrite or is_url(out)),
    ):
        (table,) = certificate_files.load([settings.file])
        asked = (settings.n, settings.alpha) != (
            None,
            None,
        )  # which a log, that has no counts, refuses
        certificates.write_tsv(
            table.at(n=settings.n, alpha=settings.alpha) if asked else table, path
        )
    settings.answer([str(out)], lambda: {"written": [str(out)]})
    facts = {name: getattr(table.header, name) for name in ("sigma", "n", "alpha")}
    options = " ".join(
        f"--{name} {value}" for name, value in facts.items() if value is not None
    )
    if options:
        note(f"a log does not say what it was made with; give its readers {options}")


def export_model(settings: Export) -> None:
    """Write the model into the files asked for, and say how far their logits are from its own."""
    of_tables = [
        name for name in ("out", "n", "alpha") if getattr(settings, name) is not None
    ]
    if of_tables:
        raise BadValue(
            f"--{of_tables[0]} is for tables of certificates, not for --onnx or --torch-export"
        )
    asked = (
        ("--onnx", settings.onnx, ".onnx"),
        ("--torch-export", settings.torch_export, ".pt2"),
    )
    for name, path, ending in asked:
        if path is not None and path.suffix != ending:
            raise BadValue(f"{name} {path} must end in {ending}")
    check_sources(str(settings.file))
    with writing(
        [path for _, path, _ in asked if path is not None], overwrite=settings.overwrite
    ):
        model = certification.load_model(settings.file, **settings.model_arg)
        shape = (
            None if settings.dataset is None else data.describe(settings.dataset).shape
        )
        how = settings.model_dump(include={"onnx", "torch_export", "fold", "tolerance"})
        apart = certification.export_model(model, **how, shape=shape)
    of = "logits on noisy images differ by at most"
    lines = (
        f"{path}: {of} {share:.1e} of the largest one" for path, share in apart.items()
    )
    content = {
        str(path): {"largest_difference": share} for path, share in apart.items()
    }
    settings.answer(lines, lambda: {"written": content})


class Quantise(Answered, Noisy, Images, OneModel):
    """Settings of `randsmooth quantise`.

    Attributes:
        out: NET.xml, for an OpenVINO IR with NET.bin beside it. (default: MODEL-int8.xml)
        images: Training images to calibrate on, one noisy copy each.
        compare: Noisy images, others than these, that both models then classify; 0: none.
        seed: Seed of the noise on these images.
        overwrite: Replace files that exist.
    """

    out: Path | None = None
    dataset: str | None = option(
        DATASET + " (default: the data set by whose name the model was trained)"
    )
    images: int = 300
    compare: int = 2000
    seed: int = 0
    overwrite: bool = False


def quantise(settings: Quantise) -> None:
    """Make an int8 model of a base classifier, calibrated on noisy training images: faster on CPUs.

    The file that it writes is a base classifier of its own, with its own certificates: those of the original say
    nothing of it. What it costs in accuracy is printed, on noisy images that both models classify.

    Example: randsmooth quantise runs/gaussian --out gaussian-int8.xml && randsmooth certify gaussian-int8.xml
    """
    out = settings.out or default_out(
        re.sub(r"\.(onnx|xml|pt2?)$", "", settings.model), ending="-int8.xml"
    )
    CertificationSettings(sigma=settings.sigma, noise=settings.noise)
    check_sources(settings.model, dataset=settings.dataset)
    values = settings.model_dump(exclude={"model_arg", "overwrite", "format"}) | {
        "out": out
    }
    with writing([out, out.with_suffix(".bin")], overwrite=settings.overwrite):
        made = certification.quantise(
            **values, model_args=settings.model_arg, progress=console
        )
    content = {"model": str(out), "agreement": made and asdict(made)}
    settings.answer([f"int8 model in {out}", *told(made)], lambda: content)
    note(f"certify it with: randsmooth certify {out}")


def told(found: certification.Agreement | None) -> Iterator[str]:
    """How the int8 model compares with the original, with the 95% interval of the paired difference."""
    if found is None:
        return
    same = f"{found.same / found.images:.2%} answered alike"
    if (
        found.both is not None
        and found.only_before is not None
        and found.only_after is not None
    ):
        before, after = (
            (found.both + only) / found.images
            for only in (found.only_before, found.only_after)
        )
        apart = metrics.fresh_difference(
            found.only_after, found.only_before, found.images
        )
        difference = f"paired difference {apart.value:+.2%} [{apart.low:+.2%}, {apart.high:+.2%}]"
        same = (
            f"accuracy {after:.2%}, the original's {before:.2%}; {difference}; {same}"
        )
    yield f"{found.images} noisy {found.split} images: {same}"
