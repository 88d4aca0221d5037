"""The app itself, in Gradio: a place for an image, two sliders, and the certificate as it grows."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from randsmooth import data, models
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.report import web
from randsmooth.serving.guard import KINDS, sigmas
from randsmooth.serving.served import LEAST, Served
from randsmooth.serving.view import TEMPLATES, as_data, refusal, shown

KEPT = 600  # seconds that an uploaded file is kept
USUAL_N = 10_000  # where the slider stands at first


def check_gradio() -> None:
    """Raise MissingPackage where Gradio is not installed; it is not imported, which takes seconds."""
    with needs("the web app"):
        if find_spec("gradio") is None:
            raise ModuleNotFoundError(name="gradio")


def gradio() -> Any:
    """The package, which is told first to send nothing home."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    with needs("the web app"):
        import gradio

    return gradio


def make_app(served: Served) -> Any:
    """The app, which `serve` starts with its limits and headers."""
    gr = gradio()
    limits, name = served.limits, shortened(printable(served.name), 60)
    with gr.Blocks(title=f"{name}, certified", analytics_enabled=False, delete_cache=(60, KEPT)) as app:
        gr.HTML(str(web.fragment(TEMPLATES, "intro.html.j2", name=name, served=served)))
        with gr.Row():
            with gr.Column(scale=2, min_width=280):
                file = gr.File(label="An image", file_types=[*KINDS], file_count="single", type="filepath", height=140)
                sample = gr.Button("Take a test image", visible=_test_images(served) is not None)
                sigma = _sigma_slider(gr, served)
                n = gr.Slider(
                    LEAST, limits.samples, min(USUAL_N, limits.samples), step=100, label="Samples, at most", precision=0
                )
                with gr.Row():
                    run = gr.Button("Certify", variant="primary")
                    stop = gr.Button("Stop here")
            with gr.Column(scale=5, min_width=300):
                out = gr.HTML(refusal("Drop an image, and its certificate grows here, sample by sample."))
                with gr.Accordion("As data", open=False):
                    told = gr.JSON(label="The certificate")
        asked = {"fn": _certifier(served), "inputs": [file, sigma, n], "outputs": [out, told]}
        events = gr.on(
            [file.change, run.click, sigma.release, n.release],
            **asked,
            api_name="certify",
            concurrency_limit=limits.at_once,
            trigger_mode="always_last",
            show_progress="hidden",
        )
        stop.click(None, None, None, cancels=[events], queue=False)
        sample.click(_sampler(served), None, file, queue=False, api_visibility="private")
    app.queue(max_size=limits.queue, default_concurrency_limit=limits.at_once)
    return app


def _sigma_slider(gr: Any, served: Served) -> Any:
    usual = served.settings.known_sigma
    return gr.Slider(
        *sigmas(served),
        usual,
        step=0.01,
        label="Noise, sigma",
        info=f"The model is for {usual:g}." + (" No other can be chosen." if served.fixed_sigma else ""),
        interactive=not served.fixed_sigma,
    )


def _certifier(served: Served) -> Any:
    """What answers a visitor: the certificate at every look, or why there is none."""

    def certify(path: str | None, sigma: float, n: float) -> Iterator[tuple[str, dict[str, Any]]]:
        if path is None:
            yield refusal("Drop an image first."), {}
            return
        if not Path(path).is_file():
            yield refusal("Your file is no longer kept: drop it again."), {}
            return
        try:
            x = served.read(path)
            for moment in served.watched(x, float(sigma), int(n)):
                yield shown(served, x, moment), as_data(served, moment)
        except InputError as error:
            yield refusal(f"{str(error)[0].upper()}{str(error)[1:]}."), {"error": str(error)}

    return certify


def _test_images(served: Served) -> Images | None:
    """The test images of the data set that the model is for, where they are on this machine."""
    known = models.provenance_of(served.model).get("dataset")
    if not isinstance(known, str) or known not in data.DATASETS or not data.is_at_hand(known):
        return None
    images = data.load(known, "test", stream=True)
    return images if tuple(images.spec.shape) == tuple(served.spec.shape) else None


def _sampler(served: Served) -> Any:
    """Gives the file of a test image, drawn at random."""
    images, folder = _test_images(served), tempfile.TemporaryDirectory(prefix="randsmooth-samples-")

    def sample() -> str:
        assert images is not None
        index = random.randrange(len(images))
        (x,), _ = images.batch(torch.tensor([index]))
        pixels = (x * 255.0).round().to(torch.uint8).cpu().numpy()
        path = Path(folder.name) / f"test-{index}.png"
        Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)).save(path)
        return str(path)

    return sample
