"""`randsmooth quickstart`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.cli import certify as certify_verb
from randsmooth.cli import train as train_verb
from randsmooth.cli.settings import Settings, option
from randsmooth.escape import say

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates

SIGMA = 0.5
IMAGES, N = 200, 10_000


class Quickstart(Settings):
    """Settings of `randsmooth quickstart`."""

    out: Path = option("Folder for models, certificates and report.", Path("runs/quickstart"))
    seed: int = option("Seed of everything.", 0)
    device: str = option("auto, cpu or cuda.", "auto")
    resume: bool = option("Go on with an interrupted quickstart.", False)
    overwrite: bool = option("Discard an earlier quickstart.", False)


def quickstart(settings: Quickstart) -> None:
    """The whole path in two minutes: train Gaussian and Amplify on digits, certify both, compare them.

    No download is needed: the digits come with scikit-learn.
    """
    from randsmooth import report

    tables = [_trained_and_certified(settings, method) for method in ("gaussian", "amplify")]
    gaussian, amplify = tables
    say("\n" + report.render(tables))
    say(report.what_acr_hides(amplify, gaussian))
    page = settings.out / "report.html"
    report.write_comparison(tables, page, title="Gaussian and Amplify on digits", command="randsmooth quickstart")
    say(f"\nreport in {page}")


def _trained_and_certified(settings: Quickstart, method: str) -> Certificates:
    from randsmooth.progress import console

    folder = settings.out / method
    flags = {"resume": settings.resume, "overwrite": settings.overwrite}
    where = {"device": settings.device, "seed": settings.seed}
    train_verb.train(
        train_verb.Train(dataset="digits", method=method, sigma=SIGMA, out=folder, **where, **flags)  # type: ignore[arg-type]
    )
    return certify_verb.run(
        certify_verb.Certify(model=str(folder), take=IMAGES, n=N, **where, **flags),  # type: ignore[arg-type]
        console,
    ).renamed(method)
