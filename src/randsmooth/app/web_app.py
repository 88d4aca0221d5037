"""The app itself, in Gradio: a place for an image, two sliders, the certificate as it grows."""

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from randsmooth.app.guard import KINDS, sigmas
from randsmooth.app.live_certificates import LEAST, Served, as_data, refusal, shown
from randsmooth.app.wording import norm_words
from randsmooth.errors import Problem
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.noise import Gaussian
from randsmooth.report import web

USUAL_N = 10_000  # where the slider stands at first


def check_gradio() -> None:
    """Raise MissingPackage where Gradio is not installed; it is not imported, which takes seconds."""
    with needs("the web app"):
        if find_spec("gradio") is None:
            raise ModuleNotFoundError(name="gradio")


def gradio() -> Any:
    """The package. `randsmooth.extras` has told it to send nothing home."""
    with needs("the web app"):
        import gradio

    return gradio


def make_app(served: Served) -> Any:
    """The app, which `serve` starts with its limits and headers."""
    gr = gradio()
    limits, name = served.limits, shortened(printable(served.name), 60)
    with gr.Blocks(title=f"{name}, certified", analytics_enabled=False) as app:
        seen = {"noise": served.noise, "norm_words": norm_words}
        gr.HTML(
            str(
                web.fragment(
                    __package__, "intro.html.j2", name=name, served=served, **seen
                )
            )
        )
        with gr.Row():
            with gr.Column(scale=2, min_width=280):
                file = gr.File(
                    label="An image",
                    file_types=[*KINDS],
                    file_count="single",
                    type="filepath",
                    height=140,
                )
                usual, only = (
                    served.usual,
                    " No other can be chosen." if served.fixed else "",
                )
                sigma = gr.Slider(
                    *sigmas(served),
                    usual,
                    step=0.01,
                    label="Noise, sigma",
                    info=f"The model is for {usual:g}.{only}",
                    interactive=not served.fixed,
                    visible=isinstance(served.noise, Gaussian),
                )
                n = gr.Slider(
                    LEAST,
                    limits.samples,
                    min(USUAL_N, limits.samples),
                    step=100,
                    label="Samples, at most",
                    precision=0,
                )
                with gr.Row():
                    run = gr.Button("Certify", variant="primary")
                    stop = gr.Button("Stop here")
            with gr.Column(scale=5, min_width=300):
                out = gr.HTML(
                    refusal(
                        "Drop an image, and its certificate grows here, sample by sample."
                    )
                )
                with gr.Accordion("As data", open=False):
                    told = gr.JSON(label="The certificate")
        asked = {
            "fn": _certifier(served),
            "inputs": [file, sigma, n],
            "outputs": [out, told],
        }
        events = gr.on(
            [file.change, run.click, sigma.release, n.release],
            **asked,
            api_name="certify",
            concurrency_limit=limits.at_once,
            trigger_mode="always_last",
            show_progress="hidden",
        )
        stop.click(None, None, None, cancels=[events], queue=False)
    app.queue(max_size=limits.queue, default_concurrency_limit=limits.at_once)
    return app


def _certifier(served: Served) -> Any:
    """What answers a visitor: the certificate at every look, or why there is none."""

    def certify(
        path: str | None, sigma: float, n: float
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        if path is None:
            yield refusal("Drop an image first."), {}
            return
        if not Path(path).is_file():
            yield refusal("Your file is no longer kept: drop it again."), {}
            return
        began = time.monotonic()  # reading an image takes time, too
        try:
            x = served.read(path)
            for moment in served.watched(x, float(sigma), int(n), began=began):
                yield shown(served, x, moment), as_data(served, moment)
        except Problem as error:
            yield (
                refusal(f"{str(error)[0].upper()}{str(error)[1:]}."),
                {"error": str(error)},
            )

    return certify
