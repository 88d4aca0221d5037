"""Certify a data set with any model: from names to a file of certificates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from randsmooth.certificates import Certificates, CertificationSettings, Shard
from randsmooth.certificates.journal import shards_path
from randsmooth.certification.backends import check_backend
from randsmooth.certification.order import Order
from randsmooth.certification.resumable_run import certify_images, check_flags, header_of
from randsmooth.errors import InputError
from randsmooth.frozen_record import check_not_settings, settings_from
from randsmooth.progress import Progress, chosen_progress
from randsmooth.urls import Place, delivered, place_of


def certify(
    model: object,
    dataset: Any = None,
    settings: CertificationSettings | None = None,
    *,
    out: Place,
    split: str = "test",
    image_column: str | None = None,
    label_column: str | None = None,
    resize: Any = None,
    crop: Any = None,
    take: int | None = None,
    skip: int | None = None,
    shard: Shard | str | None = None,
    device: str = "auto",
    identity: str | None = None,
    num_classes: int | None = None,
    model_args: Mapping[str, Any] | None = None,
    workers: Workers | None = None,
    command: Sequence[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> Certificates:
    """Certify images of a data set into the Parquet file `out`, with the evidence; the finished table.

    Args:
        model: where it is, as in `load_model`, or the model itself: any torch module in eval mode that takes images in
            [0, 1], TorchScript, a `torch.export` program, a scikit-learn estimator, or a function from images
            (B, C, H, W) to logits (B, K) or labels (B,).
        dataset: name, folder or file of images, arrays (x, y) or x, or any other form that `data.load` takes; default:
            the data set that the model was trained on, by its name. A folder named by the model is opened only if you
            pass it here. Images without labels are certified, too: what is then not known is whether they are right.
        settings: how to certify: n0, n, alpha, rule, backend, ... (see `CertificationSettings`). Or as keywords, each
            in place of the one in `settings`. Without sigma, the one that the model folder says.
        out: the file, `something.parquet`, or its URL, such as `s3://bucket/something.parquet`. While it is being made,
            the table of a URL and its journal wait on this machine (see `transfer.delivered`).
        split: train or test.
        image_column, label_column, resize, crop: as for `data.load`. Images are resized and cropped before any noise is
            added, and certificates are about the images that result; the header says how.
        take, skip: certify `take` images evenly spread over the file, or every `skip`-th; default: all.
        shard: certify a share of these images only, such as "3/16": the third of every sixteen. It goes to a file of
            its own beside `out`, `something-3-of-16.parquet` (or `out`, if it is named so already), and `merge` makes
            one table of all shards.
        device: auto, cpu, cuda or, of several GPUs, such as cuda:1.
        identity: a name, given to no other model of yours, for a model whose attributes do not determine its answers,
            such as a function. Models with weights need none (see `models.lacks_weights`).
        num_classes: K, for a function that answers with labels; default: the number of classes of the data set.
        model_args: arguments of what opens or makes the model that is named (see `load_model`).
        workers: who certifies, such as `launch.Processes(4)`, four processes on this machine; default: this process
            alone. The counts do not depend on it.
        command: the words of the command line that certifies a shard, but for --shard and --out, for `merge` to repeat.
        resume, overwrite: go on with an interrupted run into `out`, or discard what is there. A resumed run keeps
            the backend and the batch that it had.
        progress: True shows how far the run is, False does not; default: on a terminal. Or a function like
            `progress.console`.

    Raises:
        InputError: anything that cannot be used, named, before the work starts.

    Example:
        >>> import tempfile, torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> len(table), table.header.settings.n
        (5, 100)
    """
    check_not_settings(dataset, "third")
    settings = settings_from(CertificationSettings, settings, fields)
    check_backend(settings.backend)
    check_parquet(out)
    part = None if shard is None else Shard.parse(shard)
    out = out if part is None else part.file(place_of(out))
    order = Order(
        model=model,
        dataset=dataset,
        settings=settings,
        split=split,
        columns={"image_column": image_column, "label_column": label_column, "resize": resize, "crop": crop},
        take=take,
        skip=skip,
        shard=part,
        command=None if command is None else tuple(command),
        device=device,
        identity=identity,
        num_classes=num_classes,
        model_args=model_args or {},
    )
    show = chosen_progress(progress)
    return carry_out(order, out, workers, show, resume=resume, overwrite=overwrite)


class Workers(Protocol):
    """Who certifies in place of this process alone (see `launch`)."""

    def certify(self, order: Order, out: Path, show: Progress, *, resume: bool, overwrite: bool) -> Certificates:
        """Carry out `order` into `out`; the finished table."""


def carry_out(
    order: Order, out: Place, workers: Workers | None, show: Progress, *, resume: bool, overwrite: bool
) -> Certificates:
    """Carry out `order` into the file `out`, a path or a URL; the finished table."""
    with delivered(out, resume=resume, overwrite=overwrite) as path:
        go_on = {"resume": resume, "overwrite": overwrite}
        return alone(order, path, show, **go_on) if workers is None else workers.certify(order, path, show, **go_on)


def alone(order: Order, out: Path, show: Progress, *, resume: bool, overwrite: bool) -> Certificates:
    """Carry out `order` into the file `out` in this process."""
    check_flags(out, resume=resume, overwrite=overwrite)
    if shards_path(out).exists() and not overwrite:
        raise InputError(f"{shards_path(out)} holds a run that was shared out: --workers 1 or more goes on with it")
    if resume:
        begun = header_of(out)
        order = replace(order.like(begun), begun=begun)
    crew = order.prepare()
    with show(f"certify {out.stem}", len(crew.facts.indices), "images") as reporter:
        if order.settings.label_aware and not crew.facts.labelled:
            raise InputError(
                "label-aware certification and certified accuracy need images with labels, and these have none"
            )
        for note in crew.facts.notes:
            reporter.say(f"note: {note}")
        return certify_images(crew, out, resume=resume, overwrite=overwrite, reporter=reporter)


def check_parquet(out: Place) -> None:
    """Raise InputError unless `out` ends in .parquet."""
    if not str(out).endswith(".parquet"):
        raise InputError(f"{out} must end in .parquet; `randsmooth export` makes a TSV log of such a file")
