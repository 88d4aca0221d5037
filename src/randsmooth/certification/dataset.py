"""Certify a data set with any model: from names to a file of certificates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from randsmooth import data, models
from randsmooth.certificates import Certificates, check_budget, make_rule
from randsmooth.certification.engine import Engine
from randsmooth.certification.runner import certify_images, check_fit, check_flags, header_of, make_header
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import InputError
from randsmooth.progress import Progress, Reporter, silent


def certify(
    model: nn.Module | models.OnnxModel | Path | str,
    dataset: str | None = None,
    *,
    out: Path | str,
    sigma: float | None = None,
    split: str = "test",
    take: int | None = None,
    skip: int | None = None,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    rule: str = "fixed",
    bound: str = "clopper-pearson",
    label_aware: bool = False,
    sound: bool = False,
    backend: str | None = None,
    precision: str = "32",
    device: str = "auto",
    batch: int | None = None,
    seed: int = 0,
    identity: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Certificates:
    """Certify images of a data set into the Parquet file `out`, with the evidence; the finished table.

    Args:
        model: a model folder, hub id or ONNX file, or any torch module in eval mode that takes images in [0, 1].
        dataset: name, or folder of images; default: the name that the model folder says it was trained on. A folder
            that it says is not opened unless it is given here.
        out: the file, `something.parquet`.
        sigma: of the noise, in units of pixels in [0, 1]; default: what the model folder says.
        split: train or test.
        take, skip: certify `take` images evenly spread over the file, or every `skip`-th; default: all.
        n0, n, alpha: samples that pick the class, the most that bound it, probability of a wrong certificate.
        rule, bound: how many of the n are drawn, and what they prove: as in `SmoothedClassifier.certify`.
        label_aware: stop after n0 samples where the picked class is not the label. Certified accuracies stay the
            same, but the table is good for evaluation only, and says so.
        sound, backend, precision, device, batch, seed: as in `SmoothedClassifier`.
        identity: what to know a model by that does not hold all that it is, as one that asks scikit-learn or a server:
            words that no other model of yours gets. Models with weights need none (see `models.identity_of`).
        resume, overwrite: go on with an interrupted run into `out`, or discard what is there. A resumed run keeps
            the backend and the batch that it had.

    Raises:
        InputError: anything that cannot be used, named, before the work starts.
    """
    check_budget(n0, n, alpha)
    out = parquet(out)
    check_flags(out, resume=resume, overwrite=overwrite)
    model = load(model) if isinstance(model, str | Path) else model
    told = provenance(model)
    sigma = told.get("sigma") if sigma is None else sigma
    if dataset is None and told.get("dataset") is not None:
        dataset = data.registered(told["dataset"], "the model")
    if sigma is None or dataset is None:
        missing = "sigma" if sigma is None else "dataset"
        raise InputError(f"the model does not say its {missing}; give one (--{missing} on the command line)")
    if not isinstance(dataset, str | Path):
        raise InputError(f"dataset is a {type(dataset).__name__}; give the name of a data set or its folder")
    judge = make_rule(rule, sigma=sigma, n=n, alpha=alpha, bound=bound, seed=seed)
    place = models.pick_device(device)
    if resume:
        backend, batch = kept(out, backend, batch)
    smoothed = SmoothedClassifier(
        model, sigma, device=place, precision=precision, batch=batch, seed=seed, backend=backend, sound=sound
    )
    images = data.load(dataset, split)
    check_fit(model, images.spec)
    indices, selection = choose(len(images), take, skip)
    header = make_header(
        smoothed,
        model,
        images,
        indices,
        n0=n0,
        n=n,
        alpha=alpha,
        selection=selection,
        rule=rule,
        bound=bound,
        label_aware=label_aware,
        identity=identity,
    )
    with progress(f"certify {out.stem}", len(indices), "images") as reporter:
        note_differences(told, sigma, dataset, reporter)
        for note in (*chosen(smoothed.engine), *judge.notes):
            reporter.say(f"note: {note}")
        return certify_images(
            smoothed, images, indices, header, out, resume=resume, overwrite=overwrite, reporter=reporter
        )


def load(source: Path | str) -> models.Classifier | models.OnnxModel:
    """The base classifier in a model folder, on the hub or in an ONNX file."""
    return models.OnnxModel(source) if Path(source).suffix == ".onnx" else models.load(source)


def kept(out: Path, backend: str | None, batch: int | None) -> tuple[str | None, int | None]:
    """Backend and batch of the run into `out` that is resumed, where the user leaves them open."""
    header = header_of(out)
    if header is None or header.backend is None:
        return backend, batch
    return header.backend if backend in (None, "auto") else backend, header.batch if batch is None else batch


def chosen(engine: Engine) -> list[str]:
    """What `--backend auto` found, in words."""
    if not engine.rates:
        return []
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in engine.rates.items())
    return [f"backend {engine.backend.name}, batches of {engine.size} (images a second: {rates})"]


def provenance(model: nn.Module | models.OnnxModel) -> dict[str, Any]:
    """How a model of ours was trained; nothing is known of another's."""
    return model.provenance if isinstance(model, models.Classifier) else {}


def parquet(out: Path | str) -> Path:
    """`out` as a path; InputError unless it ends in .parquet."""
    if Path(out).suffix != ".parquet":
        raise InputError(f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such a file")
    return Path(out)


def choose(total: int, take: int | None, skip: int | None) -> tuple[list[int], str]:
    """Positions of the images to certify, and how they were chosen, in words."""
    if take is not None and skip is not None:
        raise InputError(f"take={take} and skip={skip} choose images in two ways: give one of them")
    if take is not None:
        return data.take(total, take).tolist(), f"take {take} of {total}"
    if skip is not None:
        return data.skip(total, skip).tolist(), f"every {skip}th of {total}"
    return list(range(total)), f"all {total}"


def note_differences(told: dict[str, Any], sigma: float, dataset: str, reporter: Reporter) -> None:
    """Say where a certification is not about what the model was trained on: allowed, but seldom meant."""
    for what, now in (("dataset", dataset), ("sigma", sigma)):
        then = told.get(what, now)
        if then != now:
            reporter.say(f"note: the model was trained with {what} {then}, not {now}")
