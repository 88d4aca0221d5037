"""`randsmooth quickstart`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.cli.settings import Settings, option
from randsmooth.escape import printable, say

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
    device: str = option("auto, cpu or cuda.", "auto")
    resume: bool = option("Go on with an interrupted quickstart.", False)
    overwrite: bool = option("Discard an earlier quickstart.", False)


def quickstart(settings: Quickstart) -> None:
    """Train Gaussian and Amplify on digits, certify both and compare them, in a minute or two.

    How long it will take on this machine is measured and said first. No download is needed: the digits come with
    scikit-learn.
    """
    say(f"This takes {in_words(expected_seconds(settings))} on this machine now.")
    tables = [_trained_and_certified(settings, method) for method in METHODS]

    from randsmooth import report

    gaussian, amplify = tables
    say("\n" + report.render(tables))
    say(report.what_acr_hides(amplify, gaussian))
    page = settings.out / "report.html"
    report.write_comparison(tables, page, title="Gaussian and Amplify on digits", command="randsmooth quickstart")
    say("\n" + printable(f"report in {page}"))


def expected_seconds(settings: Quickstart) -> float:
    """How long the quickstart will take, estimated from a few steps of both trainings and a few predictions."""
    from randsmooth.training import duration

    training = sum(
        duration.expected_seconds("digits", _training(settings, method), device=settings.device) for method in METHODS
    )
    return training + _certification_seconds(settings.device) + REST


def _certification_seconds(device: str) -> float:
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
    return (time.perf_counter() - start) / TRIED * IMAGES * len(METHODS)


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
        out=folder.with_name(f"{method}.parquet"), progress=console, **run,
    )  # fmt: skip
    return table.renamed(method)
