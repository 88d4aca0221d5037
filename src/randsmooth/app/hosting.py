"""Where the app runs: its server, its address and the names it is reached by."""

import socket
from collections.abc import Collection
from typing import Any

from randsmooth.app.guard import Guard, names_of
from randsmooth.app.live_certificates import MEGABYTE, Served
from randsmooth.app.uploads import emptying, folder_of_uploads
from randsmooth.documents import shown
from randsmooth.errors import BadValue
from randsmooth.report import web

# Threads of the server, for visitors that only wait or read.
MOST_THREADS = 8
# Sessions whose state is kept beside those that run or wait; the app itself keeps none.
OTHER_SESSIONS = 32
MOST_PORT = 2**16 - 1


def serve(
    served: Served,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    public_names: Collection[str] = (),
    wait: bool = True,
) -> Any:
    """Start the app, and go on until it is interrupted.

    Nothing is sent anywhere: no analytics, and pages load from this server alone. Files
    are limited in size and deleted after minutes, and of visitors no more wait than
    `served.limits` says.

    Args:
        served: what to serve.
        host: where to listen: this machine alone, by default; "0.0.0.0" for all who can
            reach it.
        port: where to listen; default: the first free one from 7860 on.
        public_names: names under which visitors reach it, such as that of a server
            before it, beside its address, the name of this machine and localhost. A
            request that names another host is refused.
        wait: whether to go on until it is interrupted, or to return the running app,
            which `close()` ends.

    Raises:
        Problem: something else is to be served, one cannot listen there, or Gradio is
            not installed.

    Example:
        >>> serve("runs/gaussian")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: 'runs/gaussian' cannot be served as it is: ...
    """
    if not isinstance(served, Served):
        raise BadValue(
            f"{shown(repr(served))} cannot be served as it is: serve(Served.of(model, "
            "name))"
        )
    check_address(host, port)
    # Here, since Gradio takes seconds to load and may not be installed; it brings
    # Starlette.
    from randsmooth.app.web_app import gradio, make_app, style_of_examples

    gr = gradio()
    from starlette.middleware import Middleware

    names = names_of(host, socket.gethostname(), public_names)
    uploads = folder_of_uploads()
    app = make_app(served)
    forget = app.upload_file_set.difference_update
    server_options = {
        "middleware": [Middleware(Guard, uploads, served, names)],
        "lifespan": emptying(uploads, forget),
    }
    # app.css is in the colours of Gradio's theme.
    styles = [web.asset(__package__, "page.css"), web.asset(__package__, "app.css")]
    styles.append(style_of_examples(served))
    _launch(
        app,
        gr,
        served,
        host=host,
        port=port,
        css="\n".join(styles),
        server_options=server_options,
    )
    if wait:
        app.block_thread()
    return app


def _launch(
    app: Any,
    gr: Any,
    served: Served,
    *,
    host: str,
    port: int | None,
    css: str,
    server_options: dict[str, Any],
) -> None:
    """Start the server, whose options say what stands around the app."""
    limits = served.limits
    app.launch(
        server_name=host,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        share=False,
        show_error=False,
        max_file_size=int(limits.upload_mb * MEGABYTE),
        state_session_capacity=OTHER_SESSIONS + limits.queue + limits.at_once,
        max_threads=MOST_THREADS,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        footer_links=[],
        theme=_theme(gr),
        css=css,
        app_kwargs=server_options,
    )


def _theme(gr: Any) -> Any:
    """Return Gradio's theme with the fonts of a system, and text that can be read.

    Its own orange and its palest grey are too close to the white beside them.
    """
    theme = gr.themes.Default(
        primary_hue="blue",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )
    return theme.set(
        body_text_color_subdued="#59636e",
        body_text_color_subdued_dark="#a6aeb8",
        block_info_text_color="#59636e",
        block_info_text_color_dark="#a6aeb8",
        button_primary_background_fill="#0068a3",
        button_primary_background_fill_dark="#0068a3",
        button_primary_background_fill_hover="#005587",
        button_primary_background_fill_hover_dark="#005587",
    )


def check_address(host: str, port: int | None) -> None:
    """Raise Problem where nothing can listen at `host` and `port`.

    There is no such address, or another program is there.

    Example:
        >>> check_address("127.0.0.1", 99_999)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: port=99999 must be from 1 to 65535
    """
    if port is not None and not 0 < port <= MOST_PORT:
        raise BadValue(field="port", value=port, expected="must be from 1 to 65535")
    try:
        # As the server does.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        addresses = socket.getaddrinfo(host, port or 0, family, socket.SOCK_STREAM)
        *_, address = addresses[0]
        socket.create_server(address, family=family).close()
    except (OSError, UnicodeError) as error:
        place = shown(host if port is None else f"{host}:{port}")
        reason = getattr(error, "strerror", None) or error
        raise BadValue(
            f"nothing can listen at {place} ({reason}): give another host or port"
        ) from error
