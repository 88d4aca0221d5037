"""`randsmooth quickstart`: two methods trained, certified and compared."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from randsmooth import certificates, certification, report, training
from randsmooth.atomic import make_folder
from randsmooth.cli.options import DEVICE, Answered
from randsmooth.cli.output import note
from randsmooth.cli.settings import option
from randsmooth.errors import OutputExists
from randsmooth.progress import clock, console

# Standard deviation of the noise, in units of pixels in [0, 1].
SIGMA = 0.5
# Passes over the training images, and over those of the bundled demo.
EPOCHS = 7
EPOCHS_OF_DEMO = 40
# Images that are certified.
IMAGES = 200
# Noisy copies of an image: to pick its class, and to bound p_A.
N0 = 100
N = 5000

# Amplify with a shorter attack and fewer noises between the epochs than its preset:
# enough to show what it does.
METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "amplify": {"E_t": 3, "T": 2, "reweight_every": 2, "discard_noises": 16},
}

# Seconds that models, files and the report take besides training and certification,
# on a processor of 2.5 GHz.
SECONDS_FOR_THE_REST = 10.0

# Settings that training and certification take as they are.
HOW_TO_RUN = {"device", "resume", "overwrite"}


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


def run(settings: Quickstart) -> None:
    """Train, certify and compare two methods on digits, in a minute or two.

    The methods are Gaussian and Amplify; Gaussian is compared with `demo`, too. The
    command first prints how long it will take on this machine (not with --resume). No
    download is needed: the digits come with scikit-learn.
    """
    # The report at the end needs plotly: without it, nothing begins.
    import_module("plotly")
    if not settings.resume:
        _check_free(settings)
        make_folder(settings.out)
        duration = clock(expected_seconds(settings))
        note(f"this takes about {duration} on this machine now")

    gaussian = _trained_and_certified(settings, "gaussian")
    amplify = _trained_and_certified(settings, "amplify")
    tables = [gaussian, amplify]
    demo = _certified(settings, model="demo", name="demo")

    page = settings.out / "report.html"
    report.write_comparison(
        tables,
        page,
        title="Gaussian and Amplify on digits",
        command="randsmooth quickstart",
    )
    news = [
        report.what_acr_hides(amplify, gaussian),
        "",
        f"report in {page}",
        "",
    ]
    lines = [
        "",
        f"In {EPOCHS} epochs, beside `demo`, the Gaussian model that comes with "
        f"randsmooth, in {EPOCHS_OF_DEMO}:",
        "",
        *report.render([demo, gaussian], baseline="demo").splitlines(),
    ]
    settings.answer_tables(tables, *lines, news=news, report=str(page))


def _check_free(settings: Quickstart) -> None:
    """Raise Problem for an earlier quickstart, unless it may be overwritten."""
    if settings.overwrite:
        return
    for name in (*METHODS, "demo"):
        for ending in ("", ".parquet"):
            path = settings.out / f"{name}{ending}"
            if path.exists():
                raise _exists(path, settings.out)


def _exists(path: Path, out: Path) -> OutputExists:
    """Return the error that `path` exists, with what the user can do.

    A quickstart writes its report last: where there is none, it was interrupted.
    """
    page = out / "report.html"
    state = "was interrupted, --resume goes on with it"
    if page.exists():
        state = f"is finished, look at {page}"
    another = out.with_name(f"{out.name}-2")
    return OutputExists(
        f"{path} exists: that quickstart {state}; --overwrite discards it, "
        f"--out {another} is new"
    )


def expected_seconds(settings: Quickstart) -> float:
    """Return about how many seconds a whole quickstart takes on this machine.

    Training and certification are made steps of a sweep here, only to estimate their
    times as a sweep does.
    """
    # Late, as both load torch, which the help of quickstart does not need.
    from randsmooth.launch import Certify, Step, Train
    from randsmooth.launch.step_costs import plan_steps

    settings_of_certify = certificates.CertificationSettings(n0=N0, n=N)
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
            settings=settings_of_certify,
            images={"take": IMAGES},
        )
        steps += [train, certify]

    # The demo has the same network as both models, and takes as long to certify.
    steps.append(replace(certify, name="demo/certify"))
    return plan_steps(steps).total + SECONDS_FOR_THE_REST


def _training(settings: Quickstart, method: str) -> training.TrainingSettings:
    """Return the settings by which a method is trained."""
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
    """Train a model by a method, and certify it."""
    folder = settings.out / method
    training.train(
        "digits",
        _training(settings, method),
        out=folder,
        progress=console,
        **settings.model_dump(include=HOW_TO_RUN),
    )
    return _certified(settings, model=folder, name=method)


def _certified(
    settings: Quickstart, *, model: Path | str, name: str
) -> certificates.Certificates:
    """Certify a model on images of digits, evenly spread, and name the table."""
    table = certification.certify(
        model,
        "digits",
        n0=N0,
        n=N,
        take=IMAGES,
        seed=settings.seed,
        out=settings.out / f"{name}.parquet",
        progress=console,
        **settings.model_dump(include=HOW_TO_RUN),
    )
    return table.renamed(name)
