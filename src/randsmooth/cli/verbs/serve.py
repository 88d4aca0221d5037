"""`randsmooth serve`: pages on single images from a web server on this machine."""

from __future__ import annotations

from pathlib import Path

from randsmooth import app, certification
from randsmooth.cli.certification import check_sources
from randsmooth.cli.options import Model, Resized, Smoothed, certification_option
from randsmooth.cli.output import note
from randsmooth.cli.settings import as_given
from randsmooth.errors import InputError
from randsmooth.escape import say
from randsmooth.urls import name_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Serve(Smoothed, Resized, Model):
    """Settings of `randsmooth serve`.

    Attributes:
        dataset: Data set or folder whose images the model is for. (default: what the model says)
        title: What to call the model on the page. (default: its name)
        host: Where to listen: 127.0.0.1: for this machine alone; 0.0.0.0: for all.
        port: Where to listen. (default: the first free one from 7860 on)
        most_samples: The most samples n of one image.
        seconds: Seconds that one certificate may take; what it has come to is then shown.
        upload_mb: Megabytes of a file.
        queue: Visitors who may wait.
        at_once: Certificates that are computed at the same time.
        space: Write a Hugging Face Space with the app and the model into this new folder instead of starting the app.
    """

    dataset: str | None = None
    title: str | None = None
    precision: str = certification_option("precision", "32")
    host: str = "127.0.0.1"
    port: int | None = None
    most_samples: int = 100_000
    seconds: float = 60.0
    upload_mb: float = 5.0
    queue: int = 16
    at_once: int = 1
    space: Path | None = None


def serve(settings: Serve) -> None:
    """Serve a small web app in which one drops an image and watches its certificate grow, sample by sample.

    The rule is `anytime`: what is shown holds at whichever sample one stops. Each run draws a new seed, so that nobody
    can choose an image by its noise. The app listens to this machine alone unless --host says otherwise, loads nothing
    from elsewhere, and sends nothing.

    Example: randsmooth serve runs/gaussian
    """
    check_sources(settings.model, settings.denoiser)
    how = settings.model_dump(include={"upload_mb", "seconds", "queue", "at_once"})
    limits = app.Limits(samples=settings.most_samples, **how)
    title = settings.title or name_of(settings.model)
    same = settings.model_dump(include={"denoiser", "dataset", "sigma", "noise", "alpha"})
    more = settings.model_dump(include={"backend", "precision", "device", "num_classes", "resize", "crop"})
    if settings.space is not None:
        given = settings.model_dump(include={"model_arg", "host", "port", *more}, exclude_defaults=True)
        if given:
            raise InputError(f"{as_given(next(iter(given)), Serve)} is not for a Space, which runs a model folder")
        app.write_space(settings.model, settings.space, title=title, limits=limits, **same)
        say(settings.space)
        return
    from randsmooth.app.launching import check_address
    from randsmooth.app.web_app import check_gradio

    check_gradio()
    check_address(settings.host, settings.port)  # before the model is opened
    model = certification.load_model(settings.model, **settings.model_arg)
    served = app.Served.of(model, title, limits=limits, **same, **more)
    if settings.host not in LOOPBACK:
        note(f"everybody who can reach {settings.host} can use this app, and this machine's time")
    running = app.serve(served, host=settings.host, port=settings.port, wait=False)
    say(f"{title} at {running.local_url}; Ctrl-C ends it")
    try:
        running.block_thread()
    finally:
        running.close()
