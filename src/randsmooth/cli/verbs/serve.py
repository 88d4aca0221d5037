"""`randsmooth serve`: a web app that certifies an image while one watches."""

from __future__ import annotations

from typing import Annotated

from randsmooth import app, certification
from randsmooth.cli.options import Model, Resized, Smoothed, certification_option
from randsmooth.cli.output import note
from randsmooth.cli.settings import Given, Listed
from randsmooth.cli.what_to_certify import check_sources
from randsmooth.escape import say
from randsmooth.urls import name_of

# Hosts that only this machine reaches.
LOOPBACK = ("127.0.0.1", "localhost", "::1")

# Settings that the app takes as they are.
OF_THE_APP = {
    "denoiser",
    "dataset",
    "sigma",
    "noise",
    "alpha",
    "backend",
    "precision",
    "device",
    "num_classes",
    "refusal",
    "resize",
    "crop",
}


class Serve(Smoothed, Resized, Model):
    """Settings of `randsmooth serve`.

    Attributes:
        dataset: Data set or folder whose images the model is for. (default: what the
            model says)
        title: Name of the model on the page. (default: its own)
        host: Address to listen at: 127.0.0.1 for this machine alone, 0.0.0.0 for all.
        port: Port to listen at. (default: the first free one from 7860 on)
        public_name: A name under which visitors reach the app, beside its address and
            localhost. Name a server that stands before it here. The app refuses
            requests that name another host. Repeatable.
        most_samples: The most samples n of one image.
        seconds: Seconds that one certificate may take. The app then shows it as it
            stands.
        upload_mb: Megabytes of a file.
        queue: Visitors who may wait.
        at_once: Certificates that are computed at the same time.
    """

    dataset: str | None = None
    title: str | None = None
    precision: str = certification_option("precision", default="32")
    host: str = "127.0.0.1"
    port: int | None = None
    public_name: Annotated[list[str], Listed, Given(metavar="NAME")] = []
    most_samples: int = 100_000
    seconds: float = 60.0
    upload_mb: float = 5.0
    queue: int = 16
    at_once: int = 1


def run(settings: Serve) -> None:
    """Serve a web app in which the certificate of an image grows as you watch.

    The rule is `anytime`: the certificate holds at whichever sample you stop. Each run
    draws a new seed, so that nobody can choose an image by its noise. The app listens
    to this machine alone unless you set --host. It loads nothing from elsewhere, and
    sends nothing.

    Example: randsmooth serve runs/gaussian
    """
    check_sources(settings.model, settings.denoiser)
    limits = app.Limits(
        samples=settings.most_samples,
        seconds=settings.seconds,
        upload_mb=settings.upload_mb,
        queue=settings.queue,
        at_once=settings.at_once,
    )
    title = settings.title or name_of(settings.model)
    # Late, as it loads torch: sources that are not there are refused before.
    from randsmooth.app.hosting import check_address
    from randsmooth.app.web_app import check_gradio

    # Before the model is opened, which may take minutes.
    check_gradio()
    check_address(settings.host, settings.port)

    model = certification.load_model(settings.model, **settings.model_arg)
    how_served = settings.model_dump(include=OF_THE_APP)
    served = app.Served.of(model, title, limits=limits, **how_served)
    if settings.host not in LOOPBACK:
        note(
            f"everybody who can reach {settings.host} can use this app, and this "
            "machine's time"
        )
    running = app.serve(
        served,
        host=settings.host,
        port=settings.port,
        public_names=settings.public_name,
        # It returns once the app runs, so that the address can be printed.
        wait=False,
    )
    say(f"{title} at {running.local_url}; Ctrl-C ends it")
    # Until Ctrl-C.
    try:
        running.block_thread()
    finally:
        running.close()
