"""Where the app runs: on this machine, or as a Hugging Face Space, a folder with the app, its needs and the model."""

import json
import shutil
import socket
import sys
import tempfile
from collections.abc import Collection
from importlib import metadata
from pathlib import Path
from typing import Any, Unpack

from randsmooth.app.guard import Guard, names_of
from randsmooth.app.live_certificates import Limits, Served, ServingOptions
from randsmooth.app.uploads import emptying, folder_of_uploads
from randsmooth.atomic import make_folder
from randsmooth.certificates import CertificationSettings
from randsmooth.certification.opening import under_noise
from randsmooth.data import DATASETS
from randsmooth.documents import shown
from randsmooth.errors import BadValue, NotFound, OutputExists
from randsmooth.escape import printable
from randsmooth.extras import needs, requirement
from randsmooth.frozen_record import settings_from
from randsmooth.models.folder import CARD, CONFIG, WEIGHTS, local, read
from randsmooth.report import web

THREADS = 8  # of the server, for visitors that only wait or read
SESSIONS = (
    32  # whose state is kept beside those that run or wait; the app itself keeps none
)

MODEL, DENOISER = "model", "denoiser"
TORCH_FOR_CPUS = "--extra-index-url https://download.pytorch.org/whl/cpu"


def serve(
    served: Served,
    *,
    host: str | None = "127.0.0.1",
    port: int | None = None,
    public_names: Collection[str] = (),
    wait: bool = True,
) -> Any:
    """Start the app, and go on until it is interrupted.

    Nothing is sent anywhere: no analytics, and pages load from this server alone. Files are limited in size and deleted
    after minutes, and of visitors no more wait than `served.limits` says.

    Args:
        served: what to serve.
        host: where to listen: this machine alone, by default; "0.0.0.0" for all who can reach it. None: where the
            environment says, as in a Space.
        port: where to listen; default: the first free one from 7860 on, or what the environment says.
        public_names: names under which visitors reach it, such as that of a server before it, beside its address, the
            name of this machine and localhost. A request that names another host is refused, but in a Space.
        wait: whether to go on until it is interrupted, or to return the running app, which `close()` ends.

    Raises:
        Problem: something else is to be served, one cannot listen there, or Gradio is not installed.

    Example:
        >>> serve("runs/gaussian")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: 'runs/gaussian' cannot be served as it is: serve(Served.of(model, name))
    """
    if not isinstance(served, Served):
        raise BadValue(
            f"{shown(repr(served))} cannot be served as it is: serve(Served.of(model, name))"
        )
    check_address(host, port)
    from randsmooth.app.web_app import gradio, make_app

    gr = gradio()
    from starlette.middleware import Middleware

    names = names_of(host, socket.gethostname(), public_names)
    uploads = folder_of_uploads()
    app = make_app(served)
    forget = app.upload_file_set.difference_update
    around = {
        "middleware": [Middleware(Guard, uploads, served, names)],
        "lifespan": emptying(uploads, forget),
    }
    _launch(app, gr, served, host=host, port=port, around=around)
    if wait:
        app.block_thread()
    return app


def _launch(
    app: Any,
    gr: Any,
    served: Served,
    *,
    host: str | None,
    port: int | None,
    around: dict[str, Any],
) -> None:
    """Start the server, with what stands around the app."""
    limits = served.limits
    app.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        show_error=False,
        max_file_size=int(limits.upload_mb * 2**20),
        state_session_capacity=SESSIONS + limits.queue + limits.at_once,
        max_threads=THREADS,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        theme=gr.themes.Default(
            font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
        ),
        css=web.asset(__package__, "page.css")
        + web.asset(__package__, "app.css"),  # in the colours of Gradio's theme
        app_kwargs=around,
    )


