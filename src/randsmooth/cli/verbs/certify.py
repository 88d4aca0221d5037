"""`randsmooth certify` and `randsmooth plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, PositiveInt

from randsmooth.cli.certification import (
    NOT_OF_A_SHARD,
    OF_THE_MODEL,
    Certify,
    WhatToCertify,
    check_names,
    command_of,
    model_of,
    out_file,
    run_of,
)
from randsmooth.cli.messages import note, say_lines
from randsmooth.cli.planning import show_plan
from randsmooth.cli.settings import option, words
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.progress import Progress
from randsmooth.urls import is_url

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates

FEW = 10  # images that show nothing
FEW_SAMPLES = 100  # of an image, which leave even good models undecided


class Plan(WhatToCertify):
    """Settings of `randsmooth plan`."""

    workers: Annotated[list[PositiveInt] | None, BeforeValidator(words)] = option(
        "Also say how long so many workers take, each like this process: 8, or 8,16,50.",
        as_typed=(str, "K,K,..."),
    )
    seconds: float = option("Begin no image of the pilot later.", 30.0, gt=0.0, allow_inf_nan=False)
    pilot_seed: int = option("Seed of the choice of the pilot's images.", 0, ge=0)
    format: Literal["text", "json"] = option("Of the answer.", "text")


def certify(settings: Certify) -> None:
    """Certify images of a data set, and keep the evidence in a Parquet file.

    Each certificate says: within this L2 radius of the image, the smoothed classifier's answer cannot change
    (wrong with probability at most alpha). A killed run loses at most the few images in hand; --resume goes on.

    Example: randsmooth certify runs/gaussian --take 500 --rule grid --out gaussian.parquet
    """
    if settings.plan:
        show_plan(settings, workers=[] if settings.workers is None else [settings.workers])
        return
    if settings.slurm:
        submit(settings)
        return
    from randsmooth.progress import console

    table = run(settings, console)
    from randsmooth.report import render

    say(render([table]), end="")
    for suspicion in suspicions(table):
        note(suspicion)
    say(printable(f"certificates in {out_file(settings)}"))


def run(settings: Certify, progress: Progress) -> Certificates:
    """Certify as `settings` say; the finished table."""
    check_names(settings, settings.backend, settings.shard)
    workers = settings.where()
    if settings.array is not None or settings.parallel is not None:
        raise InputError("--array and --parallel are for --slurm: give it too, or --workers")
    from randsmooth.certification import certify as certify_dataset

    model, arguments = model_of(settings, settings.sigma)
    values = settings.model_dump(exclude={*OF_THE_MODEL, *NOT_OF_A_SHARD, "dataset", "out"})
    values |= {"out": out_file(settings), "progress": progress, "workers": workers}
    if settings.shard is not None:
        values["command"] = command_of(settings)
    return certify_dataset(model, settings.dataset, **values, model_args=arguments)


def submit(settings: Certify) -> None:
    """Submit the shards of a certification to Slurm, and say what to do next."""
    resources = settings.resources()
    if settings.shard is not None or settings.resume:
        raise InputError("--shard and --resume are not for --slurm: each task has a shard, and goes on by itself")
    if settings.array is None or settings.array < 1:
        raise InputError("--slurm needs --array, in how many tasks the images are shared out, such as --array 50")
    check_names(settings, settings.backend, settings.shard)
    from randsmooth.launch.shards import discard, submit_shards

    out = out_file(settings)
    if is_url(out):
        raise InputError(f"{out} is a URL, and tasks of Slurm write to a folder that all of them see: give a path")
    out = Path(out)
    if settings.overwrite:
        discard(out)
    found = submit_shards(
        run_of(settings), out, settings.array, command_of(settings), resources, at_once=settings.parallel
    )
    say_lines(found.lines("tasks"))
    say(printable(f"the last merges what the others make into {out}; the same command says how far they are"))


def suspicions(table: Certificates) -> list[str]:
    """Sentences where most images abstain, or all that are certified get one class; usually none.

    A model that never saw noise, or gets its images normalised twice or not at all, looks like this.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> counts0, counts = [[9, 1]] * 12, [[90, 10]] * 12
        >>> table = from_counts(counts, counts0=counts0, label=[0, 1] * 6, sigma=0.5, alpha=0.001, name="mine")
        >>> print(suspicions(table)[0].partition(";")[0])
        all 12 images that are certified get class 0
    """
    import numpy as np

    if len(table) < FEW or table.header.label_aware or table.rule.sequential:
        return []
    certified = table.predict[table.predict >= 0]
    away = len(table) - len(certified)
    found = []
    if 2 * away > len(table) and (table.header.n or FEW_SAMPLES) >= FEW_SAMPLES:
        found.append(f"most images abstain ({away} of {len(table)})")
    if len(certified) >= FEW and table.labelled and len(set(certified)) == 1 < len(np.unique(table.label)):
        found.append(f"all {len(certified)} images that are certified get class {table.class_name(certified[0])}")
    way = (
        f"was the model trained with noise of sigma {table.header.sigma:g}, and does it take images in [0, 1]? "
        "--sigma 0.01 shows what it answers without noise"
    )
    return [f"{' and '.join(found)}; {way}"] if found else []


def plan(settings: Plan) -> None:
    """Say what a certification will take: samples, time here and on workers, memory, disk, and what other rules cost.

    A few images, chosen by chance, are certified to know; nothing is written. The limits of the number of samples hold
    with probability 95%; those of the time suppose that the machine stays as busy as it is.

    Example: randsmooth plan runs/gaussian --rule grid --n 1e5 --workers 8
    """
    workers = settings.workers or []
    show_plan(settings, settings.format, workers=workers, seconds=settings.seconds, seed=settings.pilot_seed)
