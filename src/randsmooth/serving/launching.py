"""Start the app: where it listens, what it answers at most, and what its pages may load."""

from __future__ import annotations

import socket
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.report import web
from randsmooth.serving.guard import Guarded
from randsmooth.serving.served import Served
from randsmooth.serving.web_app import gradio, make_app

THREADS = 8  # of the server, for visitors that only wait or read


def serve(served: Served, *, host: str | None = "127.0.0.1", port: int | None = None, wait: bool = True) -> Any:
    """Start the app, and go on until it is interrupted.

    Nothing is sent anywhere: no analytics, and pages load from this server alone. Files are limited in size and deleted
    after minutes, and of visitors no more wait than `served.limits` says.

    Args:
        served: what to serve.
        host: where to listen: this machine alone, by default; "0.0.0.0" for all who can reach it. None: where the
            environment says, as in a Space.
        port: where to listen; default: the first free one from 7860 on, or what the environment says.
        wait: whether to go on until it is interrupted, or to return the running app, which `close()` ends.

    Raises:
        InputError: something else is to be served, one cannot listen there, or Gradio is not installed.

    Example:
        >>> serve("runs/gaussian")
        Traceback (most recent call last):
        randsmooth.errors.InputError: 'runs/gaussian' cannot be served as it is: serve(Served.of(model, name))
    """
    if not isinstance(served, Served):
        raise InputError(f"{shown(repr(served))} cannot be served as it is: serve(Served.of(model, name))")
    check_address(host, port)
    gr = gradio()
    from starlette.middleware import Middleware

    app = make_app(served)
    app.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        show_error=False,
        max_file_size=int(served.limits.upload_mb * 2**20),
        max_threads=THREADS,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        theme=gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        css=style(),
        app_kwargs={"middleware": [Middleware(Guarded, blocks=app, served=served)]},
    )
    if wait:
        app.block_thread()
    return app


def check_address(host: str | None, port: int | None) -> None:
    """Raise InputError where nothing can listen at `host` and `port`: no such address, or another program is there.

    Example:
        >>> check_address("127.0.0.1", 99_999)
        Traceback (most recent call last):
        randsmooth.errors.InputError: port=99999 must be from 1 to 65535
    """
    if port is not None and not 0 < port < 2**16:
        raise InputError(f"port={port} must be from 1 to 65535")
    if host is None:
        return
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET  # as the server does
        (*_, address), *_ = socket.getaddrinfo(host, port or 0, family, socket.SOCK_STREAM)
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except (OSError, UnicodeError) as error:
        place = shown(host if port is None else f"{host}:{port}")
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"nothing can listen at {place} ({reason}): give another host or port") from error


def style() -> str:
    """The style of certificates, in the colours of Gradio's theme, light or dark."""
    return web.asset("randsmooth.explanation", "page.css") + web.asset("randsmooth.serving", "app.css")
