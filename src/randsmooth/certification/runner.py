"""Certify a data set into a file: resumable at any moment, one journal line an image."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from randsmooth import models
from randsmooth.certificates import (
    Certificates,
    Header,
    Journal,
    Row,
    check_budget,
    read_parquet,
    write_parquet,
)
from randsmooth.certification.engine import BLOCK, usual_batch
from randsmooth.certification.smoothed import ESTIMATE, SELECT, SmoothedClassifier
from randsmooth.data import DatasetSpec, Images
from randsmooth.errors import InputError
from randsmooth.models import Classifier
from randsmooth.progress import Reporter
from randsmooth.versions import versions


def make_header(
    smoothed: SmoothedClassifier,
    model: Classifier,
    images: Images,
    *,
    n0: int,
    n: int,
    alpha: float,
    selection: str,
) -> Header:
    """The header of a certification of `images`: whatever else is equal, equal headers give equal counts."""
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
        classes=images.spec.classes,
        model=describe_model(model),
        precision=str(engine.dtype).removeprefix("torch.") + f", batches of {batch}",
        device=device_name(engine.device),
        versions=versions(),
    )


def describe_model(model: Classifier) -> dict[str, Any]:
    """What identifies a base classifier: the hash of its weights, and how they came to be."""
    normalisation = {"mean": model.config["mean"], "std": model.config["std"]}
    return {"weights": models.weights_hash(model), "arch": model.arch, **normalisation, **model.provenance}


def device_name(device: torch.device) -> str:
    """cpu, or the name of the CUDA device: its generator gives other numbers than another model's."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def check_fit(model: Classifier, spec: DatasetSpec) -> None:
    """Raise InputError unless the model takes the images of `spec` and knows their classes."""
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


def prepare(out: Path, header: Header, *, resume: bool, overwrite: bool) -> Journal | None:
    """The journal to write to, with what an interrupted run of the same `header` finished; None when all is done.

    Raises:
        InputError: `out` or its journal exists and neither flag is given, or belongs to another run.
    """
    check_flags(out, resume=resume, overwrite=overwrite)
    path = journal_path(out)
    if overwrite:
        out.unlink(missing_ok=True)
    elif out.exists():
        different = read_parquet(out).header.differences(header)
        if different:
            raise InputError(f"{out} is of another run ({different[0]}); repeat its settings or use --overwrite")
        return None
    elif path.exists():
        return Journal.resume(path, header)
    return Journal.create(path, header)


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
    journal: Journal,
    out: Path,
    reporter: Reporter,
) -> Certificates:
    """Certify the images at `indices` that the journal does not hold yet, then write the table to `out`.

    Killed at any moment, a run loses no more than the image in hand.

    Raises:
        InputError: an image or a label is unusable, or the model's logits are not finite.
    """
    header = journal.header
    n0, n, alpha = header.n0 or 0, header.n or 0, header.alpha or 0.0
    check_budget(n0, n, alpha)
    finished = {row.idx for row in journal.rows}
    left = [index for index in indices if index not in finished]
    reporter.advance(len(indices) - len(left))
    seen = right = 0
    for index, (x, y) in zip(left, images.batches([torch.tensor([i]) for i in left]), strict=True):
        start = time.perf_counter()
        certified = smoothed.certify(x, n0, n, alpha, numbers=[index])
        seconds = round(time.perf_counter() - start, 6)
        journal.append(Row(index, int(y[0]), certified.counts0[0], certified.counts[0], seconds))
        seen, right = seen + 1, right + int(certified.predict[0] == int(y[0]))
        reporter.advance(1, f"{right / seen:.1%} certified and right")
    table = journal.table(indices, out.stem)
    write_parquet(table, out)
    journal.path.unlink()
    return table