def check_address(host: str | None, port: int | None) -> None:
    """Raise Problem where nothing can listen at `host` and `port`: no such address, or another program is there.

    Example:
        >>> check_address("127.0.0.1", 99_999)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: port=99999 must be from 1 to 65535
    """
    if port is not None and not 0 < port < 2**16:
        raise BadValue(field="port", value=port, expected="must be from 1 to 65535")
    if host is None:
        return
    try:
        family = (
            socket.AF_INET6 if ":" in host else socket.AF_INET
        )  # as the server does
        (*_, address), *_ = socket.getaddrinfo(
            host, port or 0, family, socket.SOCK_STREAM
        )
        socket.create_server(address, family=family).close()
    except (OSError, UnicodeError) as error:
        place = shown(host if port is None else f"{host}:{port}")
        reason = getattr(error, "strerror", None) or error
        raise BadValue(
            f"nothing can listen at {place} ({reason}): give another host or port"
        ) from error


def write_space(
    model: Path | str,
    folder: Path | str,
    *,
    title: str,
    denoiser: Path | str | None = None,
    dataset: str | None = None,
    limits: Limits | None = None,
    **fields: Unpack[ServingOptions],
) -> None:
    """Write a Space for a model folder into `folder`, which must be empty or new: app.py, its needs, README.md, model.

    Only `config.json`, `model.safetensors` and the card are copied of the model, and of the denoiser if there is one.

    Args:
        model: a model folder, here or on the Hugging Face hub.
        folder: what to push to the Space's repository.
        title: of the Space.
        denoiser, dataset, limits, fields: as for `Served.of`. A data set must be one that is registered.

    Raises:
        Problem: the model is of another kind, or its files are damaged; nothing says which noise, or it or alpha
            is none; or `folder` holds something already.

    Example:
        >>> from randsmooth import models
        >>> network = models.Classifier(arch="small-cnn", classes=["cat", "dog"], shape=[1, 8, 8]).eval()
        >>> with tempfile.TemporaryDirectory() as place:
        ...     models.save(network, f"{place}/mine")
        ...     write_space(f"{place}/mine", f"{place}/space", title="Cats and dogs", sigma=0.25)
        ...     sorted(path.name for path in Path(place, "space").rglob("*") if path.is_file())
        ['README.md', 'README.md', 'app.py', 'config.json', 'model.safetensors', 'requirements.txt']
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputExists(f"{folder} is not empty: choose a new folder for the Space")
    if dataset is not None and dataset not in DATASETS:
        raise NotFound(
            f"dataset={dataset!r}: a Space has no folder of yours; leave it out, or give a known name"
        )
    limits = limits or Limits()
    settings = settings_from(
        CertificationSettings,
        None,
        {**fields, "rule": "anytime", "n": limits.samples},
    )
    told = {"dataset": dataset, "denoiser": DENOISER if denoiser is not None else None}
    told |= settings.model_dump(include={"sigma", "noise", *fields})
    given = (f"{name}={value!r}" for name, value in told.items() if value is not None)
    words = [repr(MODEL), repr(printable(title)), *given]
    with needs("a Space"):
        versions = {"gradio": metadata.version("gradio")}
    versions["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".space-") as place:
        written = Path(place) / "space"
        trained = _copy(model, written / MODEL)
        if denoiser is not None:
            trained = _copy(denoiser, written / DENOISER)
        under_noise(settings, trained, shown(str(model)))  # raises what the app would
        app_file = web.asset(__package__, "space_app.txt").format(
            arguments=", ".join(words), limits=limits
        )
        (written / "app.py").write_text(app_file)
        (written / "requirements.txt").write_text(
            f"{TORCH_FOR_CPUS}\n{requirement('serve')}\n"
        )
        heading = printable(title).replace("<", "&lt;")
        readme = web.asset(__package__, "space_readme.txt")
        readme = readme.format(
            title=json.dumps(printable(title)),
            heading=heading,
            alpha=settings.alpha,
            **versions,
        )
        (written / "README.md").write_text(readme, encoding="utf-8")
        if folder.exists():
            folder.rmdir()
        written.rename(folder)


def _copy(model: Path | str, to: Path) -> dict[str, Any]:
    """Copy the files of a model folder, checked, and no others. Returns how it was trained, as far as it is known."""
    there = local(model)
    stored = read(there)  # compares both with their digests
    shutil.copytree(
        there, to, ignore=lambda _, names: {*names} - {CONFIG, WEIGHTS, CARD}
    )
    return stored.config["provenance"] or {}
