"""`randsmooth export`: certificates as a log, and models in other forms."""

from __future__ import annotations

from pathlib import Path

from randsmooth import certificates, certification, data
from randsmooth.cli import certificate_files
from randsmooth.cli.options import Answered, ModelArgs
from randsmooth.cli.output import note, writing
from randsmooth.cli.settings import Argument
from randsmooth.cli.what_to_certify import check_sources
from randsmooth.errors import BadValue, WrongFile
from randsmooth.urls import Place, delivered, is_url, name_of


class Export(Answered):
    """Settings of `randsmooth export`.

    Attributes:
        file: Parquet file of `randsmooth certify`; with --onnx or --torch-export a
            model, as `certify` takes it.
        out: TSV file to write, or its URL. (default: FILE.tsv; of a URL, in the current
            folder)
        n: Judge as if n samples per image had been drawn: a random subset is taken, of
            no log. (default: all samples)
        alpha: Judge at this alpha, the probability that an image's certificate is
            wrong. (default: that of the file)
        onnx: ONNX file to write the model to, for batches of any size.
        torch_export: File (.pt2) to write the model to as a program of torch.export,
            likewise.
        fold: Make batch normalisation a part of the convolution before it.
        tolerance: How far a logit of the written model may be from the model's on noisy
            images, as a share of the largest.
        dataset: Data set that the model is for, where the model does not say it.
        model_arg: Argument of what makes or opens the model, as `certify` takes it.
            Repeatable.
        overwrite: Replace a file that exists.
    """

    file: Argument[Place]
    out: Place | None = None
    n: int | None = None
    alpha: float | None = None
    onnx: Path | None = None
    torch_export: Path | None = None
    fold: bool = True
    tolerance: float = 1e-4
    dataset: str | None = None
    model_arg: ModelArgs = {}
    overwrite: bool = False


def run(settings: Export) -> None:
    """Write certificates as a TSV log, or a model as ONNX or a torch.export program.

    The log has the format of the literature. The command rounds radii down, so that
    they stay certified. A log cannot record a rule or a bound, so it must come from a
    table of --rule fixed with the clopper-pearson bound. It cannot say that an image is
    declined, so the table must have no such image. Nor can it record sigma, n and alpha:
    the command prints them, so that you can give them to readers of the log.

    The command reads a written model back and compares it with the original on noisy
    images. If its logits differ by more than --tolerance, the command discards it.

    Example: randsmooth export gaussian.parquet --out gaussian.tsv

    A model: randsmooth export runs/gaussian --onnx gaussian.onnx --torch-export
    gaussian.pt2
    """
    if settings.onnx or settings.torch_export:
        export_model(settings)
    else:
        export_table(settings)


def export_table(settings: Export) -> None:
    """Write the certificates as a TSV log."""
    _check_is_table(settings)
    out = settings.out
    if out is None:
        name = name_of(settings.file) if is_url(settings.file) else settings.file
        out = Path(name).with_suffix(".tsv")

    overwrite = settings.overwrite
    with (
        delivered(out, overwrite=overwrite) as path,
        # For a URL, `delivered` has checked that nothing is there, and `path` is its
        # place for unsent files, where an earlier try may have left one.
        writing([path], overwrite=overwrite or is_url(out)),
    ):
        (table,) = certificate_files.load([settings.file])
        if (settings.n, settings.alpha) != (None, None):
            # A log has no counts to draw a subset of, and refuses this.
            table = table.at(n=settings.n, alpha=settings.alpha)
        certificates.write_tsv(table, path)
    settings.answer([str(out)], lambda: {"written": [str(out)]})
    _note_what_the_log_lacks(table)


def _check_is_table(settings: Export) -> None:
    """Raise Problem where the file is a folder, or the settings are those of a model.

    Whoever wants to write a model and forgets --onnx gets this error, and none about
    the table.
    """
    is_folder = isinstance(settings.file, Path) and settings.file.is_dir()
    if is_folder or settings.model_arg or settings.dataset:
        raise WrongFile(
            f"a model is written with --onnx FILE.onnx; {settings.file} without it is "
            "to be a table of certificates, which takes neither --dataset nor --model-arg"
        )


def _note_what_the_log_lacks(table: certificates.Certificates) -> None:
    """Print a note with the options that readers of the log must give."""
    header = table.header
    facts = {"sigma": header.sigma, "n": header.n, "alpha": header.alpha}
    options = [
        f"--{name} {value}" for name, value in facts.items() if value is not None
    ]
    if options:
        note(
            f"a log does not record its settings; give its readers {' '.join(options)}"
        )


def export_model(settings: Export) -> None:
    """Write the model into the files asked for, and say how far its logits are off.

    Raises:
        Problem: a setting is for tables, a file has the wrong ending, the model cannot
            be opened or written, or the logits of the written one are off by more than
            the tolerance.
    """
    for name in ("out", "n", "alpha"):
        if getattr(settings, name) is not None:
            raise BadValue(
                f"--{name} is for tables of certificates, not for --onnx or "
                "--torch-export"
            )
    _check_ending("--onnx", settings.onnx, ".onnx")
    _check_ending("--torch-export", settings.torch_export, ".pt2")
    asked = (settings.onnx, settings.torch_export)
    files = [path for path in asked if path is not None]
    check_sources(str(settings.file))

    with writing(files, overwrite=settings.overwrite):
        model = certification.load_model(settings.file, **settings.model_arg)
        # Without --dataset, the model itself must say its shape.
        shape = None
        if settings.dataset is not None:
            shape = data.describe(settings.dataset).shape
        differences = certification.export_model(
            model,
            onnx=settings.onnx,
            torch_export=settings.torch_export,
            fold=settings.fold,
            tolerance=settings.tolerance,
            shape=shape,
        )

    lines = [
        f"{path}: logits on noisy images differ by at most {share:.1e} of the largest "
        "one"
        for path, share in differences.items()
    ]
    written = {
        str(path): {"largest_difference": share} for path, share in differences.items()
    }
    settings.answer(lines, lambda: {"written": written})


def _check_ending(option: str, path: Path | None, ending: str) -> None:
    """Raise BadValue for the path of an option without the ending; None passes."""
    if path is not None and path.suffix != ending:
        raise BadValue(f"{option} {path} must end in {ending}")
