"""The app itself, in Gradio: an image, two sliders, and a certificate as it grows."""

import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from randsmooth.app.examples import Example
from randsmooth.app.guard import KINDS, sigmas
from randsmooth.app.live_certificates import (
    FEWEST_SAMPLES,
    Served,
    as_data,
    as_html,
    refusal,
)
from randsmooth.app.uploads import folder_of_uploads
from randsmooth.app.wording import norm_words
from randsmooth.errors import Problem
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.noise import Gaussian
from randsmooth.report import web

# The number of samples at which the slider stands at first.
USUAL_SAMPLES = 10_000
# The most characters of the name of a model.
LONGEST_NAME = 60
# The least width of the button of an example, in pixels.
BUTTON_WIDTH = 80
# Stands in place of the first certificate.
INVITATION = "Choose an image, and its certificate grows here, sample by sample."
# Stands above the examples.
OR_EXAMPLE = "Or choose an example:"

# The identifier of the text that screen readers announce. `app.css` hides it from sight.
ANNOUNCEMENT = "announcement"
# JavaScript that makes the text's element a live region: a reader announces what is new
# in it and leaves the keyboard's focus alone. Gradio keeps the element when the text
# changes, as a live region must be kept.
LIVE_REGION = "element.role = 'status'; element.ariaLive = 'polite'"
# JavaScript functions that return the text: the sentence in the data of a certificate,
# or none.
SENTENCE = "(data) => data?.sentence ?? data?.error ?? ''"
NO_SENTENCE = "() => ''"


def check_gradio() -> None:
    """Raise MissingPackage where Gradio is not installed.

    It is not imported, which takes seconds.
    """
    # `needs` makes a MissingPackage of the error, which importing would raise.
    with needs("the web app"):
        if find_spec("gradio") is None:
            raise ModuleNotFoundError(name="gradio")


def gradio() -> Any:
    """Return the package gradio.

    It sends nothing home: `randsmooth.extras` sets the variable that it reads when it
    is imported.

    Raises:
        MissingPackage: Gradio is not installed.
    """
    with needs("the web app"):
        import gradio

    return gradio


def make_app(served: Served) -> Any:
    """Return the app, which `serve` starts behind a guard.

    On the left are the image, two sliders and two buttons, on the right the certificate
    as HTML and as data.
    """
    gr = gradio()
    limits = served.limits
    name = shortened(printable(served.name), LONGEST_NAME)
    intro = web.fragment(
        __package__,
        "intro.html.j2",
        name=name,
        served=served,
        noise=served.noise,
        norm_words=norm_words,
    )
    with gr.Blocks(title=f"{name}, certified", analytics_enabled=False) as app:
        gr.HTML(str(intro))
        with gr.Row():
            with gr.Column(scale=2, min_width=280):
                file = gr.File(
                    label="An image",
                    file_types=list(KINDS),
                    file_count="single",
                    type="filepath",
                    height=140,
                )
                examples = _example_buttons(gr, served)
                sigma = _sigma_slider(gr, served)
                n = gr.Slider(
                    FEWEST_SAMPLES,
                    limits.samples,
                    min(USUAL_SAMPLES, limits.samples),
                    step=100,
                    label="Samples, at most",
                    precision=0,
                )
                with gr.Row():
                    run = gr.Button("Certify", variant="primary")
                    stop = gr.Button("Stop here")
            with gr.Column(scale=5, min_width=300):
                announcement = gr.HTML("", elem_id=ANNOUNCEMENT, js_on_load=LIVE_REGION)
                certificate = gr.HTML(refusal(INVITATION))
                with gr.Accordion("As data", open=False):
                    as_json = gr.JSON(label="The certificate")
        events = gr.on(
            [file.change, run.click, sigma.release, n.release],
            fn=_certifier(served),
            inputs=[file, sigma, n],
            outputs=[certificate, as_json],
            api_name="certify",
            concurrency_limit=limits.at_once,
            trigger_mode="always_last",
            show_progress="hidden",
        )
        # Right behind the function that certifies: the guard tells functions apart by
        # their numbers. The file that an example sets begins its certificate.
        for button, example in zip(examples, served.examples, strict=True):
            button.click(
                partial(_saved, example),
                outputs=file,
                api_name=False,
                queue=False,
                show_progress="hidden",
            )
        _announce_end(events, as_json, announcement)
        # It calls no function: it cancels the run that goes on, which ends it.
        stop.click(fn=None, inputs=None, outputs=None, cancels=[events], queue=False)
    app.queue(max_size=limits.queue, default_concurrency_limit=limits.at_once)
    return app


