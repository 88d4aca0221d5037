"""The app itself, in Gradio: a place for an image, two sliders, the certificate as it grows; and what guards it."""

import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from randsmooth.app.live_certificates import LEAST, Served, as_data, refusal, shown
from randsmooth.app.page import in_norm
from randsmooth.errors import InputError
from randsmooth.escape import printable, say, shortened
from randsmooth.extras import needs
from randsmooth.report import web

KEPT = 600  # seconds that an uploaded file is kept
USUAL_N = 10_000  # where the slider stands at first
KINDS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")  # of files, by their names
API = "/gradio_api"
NAMED = f"{API}/call/certify"
CALLS = (NAMED, f"{API}/queue/join", f"{API}/run/predict")
UPLOAD = f"{API}/upload"
POSTS = (*CALLS, UPLOAD, f"{API}/cancel", f"{API}/reset")
MOST_BYTES = 2**16  # of a call, and of what stands around an uploaded file

# Pages may load and call nothing but this server: what Gradio's own page names elsewhere is refused (fonts, a script).
# A Space stands in a frame of the hub's page.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self' https://huggingface.co https://*.hf.space"
)
HEADERS = {"content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


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
    with gr.Blocks(title=f"{name}, certified", analytics_enabled=False, delete_cache=(60, KEPT)) as app:
        seen = {"noise": served.settings.smoothing, "in_norm": in_norm}
        gr.HTML(str(web.fragment(__package__, "intro.html.j2", name=name, served=served, **seen)))
        with gr.Row():
            with gr.Column(scale=2, min_width=280):
                file = gr.File(label="An image", file_types=[*KINDS], file_count="single", type="filepath", height=140)
                usual, only = served.usual, " No other can be chosen." if served.fixed else ""
                sigma = gr.Slider(
                    *sigmas(served),
                    usual,
                    step=0.01,
                    label="Noise, sigma",
                    info=f"The model is for {usual:g}.{only}",
                    interactive=not served.fixed,
                    visible=served.settings.noise is None,
                )
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
    app.queue(max_size=limits.queue, default_concurrency_limit=limits.at_once)
    return app


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


class Guarded:
    """Lets through no calls but those of the app's own page, and gives all answers HEADERS.

    Gradio would fetch any address that a call names in place of a file, and print a traceback for every wrong argument.

    Args:
        blocks: the app, which knows the folder of uploads.
        served: whose limits hold.

    Example:
        >>> from randsmooth import models
        >>> model = models.Classifier(arch="small-cnn", classes=["a", "b"], shape=[1, 8, 8]).eval()
        >>> Guarded(None, Served.of(model, "x", sigma=0.5)).check(NAMED, b"[]")
        Traceback (most recent call last):
        randsmooth.errors.InputError: a call is {"data": [...]}
    """

    def __init__(self, blocks: Any, served: Served) -> None:
        self.blocks, self.served = blocks, served

    async def __call__(self, request: Any, call_next: Any) -> Any:
        """The answer to a request of Starlette's, which `call_next` would give."""
        from starlette.responses import JSONResponse

        try:
            if request.method not in ("GET", "HEAD"):
                self._check_size(request)
                if request.url.path in CALLS:
                    self.check(request.url.path, await request.body())
            answer = await call_next(request)
        except Exception as error:  # Gradio raises what it likes for a name that it does not know
            ours = isinstance(error, InputError)
            if not ours:
                where = shortened(printable(f"{request.method} {request.url.path}"), 80)
                say(f"{where} failed: {type(error).__name__}: {shortened(printable(str(error)), 120)}", file=sys.stderr)
            detail = {"__type__": "validate", "is_valid": False, "parameter_name": "call"}  # as Gradio says it
            said = str(error) if ours else "the call failed"
            answer = JSONResponse({"detail": [{**detail, "message": said}]}, 422 if ours else 500)
        answer.headers.update(HEADERS)
        return answer

    def _check_size(self, request: Any) -> None:
        """Raise InputError for a request that the app does not get."""
        path, length = request.url.path, request.headers.get("content-length", "")
        if request.method != "POST" or path not in POSTS:
            raise InputError(f"{request.method} {path} is not of this app")
        most = MOST_BYTES + (int(self.served.limits.upload_mb * 2**20) if path == UPLOAD else 0)
        if not (length.isascii() and length.isdecimal() and len(length) < 20 and int(length) <= most):
            raise InputError(f"what is sent must say its size, which may not be larger than {most:,} bytes")

    def check(self, path: str, body: bytes) -> None:
        """Raise InputError unless `body` calls the app's one function, which comes first, with what it takes."""
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            raise InputError("the call is no JSON") from None
        if not isinstance(said, dict) or not isinstance(data := said.get("data"), list):
            raise InputError('a call is {"data": [...]}')
        called = 0 if path == NAMED else said.get("fn_index")
        if type(called) is not int or called != 0 or len(data) != 3:
            raise InputError("there is no such function, or it takes other arguments")
        file, *numbers = data
        limits = sigmas(self.served), (LEAST, self.served.limits.samples)
        for name, value, (low, high) in zip(("sigma", "n"), numbers, limits, strict=True):
            if type(value) not in (int, float) or not low <= value <= high:
                raise InputError(f"{name} must be a number from {low:,} to {high:,}")
        if file is not None and not self._uploaded(file):
            raise InputError(
                "the image must be a file that was uploaded; addresses and other files are not read, nor are names "
                f"that do not end in {', '.join(KINDS)}"
            )

    def _uploaded(self, file: Any) -> bool:
        """Whether what stands for a file names one in the folder of uploads, and no other beside it."""
        if not isinstance(file, dict) or file.get("meta") != {"_type": "gradio.FileData"}:
            return False
        path = file.get("path")
        if not isinstance(path, str) or any(isinstance(file[name], dict | list) for name in {*file} - {"meta"}):
            return False
        try:
            inside = Path(path).resolve().is_relative_to(Path(self.blocks.GRADIO_CACHE).resolve())
        except (OSError, ValueError):  # a name that no file can have
            return False
        return inside and Path(path).suffix.lower() in KINDS


def sigmas(served: Served) -> tuple[float, float]:
    """The least and the largest sigma that a visitor may choose; under another noise one number stands for it."""
    usual = served.usual
    if served.settings.noise is not None:
        return usual, usual
    return min(0.05, usual), max(2.0, 2 * usual)
