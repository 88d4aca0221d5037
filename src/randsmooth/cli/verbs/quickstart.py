"""`randsmooth quickstart`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from randsmooth.cli.options import DEVICE
from randsmooth.cli.settings import Settings, option
from randsmooth.escape import printable, say
from randsmooth.extras import MissingPackage

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates

SIGMA = 0.5
EPOCHS = 7
IMAGES, N0, N = 200, 100, 5000
# Amplify with a shorter attack and fewer noises between the epochs than its preset: enough to show what it does.
METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "amplify": {"E_t": 3, "T": 2, "reweight_every": 2, "discard_noises": 16},
}
TRIED = 4  # images whose class is predicted to measure how long that takes
REST = 10.0  # seconds for models, files and the report, on a processor of 2.5 GHz


class Quickstart(Settings):
    """Settings of `randsmooth quickstart`."""

    out: Path = option("Folder for models, certificates and report.", Path("runs/quickstart"))
    seed: int = option("Seed of everything.", 0)
    device: str = option(DEVICE, "auto")
    resume: bool = option("Go on with an interrupted quickstart.", False)
    overwrite: bool = option("Discard an earlier quickstart.", False)


class Left(NamedTuple):
    """What is left to do for a method, as shares of the whole; an unfinished certification counts as not begun."""

    training: float
    certification: float


def quickstart(settings: Quickstart) -> None:
    """Train Gaussian and Amplify on digits, certify both and compare them, in a minute or two.

    How long it will take on this machine is measured and said first, with --resume only for what is left. No
    download is needed: the digits come with scikit-learn.
    """
    if find_spec("plotly") is None:  # which the report needs: nothing is begun without it
        raise MissingPackage("randsmooth quickstart", "plotly")
    from randsmooth import report

    left = {method: _left(settings, method) for method in METHODS}
    if any(map(any, left.values())):
        say(f"This takes {in_words(expected_seconds(settings, left))} on this machine now.")
    tables = [_trained_and_certified(settings, method) for method in METHODS]

    gaussian, amplify = tables
    say("\n" + report.render(tables))
    say(report.what_acr_hides(amplify, gaussian))
    page = settings.out / "report.html"
    report.write_comparison(tables, page, title="Gaussian and Amplify on digits", command="randsmooth quickstart")
    say("\n" + printable(f"report in {page}"))


def _left(settings: Quickstart, method: str) -> Left:
    """What is left of this method's run; a folder or table that must not be written to is refused."""
    from randsmooth import data
    from randsmooth.certificates.journal import journal_path
    from randsmooth.certification.run import check_flags
    from randsmooth.training.folder import check
    from randsmooth.training.recipe import resolve

    table = _table_path(settings, method)
    flags = {"resume": settings.resume, "overwrite": settings.overwrite}
    recipe, _ = resolve("digits", _training(settings, method), data.describe("digits"), device=settings.device)
    checkpoint, _ = check(settings.out / method, recipe, **flags)
    check_flags(table, **flags)
    certified = settings.resume and table.exists() and not journal_path(table).exists()
    trained = checkpoint.epoch / recipe.epochs if checkpoint is not None else 0.0
    return Left(training=1.0 - trained, certification=0.0 if certified else 1.0)


def _table_path(settings: Quickstart, method: str) -> Path:
    return settings.out / f"{method}.parquet"


def expected_seconds(settings: Quickstart, left: Mapping[str, Left]) -> float:
    """How long what is `left` of each method takes, estimated from a few steps of training and a few predictions."""
    from randsmooth.training.run import expected_seconds as seconds_of

    training = sum(
        share.training * seconds_of("digits", _training(settings, method), device=settings.device)
        for method, share in left.items()
        if share.training
    )
    to_certify = sum(share.certification for share in left.values())
    return training + (to_certify * _certification_seconds(settings.device) if to_certify else 0.0) + REST


def _certification_seconds(device: str) -> float:
    """For one model."""
    import torch

    from randsmooth import data, models
    from randsmooth.certification import SmoothedClassifier

    spec = data.describe("digits")
    network = models.Classifier(arch=spec.arch, classes=list(spec.classes), shape=list(spec.shape)).eval()
    smoothed = SmoothedClassifier(network.to(models.pick_device(device)), sigma=SIGMA, seed=0)
    x, _ = data.load("digits", "test").batch(torch.arange(TRIED))
    smoothed.predict(x[:1], n=N0)  # the first prediction also sets things up for the next, so it is not timed
    start = time.perf_counter()
    smoothed.predict(x, n=N0 + N)
    return (time.perf_counter() - start) / TRIED * IMAGES


def in_words(seconds: float) -> str:
    """About so many minutes."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} minute{'s' * (minutes != 1)}"


def _training(settings: Quickstart, method: str) -> Any:
    from randsmooth.training import TrainingSettings

    return TrainingSettings(method=method, sigma=SIGMA, epochs=EPOCHS, set=METHODS[method], seed=settings.seed)


def _trained_and_certified(settings: Quickstart, method: str) -> Certificates:
    from randsmooth.certification import certify
    from randsmooth.progress import console
    from randsmooth.training import train

    folder = settings.out / method
    run: dict[str, Any] = {"device": settings.device, "resume": settings.resume, "overwrite": settings.overwrite}
    train("digits", _training(settings, method), out=folder, progress=console, **run)
    table = certify(
        folder, "digits", take=IMAGES, n0=N0, n=N, seed=settings.seed,
        out=_table_path(settings, method), progress=console, **run,
    )  # fmt: skip
    return table.renamed(method)
