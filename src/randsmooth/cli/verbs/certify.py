"""`randsmooth certify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.cli.certification import (
    NOT_OF_A_SHARD,
    OF_THE_MODEL,
    Certify,
    check_names,
    command_of,
    model_of,
    out_file,
    run_of,
)
from randsmooth.cli.messages import note
from randsmooth.cli.planning import show_plan
from randsmooth.cli.suspicions import suspicions
from randsmooth.errors import InputError
from randsmooth.escape import printable, say
from randsmooth.progress import Progress
from randsmooth.urls import is_url

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates


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
    check_names(settings)
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
    check_names(settings)
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
    for line in found.lines("tasks"):
        say(printable(line))
    say(printable(f"the last merges what the others make into {out}; the same command says how far they are"))