def _announce_end(run: Any, certificate: Any, announcement: Any) -> None:
    """Let screen readers announce where a run ends, but not every moment of it.

    Args:
        run: the events that begin a run, and its end, which also comes where the run is
            cancelled.
        certificate: the component of the certificate as data.
        announcement: the component of the text that is announced.
    """
    in_browser = {"fn": None, "outputs": announcement, "queue": False}
    # Without text between two runs, the same sentence would not be announced again.
    cleared = run.then(js=NO_SENTENCE, **in_browser)
    cleared.then(inputs=certificate, js=SENTENCE, **in_browser)


def _example_buttons(gr: Any, served: Served) -> list[Any]:
    """Return a button for each example; `style_of_examples` gives it its picture."""
    if not served.examples:
        return []
    gr.HTML(f"<p id='examples'>{OR_EXAMPLE}</p>", elem_classes="certificate")
    with gr.Row(elem_classes="examples"):
        return [
            gr.Button(
                example.name, elem_id=f"example-{k}", size="sm", min_width=BUTTON_WIDTH
            )
            for k, example in enumerate(served.examples)
        ]


def style_of_examples(served: Served) -> str:
    """Return the CSS that puts the picture of each example above its name."""
    return "\n".join(
        f"#example-{k} {{ background-image: url({example.uri()}); }}"
        for k, example in enumerate(served.examples)
    )


def _saved(example: Example) -> str:
    """Save an example in the folder of visitors' files, and return its path.

    The guard and the app then take it for a file of the visitor.
    """
    return str(example.saved_in(folder_of_uploads()))


def _sigma_slider(gr: Any, served: Served) -> Any:
    """Return the slider of sigma, which is hidden for noise other than Gaussian."""
    lowest, highest = sigmas(served)
    hint = f"The model is for {served.usual:g}."
    if served.fixed:
        hint += " No other can be chosen."
    return gr.Slider(
        lowest,
        highest,
        served.usual,
        step=0.01,
        label="Noise, sigma",
        info=hint,
        interactive=not served.fixed,
        visible=isinstance(served.noise, Gaussian),
    )


def _certifier(served: Served) -> Any:
    """Return the function of the app, which answers a visitor."""

    def refused(sentence: str) -> tuple[str, dict[str, Any]]:
        """Return why there is no certificate: HTML and data."""
        return refusal(sentence), {"error": sentence}

    def certify(
        path: str | None, sigma: float, n: float
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the certificate at every look, or why there is none: HTML and data.

        Args:
            path: the path of the visitor's file; None before one was sent.
            sigma: the position of the slider of sigma.
            n: the position of the slider of samples.
        """
        if path is None:
            yield refused("Drop an image first.")
            return
        if not Path(path).is_file():
            yield refused("Your file is no longer kept: drop it again.")
            return
        # The time limit holds for the reading of the image, too.
        began = time.monotonic()
        try:
            x = served.read(path)
            for moment in served.watched(x, float(sigma), int(n), began=began):
                yield as_html(served, x, moment), as_data(served, moment)
        except Problem as error:
            message = str(error)
            yield refused(f"{message[0].upper()}{message[1:]}.")

    return certify
