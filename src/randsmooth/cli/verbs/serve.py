"""`randsmooth serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from randsmooth.cli.messages import note
from randsmooth.cli.models import check_sources
from randsmooth.cli.options import MODEL, Model, certification_option
from randsmooth.cli.settings import argument, option
from randsmooth.errors import InputError
from randsmooth.escape import say
from randsmooth.urls import name_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Serve(Model):
    """Settings of `randsmooth serve`."""

    model: str = argument(MODEL)
    dataset: str | None = option("Data set or folder whose images the model is for. (default: what the model says)")
    title: str | None = option("What to call the model on the page. (default: its name)")
    sigma: float | None = certification_option("sigma")
    alpha: float = certification_option("alpha", 0.001)
    backend: str | None = certification_option("backend")
    precision: str = certification_option("precision", "32")
    host: str = option("Where to listen: 127.0.0.1: for this machine alone; 0.0.0.0: for all.", "127.0.0.1")
    port: int | None = option("Where to listen. (default: the first free one from 7860 on)")
    most_samples: int = option("The most samples n of one image.", 100_000)
    seconds: float = option("Seconds that one certificate may take; what it has come to is then shown.", 60.0)
    upload_mb: float = option("Megabytes of a file.", 5.0)
    queue: int = option("Visitors who may wait.", 16)
    at_once: int = option("Certificates that are computed at the same time.", 1)
    space: Path | None = option(
        "Write a Hugging Face Space with the app and the model into this new folder instead of starting the app."
    )


def serve(settings: Serve) -> None:
    """Serve a small web app in which one drops an image and watches its certificate grow, sample by sample.

    The rule is `anytime`: what is shown holds at whichever sample one stops. Each run draws a new seed, so that nobody
    can choose an image by its noise. The app listens to this machine alone unless --host says otherwise, loads nothing
    from elsewhere, and sends nothing.

    Example: randsmooth serve runs/gaussian
    """
    check_sources(settings.model, settings.denoiser)
    from randsmooth import app

    how = settings.model_dump(include={"upload_mb", "seconds", "queue", "at_once"})
    limits = app.Limits(samples=settings.most_samples, **how)
    title = settings.title or name_of(settings.model)
    if settings.space is not None:
        _write_space(settings, title, limits)
        return
    from randsmooth.app.launching import check_address
    from randsmooth.app.web_app import check_gradio

    check_gradio()
    check_address(settings.host, settings.port)  # before the model is opened
    served = _served(settings, title, limits)
    if settings.host not in LOOPBACK:
        note(f"everybody who can reach {settings.host} can use this app, and this machine's time")
    running = app.serve(served, host=settings.host, port=settings.port, wait=False)
    say(f"{title} at {running.local_url}; Ctrl-C ends it")
    try:
        running.block_thread()
    finally:
        running.close()


def _served(settings: Serve, title: str, limits: Any) -> Any:
    from randsmooth import app
    from randsmooth.certification import load_model

    same = {"dataset", "denoiser", "sigma", "alpha", "backend", "precision", "device", "num_classes"}
    model = load_model(settings.model, **settings.model_arg)
    return app.Served.of(model, title, limits=limits, **settings.model_dump(include=same))


def _write_space(settings: Serve, title: str, limits: Any) -> None:
    from randsmooth import app

    given = settings.model_dump(exclude_defaults=True)
    for name in ("model_arg", "backend", "precision", "device", "num_classes", "host", "port"):
        if name in given:
            given_as = f"--{name.replace('_', '-')}"
            raise InputError(f"{given_as} is not for a Space, which runs a model folder where the hub says")
    assert settings.space is not None
    same = {"denoiser", "dataset", "sigma", "alpha"}
    app.write_space(settings.model, settings.space, title=title, limits=limits, **settings.model_dump(include=same))
    say(settings.space)
