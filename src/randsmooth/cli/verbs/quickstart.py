"""`randsmooth quickstart`: two methods trained, certified and compared in two minutes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from randsmooth import certificates, certification, report, training
from randsmooth.atomic import make_folder
from randsmooth.cli.options import DEVICE, Answered
from randsmooth.cli.output import note
from randsmooth.cli.settings import option
from randsmooth.errors import OutputExists
from randsmooth.progress import clock, console

SIGMA, EPOCHS, DEMO_EPOCHS = 0.5, 7, 40
IMAGES, N0, N = 200, 100, 5000
# Amplify with a shorter attack and fewer noises between the epochs than its preset: enough to show what it does.
METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "amplify": {"E_t": 3, "T": 2, "reweight_every": 2, "discard_noises": 16},
}
REST = 10.0  # seconds for models, files and the report, on a processor of 2.5 GHz


class Quickstart(Answered):
    """Settings of `randsmooth quickstart`.

    Attributes:
        out: Folder for models, certificates and report.
        seed: Seed of everything.
        resume: Go on with an interrupted quickstart.
        overwrite: Discard an earlier quickstart.
    """

    out: Path = Path("runs/quickstart")
    seed: int = 0
    device: str = option(DEVICE, "auto")
    resume: bool = False
    overwrite: bool = False


def quickstart(settings: Quickstart) -> None:
    """Train Gaussian and Amplify on digits, certify and compare them, and Gaussian with `demo`, in a minute or two.

    How long it will take on this machine is measured and said first, unless it is gone on with (--resume). No download
    is needed: the digits come with scikit-learn.
    """
    import plotly  # noqa: F401 which the report needs: nothing is begun without it

    if not settings.resume:
        outputs = [
            settings.out / f"{name}{ending}"
            for name in (*METHODS, "demo")
            for ending in ("", ".parquet")
        ]
        if there := [
            path for path in outputs if path.exists() and not settings.overwrite
        ]:
            page, other = (
                settings.out / "report.html",
                settings.out.with_name(f"{settings.out.name}-2"),
            )
            was = (
                f"is finished, look at {page}"
                if page.exists()
                else "was interrupted, --resume goes on with it"
            )
            raise OutputExists(
                f"{there[0]} exists: that quickstart {was}; --overwrite discards it, --out {other} is new"
            )
        make_folder(settings.out)
        note(
            f"this takes about {clock(expected_seconds(settings))} on this machine now"
        )
    tables = [_trained_and_certified(settings, method) for method in METHODS]
    demo = _certified(settings, "demo", "demo")

    gaussian, amplify = tables
    page = settings.out / "report.html"
    report.write_comparison(
        tables,
        page,
        title="Gaussian and Amplify on digits",
        command="randsmooth quickstart",
    )
    beside = f"In {EPOCHS} epochs, beside `demo`, the Gaussian model that comes with randsmooth, in {DEMO_EPOCHS}:"
    lines = ["", report.what_acr_hides(amplify, gaussian), "", beside, ""]
    lines += [
        *report.render([demo, gaussian], baseline="demo").splitlines(),
        "",
        f"report in {page}",
    ]
    settings.answer_tables(tables, *lines, report=str(page))


def expected_seconds(settings: Quickstart) -> float:
    """How long all of it takes, estimated as `sweep` estimates its steps: from the speed of the network here."""
    from randsmooth.launch import Certify, Step, Train
    from randsmooth.launch.step_costs import plan_steps

    steps: list[Step] = []
    for method in METHODS:
        train = Train(
            name=f"{method}/train",
            makes=settings.out / method,
            dataset="digits",
            settings=_training(settings, method),
        )
        certify = Certify(
            name=f"{method}/certify",
            makes=settings.out / f"{method}.parquet",
            needs=(train,),
            model=str(train.makes),
            settings=certificates.CertificationSettings(n0=N0, n=N),
            images={"take": IMAGES},
        )
        steps += [train, certify]
    # The demo has the network of the last model.
    steps.append(replace(certify, name="demo/certify"))
    return plan_steps(steps).total + REST


def _training(settings: Quickstart, method: str) -> training.TrainingSettings:
    return training.TrainingSettings(
        method=method,
        sigma=SIGMA,
        epochs=EPOCHS,
        set=METHODS[method],
        seed=settings.seed,
    )


def _trained_and_certified(
    settings: Quickstart, method: str
) -> certificates.Certificates:
    folder, how = (
        settings.out / method,
        settings.model_dump(include={"device", "resume", "overwrite"}),
    )
    training.train(
        "digits", _training(settings, method), out=folder, progress=console, **how
    )
    return _certified(settings, folder, method)


def _certified(
    settings: Quickstart, model: Path | str, name: str
) -> certificates.Certificates:
    how = settings.model_dump(include={"device", "resume", "overwrite", "seed"})
    how |= {"take": IMAGES, "n0": N0, "n": N, "out": settings.out / f"{name}.parquet"}
    return certification.certify(model, "digits", progress=console, **how).renamed(name)
