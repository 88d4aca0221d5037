"""Certify a data set into a file: resumable at any moment, one journal line an image."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from randsmooth import models
from randsmooth.atomic import held
from randsmooth.certificates import (
    Certificates,
    Header,
    Journal,
    Row,
    check_budget,
    read_parquet,
    write_parquet,
)
from randsmooth.certification.engine import BLOCK, Engine, usual_batch
from randsmooth.certification.smoothed import ESTIMATE, SELECT, SmoothedClassifier
from randsmooth.data import DatasetSpec, Images
from randsmooth.errors import InputError
from randsmooth.models import Classifier
from randsmooth.progress import Reporter, Silent
from randsmooth.versions import versions


def make_header(
    smoothed: SmoothedClassifier,
    model: nn.Module,
    images: Images,
    indices: Sequence[int],
    *,
    n0: int,
    n: int,
    alpha: float,
    selection: str,
) -> Header:
    """The header of a certification of the images at `indices`: equal headers give equal counts.

    Raises:
        InputError: the budget could not certify any image.
    """
    check_budget(n0, n, alpha)
    engine = smoothed.engine
    generator = "NumPy SFC64" if engine.device.type == "cpu" else "torch Philox"
    batch = engine.batch or usual_batch(engine.device, images.spec.shape)
    return Header(
        sigma=smoothed.sigma,
        n0=n0,
        n=n,
        alpha=alpha,
        bound="Clopper-Pearson, one-sided",
        seed=engine.seed,
        noise=f"{generator} addressed by (seed, {SELECT} or {ESTIMATE}, image, block of {BLOCK})",
        dataset=images.spec.name,
        split=images.split,
        selection=selection,
        data=fingerprint(images, indices),
        classes=images.spec.classes,
        model=describe_model(model),
        precision=f"{arithmetic(engine)}, batches of {batch}",
        device=device_name(engine.device),
        versions=versions(),
    )


def fingerprint(images: Images, indices: Sequence[int]) -> str:
    """What tells two data sets of one name apart: a hash of the chosen labels and the first chosen image."""
    x, _ = images.batch(torch.tensor(indices[:1]))
    labels = images.labels[torch.tensor(indices)]
    return "sha256:" + hashlib.sha256(labels.numpy().tobytes() + x.cpu().numpy().tobytes()).hexdigest()


def arithmetic(engine: Engine) -> str:
    """The number format of the network's layers. On CUDA, torch may shorten float32 factors to TF32."""
    shortened = engine.device.type == "cuda" and engine.dtype == torch.float32 and torch.backends.cudnn.allow_tf32
    return str(engine.dtype).removeprefix("torch.") + (" (TF32 convolutions)" if shortened else "")


def describe_model(model: nn.Module) -> dict[str, Any]:
    """What identifies a base classifier: the hash of its weights, and how they came to be where that is known."""
    if not isinstance(model, Classifier):
        return {"weights": models.weights_hash(model), "arch": type(model).__qualname__}
    normalisation = {"mean": model.config["mean"], "std": model.config["std"]}
    return model.provenance | {"weights": models.weights_hash(model), "arch": model.arch} | normalisation


def device_name(device: torch.device) -> str:
    """cpu, or the name of the CUDA device: its generator gives other numbers than another model's."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def check_fit(model: nn.Module, spec: DatasetSpec) -> None:
    """Raise InputError unless the model takes the images of `spec` and knows their classes.

    Another's module does not say; its logits are checked when they come.
    """
    if not isinstance(model, Classifier):
        return
    trained_on = model.provenance.get("dataset", "not recorded")
    if model.num_classes != spec.num_classes:
        raise InputError(
            f"the model has {model.num_classes} classes and {spec.name} has {spec.num_classes}: pass the --dataset "
            f"it was trained on ({trained_on})"
        )
    if tuple(model.shape) != tuple(spec.shape):
        raise InputError(
            f"the model takes images of shape {model.shape} and those of {spec.name} are {spec.shape}: pass the "
            f"--dataset it was trained on ({trained_on})"
        )


def check_flags(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise InputError for both flags at once, or for neither where `out` or its journal exists."""
    if resume and overwrite:
        raise InputError("--resume goes on with a run and --overwrite discards it: give one of them")
    there = next((path for path in (out, journal_path(out)) if path.exists()), None)
    if there is not None and not (resume or overwrite):
        raise InputError(f"{there} exists; use --resume to go on with it, --overwrite, or another --out")


def journal_path(out: Path) -> Path:
    """Where the finished images of a run into `out` wait for the rest."""
    return out.with_name(out.name + ".partial")


def certify_images(
    smoothed: SmoothedClassifier,
    images: Images,
    indices: Sequence[int],
    header: Header,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> Certificates:
    """Certify the images at `indices` into the Parquet file `out`.

    Killed at any moment, a run loses no more than the image in hand; `resume` goes on with it.

    Raises:
        InputError: `out` exists and neither flag is given, or holds a run with another header, or another
            process writes it; or an image is unusable, or the model's logits are not finite.
    """
    check_flags(out, resume=resume, overwrite=overwrite)
    path = journal_path(out)
    if overwrite:
        out.unlink(missing_ok=True)
    if out.exists():
        path.unlink(missing_ok=True)  # a kill may have come between writing the table and removing this
        return _finished(out, header)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with held(path):
        journal = Journal.create(path, header) if overwrite else Journal.resume(path, header)
        try:
            _certify_rest(smoothed, images, indices, journal, reporter or Silent())
        except InputError:
            if not journal.rows:  # nothing to resume: do not stand in the way of the next try
                path.unlink()
            raise
        table = journal.table(indices, out.stem)
        write_parquet(table, out)
        path.unlink()
    return table


def _finished(out: Path, header: Header) -> Certificates:
    table = read_parquet(out)
    different = table.header.differences(header)
    if different:
        raise InputError(f"{out} is of another run ({different[0]}); repeat its settings or use --overwrite")
    return table


def _certify_rest(
    smoothed: SmoothedClassifier, images: Images, indices: Sequence[int], journal: Journal, reporter: Reporter
) -> None:
    """Certify the images that the journal does not hold yet, one line each."""
    header = journal.header
    n0, n, alpha = header.n0 or 0, header.n or 0, header.alpha or 0.0
    finished = {row.idx for row in journal.rows}
    left = [index for index in indices if index not in finished]
    reporter.skip(len(indices) - len(left))
    if left:
        x, _ = images.batch(torch.tensor(left[:1]))
        _check_classes(smoothed.engine.count(left[0], x[0], [(SELECT, 1)]).shape[1], header)
    right = 0
    batches = images.batches([torch.tensor([index]) for index in left])
    for place, (index, (x, y)) in enumerate(zip(left, batches, strict=True), start=1):
        start = time.perf_counter()
        certified = smoothed.certify(x, n0, n, alpha, numbers=[index])
        seconds = round(time.perf_counter() - start, 6)
        journal.append(Row(index, int(y[0]), certified.counts0[0], certified.counts[0], seconds))
        right += int(certified.predict[0] == int(y[0]))
        reporter.advance(1, f"{right / place:.1%} certified and right")


def _check_classes(width: int, header: Header) -> None:
    if header.classes is not None and width != len(header.classes):
        raise InputError(f"the model gives {width} logits; {header.dataset} has {len(header.classes)} classes")
