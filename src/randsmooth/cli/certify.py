"""`randsmooth certify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from randsmooth.cli.certification import Certify, check_names, command_of, model_of, out_file, workers_of
from randsmooth.cli.messages import note
from randsmooth.cli.planning import show_plan
from randsmooth.cli.suspicions import suspicions
from randsmooth.escape import printable, say
from randsmooth.progress import Progress

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
    from randsmooth.certification import certify as certify_dataset

    model, arguments = model_of(settings, settings.sigma)
    of_the_model = {"model", "model_arg", "ensemble", "consensus", "denoiser"}
    values = settings.model_dump(exclude={*of_the_model, "dataset", "out", "ray", "plan"})
    values |= {"out": out_file(settings), "progress": progress, "workers": workers_of(settings.workers, settings.ray)}
    if settings.shard is not None:
        values["command"] = command_of(settings)
    return certify_dataset(model, settings.dataset, **values, model_args=arguments)
