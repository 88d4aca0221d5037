"""`randsmooth export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from randsmooth.cli.certification import check_sources
from randsmooth.cli.messages import note, writing
from randsmooth.cli.options import ModelArgs
from randsmooth.cli.settings import Argument, Given, Settings
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.urls import Place, delivered, is_url, name_of


class Export(Settings):
    """Settings of `randsmooth export`.

    Attributes:
        file: Parquet file of `randsmooth certify`; with --onnx or --torch-export a model, as `certify` takes it.
        out: TSV file to write, or its URL. (default: FILE.tsv; of a URL, in the current folder)
        n: Judge as if n samples per image had been drawn: a random subset is taken. (default: all samples)
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
    from randsmooth.certificates import write_tsv
    from randsmooth.cli import reading

    folder = isinstance(settings.file, Path) and settings.file.is_dir()
    if not str(settings.file).endswith(".parquet") and (folder or settings.model_arg or settings.dataset):
        raise InputError(f"{settings.file} is no table of certificates; a model is written with --onnx FILE.onnx")
    beside = Path(name_of(settings.file)) if is_url(settings.file) else Path(settings.file)
    out, overwrite = settings.out or beside.with_suffix(".tsv"), settings.overwrite
    with delivered(out, overwrite=overwrite) as path, writing([path], overwrite=overwrite or is_url(out)):
        (table,) = reading.load([settings.file], n=settings.n, alpha=settings.alpha)
        write_tsv(table, path)
    say(out)
    facts = {name: getattr(table.header, name) for name in ("sigma", "n", "alpha")}
    options = " ".join(f"--{name} {value}" for name, value in facts.items() if value is not None)
    if options:
        note(f"a log does not say what it was made with; give its readers {options}")


def export_model(settings: Export) -> None:
    """Write the model into the files asked for, and say how far their logits are from its own."""
    of_tables = [name for name in ("out", "n", "alpha") if getattr(settings, name) is not None]
    if of_tables:
        raise InputError(f"--{of_tables[0]} is for tables of certificates, not for --onnx or --torch-export")
    asked = {"--onnx": (settings.onnx, ".onnx"), "--torch-export": (settings.torch_export, ".pt2")}
    paths = {name: path for name, (path, _) in asked.items() if path is not None}
    for name, path in paths.items():
        if path.suffix != asked[name][1]:
            raise InputError(f"{name} {path} must end in {asked[name][1]}")
    check_sources(str(settings.file))
    from randsmooth import certification, data

    with writing([*paths.values()], overwrite=settings.overwrite):
        model = certification.load_model(settings.file, **settings.model_arg)
        shape = None if settings.dataset is None else data.describe(settings.dataset).shape
        how = settings.model_dump(include={"onnx", "torch_export", "fold", "tolerance"})
        apart = certification.export_model(model, **how, shape=shape)
    for written, share in apart.items():
        say(printable(f"{written}: logits on noisy images differ by at most {share:.1e} of the largest one"))
